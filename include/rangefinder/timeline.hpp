// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/types.hpp>
#include <rangefinder/visibility.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What happened, in memory: one table a kind of event, each a set of columns of equal length. Every input (our
// captures, torch.profiler traces, Nsight exports) becomes the same tables; every analysis and exporter reads them.
//
// Times are integer nanoseconds on the timeline's clock: CLOCK_MONOTONIC for our captures, the trace's own epoch for
// imports (Timeline::realtime_offset_ns leads to wall time where it is known). Intervals are half-open.
namespace rangefinder {

enum class InputFormat : std::uint8_t { kCapture, kKineto, kNsight };

/// How the ranges of an input relate to times at their very end. Nanosecond captures are half-open; Kineto's traces are
/// closed, because microsecond ticks let a launch and the end of its range coincide.
enum class RangeEnd : std::uint8_t { kOpen, kClosed };

enum class RangeStyle : std::uint8_t {
  kScoped,    ///< pushed and popped on one thread
  kStartEnd,  ///< started and ended by handle; may overlap, may end on another thread
};

enum class RangeKind : std::uint8_t {
  kAnnotation,      ///< written by the program's author: ProfileRange, record_function, NVTX
  kOperator,        ///< a framework's operator
  kPythonFunction,  ///< Kineto's with_stack rows
  kOther,           ///< any other host slice of an imported trace, kept for export
};

/// Flags of a range.
enum RangeFlags : std::uint8_t {
  kUnfinished = 1,      ///< still open when the recording stopped; end_ns is the recording's end
  kEndedElsewhere = 2,  ///< ended on another thread
  kOwnerless = 4,       ///< never owns device activity (a framework's bookkeeping, a range without a known thread)
  /// Over before the recording, or what a flight recorder still holds of it, began; here since a CUDA graph was
  /// captured in it: it may own work of replays, and is no part of the recorded time, nor of counts and times of the
  /// host.
  kBeforeRecording = 8,
  /// Its code left the thread at the end (a coroutine) and came back: the range goes on in a later row, which is
  /// kResumed.
  kSuspended = 16,
  kResumed = 32,
};

struct RangeTable {
  std::vector<StringId> name;
  std::vector<StringId> domain;    ///< NVTX domain; kEmpty is the default domain
  std::vector<StringId> category;  ///< ours, NVTX's or Kineto's
  std::vector<RangeKind> kind;
  std::vector<RangeStyle> style;
  std::vector<std::uint8_t> flags;  ///< RangeFlags
  std::vector<ThreadIndex> thread;
  std::vector<ThreadIndex> end_thread;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  /// Where the row came from: the event's position in `traceEvents`, Nsight's rowid, or -1.
  std::vector<std::int64_t> source_row;
  /// Kineto's External id; -1 where there is none. Links operators, API calls and activities of imported traces.
  std::vector<std::int64_t> external_id;
  /// Of a kResumed row: when the first row of that range began. May be shorter than the others.
  std::vector<std::int64_t> opened_ns;

  std::size_t size() const noexcept { return name.size(); }
  /// Whether the row counts as a run of its range: the last one of a range that was suspended, and none from before the
  /// recording.
  bool is_run(std::size_t range) const noexcept { return (flags[range] & (kBeforeRecording | kSuspended)) == 0; }
  /// The host time of that run, with the time in which it was suspended.
  std::int64_t run_ns(std::size_t range) const noexcept {
    const bool resumed = (flags[range] & kResumed) != 0 && range < opened_ns.size();
    return end_ns[range] - (resumed ? opened_ns[range] : begin_ns[range]);
  }
};

enum class CallDomain : std::uint8_t { kRuntime, kDriver, kInternal };

/// CUDA API calls on host threads.
struct CallTable {
  std::vector<StringId> name;
  std::vector<CallDomain> domain;
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<std::uint64_t> correlation;  ///< within the process; 0: none
  std::vector<std::int32_t> result;        ///< cudaError_t or CUresult; 0 where unknown
  std::vector<std::int64_t> external_id;
  std::vector<std::int64_t> source_row;

