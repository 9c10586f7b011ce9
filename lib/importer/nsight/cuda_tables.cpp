// SPDX-License-Identifier: MIT
#include "importer/nsight/cuda_tables.hpp"

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/text.hpp"
#include "importer/nsight/table_scan.hpp"
#include "timeline/activity_names.hpp"
#include "timeline/nsight_names.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

namespace rangefinder::importer::nsight {
namespace {

// CUPTI's "all streams".
constexpr std::int64_t kAllStreams = 0xFFFFFFFF;

// Nsight numbers memory kinds from 0, pageable, with 7 for unknown; the timeline as CUPTI does, with 0 for unknown.
std::uint32_t memory_kind(TableScan& row, int column) {
  constexpr std::uint32_t kNsightUnknown = 7;
  const std::uint32_t kind = row.u32_or(column, kNsightUnknown);
  return kind >= kNsightUnknown ? 0 : kind + 1;
}

// The columns that kernels, copies and memsets share, in the order of RANGEFINDER_SHARED_COLUMNS.
enum SharedColumn {
  kActivityStart,
  kEnd,
  kDevice,
  kContext,
  kGreenContext,
  kStream,
  kCorrelation,
  kActivityPid,
  kGraphNode,
  kGraph,
  kSharedColumns
};
// clang-format off
#define RANGEFINDER_SHARED_COLUMNS                                                                        \
  required("start"), required("end"), optional("deviceId"), optional("contextId"), optional("greenContextId"),       \
  optional("streamId"), optional("correlationId"), optional("globalPid"), optional("graphNodeId"), optional("graphId")
// clang-format on

class ActivityReader {
 public:
  ActivityReader(ImportContext& context, StringTable& strings, Entities& entities)
      : context_(context), strings_(strings), entities_(entities), timeline_(context.timeline) {}

  void read() {
    read_kernels();
    read_copies();
    read_memsets();
    read_whole_graphs();
  }

 private:
  void read_kernels();
  void read_copies();
  void read_memsets();
  void read_whole_graphs();
  std::optional<ActivityRow> shared_columns(TableScan& row, ActivityKind kind);
  void note_missing(const TableScan& row, const char* table);
  KernelDetail detail_of(TableScan& row);
  std::uint32_t shared_detail(const KernelDetail& detail);
  StringId name_in(TableScan& row, int column);

