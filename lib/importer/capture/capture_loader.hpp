// SPDX-License-Identifier: MIT
#pragma once

#include "capture/capture_reader.hpp"
#include "clock/clock_table.hpp"
#include "importer/capture/host_assembler.hpp"
#include "importer/capture/host_shift.hpp"
#include "importer/capture/kernel_details.hpp"
#include "importer/capture/node_origins.hpp"
#include "importer/capture/open_intervals.hpp"
#include "importer/capture/range_ends.hpp"
#include "importer/capture/recording_facts.hpp"
#include "importer/capture/window_store.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rangefinder::importer {

/// Adds the events of one recording to a timeline: all of them, or window by window, between which the tables are
/// emptied. Of a file: file_loader.hpp, capture_windows.hpp. The live summary hands in what has come since the last
/// time.
class CaptureLoader : public capture::CaptureVisitor, public AssemblySink {
 public:
  /// What windows of a recording hold.
  struct Windowed {
    bool calls = true;                      ///< false: calls of the API are not handed in
    bool whole_launches = true;             ///< false: no graph was recorded as a whole
    bool launch_calls = false;              ///< a window holds the calls of its activities, behind its own
    bool in_order = true;                   ///< host events of all threads come in the order of time, nearly
    const RangeEnds* known_ends = nullptr;  ///< of the same recording in the same windows; may be null
    RangeEnds* found_ends = nullptr;        ///< is filled; may be null
  };
  CaptureLoader(const RecordingFacts& facts, Timeline& timeline, const HostShift& shift, const LoadOptions& options)
      : out_(timeline),
        options_(options),
        facts_(facts),
        clock_(&facts.clock()),
        first_ticks_(facts.first_ticks()),
        shift_(shift),
        first_range_(static_cast<RangeIndex>(timeline.ranges.size())),
        first_row_(first_range_),
        range_count_(first_range_) {}

  /// Before the first window.
  void begin_windows(const Windowed& windowed);
  /// Completes the tables. What rows of the window refer to and earlier windows held is put behind those of the window.
  void close_window();
  /// Keeps what later windows can need, and empties the tables. `device_ns`: activities that begin before it have come.
  void next_window(std::int64_t device_ns);
  /// Ranges that were open when the window began.
  std::size_t carried_rows() const noexcept { return carried_.size(); }
  /// Rows of the window itself. Ranges: those of the last window that were open first, then those that began.
  std::size_t range_rows() const noexcept { return own_ranges_; }
  std::size_t activity_rows() const noexcept { return own_activities_; }
  std::size_t call_rows() const noexcept { return own_calls_; }
  /// An earlier window had activities of the launch. Known where Windowed::launch_calls.
  bool has_brought_before(LaunchIndex row) const noexcept {
    return row >= own_launches_ && row - own_launches_ < recalled_brought_.size() &&
           recalled_brought_[row - own_launches_];
  }
  /// Of the table of ranges while events come, which has more of them.
  std::size_t range_count() const noexcept { return range_count_; }
  bool is_open(RangeIndex row) const noexcept { return open_[row]; }
  std::uint64_t key_of(RangeIndex row) const noexcept { return keys_[row]; }
  /// Of all rows.
  const std::vector<bool>& open_rows() const noexcept { return open_; }
  std::span<const std::uint64_t> keys() const noexcept { return keys_; }
  bool keeps(std::uint64_t key) const noexcept {
    return key >= first_key_ || std::binary_search(carried_.begin(), carried_.end(), key) ||
           store_->ranges.contains(key);
  }
  /// What `keeps` is true of: all keys from the first one on, and those.
  std::uint64_t first_key() const noexcept { return first_key_; }
  std::vector<std::uint64_t> earlier_keys() const;
  std::uint64_t abandoned_launches() const noexcept { return store_->abandoned(); }
  /// Behind the last window: no later one refers to ranges that are over.
  void drop_earlier_ranges() { store_->ranges = decltype(store_->ranges)(); }
  bool only_nests() const noexcept { return assembler_.only_nests(); }
  /// Launches that have brought nothing so far, and may.
  std::size_t silent_launches() const noexcept { return store_->silent(); }
  /// No activity that comes later was launched before; kLatest: none is waited for.
  std::int64_t oldest_waiting_ns() const noexcept { return store_->oldest_waiting_ns(); }

  /// A time of the row that comes next, which who hands it in has converted already.
  void know_time(std::int64_t realtime_ns, std::int64_t monotonic_ns) noexcept {
    known_time_ = {realtime_ns, monotonic_ns};
  }

  /// Before any events: what host events mean is told to `sink`, which hands it on to this.
  void assemble_into(AssemblySink& sink) noexcept { assembler_.tell(sink); }

