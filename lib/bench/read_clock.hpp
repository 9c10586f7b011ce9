// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>

namespace rangefinder::bench {

/// Nanoseconds of one of the system's clocks; -1 where it is gone, as that of a thread that has ended.
inline std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  if (::clock_gettime(clock, &now) != 0) return -1;
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace rangefinder::bench
