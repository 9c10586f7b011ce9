// SPDX-License-Identifier: MIT
#pragma once

#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace rangefinder::testing {

/// A line of /proc/self/status, "VmHWM:", in bytes; 0 where the system does not say.
inline std::int64_t status_bytes(const std::string& wanted) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.compare(0, wanted.size(), wanted) == 0) return std::stoll(line.substr(wanted.size())) * 1024;
  return 0;
}

struct ChildRun {
  int code = -1;                  ///< what the function returned; -1: a signal ended it
  std::int64_t growth_bytes = 0;  ///< of resident memory, at its peak
};

/// Runs `work` in a child.
template <typename Work>
ChildRun run_in_child(Work work) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::int64_t before = status_bytes("VmRSS:");
    const int code = work();
    const std::int64_t growth = status_bytes("VmHWM:") - before;
    const bool told = ::write(ends[1], &growth, sizeof growth) == static_cast<ssize_t>(sizeof growth);
    ::_exit(told ? code : 255);
  }
  ::close(ends[1]);
  ChildRun run;
  const bool told = ::read(ends[0], &run.growth_bytes, sizeof run.growth_bytes) == sizeof run.growth_bytes;
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (told && WIFEXITED(status)) run.code = WEXITSTATUS(status);
  return run;
}

}  // namespace rangefinder::testing
