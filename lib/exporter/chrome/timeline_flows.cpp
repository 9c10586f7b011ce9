// SPDX-License-Identifier: MIT
#include "exporter/chrome/timeline_flows.hpp"

#include "exporter/chrome/flow_writer.hpp"

#include <optional>
#include <unordered_set>

namespace rangefinder::chrome {
namespace {

class Flows {
 public:
  Flows(TimelineExport& shared, const TimelineSlices& slices)
      : shared_(shared), slices_(slices), writer_(shared.writer, shared.notes) {}

  void write() {
    const ActivityTable& activities = shared_.timeline.activities;
    for (ActivityIndex i = 0; i < activities.size(); ++i) {
      const std::uint32_t launch = activities.launch[i];
      const TrackId to = slices_.track_of_activity(i);
      if (launch == kNone || to == kNoTrack) continue;
      const std::optional<FlowEnd> from = start_of(launch, i);
      if (!from) {
        writer_.missing();
        continue;
      }
      writer_.arrow(id_of(launch), *from, {ids(to), activities.begin_ns[i], activities.end_ns[i]});
    }
  }

 private:
  std::string_view ids(TrackId track) { return shared_.layout.table().ids(track); }

  std::optional<FlowEnd> start_of(std::uint32_t launch, ActivityIndex activity) {
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

  /// The correlation id, as torch.profiler has it, for the first activity that it leads to; every other arrow needs an
  /// id of its own, and so do those of several processes, whose correlation ids are the same numbers.
  std::uint64_t id_of(std::uint32_t launch) {
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
