// SPDX-License-Identifier: MIT
#pragma once

#include "session/session_core.hpp"

namespace rangefinder::session {

/// The sources that the options ask for and this build has.
Parts make_parts(const SessionOptions& options);

}  // namespace rangefinder::session
