// SPDX-License-Identifier: MIT
#include "format/rows.hpp"

#include <cstring>
#include <string>

namespace rangefinder::format {
namespace {

constexpr std::uint16_t kTextIds = 1;
constexpr std::uint16_t kTextKeySizes = 2;
constexpr std::uint16_t kTextSizes = 3;
constexpr std::uint16_t kTextBytes = 4;
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;

std::uint64_t load(const std::byte* at, const Field& field) noexcept {
  switch (field.bytes) {
    case 4: {
      std::uint32_t value;
      std::memcpy(&value, at, sizeof value);
      return field.is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)))
                             : value;
    }
    default: {
      std::uint64_t value;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
  }
}

Status short_column(const Field& field) {
  return Error(ErrorCode::kUnreadable, "column " + std::to_string(field.column) + " ends before its rows do");
}

/// `next()` gives the column's numbers. `Stored` is what the field takes in a row.
template <typename Stored, typename Next>
void unpack_column(const Field& field, const Field& begin, std::byte* row, std::size_t row_bytes, std::size_t count,
                   Next next) {
  const auto put = [&](std::uint64_t value) {
    const auto stored = static_cast<Stored>(value);
    std::memcpy(row + field.offset, &stored, sizeof stored);
    row += row_bytes;
  };
  switch (field.coding) {
    case Coding::kPlain:
      if (field.is_signed)
        for (; count > 0; --count) put(static_cast<std::uint64_t>(base::unzigzag(next())));
      else
        for (; count > 0; --count) put(next());
      return;
    case Coding::kDelta:
      for (std::uint64_t value = 0; count > 0; --count) {
        put(value += static_cast<std::uint64_t>(base::unzigzag(next())));
        value = load(row - row_bytes + field.offset, field);
      }
      return;
    case Coding::kSinceBegin:
      for (; count > 0; --count)
        put(load(row + begin.offset, begin) + static_cast<std::uint64_t>(base::unzigzag(next())));
      return;
  }
}

}  // namespace

Status unpack_fields(std::span<const Field> fields, ColumnReader& in, void* rows, std::size_t row_bytes,
                     std::size_t count) {
  auto* const first = static_cast<std::byte*>(rows);
  for (const Field& field : fields) {
    Result<base::ByteView> column = in.column(field.column, count * base::kMaxVarintBytes);
    if (!column) return std::move(column).error();
    const auto unpack = [&](auto next) {
      if (field.bytes == 4)
        unpack_column<std::uint32_t>(field, fields[0], first, row_bytes, count, next);
      else
        unpack_column<std::uint64_t>(field, fields[0], first, row_bytes, count, next);
    };
    if (column->empty()) {  // all zeros, and left out, as the rows are; a kSinceBegin field then equals the row's first
      if (field.coding == Coding::kSinceBegin) unpack([] { return std::uint64_t{0}; });
      continue;
    }
    base::ByteReader reader(*column);
    unpack([&] { return reader.varint(); });
    if (!reader.ok() || reader.left() != 0) return short_column(field);
  }
  return {};
}

void pack_text(std::span<const TextRow> rows, ColumnWriter& out) {
  base::Bytes ids, key_sizes, sizes, bytes;
  std::uint32_t previous = 0;
  for (const TextRow& row : rows) {
    base::append_varint(ids, base::zigzag(static_cast<std::int64_t>(row.id) - previous));
    base::append_varint(key_sizes, row.key.size());
    base::append_varint(sizes, row.text.size());
    base::append_bytes(bytes, base::as_bytes(row.key));
    base::append_bytes(bytes, base::as_bytes(row.text));
    previous = row.id;
  }
  out.add(kTextIds, ids);
  out.add(kTextKeySizes, key_sizes);
  out.add(kTextSizes, sizes);
  out.add(kTextBytes, bytes);
}

