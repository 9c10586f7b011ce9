// SPDX-License-Identifier: MIT
#include "analysis/pass_split.hpp"

#include "projection/figures.hpp"

#include <algorithm>
#include <numeric>

namespace rangefinder::analysis {
namespace {

template <typename Use>
void for_each_passed(const Timeline& timeline, const Projection& projection, Use use) {
  if (projection.pass.empty()) return;
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row = 0; row < activities.size(); ++row) {
    const std::uint32_t launch = projection.place_of(timeline, row);
    if (launch >= projection.pass.size()) continue;
    const std::int64_t length = projection::Interval(activities.begin_ns[row], activities.end_ns[row]).length();
    use(row, static_cast<std::size_t>(projection.pass[launch]), length);
  }
}

/// Adds what each range has to the range around it, innermost first.
template <typename Value, typename Add>
void add_to_parents(const Projection& projection, std::vector<Value>& values, Add add) {
  std::vector<RangeIndex> inner_first(values.size());
  std::iota(inner_first.begin(), inner_first.end(), RangeIndex{0});
  std::stable_sort(inner_first.begin(), inner_first.end(),
                   [&](RangeIndex a, RangeIndex b) { return projection.depth[a] > projection.depth[b]; });
  for (const RangeIndex range : inner_first) {
    const RangeIndex parent = projection.parent[range];
    if (parent != kNone) add(values[parent], values[range]);
  }
}

}  // namespace

std::vector<std::int64_t> estimated_times_of_ranges(const Timeline& timeline, const Projection& projection) {
  const ActivityTable& activities = timeline.activities;
  if (activities.estimated.empty()) return {};
  std::vector<std::int64_t> times(timeline.ranges.size(), 0);
  for (ActivityIndex row = 0; row < activities.size(); ++row) {
    if (!activities.is_estimated(row) || projection.owner[row] >= times.size()) continue;
    std::int64_t& total = times[projection.owner[row]];
    total = projection::plus(total, projection::Interval(activities.begin_ns[row], activities.end_ns[row]).length());
  }
  add_to_parents(projection, times,
                 [](std::int64_t& parent, std::int64_t inner) { parent = projection::plus(parent, inner); });
  return times;
}

std::vector<std::int64_t> conditional_ops_of_ranges(const Timeline& timeline, const Projection& projection) {
  if (timeline.conditional_graphs.empty()) return {};
  std::vector<std::int64_t> counts(timeline.ranges.size(), 0);
  for (ActivityIndex row = 0; row < timeline.activities.size(); ++row)
    if (timeline.is_lower_bound(row) && projection.owner[row] < counts.size()) ++counts[projection.owner[row]];
  add_to_parents(projection, counts, [](std::int64_t& parent, std::int64_t inner) { parent += inner; });
  return counts;
}

std::vector<PassTimes> pass_times_of_ranges(const Timeline& timeline, const Projection& projection) {
  if (projection.pass.empty()) return {};
  const std::size_t count = timeline.ranges.size();
  std::vector<PassTimes> times(count, PassTimes{});
  for_each_passed(timeline, projection, [&](ActivityIndex row, std::size_t pass, std::int64_t length) {
    if (projection.owner[row] >= count) return;
    std::int64_t& total = times[projection.owner[row]][pass];
    total = projection::plus(total, length);
  });
  add_to_parents(projection, times, [](PassTimes& parent, const PassTimes& inner) {
    for (std::size_t pass = 0; pass < kPasses; ++pass) parent[pass] = projection::plus(parent[pass], inner[pass]);
  });
  return times;
}

StreamPassTimes pass_times_of_streams(const Timeline& timeline, const Projection& projection) {
  StreamPassTimes times;
  if (projection.pass.empty()) return times;
  times.exclusive.resize(projection.exclusive_streams.size());
  times.inclusive.resize(projection.inclusive_streams.size());
  const auto add = [](std::vector<PassTimes>& to, const std::vector<StreamFigures>& rows,
                      const std::vector<std::uint32_t>& offset, RangeIndex range, StreamIndex stream, std::size_t pass,
                      std::int64_t length) {
    const auto end = rows.begin() + offset[range + 1];
    const auto row =
        std::lower_bound(rows.begin() + offset[range], end, stream,
                         [](const StreamFigures& figures, StreamIndex wanted) { return figures.stream < wanted; });
    if (row == end || row->stream != stream) return;  // left out: see omitted_stream_rows
    std::int64_t& total = to[static_cast<std::size_t>(row - rows.begin())][pass];
    total = projection::plus(total, length);
  };
  for_each_passed(timeline, projection, [&](ActivityIndex row, std::size_t pass, std::int64_t length) {
    const std::uint32_t owner = projection.owner[row];
    if (owner >= timeline.ranges.size()) return;
    const StreamIndex stream = timeline.activities.stream[row];
    add(times.exclusive, projection.exclusive_streams, projection.exclusive_offset, owner, stream, pass, length);
    for (RangeIndex range = owner; range != kNone; range = projection.parent[range])
      add(times.inclusive, projection.inclusive_streams, projection.inclusive_offset, range, stream, pass, length);
  });
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
