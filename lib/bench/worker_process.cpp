// SPDX-License-Identifier: MIT
#include "bench/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kFarewell_ns = 5'000'000'000;
constexpr int kChildSocket = 3, kChildProgress = 4;

/// What the child needs, made before fork: after it nothing may allocate or lock.
struct Child {
  const char* program;
  char* const* environment;
  int socket;
  int output;
  int progress;  ///< -1: none
  pid_t parent;
};

[[noreturn]] void become_worker(const Child& child) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(127);  // gone before the line above
  // A descriptor may have the number of another one's place: move all out of the way first.
  const int high = ::fcntl(child.socket, F_DUPFD, 10), output = ::fcntl(child.output, F_DUPFD, 10);
  const int progress = child.progress < 0 ? -1 : ::fcntl(child.progress, F_DUPFD, 10);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (high < 0 || output < 0 || ::dup2(nothing, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0 ||
      ::dup2(high, kChildSocket) < 0)
    ::_exit(127);
  if (child.progress >= 0 && (progress < 0 || ::dup2(progress, kChildProgress) < 0)) ::_exit(127);
  for (const int each : {high, output, progress}) {
    if (each >= 0) ::close(each);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  const char* arguments[] = {child.program, "--serve", "3", child.progress >= 0 ? "4" : nullptr, nullptr};
  ::execve(child.program, const_cast<char* const*>(arguments), child.environment);
  ::_exit(127);
}

/// That of this process, with some variables of its own: strings, and pointers to them with a null at the end.
class ChildEnvironment {
 public:
  explicit ChildEnvironment(const std::vector<std::string>& own) {
    const auto name_of = [](std::string_view variable) { return variable.substr(0, variable.find('=')); };
    for (char** each = environ; *each != nullptr; ++each) {
      const bool replaced =
          std::any_of(own.begin(), own.end(), [&](const std::string& one) { return name_of(one) == name_of(*each); });
      if (!replaced) strings_.emplace_back(*each);
    }
    strings_.insert(strings_.end(), own.begin(), own.end());
    for (std::string& each : strings_) pointers_.push_back(each.data());
    pointers_.push_back(nullptr);
  }
  char* const* get() const noexcept { return pointers_.data(); }

 private:
  std::vector<std::string> strings_;
  std::vector<char*> pointers_;
};

/// Until the process has ended, for so long at most; leaves its status to waitpid.
void wait_a_little(pid_t pid, int patience_ms) {
  const base::Fd watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!watch.valid()) return;
  pollfd ended{watch.get(), POLLIN, 0};
  ::poll(&ended, 1, patience_ms);
}

