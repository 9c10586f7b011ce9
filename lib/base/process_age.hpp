// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rangefinder::base {

/// How long this process has run, in nanoseconds, to a tick of the kernel (10 ms); -1: not known. Reads /proc.
std::int64_t process_age_ns();

}  // namespace rangefinder::base
