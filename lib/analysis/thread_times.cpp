// SPDX-License-Identifier: MIT
#include "analysis/thread_times.hpp"

#include "analysis/device_states.hpp"
#include "analysis/range_forest.hpp"
#include "base/descending.hpp"
#include "projection/figures.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::plus;

/// Disjoint, in order.
std::vector<Span> recorded_windows(const Timeline& timeline) {
  std::vector<Span> windows;
  const auto add = [&](std::int64_t begin_ns, std::int64_t end_ns) {
    windows.push_back({std::clamp(begin_ns, -kFarthestNs, kFarthestNs), std::clamp(end_ns, -kFarthestNs, kFarthestNs)});
  };
  if (timeline.windows.empty()) add(timeline.begin_ns, timeline.end_ns);
  for (const Window& window : timeline.windows) add(window.begin_ns, window.end_ns);
  make_disjoint(windows);
  return windows;
}

/// CPU time of the outermost ranges that have it: it includes that of all inside them on their thread.
void add_cpu_times(const Timeline& timeline, const Projection& projection, std::vector<ThreadTimes>& threads) {
  const CpuCounterTable& counters = timeline.cpu_counters;
  if (counters.size() == 0) return;
  std::vector<bool> covered(timeline.ranges.size());  // the range, or one around it, has been counted
  for (const RangeIndex range : counters.range)
    if (range < covered.size()) covered[range] = true;
  std::vector<bool> inside(timeline.ranges.size());  // one around it has been counted
  const RangeForest forest(projection);
  for (const RangeIndex range : forest.order()) {
    const RangeIndex parent = projection.parent[range];
    inside[range] = parent != kNone && covered[parent];
    if (inside[range]) covered[range] = true;
  }
  for (std::size_t row = 0; row < counters.size(); ++row) {
    const RangeIndex range = counters.range[row];
    const std::int64_t cpu_ns = counters.counts[row][static_cast<std::size_t>(CpuEvent::kCpuTime)];
    if (cpu_ns < 0 || range >= inside.size() || inside[range]) continue;
    if (timeline.ranges.thread[range] >= threads.size()) continue;
    ThreadTimes& thread = threads[timeline.ranges.thread[range]];
    thread.cpu_ns = plus(thread.cpu_ns.value_or(0), cpu_ns);
    thread.counted_ns = plus(thread.counted_ns, timeline.ranges.run_ns(range));
  }
}

}  // namespace

std::vector<ThreadTimes> thread_times(const Timeline& timeline, const Projection& projection,
                                      const ProjectionOptions& options) {
  const HostSpans host(timeline, options);
  const std::vector<Span> windows = recorded_windows(timeline);
  std::int64_t recorded_ns = 0;
  for (const Span& window : windows) recorded_ns = plus(recorded_ns, window.end - window.begin);
  std::vector<ThreadTimes> threads(timeline.threads.size());
  for (ThreadIndex thread{0}; thread < threads.size(); ++thread) {
    ThreadTimes& times = threads[thread];
    times.thread = thread;
    times.recorded_ns = times.idle_ns = recorded_ns;
    std::size_t first = 0;
    for (const HostSpan& span : host.of(thread)) {
      while (first < windows.size() && windows[first].end <= span.begin_ns) ++first;
      for (std::size_t at = first; at < windows.size() && windows[at].begin < span.end_ns; ++at) {
        const std::int64_t length_ns =
            std::min(span.end_ns, windows[at].end) - std::max(span.begin_ns, windows[at].begin);
        times.state_ns[static_cast<std::size_t>(span.state)] += length_ns;
        times.idle_ns -= length_ns;
      }
    }
  }
  add_cpu_times(timeline, projection, threads);
  std::erase_if(threads, [](const ThreadTimes& times) { return times.idle_ns == times.recorded_ns && !times.cpu_ns; });
  std::stable_sort(threads.begin(), threads.end(), [&](const ThreadTimes& a, const ThreadTimes& b) {
    const auto process = [&](const ThreadTimes& times) { return timeline.threads[times.thread].process; };
    return std::pair(process(a), base::Descending{a.running_ns()}) <
           std::pair(process(b), base::Descending{b.running_ns()});
  });
  return threads;
}

RunningThreads::RunningThreads(const Timeline& timeline, const ProjectionOptions& options)
    : points_(timeline.processes.size()), threads_(timeline.processes.size()) {
  const HostSpans host(timeline, options);
  std::vector<std::vector<std::pair<std::int64_t, std::int32_t>>> changes(timeline.processes.size());
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    const ProcessIndex process = timeline.threads[thread].process;
    if (process >= changes.size()) continue;
    bool ran = false;
    std::int64_t end_ns = kNoTime;  // spans that touch are one
    for (const HostSpan& span : host.of(thread)) {
      if (!is_running(span.state)) continue;
      if (ran && span.begin_ns == end_ns) {
        changes[process].back().first = span.end_ns;
      } else {
        changes[process].emplace_back(span.begin_ns, 1);
        changes[process].emplace_back(span.end_ns, -1);
      }
      end_ns = span.end_ns;
      ran = true;
    }
    threads_[process] += ran ? 1 : 0;
  }
  for (ProcessIndex process{0}; process < changes.size(); ++process) {
    std::sort(changes[process].begin(), changes[process].end());
    std::vector<Point>& points = points_[process];
    for (const auto& [time_ns, by] : changes[process]) {
      if (points.empty() || points.back().time_ns != time_ns) {
        const std::int64_t running_ns = points.empty() ? 0 : until(points, time_ns);
        points.push_back({time_ns, running_ns, points.empty() ? 0 : points.back().threads});
      }
      points.back().threads += static_cast<std::uint32_t>(by);
    }
  }
}

std::int64_t RunningThreads::until(const std::vector<Point>& points, std::int64_t time_ns) const {
  const auto after = std::upper_bound(points.begin(), points.end(), time_ns,
                                      [](std::int64_t time, const Point& point) { return time < point.time_ns; });
  if (after == points.begin()) return 0;
  const Point& point = *std::prev(after);
  const auto since_ns = static_cast<std::uint64_t>(projection::minus(time_ns, point.time_ns));
  return plus(point.running_ns, static_cast<std::int64_t>(since_ns * point.threads));
}

std::int64_t RunningThreads::between(ProcessIndex process, std::int64_t begin_ns, std::int64_t end_ns) const {
  if (process >= points_.size() || !is_in_reach(begin_ns, end_ns)) return 0;
  return projection::minus(until(points_[process], end_ns), until(points_[process], begin_ns));
}

}  // namespace rangefinder::analysis
