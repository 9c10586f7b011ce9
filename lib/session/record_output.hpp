// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rangefinder::session {

/// Under `rangefinder record` (RANGEFINDER_RECORD in the environment), the file for the next recording of this process,
/// made empty, so that no other process takes it: the name that was asked for, or where that is taken, with the
/// process's number, and then a number of its own, before the ending. Empty elsewhere, and where none can be made.
std::string claim_record_output();

}  // namespace rangefinder::session
