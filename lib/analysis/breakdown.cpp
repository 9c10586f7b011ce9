// SPDX-License-Identifier: MIT
#include "analysis/breakdown.hpp"

#include "analysis/breakdown_of_ranges.hpp"
#include "analysis/device_states.hpp"
#include "analysis/host_states.hpp"
#include "projection/figures.hpp"
#include "projection/project.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace rangefinder::analysis {
namespace {

using projection::plus;

void add_length(std::int64_t& to, std::int64_t length) noexcept { to = plus(to, length); }

void add_idle(BreakdownRow& row, DeviceIdle reason, std::int64_t length) noexcept {
  switch (reason) {
    case DeviceIdle::kHostWait:
      add_length(row.idle.host_wait_ns, length);
      break;
    case DeviceIdle::kKernelWait:
      add_length(row.idle.kernel_wait_ns, length);
      break;
    case DeviceIdle::kSyncWait:
      add_length(row.idle.sync_wait_ns, length);
      break;
    case DeviceIdle::kOther:
      add_length(row.idle.other_ns, length);
      break;
    case DeviceIdle::kNotRecorded:
      return;
  }
  add_length(row.idle_ns, length);
  add_length(row.total_ns, length);
}

/// What the device did for so long.
void add_state(BreakdownRow& row, std::uint8_t kind, std::int64_t length) noexcept {
  if (!is_work(kind)) return add_idle(row, static_cast<DeviceIdle>(kind), length);
  add_length(row.busy_ns, length);
  add_length(row.total_ns, length);
  const bool computes = (kind & kComputing) != 0;
  const bool communicates = (kind & kCommunicating) != 0;
  if (computes) add_length(row.computation_ns, length);
  if (communicates) add_length(row.communication_ns, length);
  if (communicates && !computes) add_length(row.exposed_communication_ns, length);
  if ((kind & kCopying) != 0) add_length(row.memcpy_ns, length);
  if ((kind & kCopying) != 0 && !computes && !communicates) add_length(row.exposed_memcpy_ns, length);
  if ((kind & kOrphan) != 0) add_length(row.orphan_busy_ns, length);
  if ((kind & kGraph) != 0) add_length(row.graph_busy_ns, length);
}

void count_work(BreakdownRow& row, std::uint8_t work) noexcept {
  ++row.ops;
  row.orphan_ops += (work & kOrphan) != 0 ? 1 : 0;
  row.graph_ops += (work & kGraph) != 0 ? 1 : 0;
}

/// A stretch of time, and the row that what happens in it counts for.
struct RowFrame {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::size_t row;
};

/// From the first begin to the last end of the work of a device that has any.
RowFrame extent_of(const DeviceStates& states, DeviceIndex device, std::size_t row) {
  const auto activities = states.activities_of(device);
  RowFrame extent{states.begin_ns(activities.front()), states.end_ns(activities.front()), row};
  for (const ActivityIndex activity : activities) extent.end_ns = std::max(extent.end_ns, states.end_ns(activity));
  return extent;
}

struct BreakdownStep {
  ProcessIndex process;
  std::int64_t number;
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

/// By process, then time. A step ends where the next one of its process begins, if it does not end before; one that was
/// not recorded to its end is none.
std::vector<BreakdownStep> steps_of(const Timeline& timeline) {
  const StepTable& table = timeline.steps;
  std::vector<BreakdownStep> steps;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::int64_t begin_ns = table.begin_ns[row], end_ns = table.end_ns[row];
    if (table.thread[row] >= timeline.threads.size() || end_ns < begin_ns) continue;
    if (begin_ns < -kFarthestNs || end_ns > kFarthestNs) continue;
    steps.push_back({timeline.threads[table.thread[row]].process, table.number[row], begin_ns, end_ns});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const BreakdownStep& a, const BreakdownStep& b) {
    if (a.process != b.process) return a.process < b.process;
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns < b.end_ns;
  });
  for (std::size_t i = 1; i < steps.size(); ++i)
    if (steps[i - 1].process == steps[i].process)
      steps[i - 1].end_ns = std::min(steps[i - 1].end_ns, steps[i].begin_ns);
  return steps;
}

std::span<const BreakdownStep> steps_of_process(const std::vector<BreakdownStep>& steps, ProcessIndex process) {
  const auto [first, last] =
      std::equal_range(steps.begin(), steps.end(), BreakdownStep{process, 0, 0, 0},
                       [](const BreakdownStep& a, const BreakdownStep& b) { return a.process < b.process; });
  return {first, last};
}

/// What of `extent` lies in none of `frames`, which are in order.
std::vector<RowFrame> outside_of(std::span<const RowFrame> frames, RowFrame extent) {
  std::vector<RowFrame> outside;
  for (const RowFrame& frame : frames) {
    if (frame.begin_ns > extent.begin_ns)
      outside.push_back({extent.begin_ns, std::min(frame.begin_ns, extent.end_ns), extent.row});
    extent.begin_ns = std::max(extent.begin_ns, frame.end_ns);
    if (extent.begin_ns >= extent.end_ns) return outside;
  }
  if (extent.begin_ns < extent.end_ns) outside.push_back(extent);
  return outside;
}