Result<std::vector<TextRow>> unpack_text(base::ByteView payload, std::uint32_t count, ColumnReader& in) {
  if (count > kMaxRows) return Error(ErrorCode::kUnreadable, "chunk claims " + std::to_string(count) + " rows");
  Status status = in.open(payload);
  if (!status) return std::move(status).error();
  base::ByteView columns[4];
  const std::uint16_t numbers[4] = {kTextIds, kTextKeySizes, kTextSizes, kTextBytes};
  for (int i = 0; i < 4; ++i) {
    Result<base::ByteView> column = in.column(numbers[i], kMaxUnpackedBytes);
    if (!column) return std::move(column).error();
    columns[i] = *column;
  }
  base::ByteReader ids(columns[0]), key_sizes(columns[1]), sizes(columns[2]), bytes(columns[3]);
  std::vector<TextRow> rows;
  rows.reserve(count < 65536 ? count : 65536);
  std::uint32_t previous = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    TextRow row;
    row.id = previous + static_cast<std::uint32_t>(columns[0].empty() ? 0 : base::unzigzag(ids.varint()));
    const std::uint64_t key_size = columns[1].empty() ? 0 : key_sizes.varint();
    const std::uint64_t size = columns[2].empty() ? 0 : sizes.varint();
    if (key_size > kMaxTextBytes || size > kMaxTextBytes)
      return Error(ErrorCode::kUnreadable,
                   "row " + std::to_string(i) + " claims a text of " + std::to_string(size) + " bytes");
    row.key = base::as_text(bytes.bytes(key_size));
    row.text = base::as_text(bytes.bytes(size));
    if (!ids.ok() || !key_sizes.ok() || !sizes.ok() || !bytes.ok())
      return Error(ErrorCode::kUnreadable, "texts end at row " + std::to_string(i) + " of " + std::to_string(count));
    previous = row.id;
    rows.push_back(std::move(row));
  }
  return rows;
}

#define FIELD RANGEFINDER_FIELD

