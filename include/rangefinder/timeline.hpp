// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/cells.hpp>
#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/timeline/activity_table.hpp>
#include <rangefinder/timeline/allocator_event_table.hpp>
#include <rangefinder/timeline/attachment.hpp>
#include <rangefinder/timeline/autograd_node_table.hpp>
#include <rangefinder/timeline/call_table.hpp>
#include <rangefinder/timeline/collective_table.hpp>
#include <rangefinder/timeline/counter_table.hpp>
#include <rangefinder/timeline/cpu_counter_table.hpp>
#include <rangefinder/timeline/cuda_allocation_table.hpp>
#include <rangefinder/timeline/graph_node_table.hpp>
#include <rangefinder/timeline/launch_table.hpp>
#include <rangefinder/timeline/mark_table.hpp>
#include <rangefinder/timeline/operator_table.hpp>
#include <rangefinder/timeline/overhead_table.hpp>
#include <rangefinder/timeline/places.hpp>
#include <rangefinder/timeline/pm_sample_table.hpp>
#include <rangefinder/timeline/range_metric_table.hpp>
#include <rangefinder/timeline/range_table.hpp>
#include <rangefinder/timeline/sensor_sample_table.hpp>
#include <rangefinder/timeline/step_table.hpp>
#include <rangefinder/timeline/sync_table.hpp>
#include <rangefinder/types.hpp>
#include <rangefinder/visibility.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What happened, in memory: one table per kind of event, each a set of columns of equal length. Every input (our
// captures, torch.profiler traces, Nsight exports) becomes the same tables; every analysis and exporter reads them.
//
//   timeline.ranges.append({.name = timeline.intern("step"), .begin_ns = 0, .end_ns = 100});  // C++20; C++17: a
//   RangeRow timeline.ranges.end_ns[0];                                                                // 100
//
// Times are integer nanoseconds on the timeline's clock: CLOCK_MONOTONIC for our captures, the trace's own epoch for
// imports (Timeline::realtime_offset_ns leads to wall time where it is known). Intervals are half-open.
namespace rangefinder {

enum class InputFormat : std::uint8_t { kCapture, kKineto, kNsight };

/// How the ranges of an input relate to times at their very end. Nanosecond captures are half-open; Kineto's traces are
/// closed, because microsecond ticks let a launch and the end of its range coincide.
enum class RangeEnd : std::uint8_t { kOpen, kClosed };

/// A stretch of time in which the recording was on; see SessionOptions::schedule.
struct Window {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Of a timeline that is a window of a longer one: a call before it. Few of them are enough to tell what was launched
/// before the recording from what is not known.
struct EarlierCall {
  ProcessIndex process{};
  std::uint64_t correlation = 0;
  std::int64_t time_ns = 0;
};

/// Text of an imported event that no column holds, kept when LoadOptions::keep_arguments asks for it: the raw members
/// of its `args` object, without the braces, by source_row.
class RANGEFINDER_EXPORT ArgumentStore {
 public:
  ArgumentStore() = default;
  ArgumentStore(const ArgumentStore& other);
  ArgumentStore(ArgumentStore&&) noexcept = default;
  ArgumentStore& operator=(const ArgumentStore& other) { return *this = ArgumentStore(other); }
  ArgumentStore& operator=(ArgumentStore&&) noexcept = default;

  /// Rows may come in any order; those in order take the least memory. `source_row` is not negative.
  void add(std::int64_t source_row, std::string_view members);
  /// Empty when nothing was kept.
  std::string_view find(std::int64_t source_row) const noexcept;
  void sort();
  bool empty() const noexcept { return groups_.empty() && late_.empty(); }
  std::uint64_t bytes() const noexcept { return bytes_ + groups_.size() * sizeof(Group); }

