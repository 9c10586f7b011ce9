// SPDX-License-Identifier: MIT
#include "analysis/critical_path/host_waits.hpp"

#include "analysis/critical_path/graph_launches.hpp"
#include "analysis/waits.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::analysis::critical_path {
namespace {

/// A file can claim any number of streams. Where a device has more than these, what ended last stands for all.
constexpr std::size_t kStreamsLookedAt = 64;

bool is_of_pageable_memory(const Timeline& timeline, ActivityIndex copy) noexcept {
  constexpr std::uint32_t kUnknown = 0, kPageable = 1, kHostToDevice = 1, kDeviceToHost = 2;
  const std::uint32_t row = timeline.activities.detail[copy];
  if (row >= timeline.copy_details.size()) return false;
  const CopyDetail& detail = timeline.copy_details[row];
  if (detail.copy_kind != kHostToDevice && detail.copy_kind != kDeviceToHost) return false;
  const std::uint32_t host = detail.copy_kind == kHostToDevice ? detail.source_memory : detail.target_memory;
  return host == kPageable || host == kUnknown;
}

class WaitFinder {
 public:
  WaitFinder(const Timeline& timeline, const StreamLanes& lanes)
      : timeline_(timeline),
        lanes_(lanes),
        graph_ends_(ends_of_graph_launches(timeline, lanes)),
        devices_(timeline.processes.size()) {
    for (DeviceIndex device{0}; device < timeline.devices.size(); ++device)
      if (timeline.devices[device].process < devices_.size())
        devices_[timeline.devices[device].process].push_back(device);
  }

  Waits find() {
    const std::vector<Wait> all = waits_without_work(timeline_);
    add_copies(all);
    for (const Wait& wait : all) {
      if (wait.reason == WaitReason::kStreamForEvent)
        add_stream_wait(wait);
      else if (wait.blocks_host())
        add_host_wait(wait);
    }
    infer_stream_waits();
    return std::move(waits_);
  }

 private:
  std::int64_t begin_of_wait(const Wait& wait) const noexcept {
    return clamped(wait.call != kNone ? timeline_.calls.begin_ns[wait.call] : wait.begin_ns);
  }
  std::int64_t end_of_wait(const Wait& wait) const noexcept {
    return clamped(wait.call != kNone ? timeline_.calls.end_ns[wait.call] : wait.end_ns);
  }

  /// When the stream goes on behind the activity: of the last of a CUDA graph, when all of the graph is done.
  std::int64_t done_ns(ActivityIndex activity) const noexcept {
    const auto found = std::lower_bound(graph_ends_.begin(), graph_ends_.end(), std::pair(activity, -kFarthestNs));
    const bool is_graph = found != graph_ends_.end() && found->first == activity;
    return is_graph ? found->second : end_of(timeline_, activity);
  }

  void add(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns, const std::vector<ActivityIndex>& awaited) {
    if (thread >= timeline_.threads.size() || begin_ns >= end_ns) return;
    HostWait wait{thread, begin_ns, begin_ns, end_ns};
    wait.first_awaited = static_cast<std::uint32_t>(waits_.awaited.size());
    wait.awaited_count = static_cast<std::uint32_t>(awaited.size());
    for (const ActivityIndex activity : awaited) {
      wait.release_ns = std::max(wait.release_ns, std::min(done_ns(activity), end_ns));
      waits_.awaited.push_back(activity);
    }
    waits_.host.push_back(wait);
  }

  /// Calls that return when their copy is done: those that say so, and "asynchronous" ones of memory that is not
  /// pinned, where the copy was over when they returned.
  void add_copies(const std::vector<Wait>& all) {
    std::vector<bool> blocking(timeline_.calls.size());
    for (const Wait& wait : all)
      if (wait.reason == WaitReason::kCopy && wait.call != kNone) blocking[wait.call] = true;
    const ActivityTable& activities = timeline_.activities;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const LaunchIndex launch = activities.launch[row];
      if (activities.kind[row] != ActivityKind::kMemcpy || launch >= timeline_.launches.size()) continue;
      const CallIndex call = timeline_.launches.call[launch];
      if (call >= timeline_.calls.size() || (!blocking[call] && !is_of_pageable_memory(timeline_, row))) continue;
      const std::int64_t begin = clamped(timeline_.calls.begin_ns[call]), end = clamped(timeline_.calls.end_ns[call]);
      const std::int64_t done = end_of(timeline_, row);
      const std::int64_t slack = blocking[call] ? lanes_.slack_ns() : 0;
      if (begin < done && done <= end + slack) add(timeline_.calls.thread[call], begin, end, {row});
    }
  }

