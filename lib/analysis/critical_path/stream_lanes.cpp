// SPDX-License-Identifier: MIT
#include "analysis/critical_path/stream_lanes.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace rangefinder::analysis::critical_path {
namespace {

/// A call that launches takes a few microseconds. One that takes longer was held up before it launched (a module was
/// loaded, the queue was full): the launch counts from its end.
constexpr std::int64_t kLongLaunchNs = 30'000;

/// Whether the call was held up before it launched: it took long, and its work began when it was over.
bool was_held_up(const Graph& graph, CallIndex call, ThreadIndex thread, ActivityIndex activity) {
  const CallTable& calls = graph.timeline->calls;
  if (call >= calls.size() || calls.thread[call] != thread) return false;
  const std::int64_t begin = clamped(calls.begin_ns[call]), end = clamped(calls.end_ns[call]);
  if (end - begin <= kLongLaunchNs || end > begin_of(*graph.timeline, activity)) return false;
  const NodeIndex last = graph.last_before(thread, end);
  return last != kNone && graph.kind[last] != NodeKind::kWait && graph.reason[last] != CriticalReason::kSynchronisation;
}

/// Where on a thread the activity was launched; node kNone: not known. Notes what was open there.
Point launch_point(Graph& graph, ActivityIndex activity, NodeIndex& near) {
  const Timeline& timeline = *graph.timeline;
  const LaunchIndex launch = timeline.activities.launch[activity];
  if (launch >= timeline.launches.size()) return {};
  const ThreadIndex thread = timeline.launches.thread[launch];
  const Point point = graph.point_at(thread, clamped(timeline.launches.time_ns[launch]), &near);
  if (point.node != kNone && point.at_begin) {
    graph.launch_context[activity] = graph.subject[point.node];
    if (graph.waits_for_room(point.node)) return {point.node + 1, true};  // launched when there was room
  }
  const CallIndex call = timeline.launches.call[launch];
  return was_held_up(graph, call, thread, activity) ? graph.point_at(thread, clamped(timeline.calls.end_ns[call]))
                                                    : point;
}

/// Of the activities of a stream that have begun, the one that ended last before a time.
class Ended {
 public:
  void begin(std::int64_t end_ns, ActivityIndex activity) { running_.emplace(end_ns, activity); }
  ActivityIndex last_until(std::int64_t time_ns) {
    for (; !running_.empty() && running_.top().first <= time_ns; running_.pop()) last_ = running_.top().second;
    return last_;
  }

 private:
  using Running = std::pair<std::int64_t, ActivityIndex>;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  ActivityIndex last_ = kNone;
};

}  // namespace

StreamLanes::StreamLanes(const Timeline& timeline)
    : timeline_(timeline),
      slack_ns_(std::max(kClockSlackNs, clamped(timeline.clock_error_ns))),
      first_(timeline.streams.size() + 1),
      by_device_(timeline.devices.size()),
      by_end_(timeline.devices.size()) {
  const ActivityTable& activities = timeline.activities;
  for (const StreamIndex stream : activities.stream) ++first_[stream + std::size_t{1}];
  for (std::size_t stream = 1; stream < first_.size(); ++stream) first_[stream] += first_[stream - 1];
  order_.resize(activities.size());
  std::vector<std::size_t> next(first_);
  for (ActivityIndex row{0}; row < activities.size(); ++row) order_[next[activities.stream[row]]++] = row;
  const auto earlier = [&](ActivityIndex a, ActivityIndex b) {
    return std::pair(begin_of(timeline, a), std::uint32_t{a}) < std::pair(begin_of(timeline, b), std::uint32_t{b});
  };
  latest_launch_.resize(order_.size());
  latest_end_.resize(order_.size());
  for (StreamIndex stream{0}; stream < stream_count(); ++stream) {
    const auto from = order_.begin() + static_cast<std::ptrdiff_t>(first_[stream]);
    const auto to = order_.begin() + static_cast<std::ptrdiff_t>(first_[stream + std::size_t{1}]);
    if (!std::is_sorted(from, to, earlier)) std::sort(from, to, earlier);
    std::int64_t launch = -kFarthestNs, end = -kFarthestNs;
    for (std::size_t at = first_[stream]; at < first_[stream + std::size_t{1}]; ++at) {
      latest_launch_[at] = launch = std::max(launch, launch_ns(timeline, order_[at]));
      latest_end_[at] = end = std::max(end, end_of(timeline, order_[at]));
    }
    if (from != to) by_device_[timeline.streams[stream].device].push_back(stream);
  }
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    by_end_[timeline.streams[activities.stream[row]].device].push_back(row);
  const auto ends_earlier = [&](ActivityIndex a, ActivityIndex b) {
    return std::pair(end_of(timeline, a), std::uint32_t{a}) < std::pair(end_of(timeline, b), std::uint32_t{b});
  };
  for (std::vector<ActivityIndex>& ends : by_end_)
    if (!std::is_sorted(ends.begin(), ends.end(), ends_earlier)) std::sort(ends.begin(), ends.end(), ends_earlier);
}

