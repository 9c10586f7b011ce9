// SPDX-License-Identifier: MIT
#include "analysis/launch_configurations.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace rangefinder::analysis {
namespace {

using Key = std::array<std::uint32_t, 16>;

Key key_of(StringId kernel, DeviceIndex device, const KernelDetail& detail) {
  return {static_cast<std::uint32_t>(kernel),
          device,
          detail.grid[0],
          detail.grid[1],
          detail.grid[2],
          detail.block[0],
          detail.block[1],
          detail.block[2],
          detail.cluster[0],
          detail.cluster[1],
          detail.cluster[2],
          detail.registers_per_thread,
          detail.static_shared_bytes,
          detail.dynamic_shared_bytes,
          detail.launch_type,
          detail.shared_executed_bytes};
}

/// Waits of launches, by the number of their configuration.
class Waits {
 public:
  explicit Waits(const Timeline& timeline) : timeline_(timeline) {}

  void add(std::uint32_t configuration, ActivityIndex kernel) {
    const ActivityTable& activities = timeline_.activities;
    const std::int64_t begin = activities.begin_ns[kernel];
    if (const std::int64_t submitted = activities.submitted_ns[kernel]; submitted != kNoTime) {
      device_queue_.add(configuration, begin - submitted);
      if (const std::int64_t queued = activities.queued_ns[kernel]; queued != kNoTime)
        command_buffer_.add(configuration, submitted - queued);
    }
    const LaunchIndex launch = activities.launch[kernel];
    if (launch >= timeline_.launches.size()) return;
    delay_.add(configuration, begin - timeline_.launches.time_ns[launch]);
    const CallIndex call = timeline_.launches.call[launch];
    if (call < timeline_.calls.size() && begin >= timeline_.calls.end_ns[call])
      queue_.add(configuration, begin - timeline_.calls.end_ns[call]);
  }

  void fill(std::vector<LaunchConfiguration>& rows) const {
    delay_.fill(rows, &LaunchConfiguration::delay);
    queue_.fill(rows, &LaunchConfiguration::queue);
    command_buffer_.fill(rows, &LaunchConfiguration::command_buffer);
    device_queue_.fill(rows, &LaunchConfiguration::device_queue);
  }

 private:
  const Timeline& timeline_;
  GroupedSamples delay_, queue_, command_buffer_, device_queue_;
};

}  // namespace

std::vector<LaunchConfiguration> launch_configurations(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::vector<LaunchConfiguration> rows;
  std::map<Key, std::uint32_t> found;
  Waits waits(timeline);
  for (ActivityIndex kernel{0}; kernel < activities.size(); ++kernel) {
    const std::uint32_t detail = activities.detail[kernel];
    if (activities.kind[kernel] != ActivityKind::kKernel || detail >= timeline.kernel_details.size()) continue;
    const DeviceIndex device = timeline.streams[activities.stream[kernel]].device;
    const Key key = key_of(activities.name[kernel], device, timeline.kernel_details[detail]);
    const auto [at, added] = found.try_emplace(key, static_cast<std::uint32_t>(rows.size()));
    if (added) {
      LaunchConfiguration row;
      row.kernel = activities.name[kernel];
      row.device = device;
      row.detail = timeline.kernel_details[detail];
      rows.push_back(row);
    }
    LaunchConfiguration& row = rows[at->second];
    ++row.count;
    row.total_ns += activities.end_ns[kernel] - activities.begin_ns[kernel];
    row.in_graphs += activities.graph_node[kernel] != 0 ? 1 : 0;
    waits.add(at->second, kernel);
  }
  waits.fill(rows);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LaunchConfiguration& a, const LaunchConfiguration& b) { return a.total_ns > b.total_ns; });
  return rows;
}

}  // namespace rangefinder::analysis
