// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "analysis/payloads.hpp"
#include "projection/range_instances.hpp"
#include "projection/window_rows.hpp"
#include "report/columns.hpp"
#include "report/projected_timeline.hpp"
#include "report/range_report.hpp"
#include "report/table.hpp"
#include "report/table_order.hpp"
#include "report/view.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

// `ranges --instances`: one row a range.
namespace rangefinder::report {

/// Places of rows, unless others are asked for: outer ranges before those inside them.
struct InstancePlace {
  std::int64_t begin_ns = 0;
  std::uint32_t depth = 0;
  ThreadIndex thread{0};
  std::int64_t id = 0;
  friend auto operator<=>(const InstancePlace&, const InstancePlace&) = default;
};

struct RangeInstance {
  InstancePlace place;
  std::int64_t parent_id = 0;  ///< of the range around it; 0: none
  std::optional<std::int64_t> host_ns;
  std::int64_t source_row = -1;
  DeviceFigures all;
  std::int64_t self_ns = 0;
  std::int64_t conditional_ops = 0;
  std::int64_t estimated_ns = 0;
  analysis::PassTimes pass_ns{};
  std::string payload;
  Paths::Node path = Paths::kNothing;
  bool is_before_recording = false;

  /// It was over before the recording, and owns nothing of it.
  bool is_silent() const noexcept { return is_before_recording && all.gpu_ops == 0; }
};

/// Of a loaded timeline. Null: no condition.
Table table_of_instances(const ProjectedTimeline& projected, const analysis::RecordingFacts& facts,
                         const analysis::PayloadCondition* condition);

/// The first rows of the table, by the filter and the order of the options, of a capture that is read window by window.
/// Memory: of a few times as many rows as the limit, of the ranges of a window, and of those that later windows may
/// have work of.
class TopInstances {
 public:
  /// The timeline of the windows, which outlives it.
  TopInstances(const Timeline& timeline, const ViewOptions& options);

  using Keeps = std::function<bool(std::uint64_t)>;
  /// `added`: as RangeInstances gives it, empty where the window has no activities. `keeps(key)`: this window or a
  /// later one has the range.
  Status add(const projection::WindowRows& window, std::span<const projection::RangeInstances::Added> added,
             const Keeps& keeps);
  /// Once, behind the last window.
  Result<Table> table(const RangeReport& report);
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct Known {
    RangeInstance row;
    StringId name = StringId::kEmpty;
    bool is_named = false;  // a window has had its row
    bool takes_part = false;
  };
  struct Part {
    StringId name;
    std::int64_t parent_id;
  };

  void settle(const Keeps& keeps);
  void take(const projection::WindowRows& window, std::span<const projection::RangeInstances::Added> added);
  Known* find(std::uint64_t key);
  static void add_work(RangeInstance& row, const Projection& projection, RangeIndex range,
                       std::span<const projection::RangeInstances::Added> added);
  void offer(Known& known);
  bool is_behind_all(const RangeInstance& row);
  void note_path(std::int64_t id);
  Table table_of_rows(const ColumnsOf<RangeInstance>& columns);
  Status prune();

  const Timeline& timeline_;
  ViewOptions options_;               // without columns
  ColumnsOf<RangeInstance> columns_;  // all that there can be
  std::size_t id_column_;
  Table no_rows_;
  std::optional<SortBy> sort_;  // by a column of numbers

  std::uint64_t first_recent_ = 1;
  std::vector<Known> recent_;                      // ranges that began in the last window, by key from the first one
  std::unordered_map<std::uint64_t, Known> kept_;  // earlier ones, by key
  std::vector<RangeInstance> rows_;                // of which some will be shown
  std::unordered_map<std::int64_t, Part> parts_;   // of their paths, by id
  // Once as many rows as are wanted are there: the last of them, and its cell in the column that orders.
  std::optional<InstancePlace> last_place_;
  std::int64_t last_cell_ = 0;
  std::size_t all_rows_ = 0;
  std::size_t filtered_rows_ = 0;
};

}  // namespace rangefinder::report
