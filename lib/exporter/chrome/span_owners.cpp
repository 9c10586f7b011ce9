// SPDX-License-Identifier: MIT
#include "exporter/chrome/span_owners.hpp"

#include <algorithm>

namespace rangefinder::chrome {

SpanOwners::SpanOwners(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options)
    : timeline_(timeline), projection_(projection), parent_(projection.parent), depth_(projection.depth) {
  const RangeTable& ranges = timeline_.ranges;
  bool all_nest = true;
  for (RangeIndex range{0}; range < ranges.size() && all_nest; ++range)
    all_nest = ranges.style[range] == RangeStyle::kScoped && (ranges.flags[range] & kEndedElsewhere) == 0;
  if (!all_nest) leave_out_start_end(options);
  if (std::any_of(depth_.begin(), depth_.end(), [](std::uint32_t depth) { return depth >= kMaxSpanDepth; }))
    find_shown();
}

void SpanOwners::leave_out_start_end(const ProjectionOptions& options) {
  order_.emplace(timeline_, options);
  own_parent_.assign(timeline_.ranges.size(), kNone);
  own_depth_.assign(timeline_.ranges.size(), 0);
  for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread) {
    const auto scoped = order_->scoped(thread);
    projection::find_enclosers(*order_, scoped, own_parent_, [](RangeIndex) { return true; });
    for (const RangeIndex range : scoped)  // outer ones first
      if (own_parent_[range] != kNone) own_depth_[range] = own_depth_[own_parent_[range]] + 1;
  }
  parent_ = own_parent_;
  depth_ = own_depth_;
}

void SpanOwners::find_shown() {
  shown_.assign(depth_.size(), kNone);
  std::vector<RangeIndex> inside;
  for (RangeIndex range{0}; range < shown_.size(); ++range) {
    RangeIndex at = range;
    for (; depth_[at] >= kMaxSpanDepth && shown_[at] == kNone; at = parent_[at]) inside.push_back(at);
    const RangeIndex shown = depth_[at] < kMaxSpanDepth ? at : shown_[at];
    for (const RangeIndex each : inside) shown_[each] = shown;
    inside.clear();
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
  return range == kNone || depth_[range] < kMaxSpanDepth ? range : shown_[range];
}

/// The innermost range that nests, was open at the launch, and began before the start/end range that owns it.
RangeIndex SpanOwners::around(RangeIndex start_end, ActivityIndex activity) const {
  const LaunchIndex launch = projection_.place_of(timeline_, activity);
  if (launch == kNone) return kNone;
  const auto scoped = order_->scoped(timeline_.ranges.thread[start_end]);
  const auto after = std::upper_bound(scoped.begin(), scoped.end(), start_end,
                                      [&](RangeIndex a, RangeIndex b) { return order_->before(a, b); });
  RangeIndex range = after == scoped.begin() ? kNone : *(after - 1);
  while (range != kNone && !order_->contains(range, timeline_.launches.time_ns[launch])) range = parent_[range];
  return range;
}

}  // namespace rangefinder::chrome
