// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "format/columns.hpp"
#include "format/layout.hpp"

#include <rangefinder/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// One struct a chunk kind. Device times are as CUPTI gave them, CLOCK_REALTIME nanoseconds; the reader converts.
// Each struct lists its columns once, in `kFields`; packing, unpacking and the reference page follow that list.
namespace rangefinder::format {

/// A name of the recording process; resolved by the capture's names. 0: unnamed.
using NameId = std::uint32_t;

enum class Coding : std::uint8_t {
  kPlain,       ///< varint
  kDelta,       ///< zigzag varint of the difference to the row before
  kSinceBegin,  ///< zigzag varint of the difference to the row's first field
};

struct Field {
  std::uint16_t column;
  Coding coding;
  std::uint16_t offset;
  std::uint8_t bytes;
  bool is_signed;
};

namespace row_detail {
template <typename Row, typename T>
constexpr Field field(std::uint16_t column, Coding coding, std::size_t offset) {
  static_assert(std::is_integral_v<T>);
  return {column, coding, static_cast<std::uint16_t>(offset), sizeof(T), std::is_signed_v<T>};
}
}  // namespace row_detail

#define RANGEFINDER_FIELD(Row, member, column, coding)                                                                \
  ::rangefinder::format::row_detail::field<Row, decltype(Row::member)>(column, ::rangefinder::format::Coding::coding, \
                                                                       offsetof(Row, member))

/// What every device activity has.
struct KernelRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  NameId name;
  std::uint32_t grid_x, grid_y, grid_z;
  std::uint32_t block_x, block_y, block_z;
  std::uint32_t cluster_x, cluster_y, cluster_z;
  std::uint32_t registers_per_thread;
  std::uint32_t static_shared_bytes;
  std::uint32_t dynamic_shared_bytes;
  std::uint32_t local_bytes_per_thread;
  std::uint32_t launch_type;  // 0 regular, 1 cooperative, 2 cooperative on several devices, ...
  std::uint32_t graph_id;
  std::uint64_t graph_node;
  std::uint64_t queued_ns;  // 0 unless latency timestamps were on
  std::uint64_t submitted_ns;
  std::uint32_t shared_executed_bytes;  // shared memory of a multiprocessor as it was divided off; 0: not known
  std::uint32_t max_active_clusters;    // that the device can hold at once; 0: not known, or no clusters

  static constexpr ChunkKind kKind = ChunkKind::kKernels;
  static const std::span<const Field> kFields;
};

struct MemcpyRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint64_t bytes;
  std::uint32_t copy_kind;      // CUpti_ActivityMemcpyKind
  std::uint32_t source_memory;  // CUpti_ActivityMemoryKind
  std::uint32_t target_memory;
  std::uint32_t is_peer;  // 1: between two devices; the next four are set
  std::uint32_t source_device;
  std::uint32_t target_device;
  std::uint32_t source_context;
  std::uint32_t target_context;
  std::uint32_t flags;  // 1: asynchronous
  std::uint32_t graph_id;
  std::uint64_t graph_node;

  static constexpr ChunkKind kKind = ChunkKind::kMemcpys;
  static const std::span<const Field> kFields;
};

struct MemsetRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;
  std::uint64_t bytes;
  std::uint32_t value;
  std::uint32_t memory;  // CUpti_ActivityMemoryKind
  std::uint32_t flags;
  std::uint32_t graph_id;
  std::uint64_t graph_node;

  static constexpr ChunkKind kKind = ChunkKind::kMemsets;
  static const std::span<const Field> kFields;
};

enum class ApiDomain : std::uint32_t { kRuntime = 0, kDriver = 1, kInternal = 2 };

struct ApiRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t tid;
  NameId name;
  std::uint32_t domain;  // ApiDomain
  std::uint32_t callback_id;
  std::uint32_t result;  // cudaError_t or CUresult

  static constexpr ChunkKind kKind = ChunkKind::kApiCalls;
  static const std::span<const Field> kFields;
};

struct SyncRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t stream;  // 0xFFFFFFFF: none
  std::uint32_t type;    // CUpti_ActivitySynchronizationType
  std::uint32_t event_id;
  std::uint32_t result;
  std::uint32_t event_context;  // of the stream that the event was recorded on; 0: not known
  std::uint32_t event_stream;

  static constexpr ChunkKind kKind = ChunkKind::kSyncs;
  static const std::span<const Field> kFields;
};