  std::size_t size() const noexcept { return name.size(); }
};

/// How an activity's launch site is known.
enum class LaunchSource : std::uint8_t {
  kUnknown,   ///< not at all
  kCallback,  ///< noted by our callback as the launching call began
  kCall,      ///< the API call with the same correlation id
};

/// Launch sites, one a correlation id. Written in order of time within a thread.
struct LaunchTable {
  std::vector<ProcessIndex> process;
  std::vector<std::uint64_t> correlation;
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> time_ns;
  std::vector<LaunchSource> source;
  /// The innermost range open at the launch where the recording noted it (exact whatever the clocks do); kNone where it
  /// has to be found by time.
  std::vector<RangeIndex> range;
  std::vector<CallIndex> call;  ///< the API call, where one was recorded

  std::size_t size() const noexcept { return correlation.size(); }
};

enum class ActivityKind : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kGraph,  ///< a launch of a CUDA graph as a whole, of which single operations are not recorded
};

constexpr bool is_copy(ActivityKind kind) noexcept {
  return kind == ActivityKind::kMemcpy || kind == ActivityKind::kMemset;
}

/// Work on devices.
struct ActivityTable {
  std::vector<ActivityKind> kind;
  std::vector<StringId> name;
  std::vector<StreamIndex> stream;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<std::uint64_t> correlation;
  std::vector<std::uint32_t> launch;      ///< row of LaunchTable, or kNone
  std::vector<std::uint64_t> bytes;       ///< copies and memsets
  std::vector<std::uint32_t> detail;      ///< row of KernelDetails or CopyDetails, or kNone
  std::vector<std::uint64_t> graph_node;  ///< CUDA graph node; 0: not from a graph, or not recorded
  std::vector<std::uint32_t> graph;       ///< executable graph's id; 0 likewise
  std::vector<std::int64_t> external_id;
  std::vector<std::int64_t> source_row;
  /// Of a graph's work: the row of LaunchTable that made its node, beside `launch`, which replays it; kNone where that
  /// is not in the data. May be shorter than the others.
  std::vector<std::uint32_t> captured;
  /// 1: a part of a graph's launch, whose time was measured as a whole and divided; see split_graph_launches. May be
  /// shorter than the others.
  std::vector<std::uint8_t> estimated;
  /// Of kernels, with latency timestamps: when the launch was put into the command buffer, and when that went to the
  /// device; kNoTime where not recorded. May be shorter than the others.
  std::vector<std::int64_t> queued_ns;
  std::vector<std::int64_t> submitted_ns;

  std::size_t size() const noexcept { return name.size(); }
  bool is_estimated(std::size_t activity) const noexcept {
    return activity < estimated.size() && estimated[activity] != 0;
  }
  std::uint32_t captured_by(std::size_t activity) const noexcept {
    return activity < captured.size() ? captured[activity] : kNone;
  }
  std::int64_t queued_at(std::size_t activity) const noexcept {
    return activity < queued_ns.size() ? queued_ns[activity] : kNoTime;
  }
  std::int64_t submitted_at(std::size_t activity) const noexcept {
    return activity < submitted_ns.size() ? submitted_ns[activity] : kNoTime;
  }
};

struct KernelDetail {
  std::uint32_t grid[3] = {0, 0, 0};
  std::uint32_t block[3] = {0, 0, 0};
  std::uint32_t cluster[3] = {0, 0, 0};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes_per_thread = 0;
  std::uint32_t launch_type = 0;  ///< CUPTI's: 0 regular, 1 cooperative, 2 cooperative on several devices, ...
  /// Shared memory of a multiprocessor, as the driver divided it off for this launch; 0: not known.
  std::uint32_t shared_executed_bytes = 0;
  std::uint32_t max_active_clusters = 0;  ///< that the device can hold at once; 0: not known, or no clusters
  StringId demangled = StringId::kEmpty;  ///< Nsight keeps three spellings, and the first is the name; else empty
  StringId mangled = StringId::kEmpty;
  StringId base = StringId::kEmpty;  ///< without return type, template arguments and parameters
};

/// CUPTI's numbers: 1 host to device, 2 device to host, 8 device to device, 10 peer to peer, ...
struct CopyDetail {
  std::uint32_t copy_kind = 0;
  std::uint32_t source_memory = 0;  ///< 0 unknown, 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, ...
  std::uint32_t target_memory = 0;
  std::uint32_t source_device = kNone;
  std::uint32_t target_device = kNone;
  std::uint32_t value = 0;  ///< memset
  bool asynchronous = false;
};