 private:
  /// Rows that came one after the other, in order: for each how far it is behind the first, how long it is, the text.
  struct Group {
    std::int64_t first_row;
    const char* at;
    std::uint32_t rows;
  };
  struct Late {
    std::int64_t source_row;
    std::string text;
  };
  std::vector<std::shared_ptr<char[]>> blocks_;  // what was written is shared with copies
  char* block_at_ = nullptr;
  std::size_t block_left_ = 0;
  detail::Cells<Group> groups_;
  std::int64_t last_row_ = -1;
  std::vector<Late> late_;  // rows that came after a later one; few
  std::uint64_t bytes_ = 0;
};

/// An imported event that no table holds (memory instants, flows between operators), to be written back as it was.
struct ForeignEvent {
  std::string json;  ///< the whole object
};

/// A value: a copy has tables and texts of its own.
class RANGEFINDER_EXPORT Timeline {
 public:
  Timeline();
  ~Timeline();
  Timeline(const Timeline&);
  Timeline(Timeline&&) noexcept;
  Timeline& operator=(const Timeline&);
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
  std::vector<KernelDetail> kernel_details;  ///< kernels that were launched alike may share one
  std::vector<CopyDetail> copy_details;
  SyncTable syncs;
  OverheadTable overheads;
  CudaAllocationTable cuda_allocations;
  MarkTable marks;
  CounterTable counters;
  StepTable steps;
  AutogradNodeTable autograd_nodes;
  GraphNodeTable graph_nodes;
  /// Executable graphs with conditional nodes, by process and ActivityRow::graph, in order; see `is_lower_bound`.
  std::vector<std::pair<ProcessIndex, std::uint32_t>> conditional_graphs;
  OperatorTable operators;
  CollectiveTable collectives;
  std::vector<ProcessGroupInfo> process_groups;
  AllocatorEventTable allocator_events;
  SensorSampleTable sensor_samples;
  CpuCounterTable cpu_counters;
  RangeMetricTable range_metrics;
  PmSampleTable pm_samples;
  std::vector<Attachment> attachments;  ///< ordered by target and row
  std::vector<Window> windows;          ///< empty: the whole time
  std::vector<EarlierCall> earlier_calls;
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

  /// First and last time of anything in the tables; both 0 when there is nothing. Samples of sensors and counters, and
  /// what came before the recording (kBeforeRecording), aside.
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
  /// A unique_ptr whose copies are copies of what it points to.
  struct StringsPointer {
    StringsPointer();
    ~StringsPointer();
    StringsPointer(const StringsPointer& other);
    StringsPointer(StringsPointer&&) noexcept;
    StringsPointer& operator=(const StringsPointer& other) { return *this = StringsPointer(other); }
    StringsPointer& operator=(StringsPointer&&) noexcept;
    Strings* operator->() const noexcept { return owned.get(); }
    std::unique_ptr<Strings> owned;
  };
  StringsPointer strings_;
};

struct LoadOptions {
  /// Keep what no column holds (Call stack, Input Dims, ...) so that an export can write it back. Costs memory.
  bool keep_arguments = false;
  /// Keep the shapes, types and values of operators' inputs (Timeline::operators).
  bool operator_inputs = false;
  /// An input that is damaged or incomplete is an error (kIncomplete) instead of what could be read.
  bool strict = false;
  /// Compare the clocks of the hosts of a job by their collectives.
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
/// name. A folder without captures that holds traces is a job of these.
///
/// Errors:  kNotFound, kUnreadable with place and reason, kUnsupported for a version or dialect that cannot be read,
///          kTooLarge for what needs more memory than LoadOptions::max_memory_bytes.
/// Threads: any; distinct calls share nothing.
/// Cost:    memory proportional to the events, about 50 bytes each.
RANGEFINDER_EXPORT Result<Timeline> load_timeline(const std::string& path, const LoadOptions& options = {});

/// Reads several captures or folders of them, or several traces, as processes of one job. One path: as load_timeline.
///
/// Errors:  as of load_timeline; kUnsupported for captures and traces together and for an export among several paths,
///          kInvalidArgument for a file that is given twice and for no path.
RANGEFINDER_EXPORT Result<Timeline> load_job(const std::vector<std::string>& paths, const LoadOptions& options = {});

}  // namespace rangefinder