struct OverheadRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t kind;  // CUpti_ActivityOverheadKind
  std::uint32_t tid;
  std::uint32_t correlation;

  static constexpr ChunkKind kKind = ChunkKind::kOverheads;
  static const std::span<const Field> kFields;
};

/// A call of CUDA's own that allocated or freed memory; its API call has the same correlation id.
struct AllocationRow {
  std::int64_t time_ns;
  std::uint32_t correlation;
  std::uint32_t operation;  // CUpti_ActivityMemoryOperationType: 1 allocated, 2 freed
  std::uint32_t memory;     // CUpti_ActivityMemoryKind
  std::uint32_t device;
  std::uint32_t context;
  std::uint32_t stream;  // 0xFFFFFFFF: none
  std::uint32_t flags;   // 1: asynchronous, in order of a stream
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t pool;  // address of the memory pool; 0: none

  static constexpr ChunkKind kKind = ChunkKind::kAllocations;
  static const std::span<const Field> kFields;
};

/// The driver's compiler at work, or its cache.
struct JitRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t tid;
  std::uint32_t entry;      // CUpti_ActivityJitEntryType: 1 PTX to cubin, 2 NVVM IR to PTX
  std::uint32_t operation;  // CUpti_ActivityJitOperationType: 1 cache load, 2 cache store, 3 compile
  std::uint32_t device;
  std::uint64_t task;  // the operations of one piece of code have the same
  std::uint64_t cache_bytes;
  NameId cache_path;

  static constexpr ChunkKind kKind = ChunkKind::kJits;
  static const std::span<const Field> kFields;
};

enum GraphNodeFlag : std::uint32_t {
  kGraphNodeConditional = 1,  ///< an if, a loop or a switch of the graph
  kGraphNodeGone = 2,         ///< it exists no longer; all else as before
};

/// A node of a CUDA graph, and what made it; of a copy, what made the first original. The newest row of a node before a
/// launch of its graph counts.
struct GraphNodeRow {
  std::int64_t time_ns;  // CLOCK_REALTIME: from now on
  std::uint64_t node;
  std::uint32_t correlation;  // of the noted call that made it; 0: none in this recording
  std::uint32_t note;         // that was made of it (node_note.hpp), which comes before the call; 0: none
  std::uint32_t graph_id;     // as in KernelRow, of an executable graph; 0: not known
  std::uint32_t flags;        // GraphNodeFlag

  static constexpr ChunkKind kKind = ChunkKind::kGraphNodes;
  static const std::span<const Field> kFields;
};

/// What a device's sensors said at a time. `present`: SensorSampleField; what is not present is 0.
struct DeviceSampleRow {
  std::int64_t time_ns;  // CLOCK_REALTIME
  std::uint32_t device;  // CUDA's number in the process
  std::uint32_t present;
  std::uint32_t gpu_utilisation_percent;
  std::uint32_t memory_utilisation_percent;
  std::uint32_t sm_clock_mhz;
  std::uint32_t memory_clock_mhz;
  std::uint32_t power_mw;
  std::uint32_t temperature_c;
  std::uint64_t energy_mj;  // since the driver was loaded
  std::uint64_t throttle_reasons;
  std::uint64_t memory_used_bytes;

  static constexpr ChunkKind kKind = ChunkKind::kDeviceSamples;
  static const std::span<const Field> kFields;
};

/// A metric of one range, measured by counting from just after its begin to its end; a row for each metric. The range
/// is the last of that name that the thread opened before `begin_ticks`.
struct RangeMetricRow {
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
  std::uint32_t thread;  // index
  NameId range;
  std::uint32_t device;
  NameId metric;
  std::uint64_t value;  // coded_number

  static constexpr ChunkKind kKind = ChunkKind::kRangeMetrics;
  static const std::span<const Field> kFields;
};

/// A metric of a device over one interval of its sampling.
struct MetricSampleRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t device;
  NameId metric;
  std::uint64_t value;  // coded_number

  static constexpr ChunkKind kKind = ChunkKind::kMetricSamples;
  static const std::span<const Field> kFields;
};

