// SPDX-License-Identifier: MIT
#include "analysis/critical_path/windows.hpp"

#include "base/descending.hpp"
#include "projection/flat_map.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace rangefinder::analysis::critical_path {
namespace {

/// A stretch of a thread whose work is asked for.
struct HostStretch {
  ThreadIndex thread = kNone;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t row = 0;  ///< of steps or ranges
};

void add_end(const Graph& graph, CriticalWindow& window, NodeIndex node) {
  const std::int64_t end = graph.end_ns[node];
  window.end_ns = window.ends.empty() ? end : std::max(window.end_ns, end);
  window.ends.push_back({node, end - graph.begin_ns[node]});
}

/// The thread's time until then, if it did anything; where it waits then, until it began to wait.
void add_host_end(const Graph& graph, CriticalWindow& window, ThreadIndex thread, std::int64_t time_ns) {
  const NodeIndex node = graph.last_before(thread, time_ns);
  if (node == kNone) return;
  const std::int64_t end = graph.is_elastic(node) ? graph.begin_ns[node] : std::min(time_ns, graph.end_ns[node]);
  window.end_ns = window.ends.empty() ? end : std::max(window.end_ns, end);
  window.ends.push_back({node, end - graph.begin_ns[node]});
}

/// What the thread did at that time, if it did anything.
void add_host_begin(const Graph& graph, CriticalWindow& window, ThreadIndex thread, std::int64_t time_ns) {
  const Point point = graph.point_at(thread, time_ns);
  if (point.node == kNone || graph.begin_ns[point.node] > time_ns || graph.end_ns[point.node] < time_ns) return;
  window.begins.push_back({point.node, time_ns - graph.begin_ns[point.node]});
}

/// For each stretch, of each stream the work that it launched and that ended last, by `stretch_of(activity)`, which
/// gives the stretch's place or kNone.
template <typename StretchOf>
std::vector<std::vector<ActivityIndex>> last_work_of(const Timeline& timeline, std::size_t stretches,
                                                     StretchOf stretch_of) {
  std::vector<std::vector<ActivityIndex>> last(stretches);
  projection::FlatMap place;  // by stretch and stream: in `last`
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const std::uint32_t stretch = stretch_of(row);
    if (stretch >= stretches) continue;
    const std::uint64_t key = std::uint64_t{stretch} << 32 | std::uint32_t{activities.stream[row]};
    const auto at = place.find_or_set(key, static_cast<std::uint32_t>(last[stretch].size()));
    if (at == last[stretch].size())
      last[stretch].push_back(row);
    else if (end_of(timeline, row) >= end_of(timeline, last[stretch][at]))
      last[stretch][at] = row;
  }
  return last;
}

/// Of stretches in order of key and begin, the last of that key that has begun; it must not be over.
template <typename Key>
std::uint32_t stretch_at(const std::vector<HostStretch>& stretches, std::uint32_t key, std::int64_t time_ns,
                         Key key_of) {
  const auto after = std::partition_point(stretches.begin(), stretches.end(), [&](const HostStretch& one) {
    return std::pair(key_of(one), one.begin_ns) <= std::pair(key, time_ns);
  });
  if (after == stretches.begin()) return kNone;
  const HostStretch& last = *(after - 1);
  return key_of(last) == key && time_ns < last.end_ns ? static_cast<std::uint32_t>(after - stretches.begin() - 1)
                                                      : std::uint32_t{kNone};
}