/// Waiting recorded by CUPTI.
struct SyncTable {
  std::vector<std::uint32_t> type;  ///< CUPTI's: 1 event, 2 stream waits for event, 3 stream, 4 context
  std::vector<StreamIndex> stream;  ///< or kNone
  std::vector<DeviceIndex> device;  ///< or kNone
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<std::uint64_t> correlation;
  std::vector<std::int64_t> source_row;
  /// Of a wait for an event: the stream that the event was recorded on; kNone where that is not in the data. May be
  /// shorter than the others.
  std::vector<StreamIndex> event_stream;

  std::size_t size() const noexcept { return type.size(); }
};

/// Time that CUPTI itself took, and what CUDA does once: buffer flushes, instrumentation, loading and compiling of
/// code.
struct OverheadTable {
  std::vector<StringId> name;
  std::vector<ThreadIndex> thread;  ///< or kNone
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<std::int64_t> source_row;

  std::size_t size() const noexcept { return name.size(); }
};

/// Calls of CUDA's own functions that allocate and free: cudaMalloc, cudaMallocAsync, cudaHostAlloc, ... What a caching
/// allocator hands out of the memory that it got so is in MemoryTable.
struct AllocationTable {
  std::vector<ProcessIndex> process;
  std::vector<std::int64_t> time_ns;
  std::vector<std::uint8_t> freed;    ///< 1: the memory was given back
  std::vector<std::uint32_t> memory;  ///< CUPTI's kind: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed, ...
  std::vector<DeviceIndex> device;    ///< or kNone
  std::vector<StreamIndex> stream;    ///< of stream-ordered allocations; else kNone
  std::vector<std::uint64_t> address;
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> pool;         ///< address of the memory pool; 0: none
  std::vector<std::uint64_t> correlation;  ///< of the call, which tells thread and function; 0: none
  std::vector<std::int64_t> source_row;

  std::size_t size() const noexcept { return time_ns.size(); }
};

struct MarkTable {
  std::vector<StringId> name;
  std::vector<StringId> category;
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> time_ns;
  std::vector<std::int64_t> source_row;

  std::size_t size() const noexcept { return name.size(); }
};

/// Samples of named series. `is_integer` tells which of the two values counts.
struct CounterTable {
  std::vector<StringId> name;
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> time_ns;
  std::vector<double> number;
  std::vector<std::int64_t> integer;
  std::vector<bool> is_integer;

  std::size_t size() const noexcept { return name.size(); }
};

/// Values attached to ranges and marks.
struct Attachment {
  enum class Target : std::uint8_t { kRange, kMark } target = Target::kRange;
  enum class Type : std::uint8_t { kUnsigned, kSigned, kDouble, kText } type = Type::kUnsigned;
  std::uint32_t row = 0;
  std::uint64_t bits = 0;  ///< the value's bits; StringId for kText
};

/// Iterations: our session.step(), Kineto's ProfilerStep#N.
struct StepTable {
  std::vector<std::int64_t> number;
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<std::uint64_t> items;  ///< tokens, samples: what the program said that it did in the step; 0: nothing

  std::size_t size() const noexcept { return number.size(); }
};

/// Allocators' events, in order of time within a thread.
struct MemoryTable {
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> time_ns;
  std::vector<MemoryAction> action;
  std::vector<std::int32_t> device;      ///< CUDA's index; -1: memory of the host
  std::vector<std::uint64_t> address;    ///< 0 where unknown
  std::vector<std::uint64_t> bytes;      ///< of the block, segment or request
  std::vector<std::int64_t> allocated;   ///< by all blocks of the device afterwards; -1 where unknown
  std::vector<std::int64_t> reserved;    ///< by all segments of the device afterwards; -1 where unknown
  std::vector<std::uint64_t> stream;     ///< the allocator's, 0 where unknown
  std::vector<std::uint64_t> pool;       ///< private pool; 0: the default one
  std::vector<std::int64_t> source_row;  ///< as in RangeTable

  std::size_t size() const noexcept { return action.size(); }
};

/// What operators were given; a row for each that tells, in order of range. LoadOptions::operator_inputs asks for the
/// texts.
struct OperatorTable {
  std::vector<RangeIndex> range;
  std::vector<std::int64_t> sequence;  ///< the number that the next node of autograd got; -1: it makes none
  /// Not 0: it is a node itself, `sequence` its own number, and this the framework's number of the thread that made it.
  std::vector<std::uint64_t> made_on;
  // JSON, without white space between tokens, however the input is written.
  std::vector<StringId> shapes;  ///< a list for each input: [[4,288],[]]
  std::vector<StringId> types;   ///< ["float","Scalar"]
  std::vector<StringId> values;  ///< of inputs that are no tensors: ["","[1, 1]"]

