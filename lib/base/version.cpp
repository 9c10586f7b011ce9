// SPDX-License-Identifier: MIT
#include <rangefinder/version.hpp>

namespace rangefinder {

const char* version() noexcept { return RANGEFINDER_VERSION; }

}  // namespace rangefinder
