// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_spans.hpp"

#include "exporter/chrome/span_nesting.hpp"
#include "projection/range_order.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rangefinder::chrome {
namespace {

/// How ranges nest on their threads, as SpanNesting wants it: start/end ranges left out.
class Nesting {
 public:
  Nesting(const TimelineExport& shared, const ProjectionOptions& options)
      : timeline_(shared.timeline), projection_(shared.projection), order_(timeline_, options) {
    const std::size_t count = timeline_.ranges.size();
    parent_.assign(count, kNone);
    depth_.assign(count, 0);
    shown_.assign(count, kNone);
    for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread) {
      const auto scoped = order_.scoped(thread);
      projection::find_enclosers(order_, scoped, parent_, [](RangeIndex) { return true; });
      for (const RangeIndex range : scoped) {  // outer ones first
        const RangeIndex around = parent_[range];
        depth_[range] = around == kNone ? 0 : depth_[around] + 1;
        shown_[range] = depth_[range] < kMaxSpanDepth ? range : shown_[around];
      }
    }
  }

  bool nests(RangeIndex range) const noexcept { return order_.is_scoped(range); }
  std::uint32_t depth(RangeIndex range) const noexcept { return depth_[range]; }
  RangeIndex parent(RangeIndex range) const noexcept { return parent_[range]; }

  /// The owner where it nests, else none.
  RangeIndex owner(ActivityIndex activity) const {
    const RangeIndex owner(projection_.owner[activity]);
    return owner < parent_.size() && nests(owner) ? owner : kNone;
  }
  /// The innermost range in which it was launched, of those that are shown.
  RangeIndex innermost(ActivityIndex activity) const {
    const RangeIndex owner(projection_.owner[activity]);
    if (owner >= parent_.size()) return kNone;
    const RangeIndex range = nests(owner) ? owner : around(owner, activity);
    return range == kNone ? kNone : shown_[range];
  }

 private:
  /// The innermost range that nests, was open at the launch, and began before the start/end range that owns it.
  RangeIndex around(RangeIndex start_end, ActivityIndex activity) const {
    const LaunchIndex launch = projection_.place_of(timeline_, activity);
    if (launch == kNone) return kNone;
    const auto scoped = order_.scoped(timeline_.ranges.thread[start_end]);
    const auto after = std::upper_bound(scoped.begin(), scoped.end(), start_end,
                                        [&](RangeIndex a, RangeIndex b) { return order_.before(a, b); });
    RangeIndex range = after == scoped.begin() ? kNone : *(after - 1);
    while (range != kNone && !order_.contains(range, timeline_.launches.time_ns[launch])) range = parent_[range];
    return range;
  }

  const Timeline& timeline_;
  const Projection& projection_;
  projection::RangeOrder order_;
  std::vector<RangeIndex> parent_;
  std::vector<std::uint32_t> depth_;
  std::vector<RangeIndex> shown_;  // itself, or the one around it that is not too deep
};

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
void for_each_stream(const TimelineExport& shared, const Nesting& nesting, bool inclusive, Visit&& visit) {
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
  const Nesting nesting(shared, {shared.options.attribution, true, false});
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
  // As a stream of captures decides it. By other attributions what a range owns is apart in time (its forward pass, its
  // backward pass): there spans nest as they happen to lie.
  if (shared.options.attribution != Attribution::kLaunch) return;
  for_each_stream(shared, nesting, inclusive, [&](StreamIndex stream, SpanNesting& row) {
    for (const std::uint32_t i : spans[stream])
      if (!row.end(key_of(figures(i).range))) rows_[i] = Row::kBeside;
  });
}

}  // namespace rangefinder::chrome