  std::size_t size() const noexcept { return range.size(); }
};

/// Executions of autograd's nodes: where and when each ran, and where the operator ran that made it in the forward
/// pass. They nest; the innermost counts. In order of begin within a thread.
struct NodeTable {
  std::vector<ThreadIndex> thread;
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<std::int64_t> sequence;  ///< the node's number; -1: it has none, which is gradient accumulation
  std::vector<ThreadIndex> made_on;    ///< thread of the operator that made it; kNone: not in the data
  std::vector<std::int64_t> made_ns;   ///< a time at which that operator ran; kNoTime with kNone
  // May be shorter than the others.
  std::vector<StringId> name;     ///< "AddmmBackward0"
  std::vector<RangeIndex> range;  ///< the operator that is the node, where operators are in the data; else kNone

  std::size_t size() const noexcept { return sequence.size(); }
  RangeIndex range_of(std::size_t node) const noexcept { return node < range.size() ? range[node] : kNone; }
};

/// Nodes of CUDA graphs and the calls that made them. An update gives a node another row, which counts for what is
/// launched from then on.
struct GraphNodeTable {
  std::vector<ProcessIndex> process;
  std::vector<std::uint64_t> node;         ///< as in ActivityTable::graph_node
  std::vector<std::int64_t> time_ns;       ///< from when on
  std::vector<std::uint64_t> correlation;  ///< of the call or note that made it, or its first original; 0: not known

  std::size_t size() const noexcept { return node.size(); }
};

/// A machine of a job. All times are on the clock of the first one.
struct HostInfo {
  std::string name;
  /// How far its clock was found behind the first one's, beyond the difference of their wall clocks: added to its times
  /// in the middle of the recording; it may drift around that.
  std::int64_t shift_ns = 0;
  /// Most that its times can be off against the first one's; kNoTime where only wall clocks tell.
  std::int64_t error_ns = kNoTime;
  /// Collectives of both that were compared.
  std::uint64_t collectives = 0;
};

/// What sensors of devices said, in order of time within a device. Of what `present` (DeviceSampleField) does not have,
/// 0.
struct DeviceSampleTable {
  std::vector<DeviceIndex> device;
  std::vector<std::int64_t> time_ns;
  std::vector<std::uint32_t> present;
  std::vector<std::uint32_t> gpu_utilisation_percent;  ///< of the driver's last sampling period, in which a kernel ran
  std::vector<std::uint32_t> memory_utilisation_percent;  ///< likewise, in which memory was read or written
  std::vector<std::uint32_t> sm_clock_mhz;
  std::vector<std::uint32_t> memory_clock_mhz;
  std::vector<std::uint32_t> power_mw;  ///< of the whole board
  std::vector<std::uint32_t> temperature_c;
  std::vector<std::uint64_t> energy_mj;          ///< since the driver was loaded
  std::vector<std::uint64_t> throttle_reasons;   ///< NVML's bits; 1: idle
  std::vector<std::uint64_t> memory_used_bytes;  ///< by all processes

  std::size_t size() const noexcept { return time_ns.size(); }
};

/// Events of the processor in ranges, with all inside them on their thread; a row for each range that has any, in order
/// of range.
struct CpuCounterTable {
  std::vector<RangeIndex> range;
  std::array<std::vector<std::int64_t>, kCpuEvents> value;  ///< by CpuEvent; -1: not counted

  std::size_t size() const noexcept { return range.size(); }
};

/// Hardware counters of range instances, by CUPTI's range profiler (SessionOptions::counters). In order of range.
struct RangeMetricTable {
  std::vector<RangeIndex> range;
  std::vector<DeviceIndex> device;
  /// "dram_read_bytes". The name ends in the unit; what ends in _ratio is an average of 0 to 1, all else a sum over the
  /// range. docs/reference/counters.md has the list.
  std::vector<StringId> metric;
  std::vector<double> value;

  std::size_t size() const noexcept { return range.size(); }
};