WorkerProcess::Ending how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return {fmt::format("ended with exit code {}", WEXITSTATUS(status)), 0};
  const int number = WTERMSIG(status);
  const char* name = ::sigabbrev_np(number);
  // Signals that come from outside are no crash.
  const bool sent = number == SIGKILL || number == SIGTERM || number == SIGINT || number == SIGHUP;
  return {fmt::format("{} by SIG{}", sent ? "was killed" : "crashed", name != nullptr ? name : std::to_string(number)),
          number};
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(Options options) {
  int sockets[2];
  if (::access(options.program.c_str(), X_OK) != 0) return base::system_error("run the worker", options.program, errno);
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return base::system_error("socketpair", options.program, errno);
  base::Fd ours(sockets[0]), theirs(sockets[1]);
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (options.append_log ? O_APPEND : O_TRUNC);
  const base::Fd log(options.output >= 0 ? -1 : ::open(options.log.c_str(), how, 0644));
  if (!log.valid() && options.output < 0) return base::system_error("open", options.log, errno);
  const ChildEnvironment environment(options.environment);
  const Child child{
      options.program.c_str(), environment.get(), theirs.get(), options.output >= 0 ? options.output : log.get(),
      options.progress,        ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return base::system_error("fork", options.program, errno);
  if (pid == 0) become_worker(child);
  ::setpgid(pid, pid);  // whoever of the two comes first
  WorkerProcess out;
  out.options_ = std::move(options);
  out.pid_ = pid;
  out.channel_ = Channel(std::move(ours));
  return out;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : options_(std::move(other.options_)), pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  if (this != &other) {
    end();
    options_ = std::move(other.options_);
    pid_ = std::exchange(other.pid_, -1);
    channel_ = std::move(other.channel_);
  }
  return *this;
}

WorkerProcess::~WorkerProcess() { end(); }

Result<Json> WorkerProcess::ask(const Json& request) {
  if (!alive()) return Error{ErrorCode::kIo, "the worker is gone"};
  Status sent = channel_.send(request);
  Result<Json> answer = sent.ok() ? channel_.receive(options_.timeout_ns, options_.cancelled)
                                  : Result<Json>(Error{ErrorCode::kIncomplete, sent.error().message()});
  if (answer.ok()) {
    const JsonView error = JsonView(*answer)["error"];
    if (!error.is_null()) return Error{ErrorCode::kInvalidArgument, error.text("unnamed")};
    return answer;
  }
  const ErrorCode code = answer.error().code();
  const std::string what = JsonView(request)["do"].text();
  const std::string ended = end(code == ErrorCode::kIncomplete ? kPatience_ms : 0).text;
  switch (code) {
    case ErrorCode::kTimeout:
      return Error{code, fmt::format("no answer to \"{}\" within {} s: ended", what,
                                     static_cast<double>(options_.timeout_ns) / 1e9)};
    case ErrorCode::kIncomplete:
      return Error{code, fmt::format("the worker {} at \"{}\"{}", ended, what, tail_of(options_.log))};
    default:
      return std::move(answer).error().with_context(what);
  }
}

void WorkerProcess::quit() {
  if (!alive()) return;
  // An answer or the end of the stream: either way it has had its time.
  if (channel_.send(Json::object({{"do", "quit"}})).ok()) (void)channel_.receive(kFarewell_ns, options_.cancelled);
  end(kPatience_ms);
}

void WorkerProcess::kill() const noexcept {
  if (alive()) ::kill(-pid_, SIGKILL);
}

WorkerProcess::Ending WorkerProcess::end(int patience_ms) {
  if (!alive()) return {};
  channel_.close();
  // A worker that closed its socket is on its way out: its own end tells more than our signal would. One that hangs
  // there gets the signal all the same.
  int status = 0;
  if (patience_ms > 0) wait_a_little(pid_, patience_ms);
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return how_it_ended(status);
}

Result<std::vector<Json>> ask_in_passing(WorkerProcess::Options options, const std::vector<Json>& requests) {
  std::error_code code;
  options.log = (std::filesystem::temp_directory_path(code) / "rangefinder-worker-XXXXXX").string();
  const base::Fd made(::mkstemp(options.log.data()));
  if (!made.valid()) return base::system_error("create", options.log, errno);
  const std::string log = options.log, program = options.program;
  const auto all = [&]() -> Result<std::vector<Json>> {
    Result<WorkerProcess> process = WorkerProcess::start(std::move(options));
    if (!process) return process.error();
    std::vector<Json> answers;
    for (const Json& request : requests) {
      Result<Json> answer = process->ask(request);
      if (!answer) return answer.error();
      answers.push_back(std::move(*answer));
    }
    process->quit();
    return answers;
  };
  Result<std::vector<Json>> answers = all();
  ::unlink(log.c_str());
  if (!answers) return std::move(answers).error().with_context(program);
  return answers;
}

std::string tail_of(const std::string& log) {
  constexpr std::size_t kMax = 300;
  const Result<base::Fd> fd = base::open_for_reading(log);
  if (!fd) return {};
  const Result<std::uint64_t> size = base::file_size(*fd, log);
  if (!size) return {};
  std::array<std::byte, kMax> bytes;
  const Result<std::size_t> got = base::read_at(*fd, bytes, *size > kMax ? *size - kMax : 0, log);
  if (!got || *got == 0) return {};
  std::string text(base::as_text(base::ByteView(bytes).first(*got)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? std::string() : ": ..." + text;
}

}  // namespace rangefinder::bench
