// SPDX-License-Identifier: MIT
#include "analysis/launch_queue.hpp"

#include "analysis/activities_by_stream.hpp"
#include "analysis/spread.hpp"
#include "analysis/waits.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// What a launch put on a stream.
struct QueuedLaunch {
  std::int64_t launch_ns;
  std::int64_t begin_ns;  ///< not before the launch
  std::int64_t end_ns;    ///< of the last of its work; not before the begin
  ActivityIndex first;
  std::uint32_t ops;
};

/// In order of launch.
std::vector<QueuedLaunch> launches_on(const Timeline& timeline, const ActivitiesByStream& by_stream,
                                      StreamIndex stream) {
  const ActivityTable& table = timeline.activities;
  std::vector<std::pair<LaunchIndex, ActivityIndex>> by_launch;  // of one launch, in order of begin
  for (const ActivityIndex activity : by_stream.of(stream))
    if (table.launch[activity] < timeline.launches.size()) by_launch.emplace_back(table.launch[activity], activity);
  const auto by_number = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(by_launch.begin(), by_launch.end(), by_number))
    std::stable_sort(by_launch.begin(), by_launch.end(), by_number);
  std::vector<QueuedLaunch> launches;
  for (std::size_t i = 0; i < by_launch.size();) {
    const auto [launch, first] = by_launch[i];
    const std::int64_t launch_ns = within_reach(timeline.launches.time_ns[launch]);
    const std::int64_t begin_ns = std::max(launch_ns, by_stream.begin_ns(first));
    QueuedLaunch& added = launches.emplace_back(QueuedLaunch{launch_ns, begin_ns, begin_ns, first, 0});
    for (; i < by_launch.size() && by_launch[i].first == launch; ++i) {
      added.end_ns = std::max(added.end_ns, by_stream.end_ns(by_launch[i].second));
      ++added.ops;
    }
  }
  const auto earlier = [](const QueuedLaunch& a, const QueuedLaunch& b) {
    return std::tuple(a.launch_ns, a.begin_ns, a.first) < std::tuple(b.launch_ns, b.begin_ns, b.first);
  };
  if (!std::is_sorted(launches.begin(), launches.end(), earlier)) std::sort(launches.begin(), launches.end(), earlier);
  return launches;
}

/// A launch, and the stream that it found.
struct MetLaunch {
  const QueuedLaunch& launched;
  std::size_t queue;  ///< what waited there
  bool is_idle;       ///< nothing waited and nothing ran
};

/// Calls `use(MetLaunch)` for each, in order.
template <typename Use>
void meet_stream(const Timeline& timeline, const ActivitiesByStream& by_stream, StreamIndex stream,
                 std::span<const QueuedLaunch> launches, Use use) {
  using Waiting = std::pair<std::int64_t, std::int64_t>;  // begin and end
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  const std::span<const ActivityIndex> activities = by_stream.of(stream);
  std::size_t begun = 0;  // of what has no launch
  std::int64_t busy_until_ns = std::numeric_limits<std::int64_t>::min();
  for (const QueuedLaunch& launch : launches) {
    for (; !waiting.empty() && waiting.top().first <= launch.launch_ns; waiting.pop())
      busy_until_ns = std::max(busy_until_ns, waiting.top().second);
    for (; begun < activities.size() && by_stream.begin_ns(activities[begun]) <= launch.launch_ns; ++begun)
      if (timeline.activities.launch[activities[begun]] >= timeline.launches.size())
        busy_until_ns = std::max(busy_until_ns, by_stream.end_ns(activities[begun]));
    use(MetLaunch{launch, waiting.size(), waiting.empty() && busy_until_ns <= launch.launch_ns});
    waiting.emplace(launch.begin_ns, launch.end_ns);
  }
}

/// Adds up launches.
class WaitsOfLaunches {
 public:
  void add(const Timeline& timeline, const ActivitiesByStream& by_stream, const MetLaunch& met) {
    const QueuedLaunch& launched = met.launched;
    ++waits_.launches;
    queue_ += met.queue;
    (met.is_idle ? idle_ : queued_).push_back(launched.begin_ns - launched.launch_ns);
    if (launched.ops == 1) add_kernel(timeline, by_stream, launched.first);
  }
  LaunchWaits finish() {
    waits_.on_idle_stream = idle_.size();
    if (waits_.launches != 0)
      waits_.queue_at_launch_hundredths =
          rounded_quotient(static_cast<__int128>(queue_), static_cast<__int128>(waits_.launches), 2);
    waits_.latency_idle = percentiles_of(std::exchange(idle_, {}));
    waits_.latency_queued = percentiles_of(std::exchange(queued_, {}));
    return waits_;
  }

