// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_core.hpp"

namespace rangefinder::session {

inline constexpr char kNoCupti[] =
    "built without CUPTI: configure with RANGEFINDER_CUPTI=ON and the CUDA toolkit's headers";

/// The sources that the options ask for and this build has.
Parts make_parts(const SessionOptions& options);

}  // namespace rangefinder::session
