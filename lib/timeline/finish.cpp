// SPDX-License-Identifier: MIT
#include "timeline/finish.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::timeline {
namespace {

/// Rows by (process, correlation or node, time).
struct Entry {
  std::uint64_t correlation;
  std::int64_t time_ns;
  ProcessIndex process;
  std::uint32_t row;
  friend bool operator<(const Entry& a, const Entry& b) {
    return std::tie(a.process, a.correlation, a.time_ns, a.row) < std::tie(b.process, b.correlation, b.time_ns, b.row);
  }
};

/// Rows to be found by process, correlation and time.
class EntryIndex {
 public:
  explicit EntryIndex(std::vector<Entry> entries) : sorted_(std::move(entries)) {
    // Mostly in order; of a window of a capture some earlier rows stand behind the others.
    const auto in_order_to = std::is_sorted_until(sorted_.begin(), sorted_.end());
    if (in_order_to == sorted_.end()) return;
    std::sort(in_order_to, sorted_.end());
    std::inplace_merge(sorted_.begin(), in_order_to, sorted_.end());
  }

  /// The last entry of that process and correlation at or before `time_ns`; the first one where all are later (a device
  /// time can be off by the clock's error), but by no more than `slack_ns`; kNone without any.
  std::uint32_t find(ProcessIndex process, std::uint64_t correlation, std::int64_t time_ns,
                     std::int64_t slack_ns = std::numeric_limits<std::int64_t>::max()) {
    const std::size_t after = place_behind({correlation, time_ns, process, std::numeric_limits<std::uint32_t>::max()});
    const auto matches = [&](const Entry& e) { return e.process == process && e.correlation == correlation; };
    if (after != 0 && matches(sorted_[after - 1])) return sorted_[after - 1].row;
    if (after == sorted_.size() || !matches(sorted_[after])) return kNone;
    return static_cast<__int128>(sorted_[after].time_ns) - time_ns <= slack_ns ? sorted_[after].row : kNone;
  }

 private:
  /// The first entry behind `wanted`. What is asked for mostly comes in the order of the entries.
  std::size_t place_behind(const Entry& wanted) {
    const auto is_behind = [&](std::size_t at) {
      return (at == 0 || !(wanted < sorted_[at - 1])) && (at == sorted_.size() || wanted < sorted_[at]);
    };
    if (last_ < sorted_.size() && is_behind(last_ + 1)) return ++last_;
    if (!is_behind(last_))
      last_ = static_cast<std::size_t>(std::upper_bound(sorted_.begin(), sorted_.end(), wanted) - sorted_.begin());
    return last_;
  }

  std::vector<Entry> sorted_;
  std::size_t last_ = 0;
};

void say_lower_bounds(Timeline& timeline) {
  auto& graphs = timeline.conditional_graphs;
  std::sort(graphs.begin(), graphs.end());
  graphs.erase(std::unique(graphs.begin(), graphs.end()), graphs.end());
  for (ActivityIndex row{0}; row < timeline.activities.size() && !graphs.empty(); ++row) {
    if (!timeline.is_lower_bound(row)) continue;
    timeline.notes.emplace_back(
        "some CUDA graphs have conditional nodes: CUPTI does not record a loop's iterations after the first, so counts "
        "and times of such graphs are lower bounds (n+)");
    return;
  }
}

/// The rows of a table in the order of `key`; empty where they are in it already.
template <typename Key>
std::vector<std::uint32_t> order_by(std::size_t size, Key key) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); };
  if (std::is_sorted(order.begin(), order.end(), before)) return {};
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

}  // namespace