 private:
  void add_kernel(const Timeline& timeline, const ActivitiesByStream& by_stream, ActivityIndex kernel) {
    const ActivityTable& activities = timeline.activities;
    if (activities.kind[kernel] != ActivityKind::kKernel || activities.graph_node[kernel] != 0) return;
    const CallIndex call = timeline.launches.call[activities.launch[kernel]];
    if (call >= timeline.calls.size()) return;
    const std::int64_t kernel_ns = by_stream.length_ns(kernel);
    const std::int64_t from_ns = within_reach(timeline.calls.begin_ns[call]);
    const std::int64_t call_ns = std::max(from_ns, within_reach(timeline.calls.end_ns[call])) - from_ns;
    ++waits_.kernels;
    waits_.shorter_than_call += kernel_ns < call_ns ? 1 : 0;
    waits_.kernel_ns = saturating_add(waits_.kernel_ns, kernel_ns);
    waits_.call_ns = saturating_add(waits_.call_ns, call_ns);
  }

  LaunchWaits waits_;
  std::uint64_t queue_ = 0;
  std::vector<std::int64_t> idle_, queued_;
};

/// In order, as far as there are any.
std::vector<Span> recorded_times(const Timeline& timeline) {
  std::vector<Span> recorded;
  for (const Window& window : timeline.windows)
    recorded.push_back({within_reach(window.begin_ns), within_reach(window.end_ns)});
  if (recorded.empty()) recorded.push_back({-kFarthestNs, kFarthestNs});
  make_disjoint(recorded);
  return recorded;
}

/// By thread.
std::vector<CoveredTime> recorded_waits_of_threads(const Timeline& timeline, const std::vector<Span>& recorded) {
  const Span always{-kFarthestNs, kFarthestNs};
  const std::vector<Span> unrecorded = without({&always, 1}, recorded);
  std::vector<std::vector<Span>> blocked(timeline.threads.size());
  for (const Wait& wait : waits_without_work(timeline))
    if (wait.blocks_host() && wait.thread < blocked.size())
      blocked[wait.thread].push_back({within_reach(wait.begin_ns), within_reach(wait.end_ns)});
  std::vector<CoveredTime> covered(blocked.size());
  for (std::size_t thread = 0; thread < blocked.size(); ++thread) {
    if (blocked[thread].empty()) continue;
    make_disjoint(blocked[thread]);
    covered[thread] = CoveredTime(unrecorded.empty() ? blocked[thread] : without(blocked[thread], unrecorded));
  }
  return covered;
}

template <typename Event, typename Less>
void put_in_order(std::vector<Event>& events, Less less) {
  if (!std::is_sorted(events.begin(), events.end(), less)) std::sort(events.begin(), events.end(), less);
}

void put_in_order(QueueEvents& events) {
  put_in_order(events.launches, [](const auto& a, const auto& b) {
    return std::tuple(a.time_ns, a.thread) < std::tuple(b.time_ns, b.thread);
  });
  for (std::vector<std::int64_t>* times : {&events.begins, &events.run_begins, &events.run_ends})
    put_in_order(*times, std::less<>());
}

void append(QueueEvents& to, const QueueEvents& events) {
  to.launches.insert(to.launches.end(), events.launches.begin(), events.launches.end());
  to.begins.insert(to.begins.end(), events.begins.begin(), events.begins.end());
  to.run_begins.insert(to.run_begins.end(), events.run_begins.begin(), events.run_begins.end());
  to.run_ends.insert(to.run_ends.end(), events.run_ends.begin(), events.run_ends.end());
}

class Queues {
 public:
  explicit Queues(const Timeline& timeline)
      : timeline_(timeline),
        by_stream_(timeline),
        recorded_(recorded_times(timeline)),
        host_waits_(recorded_waits_of_threads(timeline, recorded_times(timeline))) {}

