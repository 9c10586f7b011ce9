// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <cstdint>

namespace rangefinder::session {

/// What a signal is watched for; each takes one.
enum class SignalUse : std::uint8_t { kDump, kRecord };

/// Counts deliveries of a signal, and passes it on to the handler that was there before. 0 gives the signal back to
/// that handler; where there was none, ours stays and does nothing. One caller at a time for each use.
void watch_signal(SignalUse use, int signal) noexcept;
/// Deliveries of a signal so far, while it was watched.
std::uint32_t signal_deliveries(int signal) noexcept;

/// For the handlers of a fork.
void lock_signals() noexcept;
void unlock_signals() noexcept;

}  // namespace rangefinder::session