/// A double as a column holds it: its bits with the bytes in reverse, so that whole numbers take few bytes.
constexpr std::uint64_t coded_number(double number) noexcept {
  return __builtin_bswap64(__builtin_bit_cast(std::uint64_t, number));
}
constexpr double decoded_number(std::uint64_t coded) noexcept {
  return __builtin_bit_cast(double, __builtin_bswap64(coded));
}

/// A launch of a CUDA graph that was recorded as a whole: no row of any other kind has its work.
struct GraphLaunchRow {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t correlation;
  std::uint32_t device;  // where it begins, as the next two
  std::uint32_t context;
  std::uint32_t stream;
  std::uint32_t graph_id;  // of the executable graph
  std::uint32_t end_device;
  std::uint32_t end_context;

  static constexpr ChunkKind kKind = ChunkKind::kGraphLaunches;
  static const std::span<const Field> kFields;
};

struct DeviceRow {
  std::uint32_t id;
  NameId name;
  std::uint32_t compute_major;
  std::uint32_t compute_minor;
  std::uint64_t memory_bytes;
  std::uint32_t multiprocessors;
  std::uint32_t warp_size;
  std::uint32_t max_threads_per_block;
  std::uint32_t max_warps_per_multiprocessor;
  std::uint32_t max_blocks_per_multiprocessor;
  std::uint32_t registers_per_block;
  std::uint32_t registers_per_multiprocessor;
  std::uint64_t shared_bytes_per_block;
  std::uint64_t shared_bytes_per_multiprocessor;
  std::uint32_t core_clock_khz;
  std::uint64_t memory_bandwidth_kib_per_s;
  std::uint64_t l2_bytes;

  static constexpr ChunkKind kKind = ChunkKind::kDevices;
  static const std::span<const Field> kFields;
};

struct ContextRow {
  std::uint32_t id;
  std::uint32_t device;
  std::uint32_t null_stream;

  static constexpr ChunkKind kKind = ChunkKind::kContexts;
  static const std::span<const Field> kFields;
};

struct StreamRow {
  std::uint32_t context;
  std::uint32_t id;
  std::uint32_t flags;
  std::int32_t priority;

  static constexpr ChunkKind kKind = ChunkKind::kStreams;
  static const std::span<const Field> kFields;
};

struct ClockRow {
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t realtime_ns;
  std::uint32_t width_ns;

  static constexpr ChunkKind kKind = ChunkKind::kClock;
  static const std::span<const Field> kFields;
};

/// Time in which ranges were recorded; open while end_ticks is 0. Outside, the schedule had the recording switched off.
struct WindowRow {
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
  std::uint32_t number;

  static constexpr ChunkKind kKind = ChunkKind::kWindows;
  static const std::span<const Field> kFields;
};

/// Totals since the start of the recording: the last row of a number counts.
struct HealthRow {
  std::uint32_t number;  // of CaptureHealth
  std::uint64_t count;

  static constexpr ChunkKind kKind = ChunkKind::kHealth;
  static const std::span<const Field> kFields;
};

struct ThreadRow {
  std::uint32_t index;
  std::uint32_t tid;
  NameId name;

  static constexpr ChunkKind kKind = ChunkKind::kThreads;
  static const std::span<const Field> kFields;
};

// Packing is in field_packer.hpp. `rows` are all zeros before.
Status unpack_fields(std::span<const Field> fields, ColumnReader& in, void* rows, std::size_t row_bytes,
                     std::size_t count);

template <typename Row>
Result<std::vector<Row>> unpack_rows(base::ByteView payload, std::uint32_t count, ColumnReader& in) {
  if (count > kMaxRows) return Error(ErrorCode::kUnreadable, "chunk claims " + std::to_string(count) + " rows");
  Status status = in.open(payload);
  if (!status) return std::move(status).error();
  std::vector<Row> rows(count, Row{});
  status = unpack_fields(Row::kFields, in, rows.data(), sizeof(Row), count);
  if (!status) return std::move(status).error();
  return rows;
}

// ---- chunks that hold text --------------------------------------------------------------------------------------

/// kNames: an id and its text. kMeta: a key and its value, both texts; ids unused.
struct TextRow {
  std::uint32_t id = 0;
  std::string key;
  std::string text;
};

void pack_text(std::span<const TextRow> rows, ColumnWriter& out);
Result<std::vector<TextRow>> unpack_text(base::ByteView payload, std::uint32_t count, ColumnReader& in);

}  // namespace rangefinder::format