  ImportContext& context_;
  StringTable& strings_;
  Entities& entities_;
  Timeline& timeline_;
  // A kernel is launched again and again with the same shape.
  std::unordered_multimap<std::uint64_t, std::uint32_t> known_details_;
};

// Everything but name, bytes and detail. Nothing when the row is no activity.
std::optional<ActivityRow> ActivityReader::shared_columns(TableScan& row, ActivityKind kind) {
  const auto start = row.integer(kActivityStart);
  const auto end = row.integer(kEnd);
  if (!start || !end || !valid_interval(*start, *end)) {
    ++timeline_.health.invalid_activities;
    row.reject(!start || !end ? "no start or end" : *end < *start ? "it ends before it begins" : "no possible time");
    return std::nullopt;
  }
  const auto global_pid = row.integer(kActivityPid);
  const ProcessIndex process = global_pid ? entities_.process(*global_pid) : entities_.assumed_process();
  return ActivityRow{.kind = kind,
                     .stream = entities_.stream(process, row.u32_or(kDevice, 0), row.u32_or(kContext, 0),
                                                row.u32_or(kGreenContext, 0), row.integer_or(kStream, 0)),
                     .begin_ns = *start,
                     .end_ns = *end,
                     .correlation = static_cast<std::uint64_t>(row.integer_or(kCorrelation, 0)),
                     .graph_node = static_cast<std::uint64_t>(row.integer_or(kGraphNode, 0)),
                     .graph = row.u32_or(kGraph, 0),
                     .source_row = row.row_id()};
}

void ActivityReader::note_missing(const TableScan& row, const char* table) {
  const auto say = [&](SharedColumn column, const char* text) {
    if (!row.has(column)) context_.note(std::string(table) + text);
  };
  say(kCorrelation, " has no column correlationId: its rows are linked to no launch");
  say(kActivityPid, " has no column globalPid: its rows are taken to be of the one process that calls CUDA");
  say(kDevice, " has no column deviceId: all rows are on device 0");
  say(kStream, " has no column streamId: all rows are on stream 0");
}

enum KernelColumn {
  kDemangled = kSharedColumns,
  kShort,
  kMangled,
  kGridX,
  kGridY,
  kGridZ,
  kBlockX,
  kBlockY,
  kBlockZ,
  kClusterX,
  kClusterY,
  kClusterZ,
  kRegisters,
  kStaticShared,
  kDynamicShared,
  kLocal,
  kLaunchType,
  kSharedExecuted,
  kMaxActiveClusters,
};
constexpr std::array kKernelColumns = {
    RANGEFINDER_SHARED_COLUMNS,
    optional("demangledName"),
    optional("shortName"),
    optional("mangledName"),
    optional("gridX"),
    optional("gridY"),
    optional("gridZ"),
    optional("blockX"),
    optional("blockY"),
    optional("blockZ"),
    optional("clusterX"),
    optional("clusterY"),
    optional("clusterZ"),
    optional("registersPerThread"),
    optional("staticSharedMemory"),
    optional("dynamicSharedMemory"),
    optional("localMemoryPerThread"),
    optional("launchType"),
    optional("sharedMemoryExecuted"),
    optional("maxActiveClusters"),
};

StringId ActivityReader::name_in(TableScan& row, int column) {
  const auto id = row.integer(column);
  return id ? strings_.resolve(context_, *id) : StringId::kEmpty;
}

KernelDetail ActivityReader::detail_of(TableScan& row) {
  KernelDetail detail;
  for (int axis = 0; axis < 3; ++axis) {
    detail.grid[axis] = row.u32_or(kGridX + axis, 0);
    detail.block[axis] = row.u32_or(kBlockX + axis, 0);
    detail.cluster[axis] = row.u32_or(kClusterX + axis, 0);
  }
  detail.registers_per_thread = row.u32_or(kRegisters, 0);
  detail.static_shared_bytes = row.u32_or(kStaticShared, 0);
  detail.dynamic_shared_bytes = row.u32_or(kDynamicShared, 0);
  detail.local_bytes_per_thread = row.u32_or(kLocal, 0);
  // Nsight's numbers begin with 0 for unknown, CUPTI's with 0 for a regular launch.
  const std::uint32_t launch_type = row.u32_or(kLaunchType, 0);
  detail.launch_type = launch_type != 0 ? launch_type - 1 : 0;
  detail.shared_executed_bytes = row.u32_or(kSharedExecuted, 0);
  detail.max_active_clusters = row.u32_or(kMaxActiveClusters, 0);
  detail.demangled = name_in(row, kDemangled);
  detail.mangled = name_in(row, kMangled);
  detail.base = name_in(row, kShort);
  return detail;
}

std::uint32_t ActivityReader::shared_detail(const KernelDetail& detail) {
  static_assert(sizeof(KernelDetail) == 19 * sizeof(std::uint32_t), "compared as bytes: no padding");
  const base::ByteView bytes = std::as_bytes(std::span(&detail, 1));
  const std::uint64_t hash = base::checksum(bytes);
  const auto [from, to] = known_details_.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (std::memcmp(&timeline_.kernel_details[at->second], &detail, sizeof detail) == 0) return at->second;
  const auto index = static_cast<std::uint32_t>(timeline_.kernel_details.size());
  timeline_.kernel_details.push_back(detail);
  known_details_.emplace(hash, index);
  return index;
}

void ActivityReader::read_kernels() {
  TableScan row(context_, "CUPTI_ACTIVITY_KIND_KERNEL", kKernelColumns);
  if (!row.usable()) {
    if (context_.database.table("CUPTI_ACTIVITY_KIND_KERNEL") == nullptr)
      context_.note("no table CUPTI_ACTIVITY_KIND_KERNEL: no kernels were recorded");
    return;
  }
  note_missing(row, "CUPTI_ACTIVITY_KIND_KERNEL");
  while (row.next()) {
    std::optional<ActivityRow> kernel = shared_columns(row, ActivityKind::kKernel);
    if (!kernel) continue;
    const KernelDetail detail = detail_of(row);
    kernel->name = detail.demangled;
    if (kernel->name == StringId::kEmpty) kernel->name = detail.base != StringId::kEmpty ? detail.base : detail.mangled;
    kernel->detail = shared_detail(detail);
    timeline_.activities.append(*kernel);
  }
}

enum CopyColumn { kBytes = kSharedColumns, kCopyKind, kSourceKind, kTargetKind, kSourceDevice, kTargetDevice };
constexpr std::array kCopyColumns = {
    RANGEFINDER_SHARED_COLUMNS, optional("bytes"),       optional("copyKind"),    optional("srcKind"),
    optional("dstKind"),        optional("srcDeviceId"), optional("dstDeviceId"),
};

void ActivityReader::read_copies() {
  TableScan row(context_, "CUPTI_ACTIVITY_KIND_MEMCPY", kCopyColumns);
  if (row.usable()) note_missing(row, "CUPTI_ACTIVITY_KIND_MEMCPY");
  while (row.next()) {
    std::optional<ActivityRow> copy = shared_columns(row, ActivityKind::kMemcpy);
    if (!copy) continue;
    CopyDetail detail;
    detail.copy_kind = row.u32_or(kCopyKind, 0);
    detail.source_memory = memory_kind(row, kSourceKind);
    detail.target_memory = memory_kind(row, kTargetKind);
    detail.source_device = row.u32_or(kSourceDevice, kNone);
    detail.target_device = row.u32_or(kTargetDevice, kNone);
    copy->name = timeline_.intern(timeline::nsight::copy_operation(detail.copy_kind));
    copy->bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.integer_or(kBytes, 0)));
    copy->detail = static_cast<std::uint32_t>(timeline_.copy_details.size());
    timeline_.activities.append(*copy);
    timeline_.copy_details.push_back(detail);
  }
}

