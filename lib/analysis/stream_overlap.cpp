// SPDX-License-Identifier: MIT
#include "analysis/stream_overlap.hpp"

#include "analysis/device_states.hpp"

#include <algorithm>
#include <span>
#include <tuple>

namespace rangefinder::analysis {
namespace {

/// Streams of one device, as numbers from 0 on.
class DeviceSweep {
 public:
  DeviceSweep(const Timeline& timeline, const DeviceStates& states, DeviceIndex device) : states_(states) {
    for (const ActivityIndex activity : states.activities_of(device))
      streams_.push_back(timeline.activities.stream[activity]);
    std::sort(streams_.begin(), streams_.end());
    streams_.erase(std::unique(streams_.begin(), streams_.end()), streams_.end());
    of_streams_.resize(streams_.size());
    for (std::size_t i = 0; i < streams_.size(); ++i) of_streams_[i].stream = streams_[i];
    running_.resize(streams_.size());
    since_ns_.resize(streams_.size());
    if (streams_.size() <= kMostStreamsWithPairs) overlap_ns_.resize(streams_.size() * streams_.size());
    device_.device = device;
    device_.streams = static_cast<std::uint32_t>(streams_.size());
    device_.pairs_known = streams_.size() <= kMostStreamsWithPairs;
    sweep(timeline, states.activities_of(device));
  }

  /// `idle_ns`: time in which the device did nothing.
  void move_to(StreamOverlap& out, std::int64_t idle_ns) {
    device_.busy_ns[0] = idle_ns;
    out.devices.push_back(device_);
    out.streams.insert(out.streams.end(), of_streams_.begin(), of_streams_.end());
    if (!device_.pairs_known) return;
    const auto first = static_cast<std::ptrdiff_t>(out.pairs.size());
    for (std::size_t a = 0; a < streams_.size(); ++a)
      for (std::size_t b = a + 1; b < streams_.size(); ++b)
        if (overlap_ns_[a * streams_.size() + b] > 0)
          out.pairs.push_back({streams_[a], streams_[b], overlap_ns_[a * streams_.size() + b]});
    std::sort(out.pairs.begin() + first, out.pairs.end(), [](const StreamPair& a, const StreamPair& b) {
      return std::tie(b.overlap_ns, a.first, a.second) < std::tie(a.overlap_ns, b.first, b.second);
    });
  }

 private:
  struct Change {
    std::int64_t time_ns;
    std::uint32_t stream;
    std::int32_t by;
  };

  void sweep(const Timeline& timeline, std::span<const ActivityIndex> activities) {
    std::vector<Change> changes;
    changes.reserve(activities.size() * 2);
    for (const ActivityIndex activity : activities) {
      const auto place = std::lower_bound(streams_.begin(), streams_.end(), timeline.activities.stream[activity]);
      const auto stream = static_cast<std::uint32_t>(place - streams_.begin());
      ++of_streams_[stream].ops;
      const std::int64_t begin_ns = states_.begin_ns(activity), end_ns = states_.end_ns(activity);
      if (begin_ns == end_ns) continue;
      changes.push_back({begin_ns, stream, 1});
      changes.push_back({end_ns, stream, -1});
    }
    // What begins before what ends: a stream that goes on at once is not idle in between.
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return std::tie(a.time_ns, b.by, a.stream) < std::tie(b.time_ns, a.by, b.stream);
    });
    std::int64_t now_ns = 0;
    for (const Change& change : changes) {
      pass(change.time_ns - now_ns);
      now_ns = change.time_ns;
      running_[change.stream] += static_cast<std::uint32_t>(change.by);
      if (change.by > 0 && running_[change.stream] == 1) begin(change.stream, now_ns);
      if (running_[change.stream] == 0) end(change.stream, now_ns);
    }
  }
  void pass(std::int64_t length_ns) {
    if (busy_.empty()) return;
    device_.busy_ns[std::min<std::size_t>(busy_.size(), device_.busy_ns.size() - 1)] += length_ns;
    if (length_ns > 0) device_.most = std::max(device_.most, static_cast<std::uint32_t>(busy_.size()));
    if (busy_.size() == 1) of_streams_[busy_.front()].alone_ns += length_ns;
  }
  void begin(std::uint32_t stream, std::int64_t now_ns) {
    since_ns_[stream] = now_ns;
    busy_.push_back(stream);
  }
  void end(std::uint32_t stream, std::int64_t now_ns) {
    of_streams_[stream].busy_ns += now_ns - since_ns_[stream];
    busy_.erase(std::find(busy_.begin(), busy_.end(), stream));
    if (!device_.pairs_known) return;
    for (const std::uint32_t other : busy_) {
      const std::size_t a = std::min(stream, other), b = std::max(stream, other);
      overlap_ns_[a * streams_.size() + b] += now_ns - std::max(since_ns_[stream], since_ns_[other]);
    }
  }

  const DeviceStates& states_;
  DeviceConcurrency device_;
  std::vector<StreamIndex> streams_;           // in order
  std::vector<StreamConcurrency> of_streams_;  // parallel, as are the next two
  std::vector<std::uint32_t> running_;         // activities
  std::vector<std::int64_t> since_ns_;         // when it became busy
  std::vector<std::uint32_t> busy_;
  std::vector<std::int64_t> overlap_ns_;  // of two streams, by the lower and the higher number
};

/// Time in which the device did nothing, from the first begin to the last end of its activities, which may be without
/// length.
std::int64_t idle_of(DeviceStates& states, DeviceIndex device) {
  const auto activities = states.activities_of(device);
  const std::int64_t begin_ns = states.begin_ns(activities.front());
  std::int64_t end_ns = begin_ns;
  for (const ActivityIndex activity : activities) end_ns = std::max(end_ns, states.end_ns(activity));
  std::int64_t idle_ns = 0;
  for (const Span& span : states.of(device)) {
    const bool recorded = span.kind != static_cast<std::uint8_t>(DeviceIdle::kNotRecorded);
    const std::int64_t length_ns = std::min(span.end, end_ns) - std::max(span.begin, begin_ns);
    if (recorded && !is_work(span.kind) && length_ns > 0) idle_ns += length_ns;
  }
  return idle_ns;
}

}  // namespace

StreamOverlap stream_overlap(const Timeline& timeline) {
  StreamOverlap out;
  DeviceStates states(timeline, 0, [](ActivityIndex) { return false; });
  for (DeviceIndex device{0}; device < timeline.devices.size(); ++device) {
    if (states.activities_of(device).empty()) continue;
    DeviceSweep sweep(timeline, states, device);
    sweep.move_to(out, idle_of(states, device));
  }
  return out;
}

}  // namespace rangefinder::analysis
