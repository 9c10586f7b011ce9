// SPDX-License-Identifier: MIT
#include "analysis/recording_totals.hpp"

#include "analysis/profiling_cost.hpp"
#include "analysis/range_rollup.hpp"
#include "projection/account.hpp"
#include "projection/figures.hpp"

#include <algorithm>

namespace rangefinder::analysis {
namespace {

using base::Interval;

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

void add_clipped(std::vector<std::pair<std::uint32_t, Interval>>& spans, std::uint32_t of, std::int64_t begin,
                 std::int64_t end, const Interval& bounds) {
  const Interval clipped{std::max(begin, bounds.begin), std::min(end, bounds.end)};
  if (clipped.begin < clipped.end) spans.emplace_back(of, clipped);
}

}  // namespace

Interval recorded_span(const Timeline& timeline) {
  if (timeline.windows.empty()) return {timeline.begin_ns, timeline.end_ns};
  Interval span{timeline.windows.front().begin_ns, timeline.windows.front().end_ns};
  for (const Window& window : timeline.windows) {
    span.begin = std::min(span.begin, window.begin_ns);
    span.end = std::max(span.end, window.end_ns);
  }
  return span;
}

Interval known_span(const Timeline& timeline) {
  return timeline.windows.empty() ? Interval{-kAlways, kAlways} : recorded_span(timeline);
}

void RecordingFacts::add(const projection::WindowRows& window) {
  const Timeline& timeline = window.timeline;
  for (RangeIndex range{0}; range < window.own_ranges; ++range) {
    if (!window.ends_here(range)) continue;
    ++ranges;
    has_operators = has_operators || timeline.ranges.kind[range] == RangeKind::kOperator;
  }
  activities += timeline.activities.size();
  steps += timeline.steps.size();
  has_estimates = has_estimates || !timeline.activities.estimated.empty();
  has_passes = has_passes || !window.projection.pass.empty();
  has_bounds = has_bounds || !timeline.conditional_graphs.empty();
  projection::add_account(account, window.projection.account);
}

void RecordingTotals::add(const projection::WindowRows& window) {
  const Interval bounds = known_span(window.timeline);
  facts_.add(window);
  const RangeTable& ranges = window.timeline.ranges;
  for (RangeIndex range{0}; range < window.own_ranges; ++range)
    host_ns_ = std::max(host_ns_, window.ends_here(range) ? ranges.end_ns[range] : ranges.begin_ns[range]);
  add_devices(window, bounds);
  add_threads(window, bounds);
}

/// In order of their begin, in which a union is cheap.
void RecordingTotals::add(std::vector<Busy>& all, std::vector<std::pair<std::uint32_t, Interval>>& spans) {
  const auto by_begin = [](const auto& a, const auto& b) { return a.second.begin < b.second.begin; };
  if (!std::is_sorted(spans.begin(), spans.end(), by_begin)) std::sort(spans.begin(), spans.end(), by_begin);
  for (const auto& [of, span] : spans) all[of].sum_ns += all[of].time.add(span.begin, span.end);
  for (Busy& busy : all) busy.time.settle(busy.settled_ns);
}

void RecordingTotals::add_devices(const projection::WindowRows& window, const Interval& bounds) {
  const Timeline& timeline = window.timeline;
  const ActivityTable& activities = timeline.activities;
  devices_.resize(timeline.devices.size());
  std::vector<std::pair<std::uint32_t, Interval>> spans;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    add_clipped(spans, timeline.streams[activities.stream[row]].device, activities.begin_ns[row],
                activities.end_ns[row], bounds);
  // Of a recording that was cut off, the end is only known when all is read: what may lie behind it is cut off then.
  for (Busy& device : devices_) device.settled_ns = std::min(window.time_ns, host_ns_);
  add(devices_, spans);
}

void RecordingTotals::add_threads(const projection::WindowRows& window, const Interval& bounds) {
  const Timeline& timeline = window.timeline;
  const RangeTable& ranges = timeline.ranges;
  threads_.resize(timeline.threads.size());
  for (Busy& thread : threads_) thread.settled_ns = kAlways;
  std::vector<std::pair<std::uint32_t, Interval>> spans;
  for (RangeIndex range{0}; range < window.own_ranges; ++range) {
    if (window.projection.parent[range] != kNone || !takes_part(ranges.kind[range], options_)) continue;
    if ((ranges.flags[range] & kBeforeRecording) != 0 || ranges.thread[range] >= threads_.size()) continue;
    std::int64_t& settled_ns = threads_[ranges.thread[range]].settled_ns;
    if (window.is_open(range))  // it comes with the window in which it ends
      settled_ns = std::min(settled_ns, ranges.begin_ns[range]);
    else
      add_clipped(spans, ranges.thread[range], ranges.begin_ns[range], ranges.end_ns[range], bounds);
  }
  add(threads_, spans);
}

RecordingFigures RecordingTotals::figures(const Timeline& timeline) const {
  const Interval bounds = recorded_span(timeline);
  RecordingFigures figures;
  figures.facts = facts_;
  figures.recorded_ns = recorded_ns(timeline);
  for (DeviceIndex device{0}; device < devices_.size(); ++device) {
    const std::int64_t busy_ns = devices_[device].sum_ns - devices_[device].time.behind(bounds.end);
    if (busy_ns > 0) figures.devices.push_back({device, std::min(busy_ns, figures.recorded_ns)});
  }
  for (ThreadIndex thread{0}; thread < threads_.size(); ++thread) {
    figures.threads_in_ranges += threads_[thread].sum_ns > 0 ? 1 : 0;
    figures.all_in_ranges_ns =
        projection::plus(figures.all_in_ranges_ns, std::min(threads_[thread].sum_ns, figures.recorded_ns));
    if (threads_[thread].sum_ns <= figures.in_ranges_ns) continue;
    figures.thread = thread;
    figures.in_ranges_ns = std::min(threads_[thread].sum_ns, figures.recorded_ns);
  }
  return figures;
}

}  // namespace rangefinder::analysis
