// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_core.hpp"

namespace rangefinder::session {

inline constexpr char kNoCupti[] =
    "built without CUPTI: configure with RANGEFINDER_CUPTI=ON and the CUDA toolkit's headers";

inline constexpr char kReleasedState[] =
    "host_only: released to another profiler; device activity is missing since then";
inline constexpr const char* kReleased = kReleasedState + sizeof "host_only: " - 1;

/// The sources that the options ask for and this build has.
Dependencies make_dependencies(const SessionOptions& options);

/// Takes the CUPTI subscription for recordings with such options.
DeviceState prepare_device(const SessionOptions& options);

/// Releases the CUPTI subscription for another profiler.
Status release_device(std::chrono::steady_clock::time_point deadline) noexcept;

}  // namespace rangefinder::session
