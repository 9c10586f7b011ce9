// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::timeline {

/// What NCCL's profiler plugin told outside all calls of c10d, by thread in order of time, and the row that it is in.
struct NcclCall {
  std::int64_t told_ns;
  CollectiveIndex row;
};
using NcclCalls = std::unordered_map<ThreadIndex, std::vector<NcclCall>>;

/// NCCL's plugin tells of what c10d calls, once more, later, and in other groups. Its rows become a part of c10d's, and
/// go: those inside a call of c10d, and those of calls that c10d had put off to the end of a group of NCCL's
/// (batch_isend_irecv). Rows are in order of time.
NcclCalls merge_nccl_calls(Timeline& timeline);

/// Leads kernels of NCCL that were launched outside all known calls to what the plugin told: NCCL launches first, then
/// tells, on the same thread. `is_collective(name)`: of NCCL.
class NcclLaunches {
 public:
  template <typename IsCollective>
  NcclLaunches(const Timeline& timeline, NcclCalls calls, IsCollective is_collective)
      : timeline_(timeline), calls_(std::move(calls)) {
    if (calls_.empty()) return;
    for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
      if (timeline.activities.kind[row] == ActivityKind::kKernel && is_collective(timeline.activities.name[row]))
        add(timeline.activities, row);
    sort();
  }

  /// Of the kernel, or of the launch that captured it; kNone if the plugin told nothing of it.
  CollectiveIndex call_of(ActivityIndex kernel) const;

 private:
  void add(const ActivityTable& activities, ActivityIndex kernel);
  void sort();

  const Timeline& timeline_;
  NcclCalls calls_;
  std::unordered_map<ThreadIndex, std::vector<std::int64_t>> launches_ns_;
};

}  // namespace rangefinder::timeline