  void add_host_wait(const Wait& wait) {
    const std::int64_t begin = begin_of_wait(wait), end = end_of_wait(wait);
    const std::int64_t until = end + lanes_.slack_ns();
    std::vector<ActivityIndex> awaited;
    const auto consider = [&](ActivityIndex activity) {
      if (activity != kNone) awaited.push_back(activity);
    };
    if (wait.reason == WaitReason::kCopy) {
      // Its copy was seen to, or is not in the data.
    } else if (wait.stream < lanes_.stream_count()) {
      const ActivityIndex last = lanes_.last_done(wait.stream, begin, until);
      // An event may have been recorded long before: what was done when the call began tells nothing.
      const bool told = wait.reason != WaitReason::kEvent || (last != kNone && end_of(timeline_, last) > begin);
      if (told) consider(last);
    } else if (wait.device < timeline_.devices.size()) {
      consider_device(wait.device, begin, until, consider);
    } else if (wait.thread < timeline_.threads.size()) {
      for (const DeviceIndex device : devices_[timeline_.threads[wait.thread].process])
        consider(lanes_.last_to_end(device, begin, until, begin, kNone));
    }
    add(wait.thread, begin, end, awaited);
  }

  template <typename Consider>
  void consider_device(DeviceIndex device, std::int64_t begin, std::int64_t until, Consider consider) const {
    const std::vector<StreamIndex>& streams = lanes_.streams_of(device);
    if (streams.size() > kStreamsLookedAt) return consider(lanes_.last_to_end(device, begin, until, begin, kNone));
    for (const StreamIndex stream : streams) consider(lanes_.last_done(stream, begin, until));
  }

  void add_stream_wait(const Wait& wait) {
    if (wait.sync == kNone) {
      if (wait.thread != kNone) told_.emplace_back(wait.thread, begin_of_wait(wait));
      return;
    }
    const StreamIndex stream = timeline_.syncs.stream[wait.sync];
    if (stream >= lanes_.stream_count() || wait.stream >= lanes_.stream_count() || stream == wait.stream) return;
    const std::int64_t told = begin_of_wait(wait);
    const ActivityIndex first = lanes_.first_launched(stream, told);
    if (first == kNone) return;
    const ActivityIndex awaited = lanes_.last_done(wait.stream, told, begin_of(timeline_, first));
    if (awaited != kNone) waits_.streams.push_back({first, awaited});
  }

  /// Calls that made a stream wait, of which the data do not say which stream and for what. The next activity that the
  /// thread launched waits for what ended last before it began, if its own stream and its launch were earlier.
  void infer_stream_waits() {
    if (told_.empty()) return;
    std::sort(told_.begin(), told_.end());
    for (StreamIndex stream{0}; stream < lanes_.stream_count(); ++stream) {
      std::int64_t launched_before = -kFarthestNs, ended_before = -kFarthestNs;
      for (const ActivityIndex row : lanes_.of(stream)) {
        const std::int64_t launched = launch_ns(timeline_, row);
        if (launched != kNoTime) {
          const ThreadIndex thread = timeline_.launches.thread[timeline_.activities.launch[row]];
          auto told = std::lower_bound(told_.begin(), told_.end(), std::pair(thread, launched));
          if (told != told_.begin() && (--told)->first == thread && told->second > launched_before) {
            const ActivityIndex awaited =
                lanes_.last_to_end(timeline_.streams[stream].device, std::max(launched, ended_before),
                                   begin_of(timeline_, row), told->second, stream);
            if (awaited != kNone) waits_.streams.push_back({row, awaited});
          }
          launched_before = launched;
        }
        ended_before = std::max(ended_before, end_of(timeline_, row));
      }
    }
  }

  const Timeline& timeline_;
  const StreamLanes& lanes_;
  std::vector<std::pair<ActivityIndex, std::int64_t>> graph_ends_;
  std::vector<std::vector<DeviceIndex>> devices_;           // by process
  std::vector<std::pair<ThreadIndex, std::int64_t>> told_;  // waits of streams that are not known
  Waits waits_;
};

}  // namespace

void drop_overlaps(std::vector<HostWait>& waits) {
  std::stable_sort(waits.begin(), waits.end(), [](const HostWait& a, const HostWait& b) {
    return std::pair(a.thread, a.begin_ns) < std::pair(b.thread, b.begin_ns);
  });
  std::size_t kept = 0;
  for (const HostWait& wait : waits)
    if (kept == 0 || waits[kept - 1].thread != wait.thread || waits[kept - 1].end_ns <= wait.begin_ns)
      waits[kept++] = wait;
  waits.resize(kept);
}

Waits find_waits(const Timeline& timeline, const StreamLanes& lanes) { return WaitFinder(timeline, lanes).find(); }

}  // namespace rangefinder::analysis::critical_path