namespace {
constexpr Field kKernelFields[] = {FIELD(KernelRow, begin_ns, 1, kDelta),
                                   FIELD(KernelRow, end_ns, 2, kSinceBegin),
                                   FIELD(KernelRow, correlation, 3, kDelta),
                                   FIELD(KernelRow, device, 4, kPlain),
                                   FIELD(KernelRow, context, 5, kPlain),
                                   FIELD(KernelRow, stream, 6, kPlain),
                                   FIELD(KernelRow, name, 7, kPlain),
                                   FIELD(KernelRow, grid_x, 8, kPlain),
                                   FIELD(KernelRow, grid_y, 9, kPlain),
                                   FIELD(KernelRow, grid_z, 10, kPlain),
                                   FIELD(KernelRow, block_x, 11, kPlain),
                                   FIELD(KernelRow, block_y, 12, kPlain),
                                   FIELD(KernelRow, block_z, 13, kPlain),
                                   FIELD(KernelRow, cluster_x, 14, kPlain),
                                   FIELD(KernelRow, cluster_y, 15, kPlain),
                                   FIELD(KernelRow, cluster_z, 16, kPlain),
                                   FIELD(KernelRow, registers_per_thread, 17, kPlain),
                                   FIELD(KernelRow, static_shared_bytes, 18, kPlain),
                                   FIELD(KernelRow, dynamic_shared_bytes, 19, kPlain),
                                   FIELD(KernelRow, local_bytes_per_thread, 20, kPlain),
                                   FIELD(KernelRow, launch_type, 21, kPlain),
                                   FIELD(KernelRow, graph_id, 22, kPlain),
                                   FIELD(KernelRow, graph_node, 23, kDelta),
                                   FIELD(KernelRow, queued_ns, 24, kDelta),
                                   FIELD(KernelRow, submitted_ns, 25, kDelta),
                                   FIELD(KernelRow, shared_executed_bytes, 26, kPlain),
                                   FIELD(KernelRow, max_active_clusters, 27, kPlain)};
constexpr Field kMemcpyFields[] = {
    FIELD(MemcpyRow, begin_ns, 1, kDelta),        FIELD(MemcpyRow, end_ns, 2, kSinceBegin),
    FIELD(MemcpyRow, correlation, 3, kDelta),     FIELD(MemcpyRow, device, 4, kPlain),
    FIELD(MemcpyRow, context, 5, kPlain),         FIELD(MemcpyRow, stream, 6, kPlain),
    FIELD(MemcpyRow, bytes, 7, kPlain),           FIELD(MemcpyRow, copy_kind, 8, kPlain),
    FIELD(MemcpyRow, source_memory, 9, kPlain),   FIELD(MemcpyRow, target_memory, 10, kPlain),
    FIELD(MemcpyRow, is_peer, 11, kPlain),        FIELD(MemcpyRow, source_device, 12, kPlain),
    FIELD(MemcpyRow, target_device, 13, kPlain),  FIELD(MemcpyRow, source_context, 14, kPlain),
    FIELD(MemcpyRow, target_context, 15, kPlain), FIELD(MemcpyRow, flags, 16, kPlain),
    FIELD(MemcpyRow, graph_id, 22, kPlain),       FIELD(MemcpyRow, graph_node, 23, kDelta)};
constexpr Field kMemsetFields[] = {FIELD(MemsetRow, begin_ns, 1, kDelta),    FIELD(MemsetRow, end_ns, 2, kSinceBegin),
                                   FIELD(MemsetRow, correlation, 3, kDelta), FIELD(MemsetRow, device, 4, kPlain),
                                   FIELD(MemsetRow, context, 5, kPlain),     FIELD(MemsetRow, stream, 6, kPlain),
                                   FIELD(MemsetRow, bytes, 7, kPlain),       FIELD(MemsetRow, value, 8, kPlain),
                                   FIELD(MemsetRow, memory, 9, kPlain),      FIELD(MemsetRow, flags, 10, kPlain),
                                   FIELD(MemsetRow, graph_id, 22, kPlain),   FIELD(MemsetRow, graph_node, 23, kDelta)};
constexpr Field kApiFields[] = {FIELD(ApiRow, begin_ns, 1, kDelta),    FIELD(ApiRow, end_ns, 2, kSinceBegin),
                                FIELD(ApiRow, correlation, 3, kDelta), FIELD(ApiRow, tid, 4, kPlain),
                                FIELD(ApiRow, name, 5, kPlain),        FIELD(ApiRow, domain, 6, kPlain),
                                FIELD(ApiRow, callback_id, 7, kPlain), FIELD(ApiRow, result, 8, kPlain)};
constexpr Field kSyncFields[] = {FIELD(SyncRow, begin_ns, 1, kDelta),      FIELD(SyncRow, end_ns, 2, kSinceBegin),
                                 FIELD(SyncRow, correlation, 3, kDelta),   FIELD(SyncRow, context, 4, kPlain),
                                 FIELD(SyncRow, stream, 5, kPlain),        FIELD(SyncRow, type, 6, kPlain),
                                 FIELD(SyncRow, event_id, 7, kPlain),      FIELD(SyncRow, result, 8, kPlain),
                                 FIELD(SyncRow, event_context, 9, kPlain), FIELD(SyncRow, event_stream, 10, kPlain)};
constexpr Field kOverheadFields[] = {FIELD(OverheadRow, begin_ns, 1, kDelta),
                                     FIELD(OverheadRow, end_ns, 2, kSinceBegin), FIELD(OverheadRow, kind, 3, kPlain),
                                     FIELD(OverheadRow, tid, 4, kPlain), FIELD(OverheadRow, correlation, 5, kDelta)};
constexpr Field kGraphNodeFields[] = {
    FIELD(GraphNodeRow, time_ns, 1, kDelta),     FIELD(GraphNodeRow, node, 2, kDelta),
    FIELD(GraphNodeRow, correlation, 3, kDelta), FIELD(GraphNodeRow, note, 4, kDelta),
    FIELD(GraphNodeRow, graph_id, 5, kDelta),    FIELD(GraphNodeRow, flags, 6, kPlain)};
constexpr Field kGraphLaunchFields[] = {
    FIELD(GraphLaunchRow, begin_ns, 1, kDelta),    FIELD(GraphLaunchRow, end_ns, 2, kSinceBegin),
    FIELD(GraphLaunchRow, correlation, 3, kDelta), FIELD(GraphLaunchRow, device, 4, kPlain),
    FIELD(GraphLaunchRow, context, 5, kPlain),     FIELD(GraphLaunchRow, stream, 6, kPlain),
    FIELD(GraphLaunchRow, graph_id, 7, kPlain),    FIELD(GraphLaunchRow, end_device, 8, kPlain),
    FIELD(GraphLaunchRow, end_context, 9, kPlain)};
constexpr Field kDeviceSampleFields[] = {FIELD(DeviceSampleRow, time_ns, 1, kDelta),
                                         FIELD(DeviceSampleRow, device, 2, kPlain),
                                         FIELD(DeviceSampleRow, present, 3, kPlain),
                                         FIELD(DeviceSampleRow, gpu_utilisation_percent, 4, kPlain),
                                         FIELD(DeviceSampleRow, memory_utilisation_percent, 5, kPlain),
                                         FIELD(DeviceSampleRow, sm_clock_mhz, 6, kDelta),
                                         FIELD(DeviceSampleRow, memory_clock_mhz, 7, kDelta),
                                         FIELD(DeviceSampleRow, power_mw, 8, kDelta),
                                         FIELD(DeviceSampleRow, temperature_c, 9, kPlain),
                                         FIELD(DeviceSampleRow, energy_mj, 10, kDelta),
                                         FIELD(DeviceSampleRow, throttle_reasons, 11, kPlain),
                                         FIELD(DeviceSampleRow, memory_used_bytes, 12, kDelta)};
constexpr Field kRangeMetricFields[] = {
    FIELD(RangeMetricRow, begin_ticks, 1, kDelta), FIELD(RangeMetricRow, end_ticks, 2, kDelta),
    FIELD(RangeMetricRow, thread, 3, kPlain),      FIELD(RangeMetricRow, range, 4, kPlain),
    FIELD(RangeMetricRow, device, 5, kPlain),      FIELD(RangeMetricRow, metric, 6, kPlain),
    FIELD(RangeMetricRow, value, 7, kPlain)};
constexpr Field kMetricSampleFields[] = {
    FIELD(MetricSampleRow, begin_ns, 1, kDelta), FIELD(MetricSampleRow, end_ns, 2, kSinceBegin),
    FIELD(MetricSampleRow, device, 3, kPlain), FIELD(MetricSampleRow, metric, 4, kPlain),
    FIELD(MetricSampleRow, value, 5, kPlain)};
constexpr Field kAllocationFields[] = {
    FIELD(AllocationRow, time_ns, 1, kDelta),   FIELD(AllocationRow, correlation, 2, kDelta),
    FIELD(AllocationRow, operation, 3, kPlain), FIELD(AllocationRow, memory, 4, kPlain),
    FIELD(AllocationRow, device, 5, kPlain),    FIELD(AllocationRow, context, 6, kPlain),
    FIELD(AllocationRow, stream, 7, kPlain),    FIELD(AllocationRow, flags, 8, kPlain),
    FIELD(AllocationRow, address, 9, kDelta),   FIELD(AllocationRow, bytes, 10, kPlain),
    FIELD(AllocationRow, pool, 11, kPlain)};
constexpr Field kJitFields[] = {FIELD(JitRow, begin_ns, 1, kDelta),    FIELD(JitRow, end_ns, 2, kSinceBegin),
                                FIELD(JitRow, correlation, 3, kDelta), FIELD(JitRow, tid, 4, kPlain),
                                FIELD(JitRow, entry, 5, kPlain),       FIELD(JitRow, operation, 6, kPlain),
                                FIELD(JitRow, device, 7, kPlain),      FIELD(JitRow, task, 8, kDelta),
                                FIELD(JitRow, cache_bytes, 9, kPlain), FIELD(JitRow, cache_path, 10, kPlain)};
constexpr Field kDeviceFields[] = {FIELD(DeviceRow, id, 1, kPlain),
                                   FIELD(DeviceRow, name, 2, kPlain),
                                   FIELD(DeviceRow, compute_major, 3, kPlain),
                                   FIELD(DeviceRow, compute_minor, 4, kPlain),
                                   FIELD(DeviceRow, memory_bytes, 5, kPlain),
                                   FIELD(DeviceRow, multiprocessors, 6, kPlain),
                                   FIELD(DeviceRow, warp_size, 7, kPlain),
                                   FIELD(DeviceRow, max_threads_per_block, 8, kPlain),
                                   FIELD(DeviceRow, max_warps_per_multiprocessor, 9, kPlain),
                                   FIELD(DeviceRow, max_blocks_per_multiprocessor, 10, kPlain),
                                   FIELD(DeviceRow, registers_per_block, 11, kPlain),
                                   FIELD(DeviceRow, registers_per_multiprocessor, 12, kPlain),
                                   FIELD(DeviceRow, shared_bytes_per_block, 13, kPlain),
                                   FIELD(DeviceRow, shared_bytes_per_multiprocessor, 14, kPlain),
                                   FIELD(DeviceRow, core_clock_khz, 15, kPlain),
                                   FIELD(DeviceRow, memory_bandwidth_kib_per_s, 16, kPlain),
                                   FIELD(DeviceRow, l2_bytes, 17, kPlain)};
constexpr Field kContextFields[] = {FIELD(ContextRow, id, 1, kPlain), FIELD(ContextRow, device, 2, kPlain),
                                    FIELD(ContextRow, null_stream, 3, kPlain)};
constexpr Field kStreamFields[] = {FIELD(StreamRow, context, 1, kPlain), FIELD(StreamRow, id, 2, kPlain),
                                   FIELD(StreamRow, flags, 3, kPlain), FIELD(StreamRow, priority, 4, kPlain)};
constexpr Field kClockFields[] = {FIELD(ClockRow, ticks, 1, kDelta), FIELD(ClockRow, monotonic_ns, 2, kDelta),
                                  FIELD(ClockRow, realtime_ns, 3, kDelta), FIELD(ClockRow, width_ns, 4, kPlain)};
constexpr Field kWindowFields[] = {FIELD(WindowRow, begin_ticks, 1, kDelta), FIELD(WindowRow, end_ticks, 2, kPlain),
                                   FIELD(WindowRow, number, 3, kPlain)};
constexpr Field kHealthFields[] = {FIELD(HealthRow, number, 1, kPlain), FIELD(HealthRow, count, 2, kPlain)};
constexpr Field kThreadFields[] = {FIELD(ThreadRow, index, 1, kPlain), FIELD(ThreadRow, tid, 2, kPlain),
                                   FIELD(ThreadRow, name, 3, kPlain)};
}  // namespace

