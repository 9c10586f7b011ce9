// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"
#include "format/host_events.hpp"
#include "format/layout.hpp"
#include "format/rows.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/detail/record.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rangefinder::testing {

/// Writes captures by hand, through lib/format alone: what a recorder would have written, and what it never would.
///
///   const base::Bytes file = CaptureBuilder()
///                                .range("step", 1'000, 9'000)          // on thread 1, on_thread() for another
///                                .launch(2'000).kernel("gemm", 3'000, 8'000)
///                                .build();
///   CaptureBuilder(...).write("x.rfcap");
///
/// Times are nanoseconds of CLOCK_MONOTONIC since the session's start, which is at kStart; a tick is a nanosecond, and
/// CLOCK_REALTIME is kRealtimeOffset ahead. Where rows go is set by on_thread, on_device, on_context and on_stream, and
/// holds until it is set anew; the start is thread 1, device 0, context 1, stream 7. A device row belongs to the launch
/// or call before it.
class CaptureBuilder {
 public:
  static constexpr std::int64_t kStart = 1'000'000'000;
  static constexpr std::int64_t kRealtimeOffset = 1'700'000'000'000'000'000;
  /// A time of this builder, as a timeline has it.
  static constexpr std::int64_t at(std::int64_t ns) noexcept { return kStart + ns; }

  CaptureBuilder();

  // ---- places
  CaptureBuilder& on_thread(std::uint32_t tid, std::string_view name = {});
  CaptureBuilder& on_device(std::uint32_t id);
  CaptureBuilder& on_context(std::uint32_t id);
  CaptureBuilder& on_stream(std::uint32_t id);

  // ---- host events of the thread, in any order of time
  CaptureBuilder& range(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                        std::string_view category = {});
  /// Begins and never ends.
  CaptureBuilder& open_range(std::string_view name, std::int64_t begin_ns);
  /// One range, suspended at the end of each part but the last.
  CaptureBuilder& range_in_parts(std::string_view name,
                                 std::initializer_list<std::pair<std::int64_t, std::int64_t>> parts);
  /// One part of such a range, which may go on on another thread. `since_ns`: the end of the part before; -1: the
  /// first.
  CaptureBuilder& range_part(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns, std::int64_t since_ns,
                             bool is_last);
  CaptureBuilder& start_end(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns);
  /// A scoped range of this thread that another thread ends.
  CaptureBuilder& range_ended_on(std::uint32_t tid, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns);
  /// An autograd node; `sequence` -1: it has no number. `forward_thread` is the number that autograd gives a thread.
  CaptureBuilder& node(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns, std::int64_t sequence,
                       std::uint32_t forward_thread);
  /// The numbers of nodes below `next` were taken by now, behind the last record; `resumed`: while nothing was
  /// recorded.
  CaptureBuilder& numbers(std::int64_t time_ns, std::uint64_t next, std::uint32_t forward_thread, bool resumed = false);
  /// How often that has occurred on the thread by then.
  CaptureBuilder& cpu_count(std::int64_t time_ns, CpuEvent event, std::int64_t count);
  CaptureBuilder& mark(std::string_view name, std::int64_t time_ns, std::string_view category = {});
  CaptureBuilder& counter(std::string_view name, std::int64_t time_ns, double value);
  CaptureBuilder& counter(std::string_view name, std::int64_t time_ns, std::int64_t value);
  /// What an allocator did: address, bytes, allocated, reserved, stream, pool, as many as are given. -1: the host.
  CaptureBuilder& memory(MemoryAction action, std::int64_t time_ns, std::int32_t device,
                         std::initializer_list<std::uint64_t> values);
  /// A payload behind it: the items of the step that ends here.
  CaptureBuilder& step(std::uint32_t number, std::int64_t time_ns, bool recorded = true);
  /// The thread calls a collective, in a group of the ranks 0 to `ranks` - 1. `call`: but for its group.
  CaptureBuilder& collective(const detail::CollectiveCall& call, std::string_view group, int ranks,
                             std::int64_t time_ns);
  /// What becomes of the collective called last, told by the thread.
  CaptureBuilder& phase(detail::CollectivePhase phase, std::int64_t time_ns);
  /// What the range added last, an operator, tells. `inputs`: shapes, types and values, a line each; empty: none.
  CaptureBuilder& facts(std::int64_t sequence, std::uint32_t forward_thread = 0, std::string_view inputs = {});
  /// The value of the range or mark added last.
  CaptureBuilder& payload(std::uint64_t value);
  CaptureBuilder& payload(double value);
  CaptureBuilder& payload(std::string_view text);
  /// Notes a launch; the next device rows are its own. `callback`: the callback id.
  CaptureBuilder& launch(std::int64_t time_ns, std::uint32_t callback = 211);

