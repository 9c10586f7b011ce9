// SPDX-License-Identifier: MIT
#include "exporter/chrome/capture_devices.hpp"

#include "exporter/chrome/memory_events.hpp"
#include "exporter/chrome/sensor_events.hpp"
#include "importer/capture/capture_rows.hpp"

#include <algorithm>

namespace rangefinder::chrome {

std::vector<DeviceInfo> devices_of(const capture::CaptureReader& reader) {
  std::vector<DeviceInfo> out;
  for (const format::DeviceRow& row : reader.devices()) {
    // Written again by every session of a process: the last one counts.
    auto found = std::find_if(out.begin(), out.end(), [&](const DeviceInfo& device) { return device.id == row.id; });
    DeviceInfo& device = found == out.end() ? out.emplace_back() : *found;
    importer::describe_device(row, reader.name(row.name), device);
  }
  return out;
}

CaptureDevices::CaptureDevices(CaptureExport& shared) : shared_(shared) {
  for (DeviceInfo& device : devices_of(shared.reader)) {
    device_index_[device.id] = static_cast<std::uint32_t>(devices_.size());
    groups_.push_back(shared.layout.device(device.id, device.name, shared.process_label));
    devices_.push_back(std::move(device));
  }
  for (const format::ContextRow& row : shared.reader.contexts()) device_of_context_[row.id] = row.device;
}

std::uint32_t CaptureDevices::device_of(std::uint32_t id) {
  const auto [found, added] = device_index_.try_emplace(id, static_cast<std::uint32_t>(devices_.size()));
  if (added) {
    devices_.emplace_back().id = id;
    groups_.push_back(shared_.layout.device(id, {}, shared_.process_label));
  }
  return found->second;
}

std::uint32_t CaptureDevices::stream_of(std::uint32_t device, std::uint32_t context, std::int64_t id) {
  const auto [found, added] =
      stream_index_.try_emplace({device, context, id}, static_cast<std::uint32_t>(streams_.size()));
  if (added) streams_.emplace_back().track = shared_.layout.stream(group_of(device), context, id, 0);
  return found->second;
}

void CaptureDevices::add_sample(const format::DeviceSampleRow& row, std::int64_t time_ns) {
  shared_.extend(time_ns, time_ns);
  if (!shared_.options.counters || !shared_.in_window(time_ns, time_ns)) return;
  const GroupId group = groups_[device_of(row.device)];
  write_sensors(shared_.writer, shared_.ids(shared_.layout.sensors(group)), time_ns, row);
}

void CaptureDevices::add_sync(const format::SyncRow& row, std::int64_t begin_ns, std::int64_t end_ns) {
  shared_.extend(begin_ns, end_ns);
  if (!shared_.options.syncs || !shared_.in_window(begin_ns, end_ns)) return;
  SyncFacts facts;
  facts.type = row.type;
  facts.context = row.context;
  facts.correlation = row.correlation;
  if (row.event_context != 0) facts.event_stream = row.event_stream;
  TrackId track = kNoTrack;
  std::uint32_t level = 0;
  const auto device = device_of_context_.find(row.context);
  if (device != device_of_context_.end()) facts.device = &devices_[device_of(device->second)];
  if (row.stream != importer::kNoStream && facts.device != nullptr) {
    Stream& stream = streams_[stream_of(device->second, row.context, row.stream)];
    facts.stream = row.stream;
    track = shared_.layout.beside(stream.track, Beside::kWaits);
    level = stream.waits.add(begin_ns, end_ns);
  } else {
    const GroupId group = facts.device == nullptr ? shared_.process : groups_[device_of(device->second)];
    track = shared_.layout.waits(group);
    level = group_waits_[group].add(begin_ns, end_ns);
  }
  if (level != 0) shared_.notes.add(ExportNotes::kOverlapping);
  const auto [head, added] = sync_heads_.try_emplace(row.type);
  if (added) append_head(head->second, 'X', to_string(Category::kSync), sync_name(row.type));
  shared_.writer.open_slice(head->second, shared_.ids(shared_.table.overflow(track, level)), begin_ns, end_ns);
  write_sync_arguments(shared_.writer, facts);
  shared_.writer.close();
}

void CaptureDevices::add_allocation(const format::AllocationRow& row, std::int64_t time_ns) {
  shared_.extend(time_ns, time_ns);
  if (!shared_.in_window(time_ns, time_ns)) return;
  AllocationPoint point;
  point.freed = row.operation == 2;
  point.memory = row.memory;
  point.address = row.address;
  point.bytes = row.bytes;
  point.pool = row.pool;
  point.correlation = row.correlation;
  GroupId group = shared_.process;
  if (const auto device = device_of_context_.find(row.context); device != device_of_context_.end()) {
    point.device = static_cast<std::int64_t>(row.device);
    group = groups_[device_of(row.device)];
  }
  if (row.stream != importer::kNoStream) point.stream = row.stream;
  write_allocation(shared_.writer, shared_.ids(shared_.layout.allocations(group)), time_ns, point);
}

}  // namespace rangefinder::chrome
