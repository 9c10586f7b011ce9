// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <type_traits>

// A process of its own for what is measured, so that its peak of memory and its time are its own.
namespace bench {

/// Runs `work` in a child, whose answer is its exit status. What it throws is printed, and is false.
template <typename Work>
bool in_child(Work&& work) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    bool done = false;
    try {
      done = work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    std::fflush(nullptr);
    ::_exit(done ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// What `work` returns in a child; nothing where the child failed.
template <typename Work>
auto told_by_child(Work&& work) {
  using Answer = std::invoke_result_t<Work>;
  static_assert(std::is_trivially_copyable_v<Answer>);
  constexpr auto kSize = static_cast<ssize_t>(sizeof(Answer));
  int ends[2];
  if (::pipe(ends) != 0) return std::optional<Answer>();
  const bool done = in_child([&] {
    const Answer found = work();
    return ::write(ends[1], &found, sizeof found) == kSize;
  });
  Answer answer;
  const bool told = done && ::read(ends[0], &answer, sizeof answer) == kSize;
  ::close(ends[0]);
  ::close(ends[1]);
  return told ? std::optional<Answer>(answer) : std::nullopt;
}

/// CPU time of this process so far, whatever else runs on the machine.
inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// A line of /proc/self/status in MiB: "VmHWM" is the peak of this process, "VmRSS" what it has now.
inline double status_mib(const std::string& line_name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(line_name + ":", 0) == 0) return std::stod(line.substr(line_name.size() + 1)) / 1024;
  return 0;
}

}  // namespace bench
