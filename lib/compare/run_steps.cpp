// SPDX-License-Identifier: MIT
#include "compare/run_steps.hpp"

#include "analysis/steps.hpp"
#include "compare/host_places.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace rangefinder::compare {
namespace {

/// Grows from the first begin to the last end.
struct Extent {
  std::int64_t begin_ns = analysis::kFarthestNs;
  std::int64_t end_ns = -analysis::kFarthestNs;
  void add(std::int64_t from_ns, std::int64_t to_ns) noexcept {
    begin_ns = std::min(begin_ns, within(from_ns));
    end_ns = std::max(end_ns, within(to_ns));
  }
};

std::vector<Extent> extents_of(const Timeline& timeline) {
  std::vector<Extent> extents(timeline.processes.size());
  const auto add = [&](ProcessIndex process, std::int64_t begin_ns, std::int64_t end_ns) {
    if (process < extents.size()) extents[process].add(begin_ns, end_ns);
  };
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    const bool counts = ranges.kind[range] == RangeKind::kAnnotation || ranges.kind[range] == RangeKind::kOperator;
    if (counts && ranges.is_run(range) && ranges.thread[range] < timeline.threads.size())
      add(timeline.threads[ranges.thread[range]].process, ranges.begin_ns[range], ranges.end_ns[range]);
  }
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const DeviceIndex device = timeline.streams[activities.stream[row]].device;
    add(timeline.devices[device].process, activities.begin_ns[row], activities.end_ns[row]);
  }
  return extents;
}

std::int64_t peak_bytes_of(const Timeline& timeline) {
  std::int64_t peak = -1;
  const AllocatorEventTable& events = timeline.allocator_events;
  for (std::size_t row = 0; row < events.size(); ++row)
    if (events.device[row] >= 0) peak = std::max(peak, events.allocated[row]);
  return peak;
}

}  // namespace

std::size_t frame_from(std::span<const StepFrame> frames, std::int64_t time_ns) noexcept {
  const auto after = std::upper_bound(frames.begin(), frames.end(), time_ns,
                                      [](std::int64_t time, const StepFrame& frame) { return time < frame.end_ns; });
  return static_cast<std::size_t>(after - frames.begin());
}

RunSteps::RunSteps(const Timeline& timeline, const Projection& projection, Run& run)
    : frames_(timeline.processes.size()), threads_(timeline.processes.size(), kNone) {
  find_steps(timeline, projection, run);
  if (run.steps.empty()) take_all_as_one(timeline, run);
  find_threads(timeline);
}

void RunSteps::find_steps(const Timeline& timeline, const Projection& projection, Run& run) {
  const analysis::StepAnalysis found = analysis::analyse_steps(timeline, projection);
  // A process may have a number more than once: then the first ones of all processes are one step, and so on.
  using Key = std::pair<std::int64_t, std::uint32_t>;
  std::map<Key, std::uint32_t> rows;
  std::map<std::pair<ProcessIndex, std::int64_t>, std::uint32_t> times_seen;
  std::vector<Key> keys;
  for (const analysis::StepFigures& step : found.steps) {
    keys.emplace_back(step.number, times_seen[{step.process, step.number}]++);
    rows.emplace(keys.back(), 0);
  }
  for (auto& [key, row] : rows) {
    row = static_cast<std::uint32_t>(run.steps.size());
    run.steps.push_back({.number = key.first});
  }
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const analysis::StepFigures& step = found.steps[i];
    RunStep& in_run = run.steps[rows[keys[i]]];
    in_run.warm_up = in_run.warm_up || step.warm_up;
    in_run.skipped = in_run.skipped || step.skipped;
    in_run.items += step.items;
    if (step.peak_bytes != analysis::kNotKnown) in_run.peak_bytes = std::max(in_run.peak_bytes, step.peak_bytes);
    frames_[step.process].push_back({step.begin_ns, step.end_ns, rows[keys[i]]});
  }
}

void RunSteps::take_all_as_one(const Timeline& timeline, Run& run) {
  run.has_steps = false;
  const std::vector<Extent> extents = extents_of(timeline);
  for (std::size_t process = 0; process < extents.size(); ++process)
    if (extents[process].begin_ns < extents[process].end_ns)
      frames_[process].push_back({extents[process].begin_ns, extents[process].end_ns, 0});
  const auto is_empty = [](const std::vector<StepFrame>& frames) { return frames.empty(); };
  if (std::all_of(frames_.begin(), frames_.end(), is_empty)) return;
  run.steps.push_back({.peak_bytes = peak_bytes_of(timeline)});
}

void RunSteps::find_threads(const Timeline& timeline) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_of(timeline.threads.size());  // annotations, operators
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (ranges.thread[range] >= timeline.threads.size()) continue;
    if (ranges.kind[range] == RangeKind::kAnnotation) ++ranges_of[ranges.thread[range]].first;
    if (ranges.kind[range] == RangeKind::kOperator) ++ranges_of[ranges.thread[range]].second;
  }
  const auto has_none = [&](ThreadIndex thread) { return ranges_of[thread] == std::pair(0u, 0u); };
  const StepTable& steps = timeline.steps;
  for (std::size_t row = 0; row < steps.size(); ++row) {
    if (steps.thread[row] >= timeline.threads.size() || has_none(steps.thread[row])) continue;
    ThreadIndex& thread = threads_[timeline.threads[steps.thread[row]].process];
    if (thread == kNone) thread = steps.thread[row];
  }
  // Where none marks steps, or an export read again has them on a track of their own.
  std::vector<ThreadIndex> busiest(threads_.size(), kNone);
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    ThreadIndex& chosen = busiest[timeline.threads[thread].process];
    if (!has_none(thread) && (chosen == kNone || ranges_of[thread] > ranges_of[chosen])) chosen = thread;
  }
  for (std::size_t process = 0; process < threads_.size(); ++process)
    if (threads_[process] == kNone) threads_[process] = busiest[process];
}

}  // namespace rangefinder::compare
