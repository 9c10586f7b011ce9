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
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr std::int64_t kFarewell_ns = 5'000'000'000;
constexpr int kChildSocket = 3;

/// The child's side of fork: nothing here may allocate or lock.
[[noreturn]] void become_worker(const char* program, int socket, int log, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // gone before the line above
  // The socket may have the number of a stream: move it out of the way first.
  const int high = ::fcntl(socket, F_DUPFD, 10), log_high = ::fcntl(log, F_DUPFD, 10);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (high < 0 || log_high < 0 || ::dup2(nothing, 0) < 0 || ::dup2(log_high, 1) < 0 || ::dup2(log_high, 2) < 0 ||
      ::dup2(high, kChildSocket) < 0)
    ::_exit(127);
  ::close(high);
  ::close(log_high);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  const char* arguments[] = {program, "--serve", "3", nullptr};
  ::execv(program, const_cast<char* const*>(arguments));
  ::_exit(127);
}

/// Until the process has ended, for two seconds at most; leaves its status to waitpid.
void wait_a_little(pid_t pid) {
  const base::Fd watch(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!watch.valid()) return;
  pollfd ended{watch.get(), POLLIN, 0};
  ::poll(&ended, 1, 2000);
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("crashed by SIG{}", name != nullptr ? name : std::to_string(WTERMSIG(status)));
  }
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(Options options) {
  int sockets[2];
  if (::access(options.program.c_str(), X_OK) != 0) return base::system_error("run the worker", options.program, errno);
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return base::system_error("socketpair", options.program, errno);
  base::Fd ours(sockets[0]), theirs(sockets[1]);
  const int how = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (options.append_log ? O_APPEND : O_TRUNC);
  const base::Fd log(::open(options.log.c_str(), how, 0644));
  if (!log.valid()) return base::system_error("open", options.log, errno);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return base::system_error("fork", options.program, errno);
  if (pid == 0) become_worker(options.program.c_str(), theirs.get(), log.get(), parent);
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
  const std::string ended = end(code == ErrorCode::kIncomplete);
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
  end(true);
}

std::string WorkerProcess::end(bool gone) {
  if (!alive()) return "is gone";
  channel_.close();
  // A worker that closed its socket is on its way out: its own end tells more than our signal would. One that hangs
  // there gets the signal all the same.
  int status = 0;
  if (gone) wait_a_little(pid_);
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
