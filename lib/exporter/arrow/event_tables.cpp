// SPDX-License-Identifier: MIT
#include "exporter/arrow/columns.hpp"
#include "exporter/arrow/tables.hpp"
#include "timeline/words.hpp"

#include <utility>

namespace rangefinder::arrow {

namespace {
using SharedTimeline = std::shared_ptr<const Timeline>;
using SharedTexts = std::shared_ptr<const Column>;
}  // namespace

Batch activities(const SharedTimeline& timeline, SharedTexts texts) {
  const ActivityTable& table = timeline->activities;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.words("kind", table.kind, kActivityKindWords)
      .names("name", table.name)
      .rows("stream", table.stream)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("correlation", table.correlation, 0)
      .rows("launch", table.launch)
      .numbers("bytes", table.bytes)
      .numbers("detail", table.detail, kNone)
      .numbers("graph_node", table.graph_node, 0)
      .numbers("graph", table.graph, 0)
      .numbers("external_id", table.external_id, -1)
      .numbers("source_row", table.source_row, -1)
      .rows("captured", table.captured)
      .flags("estimated", table.estimated)
      .numbers("queued_ns", table.queued_ns, kNoTime)
      .numbers("submitted_ns", table.submitted_ns, kNoTime)
      .rows("collective", table.collective);
  return std::move(columns).take();
}

Batch calls(const SharedTimeline& timeline, SharedTexts texts) {
  const CallTable& table = timeline->calls;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.names("name", table.name)
      .words("domain", table.domain, kCallDomainWords)
      .rows("thread", table.thread)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("correlation", table.correlation, 0)
      .numbers("result", table.result)
      .numbers("external_id", table.external_id, -1)
      .numbers("source_row", table.source_row, -1);
  return std::move(columns).take();
}

Batch launches(const SharedTimeline& timeline, SharedTexts texts) {
  const LaunchTable& table = timeline->launches;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("process", table.process)
      .numbers("correlation", table.correlation, 0)
      .rows("thread", table.thread)
      .numbers("time_ns", table.time_ns)
      .words("source", table.source, {"unknown", "callback", "call"})
      .rows("range", table.range)
      .rows("call", table.call);
  return std::move(columns).take();
}

Batch ranges(const SharedTimeline& timeline, SharedTexts texts) {
  const RangeTable& table = timeline->ranges;
  TableColumns columns(timeline, table.size(), std::move(texts));
  const auto flag = [&](const char* name, std::uint8_t bit) {
    columns.flags_where(name, [&table, bit](std::size_t row) { return (table.flags[row] & bit) != 0; });
  };
  columns.names("name", table.name)
      .names("domain", table.domain)
      .names("category", table.category)
      .words("kind", table.kind, kRangeKindWords)
      .words("style", table.style, {"scoped", "start_end"})
      .rows("thread", table.thread)
      .rows("end_thread", table.end_thread)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("source_row", table.source_row, -1)
      .numbers("external_id", table.external_id, -1)
      .numbers("opened_ns", table.opened_ns, kNoTime);
  flag("unfinished", kUnfinished);
  flag("ended_elsewhere", kEndedElsewhere);
  flag("ownerless", kOwnerless);
  flag("before_recording", kBeforeRecording);
  flag("suspended", kSuspended);
  flag("resumed", kResumed);
  return std::move(columns).take();
}

Batch steps(const SharedTimeline& timeline, SharedTexts texts) {
  const StepTable& table = timeline->steps;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.numbers("number", table.number)
      .rows("thread", table.thread)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("items", table.items);
  return std::move(columns).take();
}

Batch collectives(const SharedTimeline& timeline, SharedTexts texts) {
  const CollectiveTable& table = timeline->collectives;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.words("kind", table.kind, kCollectiveKindWords)
      .words("source", table.source, kCollectiveSourceWords)
      .names("name", table.name)
      .rows("process", table.process)
      .rows("group", table.group)
      .numbers("number", table.number, -1)
      .numbers("elements_in", table.elements_in, -1)
      .numbers("elements_out", table.elements_out, -1)
      .names("dtype", table.dtype)
      .numbers("peer", table.peer, -1)
      .names("in_splits", table.in_splits)
      .names("out_splits", table.out_splits)
      .rows("thread", table.thread)
      .numbers("begin_ns", table.begin_ns, kNoTime)
      .numbers("end_ns", table.end_ns, kNoTime)
      .numbers("started_ns", table.started_ns, kNoTime)
      .numbers("completed_ns", table.completed_ns, kNoTime)
      .rows("wait_thread", table.wait_thread)
      .numbers("wait_begin_ns", table.wait_begin_ns, kNoTime)
      .numbers("wait_end_ns", table.wait_end_ns, kNoTime)
      .names("algorithm", table.algorithm)
      .names("protocol", table.protocol)
      .numbers("channels", table.channels, 0);
  return std::move(columns).take();
}

Batch syncs(const SharedTimeline& timeline, SharedTexts texts) {
  const SyncTable& table = timeline->syncs;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.numbers("type", table.type)
      .rows("stream", table.stream)
      .rows("device", table.device)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("correlation", table.correlation, 0)
      .numbers("source_row", table.source_row, -1)
      .rows("event_stream", table.event_stream);
  return std::move(columns).take();
}

Batch overheads(const SharedTimeline& timeline, SharedTexts texts) {
  const OverheadTable& table = timeline->overheads;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.names("name", table.name)
      .rows("thread", table.thread)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("source_row", table.source_row, -1);
  return std::move(columns).take();
}

Batch marks(const SharedTimeline& timeline, SharedTexts texts) {
  const MarkTable& table = timeline->marks;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.names("name", table.name)
      .names("category", table.category)
      .rows("thread", table.thread)
      .numbers("time_ns", table.time_ns)
      .numbers("source_row", table.source_row, -1);
  return std::move(columns).take();
}

Batch counters(const SharedTimeline& timeline, SharedTexts texts) {
  const CounterTable& table = timeline->counters;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.names("name", table.name)
      .rows("thread", table.thread)
      .numbers("time_ns", table.time_ns)
      .numbers("number", table.number)
      .numbers("integer", table.integer)
      .flags("is_integer", table.is_integer);
  return std::move(columns).take();
}

Batch autograd_nodes(const SharedTimeline& timeline, SharedTexts texts) {
  const AutogradNodeTable& table = timeline->autograd_nodes;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("thread", table.thread)
      .numbers("begin_ns", table.begin_ns)
      .numbers("end_ns", table.end_ns)
      .numbers("sequence", table.sequence, -1)
      .rows("forward_thread", table.forward_thread)
      .numbers("forward_ns", table.forward_ns, kNoTime)
      .names("name", table.name)
      .rows("range", table.range);
  return std::move(columns).take();
}

Batch graph_nodes(const SharedTimeline& timeline, SharedTexts texts) {
  const GraphNodeTable& table = timeline->graph_nodes;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("process", table.process)
      .numbers("node", table.node)
      .numbers("time_ns", table.time_ns)
      .numbers("correlation", table.correlation, 0);
  return std::move(columns).take();
}

Batch operators(const SharedTimeline& timeline, SharedTexts texts) {
  const OperatorTable& table = timeline->operators;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("range", table.range)
      .numbers("sequence", table.sequence, -1)
      .numbers("forward_thread_id", table.forward_thread_id, 0)
      .names("shapes", table.shapes)
      .names("types", table.types)
      .names("values", table.values);
  return std::move(columns).take();
}

Batch cuda_allocations(const SharedTimeline& timeline, SharedTexts texts) {
  const CudaAllocationTable& table = timeline->cuda_allocations;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("process", table.process)
      .numbers("time_ns", table.time_ns)
      .flags("freed", table.freed)
      .numbers("memory", table.memory)
      .rows("device", table.device)
      .rows("stream", table.stream)
      .numbers("address", table.address)
      .numbers("bytes", table.bytes)
      .numbers("pool", table.pool, 0)
      .numbers("correlation", table.correlation, 0)
      .numbers("source_row", table.source_row, -1);
  return std::move(columns).take();
}

Batch allocator_events(const SharedTimeline& timeline, SharedTexts texts) {
  const AllocatorEventTable& table = timeline->allocator_events;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("thread", table.thread)
      .numbers("time_ns", table.time_ns)
      .words("action", table.action, kMemoryActionWords)
      .numbers("device", table.device, -1)
      .numbers("address", table.address, 0)
      .numbers("bytes", table.bytes)
      .numbers("allocated", table.allocated, -1)
      .numbers("reserved", table.reserved, -1)
      .numbers("stream", table.stream)
      .numbers("pool", table.pool)
      .numbers("source_row", table.source_row, -1);
  return std::move(columns).take();
}

Batch sensor_samples(const SharedTimeline& timeline, SharedTexts texts) {
  const SensorSampleTable& table = timeline->sensor_samples;
  TableColumns columns(timeline, table.size(), std::move(texts));
  columns.rows("device", table.device)
      .numbers("time_ns", table.time_ns)
      .numbers("present", table.present)
      .numbers("gpu_utilisation_percent", table.gpu_utilisation_percent)
      .numbers("memory_utilisation_percent", table.memory_utilisation_percent)
      .numbers("sm_clock_mhz", table.sm_clock_mhz)
      .numbers("memory_clock_mhz", table.memory_clock_mhz)
      .numbers("power_mw", table.power_mw)
      .numbers("temperature_c", table.temperature_c)
      .numbers("energy_mj", table.energy_mj)
      .numbers("throttle_reasons", table.throttle_reasons)
      .numbers("memory_used_bytes", table.memory_used_bytes);
  return std::move(columns).take();
}

}  // namespace rangefinder::arrow