  void on_host_events(const format::HostEvents& events) override { assembler_.feed(events); }
  void on_kernels(std::span<const format::KernelRow> rows) override;
  void on_memcpys(std::span<const format::MemcpyRow> rows) override;
  void on_memsets(std::span<const format::MemsetRow> rows) override;
  void on_api_calls(std::span<const format::ApiRow> rows) override;
  void on_syncs(std::span<const format::SyncRow> rows) override;
  void on_overheads(std::span<const format::OverheadRow> rows) override;
  void on_graph_nodes(std::span<const format::GraphNodeRow> rows) override;
  void on_device_samples(std::span<const format::DeviceSampleRow> rows) override;
  void on_range_metrics(std::span<const format::RangeMetricRow> rows) override {
    range_metrics_.insert(range_metrics_.end(), rows.begin(), rows.end());
  }
  void on_metric_samples(std::span<const format::MetricSampleRow> rows) override;
  void on_graph_launches(std::span<const format::GraphLaunchRow> rows) override;
  void on_allocations(std::span<const format::AllocationRow> rows) override;
  void on_jits(std::span<const format::JitRow> rows) override;

  // What is open at the end lasts as long as anything was recorded.
  void on_begin(const AssembledRange& range) override {
    last_ticks_ = std::max(last_ticks_, range.begin_ticks);
    last_key_ = range.key;
  }
  void on_range(const AssembledRange& range) override;
  void on_not_resumed(std::uint64_t range) override;
  void on_launch(const AssembledLaunch& launch) override;
  void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) override;
  void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, const AssembledValue& value) override;
  void on_value(std::uint32_t thread, const AssembledValue& value) override;
  void on_operator(const AssembledOperator& facts) override;
  void on_cpu_counts(std::uint64_t range, const CpuCounts& counts) override;
  void on_sequence(const AssembledSequence& sequence) override;
  void on_node_begin(const AssembledNode& node) override;
  void on_node(const AssembledNode& node) override;
  void on_memory(const AssembledMemory& memory) override;
  void on_collective(const AssembledCollective& collective) override;
  void on_collective_phase(const AssembledCollectivePhase& phase) override;
  void on_step(const AssembledStep& step) override;
  void on_step_items(std::uint32_t thread, std::uint64_t items) override;

 protected:
  static constexpr std::int64_t kLatest = clock::ClockTable::kLatestNs;
  /// Of a thread that is known already: what is new of it.
  void add_thread(const format::ThreadRow& row);
  DeviceIndex device_of(std::uint32_t id);
  std::int64_t host_time(std::uint64_t ticks) const noexcept {
    return on_job_clock(clock_->monotonic_of_ticks(ticks, clock_segment_));
  }
  std::int64_t device_time(std::int64_t ns) const noexcept {
    return on_job_clock(ns == known_time_.realtime_ns ? known_time_.monotonic_ns
                                                      : clock_->monotonic_of_realtime(ns, device_segment_));
  }
  void add_steps();
  void end_ranges();
  void add_launch_ranges();
  void add_nodes();
  void add_operators(bool with_texts);
  void add_collectives();
  void add_cpu_counters();
  void add_range_metrics();

  Timeline& out_;
  const LoadOptions& options_;
  ProcessIndex process_{0};
  HostAssembler assembler_{*this};
  std::map<std::uint32_t, DeviceIndex> devices_;           // by number
  std::map<std::uint32_t, std::uint32_t> context_device_;  // by context
  std::vector<format::RangeMetricRow> range_metrics_;      // until the ranges are known
  std::uint32_t first_launch_ = 0;
  std::uint64_t last_ticks_ = 0;
  EarlierCalls earlier_calls_;

 private:
  static constexpr std::uint64_t kStillOpen = ~std::uint64_t{0};  // AssembledNode::end_ticks
  static constexpr std::int64_t kNotPinned = std::numeric_limits<std::int64_t>::max();

  struct RunningNodes {
    std::vector<std::uint64_t> numbers;  // outer ones first
    std::uint64_t done = 0;              // the one that was done last, while no other has begun; 0: none
    std::size_t depth = 0;               // how many run around it
  };
  struct Category {
    StringId domain = StringId::kEmpty;
    StringId name = StringId::kEmpty;
    RangeKind kind = RangeKind::kAnnotation;
  };
  const Category& category_of(std::uint32_t id);
  struct InputTexts {
    StringId shapes = StringId::kEmpty;
    StringId types = StringId::kEmpty;
    StringId values = StringId::kEmpty;
  };
  InputTexts input_texts(std::uint32_t id);
  /// Both sides within the times that a clock table gives.
  static std::int64_t moved(std::int64_t time_ns, std::int64_t by_ns) noexcept {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(time_ns, by_ns, &sum)) return time_ns < 0 ? -kLatest : kLatest;
    return std::clamp(sum, -kLatest, kLatest);
  }
  std::int64_t on_job_clock(std::int64_t time_ns) const noexcept { return moved(time_ns, shift_.at(time_ns)); }
  /// The same for the end of what began at `begin_ns`: a step of the clock in between does not turn it round.
  std::int64_t device_end(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return std::max(device_time(begin_ns), device_time(end_ns));
  }
  /// Recorded because a CUDA graph was captured, and over when the recording began.
  bool is_before(std::uint64_t begin_ticks, std::uint64_t end_ticks) const noexcept {
    return begin_ticks < first_ticks_ && end_ticks <= first_ticks_;
  }
  std::uint8_t flags_of(const AssembledRange& range) const noexcept;
  /// kNone: it is over since an earlier window, and not among the rows.
  RangeIndex row_of(std::uint64_t key) const noexcept {
    return key >= first_key_ ? static_cast<RangeIndex>(first_range_ + (key - first_key_)) : earlier_row(key);
  }
  RangeIndex earlier_row(std::uint64_t key) const noexcept;
  std::int64_t carried_begin(std::uint64_t key) const noexcept { return carried_begin_[own_row(key)]; }
  /// The row of a range of this window; kNone for others.
  RangeIndex own_row(std::uint64_t key) const noexcept;
  RangeRow range_row(const AssembledRange& range);

  // ---- windows: capture_loader_windows.cpp
  RunningNodes& running_nodes(std::uint32_t thread);
  std::uint64_t running_node(std::uint32_t thread);
  bool is_engine(std::uint32_t thread);
  void add_open_ranges();
  void add_window_nodes();
  void recall_replays();
  void recall_launches();
  void recall_makers(std::uint64_t node);
  void recall_launch(const WindowStore::Launch& launch);
  void recall_call(const WindowStore::Launch& launch);
  void recall_ranges(std::uint64_t key);
  void recall_recent();
  void recall_node(std::uint64_t number);
  void note_arrivals();
  void keep_launches(std::int64_t device_ns);
  void keep_calls(std::span<const std::int64_t> node_ends);
  void keep_launch_calls();
  void keep_replays();
  void note_makers_of_nodes();
  std::int64_t calls_from(std::int64_t device_ns) const noexcept;
  void keep_nodes(std::int64_t device_ns, std::span<const std::int64_t> node_ends);
  std::vector<std::int64_t> until_of_nodes();
  void keep_ranges(std::int64_t device_ns);
  void keep_collectives();
  void keep_rest();
  WindowStore::Launch kept_launch(std::size_t row) const;
  OpenIntervals open_ranges() const;
  OpenIntervals open_nodes(std::span<const std::int64_t> until) const;
  struct KnownRange {
    bool is_open;
    std::int64_t end_ns;
    std::uint64_t under;
    std::int64_t* pinned_ns;
  };
  std::optional<KnownRange> known_range(std::uint64_t key);
  void pin(std::uint64_t key, std::int64_t time_ns);
  std::int64_t inside_until(std::size_t row) const;
  void pin_around_open();
  std::uint64_t still_around(std::uint64_t under, std::int64_t pinned_ns);
  void keep_around(const WindowStore::Launch& launch);

  StringId name(std::uint32_t id);
  StringId find_name(std::uint32_t id);
  ThreadIndex thread_of(std::uint32_t index);
  ThreadIndex thread_of_tid(std::uint32_t tid);
  StreamIndex stream_of(std::uint32_t device, std::uint32_t context, std::int64_t id);
  /// The recorder sets aside what CUPTI gets wrong; here it means a file that was not written by it.
  template <typename Row>
  bool believable(const Row& row) noexcept {
    if (row.begin_ns >= -kLatest && row.begin_ns <= row.end_ns && row.end_ns <= kLatest) return true;
    ++out_.health.invalid_activities;
    return false;
  }
  template <typename Row>
  void add_activity(ActivityKind kind, StringId name, const Row& row, std::uint64_t bytes, std::uint32_t detail);
  /// A latency timestamp; kNoTime where CUPTI has none.
  std::int64_t latency_time(std::uint64_t ns) const noexcept {
    const auto time_ns = static_cast<std::int64_t>(ns);
    return time_ns <= 0 || time_ns > kLatest ? kNoTime : device_time(time_ns);
  }

  const RecordingFacts& facts_;
  const clock::ClockTable* clock_;
  mutable std::size_t clock_segment_ = 0, device_segment_ = 0;  // of the last times that were asked for
  struct KnownTime {
    std::int64_t realtime_ns = kNoTime, monotonic_ns = kNoTime;  // no recording has such a time
  };
  KnownTime known_time_;
  std::uint64_t first_ticks_;
  const HostShift& shift_;
  RangeIndex first_range_;   // row of the range with first_key_; those behind it follow
  RangeIndex first_row_;     // of this capture
  std::size_t range_count_;  // rows so far; the table may have more
  std::uint64_t first_key_ = 1;
  std::uint64_t last_key_ = 0;
  std::vector<StringId> names_;
  std::vector<bool> names_known_;
  std::unordered_map<std::uint32_t, StringId> far_names_;
  std::vector<std::optional<Category>> categories_;
  std::vector<ThreadIndex> threads_;
  std::map<std::uint32_t, ThreadIndex> threads_by_tid_;
  const std::pair<const std::uint32_t, ThreadIndex>* last_tid_ = nullptr;    // that was asked for
  using StreamKey = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // device, context, number
  std::map<StreamKey, StreamIndex> streams_;
  const std::pair<const StreamKey, StreamIndex>* last_stream_ = nullptr;  // that was asked for
  KernelDetails kernel_details_;
  std::vector<std::uint32_t> last_mark_;  // by thread
  struct StepRecord {
    std::uint32_t number;
    ThreadIndex thread;
    std::int64_t time_ns;
    std::uint64_t items;  // of the step before
    bool recorded;
  };
  std::vector<StepRecord> steps_;
  std::vector<std::uint32_t> last_step_;  // by thread
  struct Node {
    AssembledNode node;
    std::uint64_t number = 0;
    std::uint64_t outer = 0;  // number of the one that it ran in; 0: none
  };
  std::vector<Node> nodes_;  // that are done
  NodeOrigins node_origins_;
  std::vector<AssembledOperator> operators_;
  std::vector<AssembledCollective> collectives_;
  std::vector<AssembledCollectivePhase> collective_phases_;
  std::unordered_map<std::uint32_t, ProcessGroupIndex> groups_;  // by name
  std::vector<CpuCounts> cpu_counts_;
  std::vector<std::pair<RangeIndex, std::uint32_t>> cpu_counts_of_;  // rows of them, by range
  std::unordered_map<std::uint32_t, InputTexts> input_texts_;        // by name
  std::vector<std::uint64_t> launch_keys_;  // range keys of the launches added, from first_launch_
  std::vector<std::uint64_t> under_;  // by row - first_row_: key of the range that launches belonged to when it began

  // ---- windows; null: all is loaded
  std::unique_ptr<WindowStore> store_;
  Windowed windowed_;
  // Of the rows of ranges: keys, whether they are not over, and the first time at which something kept refers to them.
  std::vector<std::uint64_t> keys_;
  std::vector<bool> open_;
  std::vector<std::int64_t> pinned_;
  std::vector<std::uint64_t> recent_;        // keys of ranges that were over when device rows had not come so far
  std::vector<std::uint64_t> carried_;       // keys of the first rows, ascending
  std::vector<std::int64_t> carried_begin_;  // likewise: a clock table that has changed would move them
  std::unordered_map<std::uint64_t, RangeIndex> recalled_;  // rows behind the window's own
  std::unordered_set<std::uint64_t> recalled_around_;       // keys: they and all around them are there
  std::unordered_set<std::uint64_t> recalled_launches_, recalled_nodes_, recalled_graph_nodes_;
  std::vector<std::int64_t> last_activity_;  // of the launches: when it ended; kNoTime: none has come
  std::vector<bool> lingers_;                // likewise: more may come
  std::vector<bool> recalled_brought_;       // of the launches recalled: an activity has come before
  std::vector<bool> launch_is_graph_;        // of the launches added
  std::vector<std::uint64_t> launch_nodes_;  // likewise: the autograd node that ran
  struct NewOrigin {
    std::uint64_t range, node;  // 0: none
    std::int64_t time_ns;
  };
  std::vector<NewOrigin> new_origins_;  // of nodes, of this window
  std::vector<RunningNodes> running_;   // by thread
  std::uint64_t last_node_ = 0;
  struct NodeFacts {
    std::uint64_t number;       // of the node
    std::uint64_t outer;        // of the one that it runs in
    std::uint64_t range, node;  // where it was made: key, number
    bool is_done;
  };
  std::vector<NodeFacts> node_facts_;  // of the window's own rows
  std::size_t own_ranges_ = 0, own_launches_ = 0, own_activities_ = 0, own_calls_ = 0;
};

}  // namespace rangefinder::importer
