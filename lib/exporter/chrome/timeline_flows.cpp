// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_flows.hpp"

#include "base/descending.hpp"
#include "exporter/chrome/flow_writer.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rangefinder::chrome {
namespace {

class Flows {
 public:
  Flows(TimelineExport& shared, const TimelineSlices& slices)
      : shared_(shared), slices_(slices), writer_(shared.writer, shared.notes) {}

  void write() {
    const ActivityTable& activities = shared_.timeline.activities;
    for (ActivityIndex i{0}; i < activities.size(); ++i) {
      const LaunchIndex launch = activities.launch[i];
      const TrackId to = slices_.track_of_activity(i);
      if (launch == kNone || to == kNoTrack) continue;
      const std::optional<FlowEnd> from = start_of(launch, i);
      if (!from) {
        writer_.missing();
        continue;
      }
      writer_.arrow(id_of(launch), *from, {ids(to), activities.begin_ns[i], activities.end_ns[i]});
    }
    if (shared_.timeline.format == InputFormat::kCapture) write_forward_backward();  // others have their own, or none
  }

 private:
  std::string_view ids(TrackId track) { return shared_.layout.table().ids(track); }

  std::optional<FlowEnd> start_of(LaunchIndex launch, ActivityIndex activity) {
    const Timeline& timeline = shared_.timeline;
    const CallIndex call = timeline.launches.call[launch];
    if (call != kNone && slices_.track_of_call(call) != kNoTrack)
      return FlowEnd{ids(slices_.track_of_call(call)), timeline.calls.begin_ns[call], timeline.calls.end_ns[call]};
    // The slice that is open on the thread as the launch begins: the innermost range.
    const RangeIndex range = shared_.launching_range(activity);
    if (range == kNone || slices_.track_of_range(range) == kNoTrack) return std::nullopt;
    const std::int64_t time = timeline.launches.time_ns[launch];
    const bool inside = timeline.ranges.begin_ns[range] <= time && time < timeline.ranges.end_ns[range];
    if (!inside || timeline.ranges.style[range] != RangeStyle::kScoped) return std::nullopt;
    return FlowEnd{ids(slices_.track_of_range(range)), time, timeline.ranges.end_ns[range]};
  }

  /// Arrows begin at the record behind which the nodes were made, in the innermost slice there.
  void write_forward_backward() {
    const AutogradNodeTable& nodes = shared_.timeline.autograd_nodes;
    const RangeTable& ranges = shared_.timeline.ranges;
    std::vector<std::uint32_t> made;
    for (std::uint32_t node = 0; node < nodes.size(); ++node)
      if (nodes.forward_ns[node] != kNoTime && end_at_node(node).has_value()) made.push_back(node);
    if (made.empty()) return;
    std::sort(made.begin(), made.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(nodes.forward_thread[a], nodes.forward_ns[a], a) <
             std::tuple(nodes.forward_thread[b], nodes.forward_ns[b], b);
    });
    const std::vector<RangeIndex> around = nesting_ranges();
    std::vector<RangeIndex> open;  // innermost last
    std::size_t next = 0;
    for (const std::uint32_t node : made) {
      const std::pair here(nodes.forward_thread[node], nodes.forward_ns[node] - 1);
      for (; next < around.size(); ++next) {
        if (std::pair(ranges.thread[around[next]], ranges.begin_ns[around[next]]) > here) break;
        open.push_back(around[next]);
      }
      const auto is_over = [&](RangeIndex range) {
        return ranges.thread[range] != here.first || ranges.end_ns[range] <= here.second;
      };
      while (!open.empty() && is_over(open.back())) open.pop_back();
      if (open.empty() || slices_.track_of_range(open.back()) == kNoTrack) continue;
      writer_.forward_backward({ids(slices_.track_of_range(open.back())), here.second, ranges.end_ns[open.back()]},
                               *end_at_node(node));
    }
  }

  /// In the slice of the node, or of the operator that is the node.
  std::optional<FlowEnd> end_at_node(std::uint32_t node) {
    const AutogradNodeTable& nodes = shared_.timeline.autograd_nodes;
    const RangeTable& ranges = shared_.timeline.ranges;
    const RangeIndex range = nodes.range[node];
    const TrackId track = range != kNone ? slices_.track_of_range(range) : slices_.track_of_node(node);
    if (track == kNoTrack) return std::nullopt;
    if (range != kNone) return FlowEnd{ids(track), ranges.begin_ns[range], ranges.end_ns[range]};
    return FlowEnd{ids(track), nodes.begin_ns[node], nodes.end_ns[node]};
  }

  /// By thread, outer ones first.
  std::vector<RangeIndex> nesting_ranges() const {
    const RangeTable& ranges = shared_.timeline.ranges;
    std::vector<RangeIndex> out;
    for (RangeIndex range{0}; range < ranges.size(); ++range)
      if (ranges.style[range] == RangeStyle::kScoped && (ranges.flags[range] & kEndedElsewhere) == 0)
        out.push_back(range);
    std::sort(out.begin(), out.end(), [&](RangeIndex a, RangeIndex b) {
      return std::tuple(ranges.thread[a], ranges.begin_ns[a], base::Descending{ranges.end_ns[a]}, a) <
             std::tuple(ranges.thread[b], ranges.begin_ns[b], base::Descending{ranges.end_ns[b]}, b);
    });
    return out;
  }

  /// The correlation id, as torch.profiler has it, for the first activity that it leads to; every other arrow needs an
  /// id of its own, and so do those of several processes, whose correlation ids are the same numbers.
  std::uint64_t id_of(LaunchIndex launch) {
    const std::uint64_t correlation = shared_.timeline.launches.correlation[launch];
    constexpr std::uint64_t kOwnIds = std::uint64_t{1} << 32;
    return correlation < kOwnIds && used_.insert(correlation).second ? correlation : 0;
  }

  TimelineExport& shared_;
  const TimelineSlices& slices_;
  FlowWriter writer_;
  std::unordered_set<std::uint64_t> used_;
};

}  // namespace

void write_flows(TimelineExport& shared, const TimelineSlices& slices) { Flows(shared, slices).write(); }

}  // namespace rangefinder::chrome
