// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace rangefinder::injection {

/// Starts the session of this process, the first time that it is called there; later calls do nothing. False in a
/// setuid program, which is left alone.
bool start() noexcept;

/// This process was forked by one that is recorded, and has no session of its own yet.
extern std::atomic<bool> is_new_child;
/// Before whatever may be recorded: a child of fork that marks nothing leaves no capture.
inline void start_in_child() noexcept {
  if (__builtin_expect(static_cast<long>(is_new_child.load(std::memory_order_relaxed)), 0) != 0) start();
}

/// The recording looks for CUPTI again.
void look_for_cuda() noexcept;

/// The recording's step ends, and the next begins.
void end_step() noexcept;

}  // namespace rangefinder::injection
