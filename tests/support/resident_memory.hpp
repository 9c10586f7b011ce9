// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace rangefinder::testing {

/// Whether resident memory says anything here: sanitizers keep what was freed.
constexpr bool resident_memory_counts() {
#if defined(RANGEFINDER_ADDRESS_SANITIZER) || defined(RANGEFINDER_THREAD_SANITIZER)
  return false;
#else
  return true;
#endif
}

/// Resident memory, pages of mapped files included. 0 where the system does not say.
inline std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t size = 0;
  std::int64_t resident = 0;
  return statm >> size >> resident ? resident * static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace rangefinder::testing
