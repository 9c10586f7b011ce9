// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/ranges.hpp"

#include <cstdint>
#include <vector>

// Nsight's projection of ranges onto devices. It differs from ours (projection.hpp) on purpose, so that the two tools'
// tables can be compared: the whole launching call must lie inside the range, a launch counts once whatever it started,
// and the projected duration is a span. docs/reference/nsight-views.md has the definitions.
namespace rangefinder::analysis::nsight {

/// What each launch of the timeline started, and its call's interval.
struct LaunchWork {
  std::vector<std::int64_t> first_ns;
  std::vector<std::int64_t> last_ns;
  std::vector<std::uint32_t> operations;  ///< 0: nothing that is known
};
LaunchWork launch_work(const Timeline& timeline);

/// The API call's interval; the launch's time alone where no call was recorded.
base::Interval cause_of(const Timeline& timeline, LaunchIndex launch) noexcept;

/// Row of nvtx_gpu_proj_trace.
struct ProjectedRow {
  RangeIndex range = kNone;  ///< kNone: the row of all work outside ranges
  ThreadIndex thread{0};
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t launches = 0;
  std::uint32_t parent = kNone;  ///< position of the parent's row
  std::uint32_t level = kNone;   ///< kNone: none, see Nesting
  std::uint32_t children = 0;    ///< those with a row
};
/// In the order of the report: the work outside ranges, then by begin of the range, longest first, id.
std::vector<ProjectedRow> gpu_projection(const Timeline& timeline);

/// Row of nvtx_gpu_proj_sum.
struct ProjectedSumRow {
  Label name = 0;
  RangeStyle style = RangeStyle::kScoped;
  Spread projected;
  Sum range;
  Sum launches;
  Sum level;  ///< count 0 where no instance has one
  Sum children;
};
/// Ordered by total projected time, greatest first, then name and style.
std::vector<ProjectedSumRow> gpu_projection_sum(const Timeline& timeline, Labels& labels);

}  // namespace rangefinder::analysis::nsight
