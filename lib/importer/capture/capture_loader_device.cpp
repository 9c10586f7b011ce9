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
  const StreamKey key{device, context, id};
  if (last_stream_ != nullptr && last_stream_->first == key) return last_stream_->second;
  const auto [found, added] = streams_.try_emplace(key, static_cast<StreamIndex>(out_.streams.size()));
  if (added) out_.streams.push_back({device_of(device), context, id});
  last_stream_ = &*found;
  return found->second;
}

template <typename Row>
void CaptureLoader::add_activity(ActivityKind kind, StringId name, const Row& row, std::uint64_t bytes,
                                 std::uint32_t detail) {
  const std::int64_t begin_ns = device_time(row.begin_ns);
  ActivityRow activity{.kind = kind,
                       .name = name,
                       .stream = stream_of(row.device, row.context, row.stream),
                       .begin_ns = begin_ns,
                       .end_ns = moved(begin_ns, row.end_ns - row.begin_ns),
                       .correlation = row.correlation,
                       .bytes = bytes,
                       .detail = detail,
                       .graph = row.graph_id};
  if constexpr (requires { row.graph_node; }) activity.graph_node = row.graph_node;
  if constexpr (requires { row.queued_ns; }) {
    activity.queued_ns = latency_time(row.queued_ns);
    activity.submitted_ns = latency_time(row.submitted_ns);
  }
  out_.activities.append(activity);
}

void CaptureLoader::on_kernels(std::span<const format::KernelRow> rows) {
  for (const format::KernelRow& row : rows) {
    if (!believable(row)) continue;
    const StringId kernel = name(row.name);
    add_activity(ActivityKind::kKernel, kernel, row, 0, kernel_details_.row_of(kernel, row, out_));
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
    const std::int64_t begin_ns = device_time(row.begin_ns);
    table.append({.name = name(row.name),
                  .domain = row.domain == 0   ? CallDomain::kRuntime
                            : row.domain == 1 ? CallDomain::kDriver
                                              : CallDomain::kInternal,
                  .thread = thread_of_tid(row.tid),
                  .begin_ns = begin_ns,
                  .end_ns = std::max(begin_ns, device_time(row.end_ns)),
                  .correlation = row.correlation,
                  .result = static_cast<std::int32_t>(row.result)});
  }
}

void CaptureLoader::on_syncs(std::span<const format::SyncRow> rows) {
  SyncTable& table = out_.syncs;
  for (const format::SyncRow& row : rows) {
    const auto device = context_device_.find(row.context);
    const bool on_device = device != context_device_.end();
    const auto recorded_on = context_device_.find(row.event_context);
    const bool knows_event = row.event_context != 0 && recorded_on != context_device_.end();
    SyncRow sync{.type = row.type,
                 .begin_ns = device_time(row.begin_ns),
                 .end_ns = device_end(row.begin_ns, row.end_ns),
                 .correlation = row.correlation};
    if (on_device) sync.device = device_of(device->second);
    if (on_device && row.stream != kNoStream) sync.stream = stream_of(device->second, row.context, row.stream);
    if (knows_event) sync.event_stream = stream_of(recorded_on->second, row.event_context, row.event_stream);
    table.append(sync);
  }
}

void CaptureLoader::on_overheads(std::span<const format::OverheadRow> rows) {
  OverheadTable& table = out_.overheads;
  for (const format::OverheadRow& row : rows) {
    table.append({.name = out_.intern(timeline::overhead_name(row.kind)),
                  .thread = row.tid != 0 ? thread_of_tid(row.tid) : kNone,
                  .begin_ns = device_time(row.begin_ns),
                  .end_ns = device_end(row.begin_ns, row.end_ns)});
  }
}

void CaptureLoader::on_jits(std::span<const format::JitRow> rows) {
  OverheadTable& table = out_.overheads;
  for (const format::JitRow& row : rows) {
    table.append({.name = out_.intern(timeline::jit_name(row.entry, row.operation)),
                  .thread = row.tid != 0 ? thread_of_tid(row.tid) : kNone,
                  .begin_ns = device_time(row.begin_ns),
                  .end_ns = device_end(row.begin_ns, row.end_ns)});
  }
}

void CaptureLoader::on_allocations(std::span<const format::AllocationRow> rows) {
  CudaAllocationTable& table = out_.cuda_allocations;
  for (const format::AllocationRow& row : rows) {
    const bool on_device = context_device_.contains(row.context);
    table.append(
        {.process = process_,
         .time_ns = device_time(row.time_ns),
         .freed = row.operation == 2,
         .memory = row.memory,
         .device = on_device ? device_of(row.device) : kNone,
         .stream = on_device && row.stream != kNoStream ? stream_of(row.device, row.context, row.stream) : kNone,
         .address = row.address,
         .bytes = row.bytes,
         .pool = row.pool,
         .correlation = row.correlation});
  }
}

void CaptureLoader::on_graph_nodes(std::span<const format::GraphNodeRow> rows) {
  GraphNodeTable& table = out_.graph_nodes;
  for (const format::GraphNodeRow& row : rows) {
    if ((row.flags & format::kGraphNodeConditional) != 0 && row.graph_id != 0)
      out_.conditional_graphs.emplace_back(process_, row.graph_id);
    if ((row.flags & format::kGraphNodeGone) != 0) {  // what comes late finds it all the same
      if (store_ != nullptr) store_->remove_graph_node(row.node, device_time(row.time_ns));
      continue;
    }
    if (store_ != nullptr) {
      store_->add_graph_node(row.node, device_time(row.time_ns), format::maker_key(row.correlation, row.note));
      continue;
    }
    table.append({.process = process_,
                  .node = row.node,
                  .time_ns = device_time(row.time_ns),
                  .correlation = format::maker_key(row.correlation, row.note)});
  }
}

void CaptureLoader::on_device_samples(std::span<const format::DeviceSampleRow> rows) {
  SensorSampleTable& table = out_.sensor_samples;
  for (const format::DeviceSampleRow& row : rows) {
    table.append({.device = device_of(row.device),
                  .time_ns = device_time(row.time_ns),
                  .present = row.present,
                  .gpu_utilisation_percent = row.gpu_utilisation_percent,
                  .memory_utilisation_percent = row.memory_utilisation_percent,
                  .sm_clock_mhz = row.sm_clock_mhz,
                  .memory_clock_mhz = row.memory_clock_mhz,
                  .power_mw = row.power_mw,
                  .temperature_c = row.temperature_c,
                  .energy_mj = row.energy_mj,
                  .throttle_reasons = row.throttle_reasons,
                  .memory_used_bytes = row.memory_used_bytes});
  }
}

}  // namespace rangefinder::importer
