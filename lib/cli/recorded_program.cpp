// SPDX-License-Identifier: MIT
#include "cli/recorded_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

namespace rangefinder::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kHandedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> the_program{0};

void hand_on(int signal, siginfo_t* info, void*) {
  // What the terminal sends goes to the whole group, the program included.
  if (info != nullptr && info->si_code == SI_KERNEL) return;
  if (const pid_t pid = the_program.load(); pid > 0) ::kill(pid, signal);
}

/// From here to its end, signals that would end us are the program's. Ones that were ignored stay so.
class HandingOn {
 public:
  HandingOn() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : kHandedOn) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, &mask_);  // until there is somebody to hand them to
  }
  ~HandingOn() {
    for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
    the_program = 0;
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  HandingOn(const HandingOn&) = delete;
  HandingOn& operator=(const HandingOn&) = delete;

  const sigset_t& mask() const { return mask_; }
  void to(pid_t program) {
    the_program = program;
    struct sigaction action {};
    action.sa_sigaction = hand_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (const int signal : kHandedOn) {
      struct sigaction before {};
      if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
      if (::sigaction(signal, &action, nullptr) == 0) before_.emplace_back(signal, before);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_{};
  std::vector<std::pair<int, struct sigaction>> before_;
};

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

Result<pid_t> spawn(const ProgramToRecord& program, const sigset_t& mask) {
  std::vector<std::string> words = program.words;
  std::vector<std::string> environment = environment_of(program);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &mask);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, words.front().c_str(), nullptr, &attributes, pointers_to(words).data(),
                                   pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return Error(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, words.front() + ": " + std::strerror(error));
}

/// Whether the name can be one that the pattern was made into: placeholders stand for anything, and a process that
/// finds the name taken puts numbers before the ending.
bool fits(const std::string& name, std::string pattern) {
  std::string ending;
  if (pattern.ends_with(".rfcap")) {
    ending = ".rfcap";
    pattern.resize(pattern.size() - ending.size());
  }
  if (!name.ends_with(ending)) return false;
  const std::string stem = name.substr(0, name.size() - ending.size());
  // Greedy from the left, part by part between placeholders.
  std::size_t at = 0;
  bool anything = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%' && i + 1 < pattern.size() && std::strchr("phr", pattern[i + 1]) != nullptr) {
      anything = true;
      ++i;
      continue;
    }
    if (pattern[i] == '%' && i + 1 < pattern.size() && pattern[i + 1] == '%') ++i;
    if (anything) at = stem.find(pattern[i], at);
    if (at >= stem.size() || stem[at] != pattern[i]) return false;
    ++at;
    anything = false;
  }
  return anything || stem.find_first_not_of(".0123456789", at) == std::string::npos;
}

/// As the file system counts time, which may be behind the clock.
timespec file_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

std::vector<std::string> captures_since(const ProgramToRecord& program, const timespec& begin) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator entry(program.folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info {};
    const std::string path = entry->path().string();
    if (!fits(entry->path().filename().string(), program.name)) continue;
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const bool is_new = info.st_mtim.tv_sec != begin.tv_sec ? info.st_mtim.tv_sec > begin.tv_sec
                                                            : info.st_mtim.tv_nsec >= begin.tv_nsec;
    // A flight recorder that died has left nothing but its live file.
    const std::string live = path + ".live";
    if (is_new && info.st_size != 0) out.push_back(path);
    if (is_new && info.st_size == 0 && ::access(live.c_str(), F_OK) == 0) out.push_back(live);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// An earlier recording of that name makes room, and comes back where the program cannot be run.
class EarlierCapture {
 public:
  explicit EarlierCapture(const ProgramToRecord& program)
      : path_((fs::path(program.folder) / program.name).string()), aside_(path_ + ".earlier") {
    struct stat info {};
    const bool is_there = program.name.find('%') == std::string::npos && ::lstat(path_.c_str(), &info) == 0;
    moved_ = is_there && S_ISREG(info.st_mode) && ::rename(path_.c_str(), aside_.c_str()) == 0;
  }
  ~EarlierCapture() {
    if (moved_) ::rename(aside_.c_str(), path_.c_str());
  }
  EarlierCapture(const EarlierCapture&) = delete;
  EarlierCapture& operator=(const EarlierCapture&) = delete;

  void remove() {
    if (moved_) ::unlink(aside_.c_str());
    moved_ = false;
  }

 private:
  std::string path_, aside_;
  bool moved_;
};

}  // namespace

Result<Recorded> run_program(const ProgramToRecord& program) {
  const timespec begin = file_time();
  EarlierCapture earlier(program);
  Recorded recorded;
  {
    HandingOn signals;
    const Result<pid_t> pid = spawn(program, signals.mask());
    if (!pid) return pid.error();
    signals.to(*pid);
    earlier.remove();
    while (::waitpid(*pid, &recorded.wait_status, 0) < 0 && errno == EINTR) {
    }
  }
  recorded.captures = captures_since(program, begin);
  return recorded;
}

int end_as(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return WEXITSTATUS(wait_status);
  const int signal = WTERMSIG(wait_status);
  const rlimit no_core{0, 0};  // the program has left its own
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::fflush(nullptr);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  return 128 + signal;
}

}  // namespace rangefinder::cli
