// SPDX-License-Identifier: MIT
#include "analysis/pass_split.hpp"

#include "analysis/range_forest.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::analysis {
namespace {

template <typename Use>
void for_each_passed(const Timeline& timeline, const Projection& projection, Use use) {
  if (projection.pass.empty()) return;
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const LaunchIndex launch = projection.place_of(timeline, row);
    if (launch >= projection.pass.size()) continue;
    const std::int64_t length = projection::Interval(activities.begin_ns[row], activities.end_ns[row]).length();
    use(row, static_cast<std::size_t>(projection.pass[launch]), length);
  }
}

void add(PassTimes& to, const PassTimes& more) noexcept {
  for (std::size_t pass = 0; pass < kPasses; ++pass) to[pass] = projection::plus(to[pass], more[pass]);
}

/// Adds what each range has on a stream to the same of the range around it. `times` is parallel to inclusive_streams.
void add_to_outer_streams(const Projection& projection, std::vector<PassTimes>& times) {
  const std::vector<StreamFigures>& rows = projection.inclusive_streams;
  const std::vector<std::uint32_t>& offset = projection.inclusive_offset;
  const RangeForest forest(projection);
  for (auto range = forest.order().rbegin(); range != forest.order().rend(); ++range) {
    const RangeIndex parent = projection.parent[*range];
    if (parent == kNone) continue;
    std::uint32_t outer = offset[parent];
    for (std::uint32_t row = offset[*range]; row < offset[*range + 1]; ++row) {  // both in order of stream
      while (outer < offset[parent + 1] && rows[outer].stream < rows[row].stream) ++outer;
      if (outer == offset[parent + 1]) break;  // left out: see omitted_stream_rows
      if (rows[outer].stream == rows[row].stream) add(times[outer], times[row]);
    }
  }
}

}  // namespace

std::vector<std::int64_t> estimated_times_of_ranges(const Timeline& timeline, const Projection& projection) {
  const ActivityTable& activities = timeline.activities;
  if (activities.estimated.empty()) return {};
  std::vector<std::int64_t> times(timeline.ranges.size(), 0);
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (!activities.estimated[row] || projection.owner[row] >= times.size()) continue;
    std::int64_t& total = times[projection.owner[row]];
    total = projection::plus(total, projection::Interval(activities.begin_ns[row], activities.end_ns[row]).length());
  }
  RangeForest(projection).add_to_parents(times, [](std::int64_t& parent, std::int64_t inner) {
    parent = projection::plus(parent, inner);
  });
  return times;
}

std::vector<std::int64_t> conditional_ops_of_ranges(const Timeline& timeline, const Projection& projection) {
  if (timeline.conditional_graphs.empty()) return {};
  std::vector<std::int64_t> counts(timeline.ranges.size(), 0);
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
    if (timeline.is_lower_bound(row) && projection.owner[row] < counts.size()) ++counts[projection.owner[row]];
  RangeForest(projection).add_to_parents(counts, [](std::int64_t& parent, std::int64_t inner) { parent += inner; });
  return counts;
}

PassTimes& RangePassTimes::at(RangeIndex range) {
  std::uint32_t& place = place_[range];
  if (place == 0) {
    rows_.emplace_back();
    place = static_cast<std::uint32_t>(rows_.size());
  }
  return rows_[place - 1];
}

RangePassTimes pass_times_of_ranges(const Timeline& timeline, const Projection& projection) {
  RangePassTimes times;
  if (projection.pass.empty()) return times;
  const std::size_t count = timeline.ranges.size();
  times.place_.resize(count);
  for_each_passed(timeline, projection, [&](ActivityIndex row, std::size_t pass, std::int64_t length) {
    if (projection.owner[row] >= count) return;
    std::int64_t& total = times.at(RangeIndex(projection.owner[row]))[pass];
    total = projection::plus(total, length);
  });
  const RangeForest forest(projection);
  for (auto range = forest.order().rbegin(); range != forest.order().rend(); ++range) {
    const RangeIndex parent = projection.parent[*range];
    if (parent == kNone || times.place_[*range] == 0) continue;
    const PassTimes inner = times[*range];
    add(times.at(parent), inner);
  }
  return times;
}

StreamPassTimes pass_times_of_streams(const Timeline& timeline, const Projection& projection) {
  StreamPassTimes times;
  if (projection.pass.empty()) return times;
  times.exclusive.resize(projection.exclusive_streams.size());
  times.inclusive.resize(projection.inclusive_streams.size());
  const auto add_row = [](std::vector<PassTimes>& to, const std::vector<StreamFigures>& rows,
                          const std::vector<std::uint32_t>& offset, RangeIndex range, StreamIndex stream,
                          std::size_t pass, std::int64_t length) {
    const auto end = rows.begin() + offset[range + 1];
    const auto row =
        std::lower_bound(rows.begin() + offset[range], end, stream,
                         [](const StreamFigures& figures, StreamIndex wanted) { return figures.stream < wanted; });
    if (row == end || row->stream != stream) return;  // left out: see omitted_stream_rows
    std::int64_t& total = to[static_cast<std::size_t>(row - rows.begin())][pass];
    total = projection::plus(total, length);
  };
  for_each_passed(timeline, projection, [&](ActivityIndex row, std::size_t pass, std::int64_t length) {
    const RangeIndex owner(projection.owner[row]);
    if (owner >= timeline.ranges.size()) return;
    const StreamIndex stream = timeline.activities.stream[row];
    add_row(times.exclusive, projection.exclusive_streams, projection.exclusive_offset, owner, stream, pass, length);
    add_row(times.inclusive, projection.inclusive_streams, projection.inclusive_offset, owner, stream, pass, length);
  });
  add_to_outer_streams(projection, times.inclusive);
  return times;
}

PassTimes pass_times_of_all(const Timeline& timeline, const Projection& projection) {
  PassTimes times{};
  for_each_passed(timeline, projection, [&](ActivityIndex, std::size_t pass, std::int64_t length) {
    times[pass] = projection::plus(times[pass], length);
  });
  return times;
}

}  // namespace rangefinder::analysis
