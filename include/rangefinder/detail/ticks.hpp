// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#include <ctime>
#endif

namespace rangefinder::detail {

/// Reads the cheapest clock of the machine: the TSC on x86-64, the virtual counter on AArch64, CLOCK_MONOTONIC
/// elsewhere. What a tick is worth, and whether this clock may be used at all, lib/clock finds out.
inline std::uint64_t read_ticks() noexcept {
#if defined(__x86_64__)
  // Unordered on purpose: rdtscp or a fence costs as much again, and ranges are longer than the reordering window.
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

}  // namespace rangefinder::detail
