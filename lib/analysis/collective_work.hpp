// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// When a process worked on its part of a collective: on the device; without one, as its library told; else the call.
struct CollectiveWork {
  std::int64_t begin_ns = kNoTime;
  std::int64_t end_ns = kNoTime;  ///< kNoTime: not known, or it was not done
  StreamIndex stream = kNone;     ///< on which its first kernel ran; kNone: there is no kernel
  std::uint64_t kernels = 0;
  std::int64_t kernel_sum_ns = 0;
};

/// By row of Timeline::collectives. O(activities + collectives).
std::vector<CollectiveWork> collective_works(const Timeline& timeline);

/// Elements of a rank as NCCL's tests count them, in a group of that many ranks; -1: not known.
std::int64_t counted_elements(const CollectiveTable& table, CollectiveIndex row, std::int64_t ranks) noexcept;
/// The same in bytes; nothing where the number of elements or their type is not known.
std::optional<std::uint64_t> counted_bytes(const Timeline& timeline, CollectiveIndex row, std::int64_t ranks) noexcept;

}  // namespace rangefinder::analysis
