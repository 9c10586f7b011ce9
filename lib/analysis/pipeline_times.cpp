// SPDX-License-Identifier: MIT
#include "analysis/pipeline_times.hpp"

#include "analysis/communication_names.hpp"
#include "analysis/device_states.hpp"
#include "base/intervals.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace rangefinder::analysis {
namespace {

using base::Interval;
using Intervals = std::vector<Interval>;

/// What the devices of a process did in a step.
struct DeviceStep {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  Intervals working;
};

class TimesFinder {
 public:
  TimesFinder(const Timeline& timeline, const PipelineWindows& windows, const PipelineMessages& messages)
      : timeline_(timeline),
        windows_(windows),
        has_messages_(timeline.processes.size()),
        times_(timeline.processes.size()),
        device_steps_(timeline.processes.size()),
        waits_(timeline.processes.size()),
        communication_(timeline) {
    for (std::size_t process = 0; process < has_messages_.size(); ++process)
      has_messages_[process] = !messages.by_process[process].empty();
  }

  std::vector<PipelineProcessTimes> run() {
    read_devices();
    read_waits();
    for (std::size_t process = 0; process < times_.size(); ++process) {
      if (!has_messages_[process]) continue;
      times_[process].on_device = !device_steps_[process].empty();
      if (times_[process].on_device)
        measure_device(device_steps_[process], times_[process].steps);
      else
        measure_host(windows_[process], waits_[process], times_[process].steps);
    }
    return std::move(times_);
  }

 private:
  bool is_working(ActivityIndex row) {
    const ActivityTable& activities = timeline_.activities;
    return activities.kind[row] != ActivityKind::kKernel || !communication_.has(activities.name[row]);
  }

  /// The step that launched it; where that is not known, the one that it ran in.
  const PipelineWindow* window_of(ProcessIndex process, ActivityIndex row) const {
    const LaunchIndex launch = timeline_.activities.launch[row];
    const bool known = launch < timeline_.launches.size();
    return window_at(windows_[process],
                     known ? timeline_.launches.time_ns[launch] : timeline_.activities.begin_ns[row]);
  }

  void read_devices() {
    const ActivityTable& activities = timeline_.activities;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const ProcessIndex process = timeline_.devices[timeline_.streams[activities.stream[row]].device].process;
      if (process >= times_.size() || !has_messages_[process]) continue;
      const PipelineWindow* const window = window_of(process, row);
      if (window == nullptr) continue;
      const std::int64_t begin_ns = std::clamp(activities.begin_ns[row], -kFarthestNs, kFarthestNs);
      const std::int64_t end_ns = std::clamp(activities.end_ns[row], begin_ns, kFarthestNs);
      DeviceStep& step =
          device_steps_[process].try_emplace(window->number, DeviceStep{begin_ns, end_ns, {}}).first->second;
      step.begin_ns = std::min(step.begin_ns, begin_ns);
      step.end_ns = std::max(step.end_ns, end_ns);
      if (is_working(row)) step.working.push_back({begin_ns, end_ns});
    }
  }

  static void measure_device(std::map<std::int64_t, DeviceStep>& steps, std::vector<PipelineStepTime>& times) {
    for (auto& [number, step] : steps)
      times.push_back({number, step.begin_ns, step.end_ns, base::sort_and_union_length(step.working)});
  }

  // ---- hosts

  bool is_on_host(ProcessIndex process) const {
    return process < times_.size() && has_messages_[process] && device_steps_[process].empty();
  }
  bool is_message(CollectiveIndex row) const {
    const CollectiveKind kind = timeline_.collectives.kind[row];
    return kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive;
  }

