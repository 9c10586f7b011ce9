// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/ranges.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
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
  std::uint32_t around = kNone;  ///< the same, of rows without a level too
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

/// Ranges by name with the spans of their device work, of a timeline or of the windows of a capture that hold the calls
/// of their launches.
///
/// Memory: 12 bytes a range with work, of at most `most_kept`, beyond which medians are exact to `precision()`; and
/// those ranges that later windows may have work of.
class ProjectionSums {
 public:
  explicit ProjectionSums(const Timeline& timeline, std::size_t most_kept = GroupedSamples::kAll)
      : timeline_(timeline), projected_(most_kept) {}
  ProjectionSums(const ProjectionSums&) = delete;
  ProjectionSums& operator=(const ProjectionSums&) = delete;

  /// All that the timeline holds.
  void add_whole();
  /// The rows of a window, which are those that the timeline holds now.
  void add(const RowsOfWindow& window);
  /// Ordered by total projected time, greatest first, then name and style.
  std::vector<ProjectedSumRow> rows() const;
  const Labels& labels() const noexcept { return labels_; }
  bool is_exact() const noexcept { return projected_.is_exact(); }
  std::string precision() const { return projected_.precision(); }
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct Instance {
    std::uint32_t group;
    std::uint32_t level;  // kNone: none
    std::uint32_t children;
    std::uint64_t launches;
    std::int64_t first_ns, last_ns;
    std::int64_t range_ns;
  };
  Instance instance_of(const ProjectedRow& row);
  void take(const Instance& instance);
  void merge(const RowsOfWindow& window);

  const Timeline& timeline_;
  Labels labels_{timeline_};
  NameGroups groups_{labels_};
  std::vector<ProjectedSumRow> sums_;  // of groups, without names and what is projected
  GroupedSamples projected_;
  std::unordered_map<std::uint64_t, Instance> instances_;  // by key
};

}  // namespace rangefinder::analysis::nsight
