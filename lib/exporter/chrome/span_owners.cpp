// SPDX-License-Identifier: MIT
#include "exporter/chrome/span_owners.hpp"

#include <algorithm>

namespace rangefinder::chrome {

SpanOwners::SpanOwners(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options)
    : timeline_(timeline), projection_(projection), order_(timeline, options) {
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

RangeIndex SpanOwners::owner(ActivityIndex activity) const {
  const RangeIndex owner(projection_.owner[activity]);
  return owner < parent_.size() && nests(owner) ? owner : kNone;
}

RangeIndex SpanOwners::innermost(ActivityIndex activity) const {
  const RangeIndex owner(projection_.owner[activity]);
  if (owner >= parent_.size()) return kNone;
  const RangeIndex range = nests(owner) ? owner : around(owner, activity);
  return range == kNone ? kNone : shown_[range];
}

/// The innermost range that nests, was open at the launch, and began before the start/end range that owns it.
RangeIndex SpanOwners::around(RangeIndex start_end, ActivityIndex activity) const {
  const LaunchIndex launch = projection_.place_of(timeline_, activity);
  if (launch == kNone) return kNone;
  const auto scoped = order_.scoped(timeline_.ranges.thread[start_end]);
  const auto after = std::upper_bound(scoped.begin(), scoped.end(), start_end,
                                      [&](RangeIndex a, RangeIndex b) { return order_.before(a, b); });
  RangeIndex range = after == scoped.begin() ? kNone : *(after - 1);
  while (range != kNone && !order_.contains(range, timeline_.launches.time_ns[launch])) range = parent_[range];
  return range;
}

}  // namespace rangefinder::chrome
