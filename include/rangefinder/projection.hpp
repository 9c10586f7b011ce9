// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/large_page_allocator.hpp>
#include <rangefinder/detail/wrapping.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder {

/// Which range owns an activity. docs/explanation/projection.md has the definitions and pictures.
enum class Attribution : std::uint8_t {
  kAuto,    ///< capture, then forward, else launch: what the data can answer
  kLaunch,  ///< the innermost range open on the launching thread when the launching call began
  /// Work of an autograd node: the innermost range open where the forward operator made that node. Ranges opened while
  /// the node runs own what is launched inside them. All other work as kLaunch.
  kForward,
  /// Work of a CUDA graph: the range that was open where its node was made, by capturing a stream or by hand, and not
  /// the range that replays it. Where no range was open, where the making is not in the data, and all other work: as
  /// kLaunch.
  kCapture,
};

/// What kind of work a launch was, seen from the forward pass.
enum class Pass : std::uint8_t {
  kForward,       ///< not by a node of autograd
  kBackward,      ///< by a node of autograd
  kRecompute,     ///< in a range opened while a node ran that made new nodes: a checkpoint's forward pass, done again
  kAccumulation,  ///< gradients added up: no forward operator made that node
  kUnmatched,     ///< by a node whose forward operator is not in the data
};
inline constexpr std::size_t kPasses = 5;

struct ProjectionOptions {
  Attribution attribution = Attribution::kAuto;
  /// Which kinds of range take part, by RangeKind; others neither own nor nest. Default: annotations.
  bool annotations = true;
  bool operators = false;
};

/// Device time of a set of activities.
struct DeviceFigures {
  std::uint64_t gpu_ops = 0;         ///< activities; every node of a graph launch counts
  std::int64_t gpu_sum_ns = 0;       ///< durations added up; overlap counts twice
  std::int64_t gpu_busy_ns = 0;      ///< union of the intervals per device, added over devices
  std::int64_t first_ns = 0;         ///< earliest begin; meaningless when gpu_ops is 0
  std::int64_t last_ns = 0;          ///< latest end
  std::uint64_t bytes = 0;           ///< moved by copies and memsets
  std::int64_t launch_delay_ns = 0;  ///< begin of the activity - begin of its launch, added up
  std::int64_t any_busy_ns = 0;      ///< union of the intervals over all devices together: time in which any was busy

  /// Files can claim any time: it wraps around.
  std::int64_t gpu_span_ns() const noexcept { return detail::minus(last_ns, first_ns); }
};

/// The same of one range on one stream.
struct StreamFigures {
  RangeIndex range;
  StreamIndex stream;
  std::uint64_t gpu_ops;
  std::int64_t gpu_sum_ns;
  std::int64_t gpu_busy_ns;
  std::int64_t first_ns;
  std::int64_t last_ns;
};

/// What an activity without an owning range is.
enum class Unowned : std::uint32_t {
  kOutside = 0xFFFFFFFDu,  ///< its launch is known and no range was open there
  kBefore = 0xFFFFFFFEu,   ///< launched before the recording, or before the window that it ran in
  kUnknown = 0xFFFFFFFFu,  ///< its launch is not in the data
};

/// All device time in four disjoint parts: owned + outside + before + unknown = total.
struct Account {
  struct Part {
    std::uint64_t gpu_ops = 0;
    std::int64_t gpu_sum_ns = 0;
  };
  Part total, owned, outside, before, unknown;
};

/// A row for each of Timeline::ranges; those without device work take little memory.
class RangeFigures {
 public:
  RangeFigures() = default;
  explicit RangeFigures(std::size_t ranges) : size_(ranges) {}

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  /// All zero where the range has no work.
  const DeviceFigures& operator[](RangeIndex range) const noexcept {
    static constexpr DeviceFigures kNoWork;
    const std::uint32_t place = range < place_.size() ? place_[range] : 0;
    return place == 0 ? kNoWork : row_of(blocks_, place - 1);
  }
  /// `range` is below size().
  void set(RangeIndex range, const DeviceFigures& figures) {
    if (place_.empty()) place_.resize(size_);
    std::uint32_t& place = place_[range];
    if (place != 0) {
      row_of(blocks_, place - 1) = figures;
    } else if (figures.gpu_ops != 0) {
      if (rows_ % (rows_ < kLargeRows ? kSmallRows : kLargeRows) == 0) add_block();
      blocks_.back().push_back(figures);
      place = ++rows_;
    }
  }