enum MemsetColumn { kMemsetBytes = kSharedColumns, kMemsetValue, kMemoryKind };
constexpr std::array kMemsetColumns = {RANGEFINDER_SHARED_COLUMNS, optional("bytes"), optional("value"),
                                       optional("memKind")};

void ActivityReader::read_memsets() {
  TableScan row(context_, "CUPTI_ACTIVITY_KIND_MEMSET", kMemsetColumns);
  if (row.usable()) note_missing(row, "CUPTI_ACTIVITY_KIND_MEMSET");
  while (row.next()) {
    std::optional<ActivityRow> memset = shared_columns(row, ActivityKind::kMemset);
    if (!memset) continue;
    CopyDetail detail;
    detail.target_memory = memory_kind(row, kMemoryKind);
    detail.value = row.u32_or(kMemsetValue, 0);
    memset->name = timeline_.intern(timeline::nsight::kMemsetOperation);
    memset->bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, row.integer_or(kMemsetBytes, 0)));
    memset->detail = static_cast<std::uint32_t>(timeline_.copy_details.size());
    timeline_.activities.append(*memset);
    timeline_.copy_details.push_back(detail);
  }
}

enum GraphColumn { kGraphExec = kSharedColumns };
constexpr std::array kGraphColumns = {RANGEFINDER_SHARED_COLUMNS, optional("graphExecId")};

// With --cuda-graph-trace=graph, which is the default, a replay is one record without its kernels.
void ActivityReader::read_whole_graphs() {
  TableScan row(context_, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kGraphColumns);
  if (row.usable()) note_missing(row, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE");
  std::uint64_t graphs = 0;
  while (row.next()) {
    std::optional<ActivityRow> graph = shared_columns(row, ActivityKind::kGraph);
    if (!graph) continue;
    if (graph->graph == 0) graph->graph = row.u32_or(kGraphExec, 0);
    graph->name = timeline_.intern(timeline::graph_name(graph->graph));
    timeline_.activities.append(*graph);
    ++graphs;
  }
  if (graphs != 0)
    context_.note(
        base::with_thousands(graphs) + (graphs == 1 ? " graph launch was" : " graph launches were") +
        " recorded as a whole, without kernels, and as in Nsight's own reports in none under its names; record "
        "with --cuda-graph-trace=node");
}

}  // namespace

