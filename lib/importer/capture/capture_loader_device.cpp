// SPDX-License-Identifier: MIT
#include "format/node_note.hpp"
#include "importer/capture/capture_loader.hpp"
#include "importer/capture/capture_rows.hpp"
#include "timeline/activity_names.hpp"

#include <algorithm>
#include <string>

namespace rangefinder::importer {

DeviceIndex CaptureLoader::device_of(std::uint32_t id) {
  const auto [found, added] = devices_.try_emplace(id, static_cast<DeviceIndex>(out_.devices.size()));
  if (added) {
    DeviceInfo device;
    device.process = process_;
    device.id = id;
    out_.devices.push_back(device);
  }
  return found->second;
}

StreamIndex CaptureLoader::stream_of(std::uint32_t device, std::uint32_t context, std::int64_t id) {
  const auto [found, added] =
      streams_.try_emplace({device, context, id}, static_cast<StreamIndex>(out_.streams.size()));
  if (added) out_.streams.push_back({device_of(device), context, id});
  return found->second;
}

void CaptureLoader::add_devices() {
  for (const format::DeviceRow& row : reader_.devices()) {
    describe_device(row, reader_.name(row.name), out_.devices[device_of(row.id)]);
  }
  for (const format::ContextRow& row : reader_.contexts()) context_device_[row.id] = row.device;
}

/// Which boards sensors are of, as facts tell.
void CaptureLoader::add_boards() {
  for (const auto& [id, index] : devices_) {
    out_.devices[index].board = reader_.metadata("nvml_board:" + std::to_string(id));
    out_.devices[index].mig = reader_.metadata("nvml_mig:" + std::to_string(id)) == "on";
  }
}

template <typename Row>
void CaptureLoader::add_activity(ActivityKind kind, StringId name, const Row& row, std::uint64_t bytes,
                                 std::uint32_t detail) {
  ActivityTable& table = out_.activities;
  table.kind.push_back(kind);
  table.name.push_back(name);
  table.stream.push_back(stream_of(row.device, row.context, row.stream));
  table.begin_ns.push_back(device_time(row.begin_ns));
  table.end_ns.push_back(moved(device_time(row.begin_ns), row.end_ns - row.begin_ns));
  table.correlation.push_back(row.correlation);
  table.launch.push_back(kNone);
  table.bytes.push_back(bytes);
  table.detail.push_back(detail);
  if constexpr (requires { row.graph_node; })
    table.graph_node.push_back(row.graph_node);
  else
    table.graph_node.push_back(0);
  table.graph.push_back(row.graph_id);
  table.external_id.push_back(-1);
  table.source_row.push_back(-1);
}

/// Only captures with latency timestamps pay for the columns.
void CaptureLoader::add_latency(const format::KernelRow& row) {
  if (row.queued_ns == 0 && row.submitted_ns == 0) return;
  const auto time = [&](std::uint64_t ns) {
    const auto device_ns = static_cast<std::int64_t>(ns);
    return device_ns <= 0 || device_ns > kLatest ? kNoTime : device_time(device_ns);
  };
  ActivityTable& table = out_.activities;
  table.queued_ns.resize(table.size() - 1, kNoTime);
  table.submitted_ns.resize(table.size() - 1, kNoTime);
  table.queued_ns.push_back(time(row.queued_ns));
  table.submitted_ns.push_back(time(row.submitted_ns));
}

void CaptureLoader::on_kernels(std::span<const format::KernelRow> rows) {
  for (const format::KernelRow& row : rows) {
    if (!believable(row)) continue;
    const auto index = static_cast<std::uint32_t>(out_.kernel_details.size());
    out_.kernel_details.push_back(kernel_detail(row));
    add_activity(ActivityKind::kKernel, name(row.name), row, 0, index);
    add_latency(row);
  }
}

void CaptureLoader::on_memcpys(std::span<const format::MemcpyRow> rows) {
  for (const format::MemcpyRow& row : rows) {
    if (!believable(row)) continue;
    const CopyDetail detail = copy_detail(row);
    const auto index = static_cast<std::uint32_t>(out_.copy_details.size());
    out_.copy_details.push_back(detail);
    add_activity(ActivityKind::kMemcpy, out_.intern(timeline::memcpy_name(detail)), row, row.bytes, index);
  }
}

void CaptureLoader::on_memsets(std::span<const format::MemsetRow> rows) {
  for (const format::MemsetRow& row : rows) {
    if (!believable(row)) continue;
    const CopyDetail detail = copy_detail(row);
    const auto index = static_cast<std::uint32_t>(out_.copy_details.size());
    out_.copy_details.push_back(detail);
    add_activity(ActivityKind::kMemset, out_.intern(timeline::memset_name(detail)), row, row.bytes, index);
  }
}

void CaptureLoader::on_graph_launches(std::span<const format::GraphLaunchRow> rows) {
  for (const format::GraphLaunchRow& row : rows) {
    if (!believable(row)) continue;
    add_activity(ActivityKind::kGraph, out_.intern(timeline::graph_name(row.graph_id)), row, 0, kNone);
  }
}

void CaptureLoader::on_api_calls(std::span<const format::ApiRow> rows) {
  CallTable& table = out_.calls;
  for (const format::ApiRow& row : rows) {
    table.name.push_back(name(row.name));
    table.domain.push_back(row.domain == 0   ? CallDomain::kRuntime
                           : row.domain == 1 ? CallDomain::kDriver
                                             : CallDomain::kInternal);
    table.thread.push_back(thread_of_tid(row.tid));
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.correlation.push_back(row.correlation);
    table.result.push_back(static_cast<std::int32_t>(row.result));
    table.external_id.push_back(-1);
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_syncs(std::span<const format::SyncRow> rows) {
  SyncTable& table = out_.syncs;
  for (const format::SyncRow& row : rows) {
    const auto device = context_device_.find(row.context);
    table.type.push_back(row.type);
    table.device.push_back(device != context_device_.end() ? device_of(device->second) : kNone);
    const bool on_stream = row.stream != kNoStream && device != context_device_.end();
    table.stream.push_back(on_stream ? stream_of(device->second, row.context, row.stream) : kNone);
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.correlation.push_back(row.correlation);
    table.source_row.push_back(-1);
    const auto recorded_on = context_device_.find(row.event_context);
    const bool knows_event = row.event_context != 0 && recorded_on != context_device_.end();
    table.event_stream.resize(table.size() - 1, kNone);  // other inputs of a job may lack it
    table.event_stream.push_back(knows_event ? stream_of(recorded_on->second, row.event_context, row.event_stream)
                                             : kNone);
  }
}

void CaptureLoader::on_overheads(std::span<const format::OverheadRow> rows) {
  OverheadTable& table = out_.overheads;
  for (const format::OverheadRow& row : rows) {
    table.name.push_back(out_.intern(timeline::overhead_name(row.kind)));
    table.thread.push_back(row.tid != 0 ? thread_of_tid(row.tid) : kNone);
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_jits(std::span<const format::JitRow> rows) {
  OverheadTable& table = out_.overheads;
  for (const format::JitRow& row : rows) {
    table.name.push_back(out_.intern(timeline::jit_name(row.entry, row.operation)));
    table.thread.push_back(row.tid != 0 ? thread_of_tid(row.tid) : kNone);
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_allocations(std::span<const format::AllocationRow> rows) {
  AllocationTable& table = out_.allocations;
  for (const format::AllocationRow& row : rows) {
    const bool on_device = context_device_.contains(row.context);
    table.process.push_back(process_);
    table.time_ns.push_back(device_time(row.time_ns));
    table.freed.push_back(row.operation == 2 ? 1 : 0);
    table.memory.push_back(row.memory);
    table.device.push_back(on_device ? device_of(row.device) : kNone);
    table.stream.push_back(on_device && row.stream != kNoStream ? stream_of(row.device, row.context, row.stream)
                                                                : kNone);
    table.address.push_back(row.address);
    table.bytes.push_back(row.bytes);
    table.pool.push_back(row.pool);
    table.correlation.push_back(row.correlation);
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_graph_nodes(std::span<const format::GraphNodeRow> rows) {
  GraphNodeTable& table = out_.graph_nodes;
  for (const format::GraphNodeRow& row : rows) {
    if ((row.flags & format::kGraphNodeConditional) != 0 && row.graph_id != 0)
      out_.conditional_graphs.emplace_back(process_, row.graph_id);
    if ((row.flags & format::kGraphNodeGone) != 0) continue;  // what comes late finds it all the same
    table.process.push_back(process_);
    table.node.push_back(row.node);
    table.time_ns.push_back(device_time(row.time_ns));
    table.correlation.push_back(format::maker_key(row.correlation, row.note));
  }
}

void CaptureLoader::on_device_samples(std::span<const format::DeviceSampleRow> rows) {
  DeviceSampleTable& table = out_.device_samples;
  for (const format::DeviceSampleRow& row : rows) {
    table.device.push_back(device_of(row.device));
    table.time_ns.push_back(device_time(row.time_ns));
    table.present.push_back(row.present);
    table.gpu_utilisation_percent.push_back(row.gpu_utilisation_percent);
    table.memory_utilisation_percent.push_back(row.memory_utilisation_percent);
    table.sm_clock_mhz.push_back(row.sm_clock_mhz);
    table.memory_clock_mhz.push_back(row.memory_clock_mhz);
    table.power_mw.push_back(row.power_mw);
    table.temperature_c.push_back(row.temperature_c);
    table.energy_mj.push_back(row.energy_mj);
    table.throttle_reasons.push_back(row.throttle_reasons);
    table.memory_used_bytes.push_back(row.memory_used_bytes);
  }
}

}  // namespace rangefinder::importer
