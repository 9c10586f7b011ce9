// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>

#include <cstdint>

// Ranges of code that leaves its thread and comes back: coroutines, fibers. For the C interface.
namespace rangefinder::detail {

struct SuspendedRange {
  OpenRange open;                 ///< as it was; token 0: nothing to resume
  std::uint64_t since_ticks = 0;  ///< when it was suspended; 0: that was not recorded
};

/// Closes the calling thread's innermost range until it is resumed. Nothing launched meanwhile belongs to it.
SuspendedRange suspend_range(const OpenRange& open) noexcept;
/// Opens it again, innermost. Not in another recording than the one that it was opened in.
OpenRange resume_range(const SuspendedRange& range) noexcept;

}  // namespace rangefinder::detail