/// Samples of a device's counters (SessionOptions::samples). In order of device, metric, begin.
struct MetricSampleTable {
  std::vector<DeviceIndex> device;
  std::vector<StringId> metric;  ///< as in RangeMetricTable
  std::vector<std::int64_t> begin_ns;
  std::vector<std::int64_t> end_ns;
  std::vector<double> value;  ///< of this interval

  std::size_t size() const noexcept { return device.size(); }
};

struct ProcessInfo {
  std::int64_t pid = 0;
  std::string name;
  std::string host;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  /// When its recording, or what a flight recorder still holds of it, began; where the input says.
  std::int64_t start_ns = kNoTime;
  bool flight_recorder = false;  ///< a dump of one: what came earlier is missing on purpose
};

struct ThreadInfo {
  ProcessIndex process = 0;
  std::int64_t tid = 0;
  std::string name;
  std::optional<std::int32_t> priority;  ///< where the input says
};

/// 0 where unknown.
struct DeviceInfo {
  ProcessIndex process = 0;
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t multiprocessors = 0;
  std::uint32_t warp_size = 0;
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t max_threads_per_multiprocessor = 0;
  std::uint32_t max_blocks_per_multiprocessor = 0;
  std::uint32_t registers_per_block = 0;
  std::uint32_t registers_per_multiprocessor = 0;
  std::uint64_t shared_bytes_per_block = 0;
  std::uint64_t shared_bytes_per_block_optin = 0;
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::string board;  ///< NVML's UUID of the board whose sensors were read; empty: not known
  bool mig = false;   ///< the board is divided into instances (MIG), of which this is one
};

/// A stream id means something only within its context, a context only within its process.
struct StreamInfo {
  DeviceIndex device = 0;
  std::uint32_t context = 0;
  std::int64_t id = 0;
  std::uint32_t green_context = 0;  ///< the share of a device that the stream is confined to; 0: none
};

/// A stretch of time in which the recording was on; see SessionOptions::schedule.
struct Window {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Text of an imported event that no column holds, kept when LoadOptions::keep_arguments asks for it: the raw members
/// of its `args` object, without the braces, by source_row.
class RANGEFINDER_EXPORT ArgumentStore {
 public:
  /// Rows may come in any order.
  void add(std::int64_t source_row, std::string_view members);
  /// Empty when nothing was kept.
  std::string_view find(std::int64_t source_row) const noexcept;
  void sort();
  bool empty() const noexcept { return rows_.empty(); }
  std::uint64_t bytes() const noexcept { return rows_.size() * sizeof(Row) + text_.size(); }

 private:
  struct Row {
    std::int64_t source_row;
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::vector<Row> rows_;
  std::string text_;
};

/// An imported event that no table holds (memory instants, flows between operators), to be written back as it was.
struct ForeignEvent {
  std::string json;  ///< the whole object
};

class RANGEFINDER_EXPORT Timeline {
 public:
  Timeline();
  ~Timeline();
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(Timeline&&) noexcept;

  std::string_view text(StringId id) const noexcept;
  StringId intern(std::string_view text);
  /// The id of a text that occurs, or nothing.
  bool find(std::string_view text, StringId& id) const noexcept;
  std::uint32_t string_count() const noexcept;
  /// Memory of all tables and texts as they are filled, without what their columns have in reserve.
  std::uint64_t table_bytes() const noexcept;
  /// Of that, texts.
  std::uint64_t text_bytes() const noexcept;

  InputFormat format = InputFormat::kCapture;
  RangeEnd range_end = RangeEnd::kOpen;
  /// The files it was read from.
  std::vector<std::string> sources;

  std::vector<HostInfo> hosts;  ///< of a job of several processes; else empty
  std::vector<ProcessInfo> processes;
  std::vector<ThreadInfo> threads;
  std::vector<DeviceInfo> devices;
  std::vector<StreamInfo> streams;

  RangeTable ranges;
  CallTable calls;
  LaunchTable launches;
  ActivityTable activities;
  std::vector<KernelDetail> kernel_details;
  std::vector<CopyDetail> copy_details;
  SyncTable syncs;
  OverheadTable overheads;
  AllocationTable allocations;
  MarkTable marks;
  CounterTable counters;
  StepTable steps;
  NodeTable nodes;
  GraphNodeTable graph_nodes;
  /// Executable graphs with conditional nodes, by process and ActivityTable::graph, in order; see `is_lower_bound`.
  std::vector<std::pair<ProcessIndex, std::uint32_t>> conditional_graphs;
  OperatorTable operators;
  MemoryTable memory;
  DeviceSampleTable device_samples;
  CpuCounterTable cpu_counters;
  RangeMetricTable range_metrics;
  MetricSampleTable metric_samples;
  std::vector<Attachment> attachments;  ///< ordered by target and row
  std::vector<Window> windows;          ///< empty: the whole time
  ArgumentStore arguments;
  std::vector<ForeignEvent> foreign;

