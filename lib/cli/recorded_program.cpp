// SPDX-License-Identifier: MIT
#include "cli/recorded_program.hpp"

#include "base/file.hpp"
#include "base/file_mark.hpp"
#include "base/host_name.hpp"
#include "base/sparse.hpp"
#include "cli/handed_signals.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>

namespace rangefinder::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLive = ".live";

std::vector<std::string> environment_of(const ProgramToRecord& program) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : program.environment) variables[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// errno of what went wrong in the child comes through a pipe that the program does not inherit. Not posix_spawn: it
/// cannot leave a signal ignored, nor run a script that does not say by what.
Result<pid_t> spawn(const ProgramToRecord& program, const HandedSignals& signals) {
  std::vector<std::string> words = program.words;
  std::vector<std::string> variables = environment_of(program);
  const std::vector<char*> arguments = pointers_to(words);
  std::vector<char*> environment = pointers_to(variables);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::system_error("run", words.front(), errno);
  const pid_t command = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // SIGKILL cannot be handed on
    if (::getppid() != command) ::_exit(127);
    signals.restore();
    environ = environment.data();
    base::RecordId record = program.record;
    record.program = ::getpid();  // whatever it executes next
    ::setenv(base::kRecordIdVariable, base::text_of(record).c_str(), 1);
    ::execvp(arguments.front(), arguments.data());
    const int error = errno;
    (void)!::write(ends[1], &error, sizeof error);
    ::_exit(127);
  }
  int error = pid < 0 ? errno : 0;
  ::close(ends[1]);
  ssize_t size = 0;
  while (error == 0 && (size = ::read(ends[0], &error, sizeof error)) < 0 && errno == EINTR) {
  }
  ::close(ends[0]);
  if (error == 0) return pid;
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return Error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, words.front() + ": " + std::strerror(error));
}

/// A name as far as it is the same in all processes: up to the first placeholder for a process or a rank.
struct FixedPart {
  std::string text;
  bool is_all = true;
};

FixedPart fixed_part(const std::string& pattern) {
  FixedPart out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == 'p' || next == 'r') return out.is_all = false, out;
    if (next == '%' || next == 'h') ++i;
    out.text += next == 'h' ? base::host_name() : std::string(1, pattern[i]);
  }
  return out;
}

/// What names of captures begin with.
std::string beginning(const std::string& pattern) {
  std::string out = fixed_part(pattern).text;
  constexpr std::string_view ending = ".rfcap";  // numbers stand before it
  if (out.ends_with(ending)) out.resize(out.size() - ending.size());
  return out;
}

/// Plain files in the folder that this call of the command has made, in whatever process.
std::vector<std::string> files_of(const ProgramToRecord& program) {
  const std::string begin = beginning(program.name);
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(program.folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (!entry->path().filename().string().starts_with(begin)) continue;
    if (base::mark_of_file(path).record_id == program.record.id) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// A process that ends by _exit, as workers of Python's multiprocessing do, leaves a live file of full size, whatever
/// it recorded.
void give_back_disk_space(const ProgramToRecord& program) {
  for (const std::string& path : files_of(program)) {
    if (path.ends_with(kLive)) base::make_sparse(path);
  }
}

/// Of a flight recorder that died there is the live file, and of the capture the name alone.
std::vector<std::string> captures_of(const ProgramToRecord& program) {
  std::vector<std::string> out;
  for (const std::string& path : files_of(program)) {
    if (!path.ends_with(kLive)) {
      out.push_back(path);
      continue;
    }
    const std::string capture = path.substr(0, path.size() - kLive.size());
    std::error_code error;
    if (fs::file_size(capture, error) == 0 || error) out.push_back(error ? path : capture);
  }
  return out;
}

/// The only capture of a record gets the name that was asked for, whichever process wrote it. A capture that was not
/// ended stays beside its live file, and what another command wrote meanwhile under that name is left alone.
void name_only_capture(const ProgramToRecord& program, std::vector<std::string>& captures) {
  const std::optional<std::string> file = file_of(program);
  if (!file || captures.size() != 1 || captures.front() == *file || base::exists(captures.front() + kLive.data()))
    return;
  const base::Fd capture = base::open_to_lock(captures.front());
  if (!capture.valid() || !base::lock_file(capture)) return;  // still recorded
  const Status status = base::claim_name(captures.front(), *file, [&](const base::Fd& old) {
    const base::FileKind kind = base::mark_of_file(old).kind;
    if (kind != base::FileKind::kCapture && kind != base::FileKind::kEmpty) return base::Verdict::kForeign;
    return base::written_ns(old) <= program.record.began_ns ? base::Verdict::kReplace : base::Verdict::kTaken;
  });
  if (status.ok()) captures.front() = *file;
}

/// A number in the file may be one of another container: who has it mapped is the one.
bool has_mapped(const std::string& process, const std::string& path) {
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(path) && line.find(" rw-s ") != std::string::npos) return true;  // and not who reads it
  }
  return false;
}

/// To the processes that record now, wherever below the program they are.
void ask_for_dumps(const ProgramToRecord& program) {
  std::vector<std::string> live = files_of(program);
  std::erase_if(live, [](const std::string& path) { return !path.ends_with(kLive); });
  std::error_code error;
  for (std::string& path : live) path = fs::weakly_canonical(path, error).string();
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const int pid = std::atoi(entry->path().filename().c_str());
    const auto is_mapped = [&](const std::string& path) { return has_mapped(entry->path().string(), path); };
    if (pid > 0 && std::any_of(live.begin(), live.end(), is_mapped)) ::kill(pid, program.dump_signal);
  }
}

}  // namespace

Result<base::RecordId> new_record() {
  base::RecordId record;
  timespec now{};  // as the file system counts time, which may be behind the clock
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  record.began_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  while (record.id == 0) {
    if (::getrandom(&record.id, sizeof record.id, 0) != sizeof record.id)
      return base::system_error("getrandom", "", errno);
  }
  return record;
}

std::optional<std::string> file_of(const ProgramToRecord& program) {
  const FixedPart name = fixed_part(program.name);
  if (!name.is_all) return std::nullopt;
  return (fs::path(program.folder) / name.text).string();
}

Result<Recorded> run_program(const ProgramToRecord& program) {
  Recorded recorded;
  HandedSignals signals;
  const Result<pid_t> pid = spawn(program, signals);
  if (!pid) return pid.error();
  const auto dumps = [&](int signal) {
    const bool ours = signal == program.dump_signal;
    if (ours) ask_for_dumps(program);
    return ours;
  };
  recorded.pid = *pid;
  recorded.wait_status = signals.wait_for(*pid, dumps);
  if (recorded.wait_status == -1)
    return Error(ErrorCode::kInternal, program.words.front() + ": its exit status is unknown");
  give_back_disk_space(program);
  recorded.captures = captures_of(program);
  name_only_capture(program, recorded.captures);
  return recorded;
}

int end_as(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  const rlimit no_core{0, 0};  // the program has left its own
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::fflush(nullptr);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  return 128 + signal;
}

}  // namespace rangefinder::cli