class RowsByTime {
 public:
  RowsByTime(const Timeline& timeline, DeviceStates& states) : timeline_(timeline), states_(states), host_(timeline) {}

  std::vector<BreakdownRow> by_device() {
    for_each_place([this](const Place& place, RowFrame extent, std::span<const Span> spans) {
      extent.row = add_row(place);
      add_frames({&extent, 1}, spans);
      for_each_work(place, [&](std::int64_t, std::uint8_t work) { count_work(rows_.back(), work); });
    });
    return std::move(rows_);
  }

  std::vector<BreakdownRow> by_step() {
    const std::vector<BreakdownStep> steps = steps_of(timeline_);
    for_each_place([&](const Place& place, RowFrame extent, std::span<const Span> spans) {
      std::vector<RowFrame> frames;
      for (const BreakdownStep& step : steps_of_process(steps, place.process)) {
        frames.push_back({step.begin_ns, step.end_ns, add_row(place)});
        rows_.back().step = step.number;
      }
      extent.row = add_row(place);
      add_frames(frames, spans);
      add_frames(outside_of(frames, extent), spans);
      count_by_begin(place, frames, extent.row);
      if (rows_.back().total_ns == 0 && rows_.back().ops == 0) rows_.pop_back();
    });
    return std::move(rows_);
  }

 private:
  /// A device, or the host of a process without one.
  struct Place {
    ProcessIndex process;
    DeviceIndex device;
  };

  template <typename Use>
  void for_each_place(Use use) {
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device)
      if (!states_.activities_of(device).empty())
        use(Place{timeline_.devices[device].process, device}, extent_of(states_, device, 0), states_.of(device));
    for (const ProcessIndex process : host_.processes()) {
      const std::vector<Span> spans = host_.of(process);
      use(Place{process, kNone}, RowFrame{spans.front().begin, spans.back().end, 0}, spans);
    }
  }
  /// Calls `use(begin_ns, bits of DeviceWork)` for what ran there, in order of begin.
  template <typename Use>
  void for_each_work(const Place& place, Use use) {
    if (place.device == kNone) {
      for (const HostCommunication& work : host_.communications_of(place.process)) use(work.begin_ns, kCommunicating);
    } else {
      for (const ActivityIndex activity : states_.activities_of(place.device))
        use(states_.begin_ns(activity), states_.work_of(activity));
    }
  }
  std::size_t add_row(const Place& place) {
    BreakdownRow& row = rows_.emplace_back();
    row.process = place.process;
    row.device = place.device;
    return rows_.size() - 1;
  }
  void add_frames(std::span<const RowFrame> frames, std::span<const Span> spans) {
    for_each_overlap(frames, spans, [&](std::size_t frame, const Span& span, std::int64_t length) {
      add_state(rows_[frames[frame].row], span.kind, length);
    });
  }
  void count_by_begin(const Place& place, const std::vector<RowFrame>& frames, std::size_t outside) {
    std::size_t at = 0;
    for_each_work(place, [&](std::int64_t begin_ns, std::uint8_t work) {
      while (at < frames.size() && frames[at].end_ns <= begin_ns) ++at;
      const bool inside = at < frames.size() && frames[at].begin_ns <= begin_ns;
      count_work(rows_[inside ? frames[at].row : outside], work);
    });
  }

  const Timeline& timeline_;
  DeviceStates& states_;
  HostStates host_;
  std::vector<BreakdownRow> rows_;
};

bool has_orphans(const Timeline& timeline) {
  const auto& launches = timeline.activities.launch;
  return std::any_of(launches.begin(), launches.end(),
                     [&](LaunchIndex launch) { return launch >= timeline.launches.size(); });
}

std::vector<BreakdownRow> rows_of(const Timeline& timeline, const Projection* projection,
                                  const BreakdownOptions& options) {
  DeviceStates states(timeline, options.usual_gap_ns, [projection](ActivityIndex activity) {
    return projection != nullptr && projection->owner[activity] == static_cast<std::uint32_t>(Unowned::kBefore);
  });
  switch (options.by) {
    case BreakdownBy::kDevice:
      return RowsByTime(timeline, states).by_device();
    case BreakdownBy::kStep:
      return RowsByTime(timeline, states).by_step();
    case BreakdownBy::kRange:
      break;
  }
  return breakdown_of_ranges(timeline, *projection, states);
}

}  // namespace

std::vector<BreakdownRow> breakdown(const Timeline& timeline, const Projection& projection,
                                    const BreakdownOptions& options) {
  return rows_of(timeline, &projection, options);
}

}  // namespace rangefinder::analysis

namespace rangefinder {

std::vector<BreakdownRow> breakdown(const Timeline& timeline, const BreakdownOptions& options) {
  if (options.by != BreakdownBy::kRange && !analysis::has_orphans(timeline))
    return analysis::rows_of(timeline, nullptr, options);
  return analysis::breakdown(timeline, projection::project_without_streams(timeline, options.projection), options);
}

}  // namespace rangefinder