  /// An operation of a graph with conditional nodes: CUPTI records no iteration of a loop after the first, so that
  /// counts and times are lower bounds, "n+". The launch of such a graph that was recorded as a whole is not.
  bool is_lower_bound(ActivityIndex activity) const noexcept {
    if (conditional_graphs.empty() || activities.graph[activity] == 0) return false;
    if (activities.kind[activity] == ActivityKind::kGraph) return false;
    const ProcessIndex process = devices[streams[activities.stream[activity]].device].process;
    return std::binary_search(conditional_graphs.begin(), conditional_graphs.end(),
                              std::pair(process, activities.graph[activity]));
  }

  /// Key and value, the value as JSON text: a number, a quoted string, an object.
  std::vector<std::pair<std::string, std::string>> metadata;
  CaptureHealth health;
  /// Findings about the input that are no counts: "device records: none (no driver)".
  std::vector<std::string> notes;

  /// First and last time of anything in the tables; both 0 when there is nothing. Samples of devices, and what came
  /// before the recording (kBeforeRecording), aside.
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  /// Wall time (CLOCK_REALTIME) of time 0, ns; kNoTime when unknown.
  std::int64_t realtime_offset_ns = kNoTime;
  /// Most that a device time can be off against a host time; 0: the input does not say.
  std::int64_t clock_error_ns = 0;
  /// Device records were made up by a script: every output says so.
  bool simulated = false;

 private:
  struct Strings;
  std::unique_ptr<Strings> strings_;
};

struct LoadOptions {
  /// Keep what no column holds (Call stack, Input Dims, ...) so that an export can write it back. Costs memory.
  bool keep_arguments = false;
  /// Keep the shapes, types and values of operators' inputs (Timeline::operators).
  bool operator_inputs = false;
  /// An input that is damaged or incomplete is an error (kIncomplete) instead of what could be read.
  bool strict = false;
  /// Compare the clocks of the hosts of a job by their collectives. Such captures are read twice.
  bool align_hosts = true;
  /// Refuse input that unpacks to more than this; 0: no limit. Default 16 GiB.
  std::uint64_t max_unpacked_bytes = std::uint64_t{16} << 30;
  /// Refuse input (kTooLarge) whose timeline, with what a report of it needs on top, would take more memory than this.
  /// 0: default_max_memory(); UINT64_MAX: no bound.
  std::uint64_t max_memory_bytes = 0;
  /// Called now and then with bytes done and bytes in all (0: unknown). May be null.
  void (*progress)(void* user, std::uint64_t done, std::uint64_t total) = nullptr;
  void* progress_user = nullptr;
};

/// Half of the memory that the machine or the control group of the process has, whichever is less; at least 1 GiB.
RANGEFINDER_EXPORT std::uint64_t default_max_memory() noexcept;

/// Reads a capture (.rfcap; a folder of them is a job of several processes, see Timeline::hosts), a torch.profiler
/// trace (.json, .json.gz) or an Nsight Systems SQLite export. What it is is found from its first bytes, not from its
/// name. A folder without captures that holds one trace is that trace.
///
/// Errors:  kNotFound, kUnreadable with place and reason, kUnsupported for a version or dialect that cannot be read,
///          kTooLarge for what needs more memory than LoadOptions::max_memory_bytes.
/// Threads: any; distinct calls share nothing.
/// Cost:    memory proportional to the events, about 100 bytes each.
RANGEFINDER_EXPORT Result<Timeline> load_timeline(const std::string& path, const LoadOptions& options = {});

/// Reads several captures, or folders of captures, as the processes of one job. One path: as load_timeline.
///
/// Errors:  as of load_timeline; kUnsupported for a trace or an export among several paths, kInvalidArgument for a file
///          that is given twice and for no path.
RANGEFINDER_EXPORT Result<Timeline> load_job(const std::vector<std::string>& paths, const LoadOptions& options = {});

}  // namespace rangefinder
