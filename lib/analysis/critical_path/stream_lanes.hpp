// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/graph.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// A device time can be off against the host's by so much at least, whatever the input says: traces of torch.profiler
/// say nothing, and their clocks were seen 9 us apart.
inline constexpr std::int64_t kClockSlackNs = 10'000;

/// The activities of each stream in order of their begin.
///
/// Cost: O(n log n); 20 bytes an activity.
class StreamLanes {
 public:
  explicit StreamLanes(const Timeline& timeline);

  std::span<const ActivityIndex> of(StreamIndex stream) const noexcept {
    return {order_.data() + first_[stream], first_[stream + 1] - first_[stream]};
  }
  std::size_t stream_count() const noexcept { return first_.size() - 1; }
  const std::vector<StreamIndex>& streams_of(DeviceIndex device) const noexcept { return by_device_[device]; }
  /// The last activity of a stream that was launched before `launched_ns` and over at `done_ns`; kNone without one.
  /// What was launched before the recording was launched before any time.
  ActivityIndex last_done(StreamIndex stream, std::int64_t launched_ns, std::int64_t done_ns) const noexcept;
  /// The first activity of a stream that was launched at or after that time; kNone without one.
  ActivityIndex first_launched(StreamIndex stream, std::int64_t launched_ns) const noexcept;
  /// The activity of a device that ended last in (after_ns, until_ns] and was launched before `launched_ns`, not of
  /// `but`; kNone without one. Looks at the last few alone.
  ActivityIndex last_to_end(DeviceIndex device, std::int64_t after_ns, std::int64_t until_ns, std::int64_t launched_ns,
                            StreamIndex but) const noexcept;
  /// How much later than a host time a device time may be and still be at it.
  std::int64_t slack_ns() const noexcept { return slack_ns_; }

 private:
  const Timeline& timeline_;
  std::int64_t slack_ns_;
  std::vector<ActivityIndex> order_;         // by stream and begin
  std::vector<std::size_t> first_;           // by stream
  std::vector<std::int64_t> latest_launch_;  // of this and all before it on the stream; parallel to order_
  std::vector<std::int64_t> latest_end_;
  std::vector<std::vector<StreamIndex>> by_device_;
  std::vector<std::vector<ActivityIndex>> by_end_;  // by device
};

/// Order on each stream, and launches; notes what was open at these.
void add_stream_edges(Graph& graph, const StreamLanes& lanes, EdgeList& edges);

}  // namespace rangefinder::analysis::critical_path