const std::span<const Field> KernelRow::kFields = kKernelFields;
const std::span<const Field> MemcpyRow::kFields = kMemcpyFields;
const std::span<const Field> MemsetRow::kFields = kMemsetFields;
const std::span<const Field> ApiRow::kFields = kApiFields;
const std::span<const Field> SyncRow::kFields = kSyncFields;
const std::span<const Field> OverheadRow::kFields = kOverheadFields;
const std::span<const Field> GraphNodeRow::kFields = kGraphNodeFields;
const std::span<const Field> DeviceSampleRow::kFields = kDeviceSampleFields;
const std::span<const Field> RangeMetricRow::kFields = kRangeMetricFields;
const std::span<const Field> MetricSampleRow::kFields = kMetricSampleFields;
const std::span<const Field> GraphLaunchRow::kFields = kGraphLaunchFields;
const std::span<const Field> AllocationRow::kFields = kAllocationFields;
const std::span<const Field> JitRow::kFields = kJitFields;
const std::span<const Field> DeviceRow::kFields = kDeviceFields;
const std::span<const Field> ContextRow::kFields = kContextFields;
const std::span<const Field> StreamRow::kFields = kStreamFields;
const std::span<const Field> ClockRow::kFields = kClockFields;
const std::span<const Field> WindowRow::kFields = kWindowFields;
const std::span<const Field> HealthRow::kFields = kHealthFields;
const std::span<const Field> ThreadRow::kFields = kThreadFields;

}  // namespace rangefinder::format