/// Runs of ranges of that name that are in no other run of it, by thread and begin.
std::vector<HostStretch> runs_of(const Timeline& timeline, StringId name) {
  const RangeTable& ranges = timeline.ranges;
  std::vector<HostStretch> runs;
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if (ranges.name[row] != name || ranges.thread[row] >= timeline.threads.size()) continue;
    if (ranges.style[row] != RangeStyle::kScoped || (ranges.flags[row] & kBeforeRecording) != 0) continue;
    const std::int64_t begin = clamped(ranges.begin_ns[row]), end = clamped(ranges.end_ns[row]);
    if (begin < end) runs.push_back({ranges.thread[row], begin, end, row});
  }
  std::sort(runs.begin(), runs.end(), [](const HostStretch& a, const HostStretch& b) {
    return std::tuple(a.thread, a.begin_ns, base::Descending{a.end_ns}) <
           std::tuple(b.thread, b.begin_ns, base::Descending{b.end_ns});
  });
  std::size_t kept = 0;
  for (const HostStretch& run : runs)
    if (kept == 0 || runs[kept - 1].thread != run.thread || runs[kept - 1].end_ns <= run.begin_ns) runs[kept++] = run;
  runs.resize(kept);
  return runs;
}

/// The thread that an activity was launched for: that which called backward(), if a thread of the engine did it.
ThreadIndex caller_of(const std::vector<HandOver>& by_engine, ThreadIndex thread, std::int64_t time_ns) {
  const auto after = std::partition_point(by_engine.begin(), by_engine.end(), [&](const HandOver& one) {
    return std::pair(one.engine, one.begin_ns) <= std::pair(thread, time_ns);
  });
  if (after == by_engine.begin()) return thread;
  const HandOver& last = *(after - 1);
  return last.engine == thread && time_ns < last.end_ns ? last.caller : thread;
}

void add_work(const Graph& graph, CriticalWindow& window, const std::vector<ActivityIndex>& work) {
  for (const ActivityIndex row : work) add_end(graph, window, graph.done_node(row));
}

}  // namespace

CriticalWindow whole_window(const Built& built) {
  const Graph& graph = built.graph;
  CriticalWindow window;
  window.begin_ns = window.end_ns = graph.origin_ns;
  for (const ThreadIndex thread : built.driving)
    if (graph.lane[thread] != graph.lane[thread + std::size_t{1}])
      add_end(graph, window, graph.lane[thread + std::size_t{1}] - 1);
  add_work(graph, window, built.last_work);
  return window;
}

std::vector<CriticalWindow> step_windows(const Built& built) {
  const Graph& graph = built.graph;
  const Timeline& timeline = *graph.timeline;
  const StepTable& steps = timeline.steps;
  const auto process_of_step = [&](const HostStretch& one) {
    return std::uint32_t{timeline.threads[one.thread].process};
  };
  std::vector<HostStretch> marked;
  for (std::uint32_t row = 0; row < steps.size(); ++row) {
    const std::int64_t begin = clamped(steps.begin_ns[row]), end = clamped(steps.end_ns[row]);
    if (steps.thread[row] < timeline.threads.size() && begin < end)
      marked.push_back({steps.thread[row], begin, end, row});
  }
  std::stable_sort(marked.begin(), marked.end(), [&](const HostStretch& a, const HostStretch& b) {
    return std::pair(process_of_step(a), a.begin_ns) < std::pair(process_of_step(b), b.begin_ns);
  });
  const auto work = last_work_of(timeline, marked.size(), [&](ActivityIndex row) -> std::uint32_t {
    const std::int64_t launched = launch_ns(timeline, row);
    if (launched == kNoTime) return kNone;
    return stretch_at(marked, process_of(timeline, row), launched, process_of_step);
  });
  std::vector<CriticalWindow> windows;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    CriticalWindow window;
    window.process = ProcessIndex(process_of_step(marked[i]));
    window.step = steps.number[marked[i].row];
    window.begin_ns = marked[i].begin_ns;
    add_host_begin(graph, window, marked[i].thread, marked[i].begin_ns);
    add_host_end(graph, window, marked[i].thread, marked[i].end_ns);
    add_work(graph, window, work[i]);
    if (!windows.empty() && windows.back().process == window.process) {
      const CriticalWindow& before = windows.back();
      window.begin_ns = std::max(window.begin_ns, before.end_ns);
      // Of streams that the step before did not use, what was done earlier still counts.
      constexpr std::size_t kKept = 64;
      if (before.begins.size() <= kKept)
        window.begins.insert(window.begins.end(), before.begins.begin(), before.begins.end());
      window.begins.insert(window.begins.end(), before.ends.begin(), before.ends.end());
      if (window.end_ns < window.begin_ns) {  // it was done before the step before it
        window.end_ns = window.begin_ns;
        window.ends.insert(window.ends.end(), before.ends.begin(), before.ends.end());
      }
    }
    windows.push_back(std::move(window));
  }
  return windows;
}