 private:
  // Blocks, because a vector that grows holds its rows twice for a while: the first of 256 KiB, then of 2 MiB, each of
  // which is a large page.
  static constexpr std::uint32_t kSmallRows = 4096;
  static constexpr std::uint32_t kSmallBlocks = 8;
  static constexpr std::uint32_t kLargeRows = kSmallBlocks * kSmallRows;
  template <typename Blocks>
  static auto row_of(Blocks& blocks, std::uint32_t index) noexcept -> decltype(blocks[0][0]) {
    return index < kLargeRows ? blocks[index / kSmallRows][index % kSmallRows]
                              : blocks[kSmallBlocks - 1 + index / kLargeRows][index % kLargeRows];
  }
  RANGEFINDER_EXPORT void add_block();
  std::size_t size_ = 0;
  std::uint32_t rows_ = 0;
  std::vector<std::uint32_t> place_;  // by range: its row, counted from 1. Empty while no range has one
  std::vector<std::vector<DeviceFigures, detail::LargePageAllocator<DeviceFigures>>> blocks_;
};

/// Device activity on ranges. Columns `exclusive` and `inclusive` are parallel to Timeline::ranges; rows of ranges that
/// do not take part are zero.
///
///   Projection projection = rangefinder::project(*timeline, {});
///   for (RangeIndex range{0}; range < timeline->ranges.size(); ++range)
///     use(projection.inclusive[range].gpu_busy_ns);
///
/// Units:   nanoseconds, bytes, counts.
/// Cost:    O(n log n) in ranges and activities; memory about 30 bytes a range, 130 more where it has device work, and
///          4 an activity.
struct Projection {
  RangeFigures exclusive;  ///< activities whose owner the range is
  RangeFigures inclusive;  ///< also those of the ranges inside it
  /// By range, then stream. A range's rows are [offset[r], offset[r + 1]).
  std::vector<StreamFigures> exclusive_streams;
  std::vector<std::uint32_t> exclusive_offset;
  std::vector<StreamFigures> inclusive_streams;
  std::vector<std::uint32_t> inclusive_offset;
  /// Per activity: the owning range, or a value of Unowned.
  std::vector<std::uint32_t> owner;
  /// Which attribution this is: what kAuto came to, and kLaunch where the data cannot answer the one asked for. kAuto
  /// that came to both kCapture and kForward says kForward, and `place` is not empty.
  Attribution attribution = Attribution::kLaunch;
  /// Per row of Timeline::launches with kForward; else empty.
  std::vector<Pass> pass;
  /// Per activity where graphs' work counts where its nodes were made: the row of Timeline::launches that decides. Else
  /// empty: ActivityTable::launch decides.
  std::vector<LaunchIndex> place;
  LaunchIndex place_of(const Timeline& timeline, ActivityIndex activity) const noexcept {
    return place.empty() ? timeline.activities.launch[activity] : place[activity];
  }
  /// Per range: the innermost range that encloses it on its thread and takes part, or kNone; nesting depth from 0.
  std::vector<RangeIndex> parent;
  std::vector<std::uint32_t> depth;
  Account account;
  /// Rows of a range and a stream that were left out, so that deep nesting over very many streams cannot make rows
  /// without end. 0 but for hostile inputs: there is room for 16 rows an activity and more.
  std::uint64_t omitted_stream_rows = 0;
};

RANGEFINDER_EXPORT Projection project(const Timeline& timeline, const ProjectionOptions& options);

/// Divides launches of CUDA graphs that were recorded as a whole (ActivityKind::kGraph), so that attribution `capture`
/// can give their time to the ranges that captured them: a part for each range and pass that has any, one after the
/// other, as long as its share in the last launch of that graph before that was recorded node by node, or else in the
/// first one after it. An estimate, which ActivityTable::estimated marks. A launch of a graph that is not known node by
/// node stays whole. Before `project` by the same options, which say where operations count; rows of activities move,
/// and with attributions that do not divide nothing is done. Returns how many launches were divided.
///
/// Cost:    a projection, and one row per part. Beyond some four million rows the smallest parts stay on the replay;
///          Timeline::notes then says so.
RANGEFINDER_EXPORT std::size_t split_graph_launches(Timeline& timeline, const ProjectionOptions& options = {});

}  // namespace rangefinder
