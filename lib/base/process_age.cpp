// SPDX-License-Identifier: MIT
#include "base/process_age.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

namespace rangefinder::base {

std::int64_t process_age_ns() {
  std::string line;
  std::getline(std::ifstream("/proc/self/stat"), line);
  // The name, in parentheses, may hold anything; the 20th field behind it is when it began, in ticks.
  unsigned long long began = 0;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos ||
      std::sscanf(line.c_str() + name_end + 1,
                  " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &began) != 1)
    return -1;
  timespec now{};
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (began == 0 || ticks <= 0 || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return -1;
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec -
         static_cast<std::int64_t>(began) * (1'000'000'000 / ticks);
}

}  // namespace rangefinder::base
