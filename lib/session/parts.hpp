// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_core.hpp"

namespace rangefinder::session {

inline constexpr char kNoCupti[] =
    "built without CUPTI: configure with RANGEFINDER_CUPTI=ON and the CUDA toolkit's headers";

inline constexpr char kReleased[] = "released to another profiler; device activity is missing since then";

/// The sources that the options ask for and this build has.
Parts make_parts(const SessionOptions& options);

/// Gives the process's place in CUPTI to another profiler.
Status release_device(std::chrono::steady_clock::time_point deadline) noexcept;

}  // namespace rangefinder::session
