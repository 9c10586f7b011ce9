// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <algorithm>

namespace rangefinder::base {

/// How many processors this process may use; at least one.
inline unsigned usable_processors() noexcept {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::max(1u, static_cast<unsigned>(CPU_COUNT(&allowed)));
}

}  // namespace rangefinder::base
