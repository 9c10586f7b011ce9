// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/nsight/name_groups.hpp"
#include "analysis/spread.hpp"
#include "base/intervals.hpp"

#include <rangefinder/timeline.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rangefinder::analysis::nsight {

/// Whether it is one to Nsight, which does not tell operators from what the program's author wrote: both are NVTX.
bool is_nvtx(const Timeline& timeline, RangeIndex range) noexcept;

/// The number that Nsight calls RangeId: the row of the NVTX event; position from 1 for other inputs.
std::int64_t range_id(const Timeline& timeline, RangeIndex range) noexcept;

/// What Nsight calls PID and TID; not known for a thread that the input does not name.
struct ThreadNumbers {
  bool known = false;
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  friend auto operator<=>(const ThreadNumbers&, const ThreadNumbers&) = default;
};
ThreadNumbers numbers_of(const Timeline& timeline, ThreadIndex thread) noexcept;

enum class RangeChoice : std::uint8_t {
  kAll,      ///< every range that the program's author wrote
  kPushPop,  ///< of those, the ones pushed and popped on one thread
  kStartEnd,
  kLaunching,  ///< those that can own device work: on a known thread, ended where they began
};

/// Those ranges, ordered by begin, then longest first, then by id: parents before children.
std::vector<RangeIndex> choose_ranges(const Timeline& timeline, RangeChoice choice);

/// Rows of the input that belong to one thread, by thread; within one in the order given.
struct RowsByThread {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> offset;  ///< thread t has rows [offset[t], offset[t + 1])

  std::span<const std::uint32_t> of(ThreadIndex thread) const noexcept {
    return std::span(rows).subspan(offset[thread], offset[thread + 1] - offset[thread]);
  }
};

/// Positions of `items` by the thread that `thread_of` gives for each; kNone leaves one out.
RowsByThread group_by_thread(std::size_t threads, std::span<const ThreadIndex> thread_of_item);

base::Interval interval_of(const Timeline& timeline, RangeIndex range) noexcept;

/// Who is inside whom among some ranges, by time alone and per thread, as Nsight sees it: style and domain do not
/// matter. Two ranges with the same begin and end contain each other, so that neither has a level, nor has anything
/// inside them.
struct Nesting {
  std::vector<std::uint32_t> parent;  ///< position among the ranges, or kNone
  std::vector<std::uint32_t> level;   ///< from 0; kNone where the chain of parents has no end
  std::vector<std::uint32_t> children;
};

/// `ranges` in the order of choose_ranges.
Nesting nest(const Timeline& timeline, std::span<const RangeIndex> ranges);

/// Row of nvtx_pushpop_trace.
struct PushPopRow {
  RangeIndex range;
  std::uint32_t parent;  ///< position of the parent's row, or kNone
  std::uint32_t level;
  std::uint32_t children;
  std::int64_t child_ns;  ///< of the direct children
};
std::vector<PushPopRow> pushpop_trace(const Timeline& timeline);

/// What a window of a capture says of its rows.
struct RowsOfWindow {
  std::size_t own_calls;                                ///< the first of the table
  std::function<bool(RangeIndex)> ends_here;            ///< the range is over, and was not in an earlier window
  std::function<std::uint64_t(RangeIndex)> key_of;      ///< what names the range in all windows
  std::function<bool(std::uint64_t)> is_kept;           ///< by key: this window or a later one may have work of it
  std::function<bool(LaunchIndex)> has_brought_before;  ///< an earlier window had activities of the launch
  bool is_last;
};

/// Row of nvtx_sum and its relatives.
struct RangeSumRow {
  Label name;
  RangeStyle style;
  Spread duration;
};

/// Ranges by name, of a timeline or of the windows of a capture, which are one timeline whose rows change.
///
/// Memory: 12 bytes a range, of at most `most_kept`; beyond, medians are exact to `precision()`.
class RangeSums {
 public:
  RangeSums(const Timeline& timeline, RangeChoice choice, std::size_t most_kept = GroupedSamples::kAll)
      : timeline_(timeline), choice_(choice), durations_(most_kept) {}

  RangeSums(const RangeSums&) = delete;
  RangeSums& operator=(const RangeSums&) = delete;

  /// A range that is over, if it is one of those that are chosen.
  void add(RangeIndex range);
  /// Ordered by total, greatest first, then name and style.
  std::vector<RangeSumRow> rows() const;
  const Labels& labels() const noexcept { return labels_; }
  bool is_exact() const noexcept { return durations_.is_exact(); }
  std::string precision() const { return durations_.precision(); }
  std::uint64_t memory_bytes() const noexcept { return durations_.memory_bytes() + groups_.memory_bytes(); }

 private:
  const Timeline& timeline_;
  RangeChoice choice_;
  Labels labels_{timeline_};
  NameGroups groups_{labels_};
  GroupedSamples durations_;
};

}  // namespace rangefinder::analysis::nsight