void read_calls(ImportContext& context, StringTable& strings, Entities& entities) {
  enum { kCallStart, kCallEnd, kGlobalTid, kCallCorrelation, kNameId, kResult, kEventClass };
  static constexpr WantedColumn kColumns[] = {required("start"),         required("end"),    optional("globalTid"),
                                              optional("correlationId"), optional("nameId"), optional("returnValue"),
                                              optional("eventClass")};
  TableScan row(context, "CUPTI_ACTIVITY_KIND_RUNTIME", kColumns);
  if (!row.usable()) {
    if (context.database.table("CUPTI_ACTIVITY_KIND_RUNTIME") == nullptr)
      context.note("no table CUPTI_ACTIVITY_KIND_RUNTIME: no launch is known, so ranges own no device activity");
    return;
  }
  if (!row.has(kGlobalTid) || !row.has(kCallCorrelation))
    context.note(std::string("CUPTI_ACTIVITY_KIND_RUNTIME has no column ") +
                 (row.has(kGlobalTid) ? "correlationId" : "globalTid") + ": ranges own no device activity");
  CallTable& calls = context.timeline.calls;
  while (row.next()) {
    const auto start = row.integer(kCallStart);
    const auto end = row.integer(kCallEnd);
    if (!start || !end || !valid_interval(*start, *end)) {
      row.reject(!start || !end ? "no start or end" : "no possible time, or it ends before it begins");
      continue;
    }
    const auto global_tid = row.integer(kGlobalTid);
    const auto name_id = row.integer(kNameId);
    const StringId name = name_id ? strings.resolve(context, *name_id) : StringId::kEmpty;
    const auto event_class = row.integer(kEventClass);
    const std::string_view text = context.timeline.text(name);
    const bool driver = event_class ? *event_class == 1 : text.starts_with("cu") && !text.starts_with("cuda");
    calls.append({.name = name,
                  .domain = driver ? CallDomain::kDriver : CallDomain::kRuntime,
                  .thread = global_tid ? entities.thread(*global_tid) : entities.unknown_thread(),
                  .begin_ns = *start,
                  .end_ns = *end,
                  .correlation = static_cast<std::uint64_t>(row.integer_or(kCallCorrelation, 0)),
                  .result = static_cast<std::int32_t>(row.integer_or(kResult, 0)),
                  .source_row = row.row_id()});
  }
}

void read_activities(ImportContext& context, StringTable& strings, Entities& entities) {
  ActivityReader(context, strings, entities).read();
}

void read_syncs(ImportContext& context, Entities& entities) {
  enum { kSyncStart, kSyncEnd, kSyncDevice, kSyncContext, kSyncGreen, kSyncStream, kSyncCorrelation, kSyncPid, kType };
  static constexpr WantedColumn kColumns[] = {
      required("start"),          required("end"),      optional("deviceId"),      optional("contextId"),
      optional("greenContextId"), optional("streamId"), optional("correlationId"), optional("globalPid"),
      optional("syncType")};
  TableScan row(context, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kColumns);
  SyncTable& syncs = context.timeline.syncs;
  while (row.next()) {
    const auto start = row.integer(kSyncStart);
    const auto end = row.integer(kSyncEnd);
    if (!start || !end || !valid_interval(*start, *end)) {
      row.reject("no possible interval");
      continue;
    }
    const auto global_pid = row.integer(kSyncPid);
    const ProcessIndex process = global_pid ? entities.process(*global_pid) : entities.assumed_process();
    // Their device is often 0 whatever the context: tests/importer/nsight/real_exports_test.cpp has a capture.
    const std::uint32_t context_id = row.u32_or(kSyncContext, 0);
    const std::uint32_t device = entities.device_of_context(process, context_id, row.u32_or(kSyncDevice, 0));
    const std::int64_t stream = row.integer_or(kSyncStream, kAllStreams);
    syncs.append({.type = row.u32_or(kType, 0),
                  .stream = stream == kAllStreams
                                ? kNone
                                : entities.stream(process, device, context_id, row.u32_or(kSyncGreen, 0), stream),
                  .device = entities.device(process, device),
                  .begin_ns = *start,
                  .end_ns = *end,
                  .correlation = static_cast<std::uint64_t>(row.integer_or(kSyncCorrelation, 0)),
                  .source_row = row.row_id()});
  }
}

