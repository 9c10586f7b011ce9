// SPDX-License-Identifier: MIT
#include "analysis/launch_configurations.hpp"

#include <algorithm>

namespace rangefinder::analysis {

LaunchConfigurations::Key LaunchConfigurations::key_of(StringId kernel, DeviceIndex device,
                                                       const KernelDetail& detail) {
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

void LaunchConfigurations::add_waits(const Timeline& timeline, std::uint32_t configuration, ActivityIndex kernel) {
  const ActivityTable& activities = timeline.activities;
  const std::int64_t begin = activities.begin_ns[kernel];
  if (const std::int64_t submitted = activities.submitted_ns[kernel]; submitted != kNoTime) {
    device_queue_.add(configuration, begin - submitted);
    if (const std::int64_t queued = activities.queued_ns[kernel]; queued != kNoTime)
      command_buffer_.add(configuration, submitted - queued);
  }
  const LaunchIndex launch = activities.launch[kernel];
  if (launch >= timeline.launches.size()) return;
  delay_.add(configuration, begin - timeline.launches.time_ns[launch]);
  const CallIndex call = timeline.launches.call[launch];
  if (call < timeline.calls.size() && begin >= timeline.calls.end_ns[call])
    queue_.add(configuration, begin - timeline.calls.end_ns[call]);
}

void LaunchConfigurations::add(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex kernel{0}; kernel < activities.size(); ++kernel) {
    const std::uint32_t detail = activities.detail[kernel];
    if (activities.kind[kernel] != ActivityKind::kKernel || detail >= timeline.kernel_details.size()) continue;
    const DeviceIndex device = timeline.streams[activities.stream[kernel]].device;
    const Key key = key_of(activities.name[kernel], device, timeline.kernel_details[detail]);
    const auto [at, added] = found_.try_emplace(key, static_cast<std::uint32_t>(rows_.size()));
    if (added) {
      LaunchConfiguration row;
      row.kernel = activities.name[kernel];
      row.device = device;
      row.detail = timeline.kernel_details[detail];
      rows_.push_back(row);
    }
    LaunchConfiguration& row = rows_[at->second];
    ++row.count;
    row.total_ns += activities.end_ns[kernel] - activities.begin_ns[kernel];
    row.in_graphs += activities.graph_node[kernel] != 0 ? 1 : 0;
    add_waits(timeline, at->second, kernel);
  }
}

std::vector<LaunchConfiguration> LaunchConfigurations::rows(const Timeline& timeline) const {
  std::vector<LaunchConfiguration> rows = rows_;
  delay_.fill(rows, &LaunchConfiguration::delay);
  queue_.fill(rows, &LaunchConfiguration::queue);
  command_buffer_.fill(rows, &LaunchConfiguration::command_buffer);
  device_queue_.fill(rows, &LaunchConfiguration::device_queue);
  const auto before = [&](const LaunchConfiguration& a, const LaunchConfiguration& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    if (a.kernel != b.kernel) return timeline.text(a.kernel) < timeline.text(b.kernel);
    return key_of(a.kernel, a.device, a.detail) < key_of(b.kernel, b.device, b.detail);
  };
  std::sort(rows.begin(), rows.end(), before);
  return rows;
}

bool LaunchConfigurations::is_exact() const noexcept {
  return delay_.is_exact() && queue_.is_exact() && command_buffer_.is_exact() && device_queue_.is_exact();
}

std::uint64_t LaunchConfigurations::memory_bytes() const noexcept {
  constexpr std::uint64_t kEntryBytes = 112;  // of the map
  return rows_.capacity() * sizeof(LaunchConfiguration) + found_.size() * kEntryBytes + delay_.memory_bytes() +
         queue_.memory_bytes() + command_buffer_.memory_bytes() + device_queue_.memory_bytes();
}

}  // namespace rangefinder::analysis
