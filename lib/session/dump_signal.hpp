// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::session {

/// Counts deliveries of a signal, and passes it on to the handler that was there before. 0 gives the signal back to
/// that handler; where there was none, ours stays and does nothing.
void watch_dump_signal(int signal) noexcept;
/// Deliveries so far.
std::uint32_t dump_requests() noexcept;

}  // namespace rangefinder::session