  /// When each thread began or ended something, in order: while it waits, it does not.
  std::vector<std::vector<std::int64_t>> thread_events() const {
    std::vector<std::vector<std::int64_t>> events(timeline_.threads.size());
    const auto add = [&](ThreadIndex thread, std::int64_t time_ns) {
      if (thread < events.size() && time_ns != kNoTime && is_on_host(timeline_.threads[thread].process))
        events[thread].push_back(time_ns);
    };
    for (RangeIndex row{0}; row < timeline_.ranges.size(); ++row) {
      add(timeline_.ranges.thread[row], timeline_.ranges.begin_ns[row]);
      add(timeline_.ranges.end_thread[row], timeline_.ranges.end_ns[row]);
    }
    const CollectiveTable& table = timeline_.collectives;
    for (CollectiveIndex row{0}; row < table.size(); ++row) {
      add(table.thread[row], table.begin_ns[row]);
      add(table.thread[row], table.end_ns[row]);
      if (is_message(row)) add(table.thread[row], table.completed_ns[row]);
    }
    for (std::vector<std::int64_t>& of_thread : events) std::sort(of_thread.begin(), of_thread.end());
    return events;
  }

  void read_waits() {
    const std::vector<std::vector<std::int64_t>> events = thread_events();
    const CollectiveTable& table = timeline_.collectives;
    for (CollectiveIndex row{0}; row < table.size(); ++row) {
      const ProcessIndex process = table.process[row];
      if (!is_on_host(process)) continue;
      add_wait(process, table.begin_ns[row], table.end_ns[row]);
      if (table.wait_begin_ns[row] != kNoTime) {
        add_wait(process, table.wait_begin_ns[row], table.wait_end_ns[row]);
      } else if (is_message(row) && table.thread[row] < events.size() && table.completed_ns[row] != kNoTime) {
        const std::vector<std::int64_t>& of_thread = events[table.thread[row]];
        const auto after = std::lower_bound(of_thread.begin(), of_thread.end(), table.completed_ns[row]);
        const std::int64_t called_ns = std::max(table.begin_ns[row], table.end_ns[row]);
        if (after != of_thread.begin()) add_wait(process, std::max(after[-1], called_ns), table.completed_ns[row]);
      }
    }
  }
  void add_wait(ProcessIndex process, std::int64_t begin_ns, std::int64_t end_ns) {
    if (begin_ns != kNoTime && end_ns > begin_ns) waits_[process].push_back({begin_ns, end_ns});
  }

  static void measure_host(const std::vector<PipelineWindow>& windows, Intervals& waits,
                           std::vector<PipelineStepTime>& times) {
    std::sort(waits.begin(), waits.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    Intervals joined;
    for (const Interval& wait : waits) {
      if (!joined.empty() && wait.begin <= joined.back().end)
        joined.back().end = std::max(joined.back().end, wait.end);
      else
        joined.push_back(wait);
    }
    std::size_t first = 0;
    for (const PipelineWindow& window : windows) {
      while (first < joined.size() && joined[first].end <= window.begin_ns) ++first;
      std::int64_t waited_ns = 0;
      for (std::size_t at = first; at < joined.size() && joined[at].begin < window.end_ns; ++at)
        waited_ns += std::min(joined[at].end, window.end_ns) - std::max(joined[at].begin, window.begin_ns);
      times.push_back({window.number, window.begin_ns, window.end_ns, window.end_ns - window.begin_ns - waited_ns});
    }
    std::stable_sort(times.begin(), times.end(),
                     [](const PipelineStepTime& a, const PipelineStepTime& b) { return a.number < b.number; });
  }

  const Timeline& timeline_;
  const PipelineWindows& windows_;
  std::vector<bool> has_messages_;  // by process, as all below
  std::vector<PipelineProcessTimes> times_;
  std::vector<std::map<std::int64_t, DeviceStep>> device_steps_;  // by number
  std::vector<Intervals> waits_;
  CommunicationNames communication_;
};

}  // namespace

std::vector<PipelineProcessTimes> pipeline_times(const Timeline& timeline, const PipelineWindows& windows,
                                                 const PipelineMessages& messages) {
  return TimesFinder(timeline, windows, messages).run();
}

}  // namespace rangefinder::analysis