void read_overheads(ImportContext& context, Entities& entities) {
  static constexpr const char* kTypes[] = {
      "undefined",
      "unknown",
      "driver compiler",
      "CUPTI buffer flush",
      "CUPTI instrumentation",
      "CUPTI resource",
      "runtime triggered module loading",
      "lazy function loading",
      "command buffer full",
  };
  enum { kOverheadStart, kOverheadEnd, kOverheadTid, kOverheadType };
  static constexpr WantedColumn kColumns[] = {required("start"), required("end"), optional("globalTid"),
                                              optional("overheadType")};
  OverheadTable& overheads = context.timeline.overheads;
  for (const char* table : {"CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"}) {
    TableScan row(context, table, kColumns);
    while (row.next()) {
      const auto start = row.integer(kOverheadStart);
      const auto end = row.integer(kOverheadEnd);
      if (!start || !end || !valid_interval(*start, *end)) {
        row.reject("no possible interval");
        continue;
      }
      const auto global_tid = row.integer(kOverheadTid);
      const std::uint32_t type = row.u32_or(kOverheadType, 1);
      overheads.append({.name = context.timeline.intern(type < std::size(kTypes) ? std::string(kTypes[type])
                                                                                 : "type " + std::to_string(type)),
                        .thread = global_tid ? entities.thread(*global_tid) : kNone,
                        .begin_ns = *start,
                        .end_ns = *end,
                        .source_row = row.row_id()});
    }
  }
}

void read_allocations(ImportContext& context, Entities& entities) {
  enum {
    kAllocationTime,
    kAllocationPid,
    kAllocationDevice,
    kAllocationContext,
    kAllocationAddress,
    kAllocationBytes,
    kAllocationKind,
    kAllocationOperation,
    kAllocationCorrelation,
    kAllocationStream,
    kAllocationPool
  };
  static constexpr WantedColumn kColumns[] = {required("start"),
                                              optional("globalPid"),
                                              optional("deviceId"),
                                              optional("contextId"),
                                              optional("address"),
                                              optional("bytes"),
                                              optional("memKind"),
                                              optional("memoryOperationType"),
                                              optional("correlationId"),
                                              optional("streamId"),
                                              optional("localMemoryPoolAddress")};
  TableScan row(context, "CUDA_GPU_MEMORY_USAGE_EVENTS", kColumns);
  CudaAllocationTable& table = context.timeline.cuda_allocations;
  while (row.next()) {
    const auto time = row.integer(kAllocationTime);
    if (!time || !valid_interval(*time, *time)) {
      row.reject("no possible time");
      continue;
    }
    const auto global_pid = row.integer(kAllocationPid);
    const ProcessIndex process = global_pid ? entities.process(*global_pid) : entities.assumed_process();
    const std::uint32_t context_id = row.u32_or(kAllocationContext, 0);
    const std::uint32_t device = entities.device_of_context(process, context_id, row.u32_or(kAllocationDevice, 0));
    // Stream-ordered calls alone have one.
    const auto stream = row.integer(kAllocationStream);
    table.append({.process = process,
                  .time_ns = *time,
                  .freed = row.integer_or(kAllocationOperation, 0) == 1,
                  .memory = memory_kind(row, kAllocationKind),
                  .device = entities.device(process, device),
                  .stream = stream && *stream > 0 && *stream != kAllStreams
                                ? entities.stream(process, device, context_id, 0, *stream)
                                : kNone,
                  .address = static_cast<std::uint64_t>(row.integer_or(kAllocationAddress, 0)),
                  .bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(row.integer_or(kAllocationBytes, 0), 0)),
                  .pool = static_cast<std::uint64_t>(row.integer_or(kAllocationPool, 0)),
                  .correlation = static_cast<std::uint64_t>(row.integer_or(kAllocationCorrelation, 0)),
                  .source_row = row.row_id()});
  }
}

}  // namespace rangefinder::importer::nsight
