// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_spans.hpp"

#include "exporter/chrome/span_owners.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rangefinder::chrome {
namespace {

std::vector<ActivityIndex> in_order_of_streams(const ActivityTable& activities) {
  std::vector<ActivityIndex> order(activities.size());
  std::iota(order.begin(), order.end(), ActivityIndex{0});
  std::sort(order.begin(), order.end(), [&](ActivityIndex a, ActivityIndex b) {
    return std::tie(activities.stream[a], activities.begin_ns[a], a) <
           std::tie(activities.stream[b], activities.begin_ns[b], b);
  });
  return order;
}

SpanNesting::Key key_of(RangeIndex range) noexcept { return range == kNone ? 0 : SpanNesting::Key{range} + 1; }

/// Calls `visit(stream, row)` for each stream with work.
template <typename Visit>
void for_each_stream(const TimelineExport& shared, const SpanOwners& nesting, bool inclusive, Visit&& visit) {
  const ActivityTable& activities = shared.timeline.activities;
  const std::vector<ActivityIndex> order = in_order_of_streams(activities);
  const auto parent_of = [&](SpanNesting::Key key) {
    return inclusive ? key_of(nesting.parent(static_cast<RangeIndex>(key - 1))) : 0;
  };
  for (auto at = order.begin(); at != order.end();) {
    const StreamIndex stream = activities.stream[*at];
    SpanNesting row;
    for (; at != order.end() && activities.stream[*at] == stream; ++at) {
      const RangeIndex range = inclusive ? nesting.innermost(*at) : nesting.owner(*at);
      if (range != kNone) row.add(key_of(range), parent_of);
    }
    visit(stream, row);
  }
}

}  // namespace

TimelineSpans::TimelineSpans(const TimelineExport& shared) {
  const bool inclusive = shared.options.inclusive_ranges;
  figures_ = inclusive ? &shared.projection.inclusive_streams : &shared.projection.exclusive_streams;
  passes_ = inclusive ? &shared.passes.inclusive : &shared.passes.exclusive;
  if (!inclusive && !shared.options.exclusive_ranges) return;
  const SpanOwners nesting(shared.timeline, shared.projection, {shared.options.attribution, true, false});
  rows_.assign(figures_->size(), Row::kStream);
  std::vector<std::vector<std::uint32_t>> spans(shared.timeline.streams.size());
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    const RangeIndex range = figures(i).range;
    if (!nesting.nests(range))
      rows_[i] = Row::kStartEnd;
    else if (inclusive && nesting.depth(range) >= kMaxSpanDepth)
      rows_[i] = Row::kNone;
    else
      spans[figures(i).stream].push_back(i);
  }
  // As the export of captures decides it, to which windows of time come by.
  for_each_stream(shared, nesting, inclusive, [&](StreamIndex stream, SpanNesting& row) {
    for (const std::uint32_t i : spans[stream])
      if (!row.end(key_of(figures(i).range))) rows_[i] = Row::kBeside;
  });
}

}  // namespace rangefinder::chrome
