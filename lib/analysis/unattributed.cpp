// SPDX-License-Identifier: MIT
#include "analysis/unattributed.hpp"

#include "projection/range_order.hpp"
#include "projection/running_nodes.hpp"
#include "timeline/autograd_names.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace rangefinder::analysis {
namespace {

using Reason = UnattributedReason;

/// When the first range of a thread begins and the last one ends.
struct Reach {
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  bool any = false;
};

std::vector<Reach> reach_of_ranges(const Timeline& timeline, const ProjectionOptions& options) {
  const projection::RangeOrder order(timeline, options);
  std::vector<Reach> reach(timeline.threads.size());
  for (ThreadIndex thread{0}; thread < reach.size(); ++thread)
    for (const auto ranges : {order.scoped(thread), order.start_end(thread)})
      for (const RangeIndex range : ranges) {
        if ((timeline.ranges.flags[range] & kBeforeRecording) != 0) continue;
        reach[thread].any = true;
        reach[thread].first_ns = std::min(reach[thread].first_ns, timeline.ranges.begin_ns[range]);
        reach[thread].last_ns = std::max(reach[thread].last_ns, timeline.ranges.end_ns[range]);
      }
  return reach;
}

/// The innermost node of autograd that ran at each launch, or kNone.
std::vector<std::uint32_t> nodes_of_launches(const Timeline& timeline) {
  const LaunchTable& launches = timeline.launches;
  const std::size_t threads = timeline.threads.size();
  std::vector<std::uint32_t> out(launches.size(), kNone);
  const std::vector<std::vector<AutogradNodeIndex>> nodes_of = projection::nodes_by_thread(timeline);
  std::vector<std::vector<LaunchIndex>> launches_of(threads);
  for (LaunchIndex launch{0}; launch < launches.size(); ++launch)
    if (launches.thread[launch] < threads) launches_of[launches.thread[launch]].push_back(launch);
  for (ThreadIndex thread{0}; thread < threads; ++thread) {
    if (nodes_of[thread].empty()) continue;
    std::sort(launches_of[thread].begin(), launches_of[thread].end(),
              [&](LaunchIndex a, LaunchIndex b) { return launches.time_ns[a] < launches.time_ns[b]; });
    projection::RunningNodes running(timeline, nodes_of[thread], thread);
    for (const LaunchIndex launch : launches_of[thread]) {
      running.advance(launches.time_ns[launch]);
      if (!running.empty()) out[launch] = running.innermost().node;
    }
  }
  return out;
}

class Reasons {
 public:
  Reasons(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options)
      : timeline_(timeline),
        projection_(projection),
        reach_(reach_of_ranges(timeline, options)),
        node_(nodes_of_launches(timeline)) {}

  Reason of(ActivityIndex activity) const {
    switch (static_cast<Unowned>(projection_.owner[activity])) {
      case Unowned::kOutside:
        return outside(projection_.place_of(timeline_, activity));
      case Unowned::kBefore:
        return Reason::kBefore;
      case Unowned::kUnknown:
        return timeline_.activities.correlation[activity] == 0 ? Reason::kNoCorrelation : Reason::kNoCall;
    }
    return Reason::kOwned;
  }

 private:
  Reason outside(LaunchIndex launch) const {
    const Pass pass = launch < projection_.pass.size() ? projection_.pass[launch] : Pass::kForward;
    switch (pass) {
      case Pass::kBackward:
      case Pass::kRecompute:
        return Reason::kMadeOutside;
      case Pass::kUnmatched:
        return Reason::kUnmatched;
      case Pass::kAccumulation:
        return adds_gradients(node_[launch]) ? Reason::kAccumulation : Reason::kNoNumber;
      case Pass::kForward:
        break;
    }
    const ThreadIndex thread = timeline_.launches.thread[launch];
    const std::int64_t time = timeline_.launches.time_ns[launch];
    if (thread >= reach_.size()) return Reason::kNoRanges;
    if (projection_.pass.empty() && node_[launch] != kNone) return Reason::kDuringNode;
    const Reach& reach = reach_[thread];
    if (!reach.any) return Reason::kNoRanges;
    if (time < reach.first_ns) return Reason::kAheadOfRanges;
    return projection::is_over(reach.last_ns, time, timeline_.range_end) ? Reason::kBehindRanges
                                                                         : Reason::kBetweenRanges;
  }

  /// Where the input does not name nodes, those without a number are taken for it: others have one.
  bool adds_gradients(std::uint32_t node) const {
    const std::string_view name = timeline_.text(timeline_.autograd_nodes.name[node]);
    return name.empty() || timeline::is_gradient_accumulation(name);
  }

  const Timeline& timeline_;
  const Projection& projection_;
  std::vector<Reach> reach_;
  std::vector<std::uint32_t> node_;  // by launch
};

}  // namespace

std::vector<UnattributedReason> unattributed_reasons(const Timeline& timeline, const Projection& projection,
                                                     const ProjectionOptions& options) {
  const Reasons reasons(timeline, projection, options);
  std::vector<UnattributedReason> out(timeline.activities.size());
  for (ActivityIndex activity{0}; activity < out.size(); ++activity) out[activity] = reasons.of(activity);
  return out;
}

}  // namespace rangefinder::analysis
