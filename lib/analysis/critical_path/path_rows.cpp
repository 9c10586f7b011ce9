// SPDX-License-Identifier: MIT
#include "analysis/critical_path/path_rows.hpp"

#include "projection/flat_map.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::analysis {
namespace {

std::uint32_t key_of(const Timeline& timeline, const CriticalSegment& segment, PathBy by) {
  if (by == PathBy::kReason) return static_cast<std::uint32_t>(segment.reason);
  const RangeIndex range = by == PathBy::kRange ? segment.range : segment.op;
  return static_cast<std::uint32_t>(range < timeline.ranges.size() ? timeline.ranges.name[range] : StringId::kEmpty);
}

std::int64_t length_with(const Timeline& timeline, const CriticalPathGraph& graph,
                         const std::vector<CriticalWindow>& windows, PathBy by, std::uint32_t key, double scale) {
  const std::vector<std::int64_t> times = graph.times(windows, [&](const CriticalSegment& segment) {
    return !segment.is_wait && key_of(timeline, segment, by) == key ? scale : 1.0;
  });
  std::int64_t sum = 0;
  for (const std::int64_t time : times) sum = detail::plus(sum, time);
  return sum;
}

}  // namespace

std::vector<PathRow> path_rows(const Timeline& timeline, const CriticalPathGraph& graph,
                               const std::vector<CriticalWindow>& windows, PathBy by, std::size_t what_ifs) {
  std::vector<std::pair<std::uint32_t, PathRow>> rows;  // with their keys
  projection::FlatMap row_of;
  for (const std::vector<CriticalSegment>& path : graph.paths(windows)) {
    for (const CriticalSegment& segment : path) {
      const std::uint32_t key = key_of(timeline, segment, by);
      const std::uint32_t at = row_of.find_or_set(key, static_cast<std::uint32_t>(rows.size()));
      if (at == rows.size()) {
        rows.emplace_back(key, PathRow{});
        if (by == PathBy::kReason)
          rows.back().second.reason = segment.reason;
        else
          rows.back().second.name = static_cast<StringId>(key);
      }
      rows[at].second.time_ns = detail::plus(rows[at].second.time_ns, segment.length_ns());
      ++rows[at].second.segments;
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.time_ns > b.second.time_ns; });
  std::vector<PathRow> out;
  for (auto& [key, row] : rows) {
    if (out.size() < what_ifs) {
      row.if_free_ns = length_with(timeline, graph, windows, by, key, 0);
      row.if_twice_as_fast_ns = length_with(timeline, graph, windows, by, key, 0.5);
    }
    out.push_back(row);
  }
  return out;
}

}  // namespace rangefinder::analysis