  // ---- device rows
  CaptureBuilder& kernel(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns);
  CaptureBuilder& memcpy(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes, std::uint32_t kind = 1);
  CaptureBuilder& memset(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes);
  /// An API call of the thread: of the launch before it, or, with `correlation` set anew, of its own.
  CaptureBuilder& call(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                       format::ApiDomain domain = format::ApiDomain::kRuntime);
  CaptureBuilder& sync(std::uint32_t type, std::int64_t begin_ns, std::int64_t end_ns);
  /// The last one waited for an event that was recorded on that stream of the context.
  CaptureBuilder& recorded_on(std::uint32_t stream);
  CaptureBuilder& overhead(std::uint32_t kind, std::int64_t begin_ns, std::int64_t end_ns);
  /// The driver compiles PTX on the thread.
  CaptureBuilder& jit(std::int64_t begin_ns, std::int64_t end_ns);
  /// What the call before it allocated, or freed, of CUPTI's kind of memory.
  CaptureBuilder& allocation(std::int64_t time_ns, std::uint64_t address, std::uint64_t bytes, bool freed = false,
                             std::uint32_t memory = 3);
  /// The correlation id of the next rows, calls and launches; launches count on from it.
  CaptureBuilder& correlation(std::uint32_t id);
  /// A node of a CUDA graph, of the launch or call before it; from `time_ns` on. Kernels say of which node they are.
  CaptureBuilder& graph_node(std::uint64_t node, std::int64_t time_ns);
  /// A metric of a range of the thread, counted on the device from `begin_ns` to `end_ns`.
  CaptureBuilder& range_metric(std::string_view range, std::int64_t begin_ns, std::int64_t end_ns,
                               std::string_view metric, double value);
  /// A sample of a metric of the device.
  CaptureBuilder& metric_sample(std::string_view metric, std::int64_t begin_ns, std::int64_t end_ns, double value);
  /// The kernel added last is a graph's.
  CaptureBuilder& of_graph(std::uint64_t node, std::uint32_t graph = 1);
  /// A launch of a graph as a whole, of the launch before it.
  CaptureBuilder& graph_launch(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t graph = 1);
  /// What rows of the shortcut functions lack: changes the kernel added last.
  format::KernelRow& last_kernel() { return kernels_.back(); }

  /// What the sensors of the device said; `row` but for its device and time.
  CaptureBuilder& device_sample(std::int64_t time_ns, format::DeviceSampleRow row);

  // ---- the rest
  /// An H100's figures; without it a device is known by its number only.
  CaptureBuilder& h100(std::uint32_t id = 0);
  CaptureBuilder& meta(std::string_view key, std::string_view value);
  CaptureBuilder& window(std::int64_t begin_ns, std::int64_t end_ns);
  CaptureBuilder& health(std::uint32_t number, std::uint64_t count);
  CaptureBuilder& clock_point(std::int64_t time_ns, std::int64_t realtime_drift_ns, std::uint32_t width_ns);
  CaptureBuilder& simulated();
  /// The program died: no end chunk.
  CaptureBuilder& unfinished();
  /// Records and rows a chunk; default: all in one.
  CaptureBuilder& chunk_rows(std::size_t rows);
  /// Writes the chunks of events in an order of their own, those of one thread in theirs.
  CaptureBuilder& shuffle(std::uint64_t seed);

  /// The file's bytes.
  base::Bytes build() const;
  void write(const std::string& path) const;

  format::NameId name(std::string_view text);

 private:
  struct Value {
    detail::ExtraKind kind;
    std::uint64_t bits;
  };
  struct Event {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    detail::RecordKind kind;
    format::NameId name = 0;
    std::uint32_t aux = 0;
    std::uint64_t number = 0;  // handle, thread index
    bool never_ends = false;
    bool suspended = false;
    std::vector<Value> values;
    std::optional<detail::Record> facts;
  };
  struct Thread {
    std::uint32_t tid;
    format::NameId name;
    std::vector<Event> events;
  };
  struct Piece {
    std::uint32_t order;  // pieces of equal order keep theirs
    base::Bytes chunk;
  };
  Thread& thread() { return threads_[thread_]; }
  std::uint32_t thread_index(std::uint32_t tid);
  std::uint32_t category(std::string_view name);
  CaptureBuilder& value(Value value);
  Event& add(Event event);
  std::vector<detail::Record> records_of(const Thread& thread) const;
  template <typename Row>
  void place(Row& row, std::int64_t begin_ns, std::int64_t end_ns) const;

  std::map<std::string, format::NameId, std::less<>> names_;
  std::map<std::string, std::uint32_t, std::less<>> categories_;
  std::vector<std::pair<std::string, std::string>> meta_;
  std::vector<Thread> threads_;
  std::vector<format::KernelRow> kernels_;
  std::vector<format::MemcpyRow> memcpys_;
  std::vector<format::MemsetRow> memsets_;
  std::vector<format::ApiRow> calls_;
  std::vector<format::SyncRow> syncs_;
  std::vector<format::OverheadRow> overheads_;
  std::vector<format::AllocationRow> allocations_;
  std::vector<format::JitRow> jits_;
  std::vector<format::GraphNodeRow> graph_nodes_;
  std::vector<format::RangeMetricRow> range_metrics_;
  std::vector<format::MetricSampleRow> metric_samples_;
  std::vector<format::GraphLaunchRow> graph_launches_;
  std::vector<format::DeviceRow> devices_;
  std::vector<format::DeviceSampleRow> device_samples_;
  std::map<std::uint32_t, std::uint32_t> contexts_;
  std::vector<format::WindowRow> windows_;
  std::vector<format::HealthRow> health_;
  std::vector<format::ClockRow> clock_;
  std::size_t thread_ = 0;
  std::uint32_t device_ = 0;
  std::uint32_t context_ = 1;
  std::uint32_t stream_ = 7;
  std::uint32_t correlation_ = 0;
  std::uint32_t next_correlation_ = 1;
  std::uint64_t next_handle_ = 1;
  std::uint32_t last_collective_ = 0;  // its handle
  std::uint64_t flags_ = 0;
  bool clean_ = true;
  std::size_t chunk_rows_ = 1u << 16;
  std::uint64_t shuffle_seed_ = 0;
};

}  // namespace rangefinder::testing
