// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rangefinder::testing {

/// What processes that start sessions at the same moment share.
struct Starts {
  std::uint32_t processes;
  std::atomic<std::uint32_t> arrived;  // at the beginning of a round, in all rounds together
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace rangefinder::testing