void join_launches(Timeline& timeline) {
  LaunchTable& launches = timeline.launches;
  CallTable& calls = timeline.calls;
  ActivityTable& activities = timeline.activities;
  const auto process_of_thread = [&](ThreadIndex thread) { return timeline.threads[thread].process; };

  std::vector<Entry> entries;
  entries.reserve(calls.size());
  for (std::uint32_t row = 0; row < calls.size(); ++row) {
    if (calls.correlation[row] != 0)
      entries.push_back({calls.correlation[row], calls.begin_ns[row], process_of_thread(calls.thread[row]), row});
  }
  EntryIndex by_call(std::exchange(entries, {}));

  entries.reserve(launches.size());
  for (LaunchIndex row{0}; row < launches.size(); ++row) {
    entries.push_back({launches.correlation[row], launches.time_ns[row], launches.process[row], row});
    if (launches.call[row] == kNone)
      launches.set_call(
          row, CallIndex(by_call.find(launches.process[row], launches.correlation[row], launches.time_ns[row])));
  }
  EntryIndex by_launch(std::exchange(entries, {}));

  // A launch that only its call tells of, one a call.
  std::vector<LaunchIndex> launch_of_call(calls.size(), kNone);
  const auto launch_of = [&](ProcessIndex process, std::uint64_t correlation, std::int64_t time_ns) -> LaunchIndex {
    const LaunchIndex launch(by_launch.find(process, correlation, time_ns));
    if (launch != kNone) return launch;
    const CallIndex call(by_call.find(process, correlation, time_ns));
    if (call == kNone) return kNone;
    if (launch_of_call[call] == kNone) {
      launch_of_call[call] = launches.append({.process = process,
                                              .correlation = calls.correlation[call],
                                              .thread = calls.thread[call],
                                              .time_ns = calls.begin_ns[call],
                                              .source = LaunchSource::kCall,
                                              .call = call});
    }
    return launch_of_call[call];
  };
  const auto process_of = [&](ActivityIndex row) {
    return timeline.devices[timeline.streams[activities.stream[row]].device].process;
  };
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.correlation[row] == 0 || activities.launch[row] != kNone) continue;
    activities.set_launch(row, launch_of(process_of(row), activities.correlation[row], activities.begin_ns[row]));
  }

  say_lower_bounds(timeline);
  const GraphNodeTable& nodes = timeline.graph_nodes;
  if (nodes.size() == 0) return;
  entries.reserve(nodes.size());
  for (std::uint32_t row = 0; row < nodes.size(); ++row)
    entries.push_back({nodes.node[row], nodes.time_ns[row], nodes.process[row], row});
  EntryIndex by_node(std::move(entries));
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.graph_node[row] == 0) continue;
    // What the node was when its graph was launched: an update may have come while it ran. One that came later says
    // nothing of it, though nothing else be known.
    const LaunchIndex launch = activities.launch[row];
    const std::int64_t time = launch != kNone ? launches.time_ns[launch] : activities.begin_ns[row];
    const std::uint32_t node = by_node.find(process_of(row), activities.graph_node[row], time, timeline.clock_error_ns);
    if (node == kNone || nodes.correlation[node] == 0) continue;
    activities.set_captured(row, launch_of(nodes.process[node], nodes.correlation[node], nodes.time_ns[node]));
  }
}

void Extent::add_rest(const Timeline& timeline) {
  const auto add = [this](const auto& begins, const auto& ends) {
    for (std::size_t row = 0; row < begins.size(); ++row) take(begins[row], ends[row]);
  };
  add(timeline.calls.begin_ns, timeline.calls.end_ns);
  add(timeline.activities.begin_ns, timeline.activities.end_ns);
  add(timeline.syncs.begin_ns, timeline.syncs.end_ns);
  add(timeline.overheads.begin_ns, timeline.overheads.end_ns);
  add(timeline.cuda_allocations.time_ns, timeline.cuda_allocations.time_ns);
  add(timeline.marks.time_ns, timeline.marks.time_ns);
  add(timeline.counters.time_ns, timeline.counters.time_ns);
  add(timeline.allocator_events.time_ns, timeline.allocator_events.time_ns);
  add(timeline.steps.begin_ns, timeline.steps.end_ns);
}

void Extent::write(Timeline& timeline) const noexcept {
  timeline.begin_ns = begin_ns_ <= end_ns_ ? begin_ns_ : 0;
  timeline.end_ns = begin_ns_ <= end_ns_ ? end_ns_ : 0;
}

void measure_extent(Timeline& timeline) {
  Extent extent;
  extent.add(timeline, timeline.ranges.size(), [](RangeIndex) { return true; });
  extent.write(timeline);
}

void sort_metrics(Timeline& timeline) {
  RangeMetricTable& metrics = timeline.range_metrics;
  const auto by_range = order_by(metrics.size(), [&](std::uint32_t row) { return metrics.range[row]; });
  if (!by_range.empty()) metrics.reorder(by_range);
  PmSampleTable& samples = timeline.pm_samples;
  const auto by_time = order_by(samples.size(), [&](std::uint32_t row) {
    return std::tuple(samples.device[row], samples.metric[row], samples.begin_ns[row]);
  });
  if (!by_time.empty()) samples.reorder(by_time);
}

}  // namespace rangefinder::timeline