  std::vector<LaunchQueueRow> rows() {
    std::vector<std::vector<StreamIndex>> of_device(timeline_.devices.size());
    for (StreamIndex stream{0}; stream < timeline_.streams.size(); ++stream) {
      std::vector<StreamIndex>& streams = of_device[timeline_.streams[stream].device];
      if (!by_stream_.of(stream).empty()) streams.push_back(stream);
    }
    for (DeviceIndex device{0}; device < of_device.size(); ++device) add_rows(device, of_device[device]);
    return std::move(rows_);
  }

 private:
  void add_rows(DeviceIndex device, const std::vector<StreamIndex>& streams) {
    const std::size_t first = rows_.size();
    QueueEvents all;
    WaitsOfLaunches waits_of_all;
    for (const StreamIndex stream : streams) {
      WaitsOfLaunches waits;
      const QueueEvents events = read(stream, [&](const MetLaunch& met) {
        waits.add(timeline_, by_stream_, met);
        if (streams.size() > 1) waits_of_all.add(timeline_, by_stream_, met);
      });
      add_row({device, stream, {}, waits.finish()}, events, rows_.size());
      if (streams.size() > 1) append(all, events);
    }
    if (streams.size() < 2) return;
    put_in_order(all);
    add_row({device, kNone, {}, waits_of_all.finish()}, all, first);
  }

  void add_row(LaunchQueueRow row, const QueueEvents& events, std::size_t at) {
    if (row.waits.launches == 0) return;
    row.lengths = queue_lengths(events, recorded_, host_waits_);
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at), row);
  }

  template <typename Use>
  QueueEvents read(StreamIndex stream, Use use) const {
    QueueEvents events;
    const std::vector<QueuedLaunch> launches = launches_on(timeline_, by_stream_, stream);
    meet_stream(timeline_, by_stream_, stream, launches, use);
    for (const QueuedLaunch& launch : launches) {
      const LaunchIndex row = timeline_.activities.launch[launch.first];
      events.launches.push_back({launch.launch_ns, timeline_.launches.thread[row]});
      events.begins.push_back(launch.begin_ns);
    }
    for (const ActivityIndex activity : by_stream_.of(stream)) {
      events.run_begins.push_back(by_stream_.begin_ns(activity));
      events.run_ends.push_back(by_stream_.end_ns(activity));
    }
    put_in_order(events);
    return events;
  }

  const Timeline& timeline_;
  ActivitiesByStream by_stream_;
  CoveredTime recorded_;
  std::vector<CoveredTime> host_waits_;  // by thread
  std::vector<LaunchQueueRow> rows_;
};

}  // namespace

std::vector<LaunchQueueRow> launch_queues(const Timeline& timeline) { return Queues(timeline).rows(); }

std::vector<RangeLaunches> launches_of_ranges(const Timeline& timeline, const Projection& projection) {
  const ActivitiesByStream by_stream(timeline);
  std::vector<RangeLaunches> rows;
  std::vector<WaitsOfLaunches> waits;
  projection::FlatMap row_of;
  const auto row_for = [&](ActivityIndex activity) {
    const std::uint32_t owner = projection.owner[activity];
    const bool is_owned = owner < timeline.ranges.size();
    const StringId name = is_owned ? timeline.ranges.name[RangeIndex(owner)] : StringId::kEmpty;
    const std::uint64_t key =
        is_owned ? static_cast<std::uint64_t>(name) : std::uint64_t{1} << 32 | std::uint64_t{owner};
    const std::uint32_t row = row_of.find_or_set(key, static_cast<std::uint32_t>(rows.size()));
    if (row != rows.size()) return row;
    rows.push_back({name, is_owned ? std::nullopt : std::optional(static_cast<Unowned>(owner)), {}});
    waits.emplace_back();
    return row;
  };
  for (StreamIndex stream{0}; stream < timeline.streams.size(); ++stream)
    meet_stream(timeline, by_stream, stream, launches_on(timeline, by_stream, stream),
                [&](const MetLaunch& met) { waits[row_for(met.launched.first)].add(timeline, by_stream, met); });
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row].waits = waits[row].finish();
  std::sort(rows.begin(), rows.end(), [&](const RangeLaunches& a, const RangeLaunches& b) {
    if (a.waits.launches != b.waits.launches) return a.waits.launches > b.waits.launches;
    return timeline.text(a.range) < timeline.text(b.range);
  });
  return rows;
}

}  // namespace rangefinder::analysis
