// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// A call of CUDA's own that allocated or freed memory: a record of it or, where the input has none of any, a call of
/// such a name.
struct AllocationCall {
  std::uint32_t row = kNone;   ///< of CudaAllocationTable; kNone: known from the call alone, bytes and address are not
  CallIndex call = kNone;      ///< kNone: not in the data
  ThreadIndex thread = kNone;  ///< kNone: not known
  std::int64_t time_ns = 0;
  std::int64_t host_ns = 0;  ///< that the call took; 0 where it is not in the data
  bool freed = false;
  bool kept = false;  ///< allocated, and not freed before the recording ended
};

/// In order of time. O(n log n) in calls and rows.
std::vector<AllocationCall> allocation_calls(const Timeline& timeline);

}  // namespace rangefinder::analysis
