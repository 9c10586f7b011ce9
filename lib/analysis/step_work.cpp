// SPDX-License-Identifier: MIT
#include "analysis/step_work.hpp"

#include "analysis/counted_operators.hpp"

#include <algorithm>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// By process.
std::vector<std::uint32_t> devices_that_worked(const Timeline& timeline) {
  std::vector<bool> worked(timeline.devices.size());
  for (const StreamIndex stream : timeline.activities.stream) {
    if (stream >= timeline.streams.size()) continue;
    const DeviceIndex device = timeline.streams[stream].device;
    if (device < worked.size()) worked[device] = true;
  }
  std::vector<std::uint32_t> counts(timeline.processes.size());
  for (DeviceIndex device{0}; device < worked.size(); ++device)
    if (worked[device] && timeline.devices[device].process < counts.size()) ++counts[timeline.devices[device].process];
  return counts;
}

/// The one in which something of a process happened; the end where none was.
std::vector<StepFigures>::const_iterator step_at(const std::vector<StepFigures>& steps, ProcessIndex process,
                                                 std::int64_t time_ns) {
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), std::pair(process, time_ns),
      [](const auto& moment, const StepFigures& step) { return moment < std::pair(step.process, step.begin_ns); });
  if (after == steps.begin()) return steps.end();
  const auto step = std::prev(after);
  return step->process == process && time_ns < step->end_ns ? step : steps.end();
}

}  // namespace

std::vector<StepWork> work_of_steps(const Timeline& timeline, const std::vector<StepFigures>& steps) {
  NotCounted not_counted;
  const CountedByThread threads = counted_operators(timeline, not_counted);
  std::vector<StepWork> out(steps.size());
  bool any = false;
  for (ThreadIndex thread{0}; thread < threads.size(); ++thread) {
    for (const CountedOperator& counted : threads[thread]) {
      const auto step = step_at(steps, timeline.threads[thread].process, counted.begin_ns);
      if (step == steps.end()) continue;
      out[static_cast<std::size_t>(step - steps.begin())].work += counted.work();
      any = any || counted.flops > 0;
    }
  }
  if (!any) return {};
  const std::vector<std::uint32_t> devices = devices_that_worked(timeline);
  for (std::size_t i = 0; i < steps.size(); ++i)
    out[i].devices = steps[i].process < devices.size() ? devices[steps[i].process] : 0;
  return out;
}

std::optional<double> utilisation_of(const StepWork& step, std::int64_t step_ns, const MachinePeaks& peaks,
                                     std::string_view device) {
  if (step_ns <= 0 || step.work.all_flops() <= 0) return std::nullopt;
  const std::optional<double> seconds = compute_seconds(step.work, peaks, device);
  if (!seconds) return std::nullopt;
  const double devices = std::max<std::uint32_t>(step.devices, 1);
  return *seconds / (static_cast<double>(step_ns) / 1e9 * devices);
}

}  // namespace rangefinder::analysis
