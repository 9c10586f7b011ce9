// SPDX-License-Identifier: MIT
#include "advice/frames.hpp"

#include "analysis/spread.hpp"
#include "analysis/warm_up.hpp"

#include <algorithm>

namespace rangefinder::advice {

namespace {

// What torch.cuda.make_graphed_callables does before it captures; and of long runs the first quarter, in which caches
// and pools grow to what they need.
constexpr std::size_t kFewestEarly = 3;
constexpr std::size_t kEarlyPart = 4;

/// By process, when its first work of a device was launched; kNoTime without.
std::vector<std::int64_t> first_launches(const Timeline& timeline) {
  std::vector<std::int64_t> first(timeline.processes.size(), kNoTime);
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    const LaunchIndex launch = timeline.activities.launch[row];
    if (launch >= timeline.launches.size() || timeline.launches.thread[launch] >= timeline.threads.size()) continue;
    std::int64_t& of_process = first[timeline.threads[timeline.launches.thread[launch]].process];
    const std::int64_t time_ns = timeline.launches.time_ns[launch];
    if (of_process == kNoTime || time_ns < of_process) of_process = time_ns;
  }
  return first;
}

}  // namespace

Frames::Frames(const Timeline& timeline, const analysis::StepAnalysis& steps) {
  std::vector<std::size_t> count(timeline.processes.size()), position(timeline.processes.size());
  for (const analysis::StepFigures& step : steps.steps) ++count[step.process];
  for (const analysis::StepFigures& step : steps.steps) {
    const std::size_t quarter = count[step.process] / kEarlyPart, at = position[step.process]++;
    const bool is_early = at < std::max(kFewestEarly, quarter);
    if (!step.warm_up && step.begin_ns < step.end_ns)
      frames_.push_back({step.process, step.number, step.begin_ns, step.end_ns, is_early, at < quarter});
  }
  are_steps_ = !frames_.empty();
  for (std::size_t i = 0; i + analysis::kFewestSteps <= steps.steps.size(); ++i)
    if (steps.steps[i].process == steps.steps[i + analysis::kFewestSteps - 1].process) knows_warm_up_ = true;
  if (!are_steps_) {
    const std::vector<std::int64_t> first_launch = first_launches(timeline);
    for (ProcessIndex process{0}; process < timeline.processes.size(); ++process) {
      // What comes before the first launch is no wait of the device's.
      const std::int64_t begin_ns = first_launch[process] != kNoTime ? first_launch[process] : timeline.begin_ns;
      if (begin_ns < timeline.end_ns) frames_.push_back({process, 0, begin_ns, timeline.end_ns});
    }
  }
  first_.assign(timeline.processes.size() + 1, 0);
  for (const Frame& frame : frames_) ++first_[frame.process + std::size_t{1}];
  for (std::size_t process = 1; process < first_.size(); ++process) first_[process] += first_[process - 1];
}

std::size_t Frames::at(ProcessIndex process, std::int64_t time_ns) const noexcept {
  if (process + std::size_t{1} >= first_.size()) return kNoFrame;
  const auto begin = frames_.begin() + static_cast<std::ptrdiff_t>(first_[process]);
  const auto end = frames_.begin() + static_cast<std::ptrdiff_t>(first_[process + std::size_t{1}]);
  const auto after =
      std::partition_point(begin, end, [time_ns](const Frame& frame) { return frame.begin_ns <= time_ns; });
  if (after == begin || time_ns >= (after - 1)->end_ns) return kNoFrame;
  return static_cast<std::size_t>(after - 1 - frames_.begin());
}

bool Frames::holds(const Timeline& timeline, ActivityIndex activity) const noexcept {
  const ActivityTable& activities = timeline.activities;
  const LaunchIndex launch = activities.launch[activity];
  if (launch < timeline.launches.size())
    return holds(timeline, timeline.launches.thread[launch], timeline.launches.time_ns[launch]);
  const DeviceIndex device = timeline.streams[activities.stream[activity]].device;
  return at(timeline.devices[device].process, activities.begin_ns[activity]) != kNoFrame;
}

std::int64_t Frames::total_ns() const noexcept {
  std::int64_t total = 0;
  for (const Frame& frame : frames_)
    total = analysis::saturating_add(total, detail::minus(frame.end_ns, frame.begin_ns));
  return total;
}

}  // namespace rangefinder::advice