std::vector<CriticalWindow> run_windows(const Built& built, std::string_view name) {
  const Graph& graph = built.graph;
  const Timeline& timeline = *graph.timeline;
  StringId id = StringId::kEmpty;
  if (!timeline.find(name, id)) return {};
  const std::vector<HostStretch> runs = runs_of(timeline, id);
  std::vector<HandOver> by_engine = built.hand_overs;
  std::sort(by_engine.begin(), by_engine.end(), [](const HandOver& a, const HandOver& b) {
    return std::pair(a.engine, a.begin_ns) < std::pair(b.engine, b.begin_ns);
  });
  const auto thread_of_run = [](const HostStretch& one) { return std::uint32_t{one.thread}; };
  const auto work = last_work_of(timeline, runs.size(), [&](ActivityIndex row) -> std::uint32_t {
    const std::int64_t launched = launch_ns(timeline, row);
    if (launched == kNoTime) return kNone;
    const ThreadIndex thread = timeline.launches.thread[timeline.activities.launch[row]];
    const std::uint32_t own = stretch_at(runs, thread, launched, thread_of_run);
    if (own != kNone) return own;
    return stretch_at(runs, caller_of(by_engine, thread, launched), launched, thread_of_run);
  });
  std::vector<CriticalWindow> windows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CriticalWindow window;
    window.process = timeline.threads[runs[i].thread].process;
    window.range = RangeIndex(runs[i].row);
    window.begin_ns = runs[i].begin_ns;
    add_host_begin(graph, window, runs[i].thread, runs[i].begin_ns);
    add_host_end(graph, window, runs[i].thread, runs[i].end_ns);
    add_work(graph, window, work[i]);
    windows.push_back(std::move(window));
  }
  return windows;
}

CriticalWindow window_between(const Built& built, std::int64_t begin_ns, std::int64_t end_ns) {
  const Graph& graph = built.graph;
  CriticalWindow window;
  begin_ns = std::max(clamped(begin_ns), graph.origin_ns);
  end_ns = std::max(clamped(end_ns), begin_ns);
  window.begin_ns = window.end_ns = begin_ns;
  for (const ThreadIndex thread : built.driving) {
    if (graph.last_before(thread, end_ns) == kNone) continue;
    add_host_end(graph, window, thread, end_ns);
    if (graph.last_before(thread, begin_ns) != kNone) add_host_begin(graph, window, thread, begin_ns);
  }
  // Of each stream what runs at the end or ended last before it.
  projection::FlatMap last;
  const auto until = [&](NodeIndex node) { return std::min(graph.end_ns[node], end_ns); };
  for (NodeIndex node = graph.first_activity; node < graph.size(); ++node) {
    if (graph.kind[node] == NodeKind::kJoin || graph.is_elastic(node) || graph.begin_ns[node] >= end_ns) continue;
    if (graph.subject[node] >= graph.timeline->activities.size()) continue;
    const StreamIndex stream = graph.timeline->activities.stream[ActivityIndex(graph.subject[node])];
    const std::uint32_t known = last.find(stream);
    if (known == projection::FlatMap::kAbsent || until(known) <= until(node)) last.set(stream, node);
  }
  last.for_each([&](std::uint64_t, NodeIndex node) {
    window.end_ns = window.ends.empty() ? until(node) : std::max(window.end_ns, until(node));
    window.ends.push_back({node, until(node) - graph.begin_ns[node]});
  });
  window.end_ns = std::max(window.end_ns, window.begin_ns);
  return window;
}

}  // namespace rangefinder::analysis::critical_path