ActivityIndex StreamLanes::last_done(StreamIndex stream, std::int64_t launched_ns,
                                     std::int64_t done_ns) const noexcept {
  const auto at = [&](const std::vector<std::int64_t>& column, std::size_t row) {
    return column.begin() + static_cast<std::ptrdiff_t>(row);
  };
  const std::size_t first = first_[stream], last = first_[stream + std::size_t{1}];
  const auto launched = std::lower_bound(at(latest_launch_, first), at(latest_launch_, last), launched_ns);
  const auto done = std::upper_bound(at(latest_end_, first), at(latest_end_, last), done_ns);
  const auto count = std::min(launched - at(latest_launch_, first), done - at(latest_end_, first));
  return count == 0 ? ActivityIndex{kNone} : order_[first + static_cast<std::size_t>(count) - 1];
}

ActivityIndex StreamLanes::first_launched(StreamIndex stream, std::int64_t launched_ns) const noexcept {
  const auto first = latest_launch_.begin() + static_cast<std::ptrdiff_t>(first_[stream]);
  const auto last = latest_launch_.begin() + static_cast<std::ptrdiff_t>(first_[stream + std::size_t{1}]);
  const auto found = std::lower_bound(first, last, launched_ns);
  return found == last ? ActivityIndex{kNone} : order_[static_cast<std::size_t>(found - latest_launch_.begin())];
}

ActivityIndex StreamLanes::last_to_end(DeviceIndex device, std::int64_t after_ns, std::int64_t until_ns,
                                       std::int64_t launched_ns, StreamIndex but) const noexcept {
  constexpr int kLook = 32;
  const std::vector<ActivityIndex>& ends = by_end_[device];
  auto at = std::partition_point(ends.begin(), ends.end(),
                                 [&](ActivityIndex row) { return end_of(timeline_, row) <= until_ns; });
  for (int looked = 0; looked < kLook && at != ends.begin(); ++looked) {
    const ActivityIndex row = *--at;
    if (end_of(timeline_, row) <= after_ns) break;
    if (timeline_.activities.stream[row] != but && launch_ns(timeline_, row) < launched_ns) return row;
  }
  return kNone;
}

void add_stream_edges(Graph& graph, const StreamLanes& lanes, EdgeList& edges) {
  const Timeline& timeline = *graph.timeline;
  graph.launch_context.assign(timeline.activities.size(), 0);
  for (StreamIndex stream{0}; stream < lanes.stream_count(); ++stream) {
    Ended ended;
    ActivityIndex previous = kNone;
    NodeIndex near = kNone;  // work of a stream is launched in order: the next launch is not far
    for (const ActivityIndex activity : lanes.of(stream)) {
      const NodeIndex node = graph.node_of(activity);
      const std::int64_t begin = begin_of(timeline, activity);
      const ActivityIndex before = ended.last_until(begin);
      if (before != kNone) edges.add(node, {graph.done_node(before), false}, EdgeKind::kStream);
      // Activities that overlap on one stream still begin in order.
      if (previous != kNone && previous != before && end_of(timeline, previous) > begin)
        edges.add(node, {graph.node_of(previous), true}, EdgeKind::kStream);
      const Point launch = launch_point(graph, activity, near);
      edges.add(node, launch, EdgeKind::kLaunch);
      if (before == kNone && previous == kNone && launch.node == kNone) edges.add_origin(node);
      ended.begin(end_of(timeline, activity), activity);
      previous = activity;
    }
  }
}

}  // namespace rangefinder::analysis::critical_path
