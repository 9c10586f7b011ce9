// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <chrono>

namespace rangefinder::testing {

/// A deadline that no machine needs.
inline std::chrono::steady_clock::time_point soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}
inline std::chrono::steady_clock::time_point already() {
  return std::chrono::steady_clock::now() - std::chrono::seconds(1);
}

/// Returns once `holds` does; false after a minute.
template <typename Condition>
bool eventually(Condition holds) {
  const auto latest = soon();
  while (!holds()) {
    if (std::chrono::steady_clock::now() > latest) return false;
    ::sched_yield();
  }
  return true;
}

}  // namespace rangefinder::testing
