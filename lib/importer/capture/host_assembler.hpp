// SPDX-License-Identifier: MIT
#pragma once

#include "format/host_events.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/health.hpp>
#include <rangefinder/types.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder::importer {

/// A finished range. Times are ticks; `key` numbers ranges in the order in which they began, over all threads.
struct AssembledRange {
  std::uint64_t key = 0;
  std::uint64_t parent = 0;  ///< key of the scoped range that encloses it on its thread; 0: none, or a start/end range
  std::uint64_t under = 0;  ///< key of the range, scoped or start/end, that launches belonged to when it began; 0: none
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
  std::uint32_t name = 0;
  std::uint32_t category = 0;
  std::uint32_t thread = 0;
  std::uint32_t end_thread = 0;
  std::uint32_t depth = 0;
  bool start_end = false;
  bool unfinished = false;
  bool ended_elsewhere = false;
  bool suspended = false;  ///< not over at its end: it goes on as another range, which is `resumed`
  bool resumed = false;
  std::uint64_t instance_begin_ticks = 0;  ///< with `resumed`: when it was opened first
};

struct AssembledLaunch {
  std::uint64_t ticks = 0;
  std::uint64_t range =
      0;  ///< key of the range, scoped or start/end, that was opened last on the thread and is open; 0: none
  std::uint64_t correlation = 0;  ///< format::launch_key
  std::uint32_t thread = 0;
  std::uint32_t callback = 0;  ///< aux of the record
};

/// All numbers below `next` were taken by now: those from the one noted before on after the thread's last record, at
/// `ticks`. The last one of a thread, when all is read, holds all numbers to come.
struct AssembledSequence {
  std::uint64_t next = 0;  ///< of the thread's next autograd node
  std::uint64_t ticks = 0;
  std::uint32_t thread = 0;
  std::uint32_t forward_thread = 0;  ///< the thread, as nodes name it
  bool resumed = false;              ///< what was numbered before is not known
  std::uint64_t range = 0;           ///< as AssembledLaunch has it, after that record
  std::uint64_t scoped = 0;          ///< key of the innermost scoped range there; 0: none
};

/// An autograd node that is done.
struct AssembledNode {
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;
  std::int64_t sequence = -1;  ///< -1: it has no number
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::uint32_t forward_thread = 0;  ///< as AssembledSequence::forward_thread
  /// Where operators are recorded: key and begin of the one that is the node; 0: none.
  std::uint64_t range = 0;
  std::uint64_t range_begin_ticks = 0;
};

/// A step begins, and the one before it ends.
struct AssembledStep {
  std::uint64_t ticks = 0;
  std::uint32_t number = 0;
  std::uint32_t thread = 0;
  bool recorded = true;  ///< false: the recording goes off here; it is the end of the step before and no more
};

/// What the range that began last on its thread, an operator, says of itself.
struct AssembledOperator {
  std::uint64_t range = 0;   ///< key
  std::uint64_t parent = 0;  ///< key of the scoped range around it; 0: none
  std::uint32_t thread = 0;
  std::int64_t sequence = -1;        ///< as OperatorTable::sequence
  std::uint32_t forward_thread = 0;  ///< of a node: as AssembledSequence::forward_thread; else 0
  std::uint32_t inputs = 0;          ///< name that tells shapes, types and values (OperatorInputs); 0: none
};

struct AssembledValue {
  enum class Of : std::uint8_t { kRange, kMark, kCounter } of = Of::kRange;
  detail::ExtraKind kind = detail::ExtraKind::kUnsigned;
  std::uint64_t bits = 0;   ///< name id for kText
  std::uint64_t range = 0;  ///< kRange: key
};

/// What an allocator did. `values`: address, bytes, allocated, reserved, stream, pool, the first `known` of them.
struct AssembledMemory {
  static constexpr std::size_t kValues = 6;
  std::uint64_t ticks = 0;
  std::uint32_t thread = 0;
  MemoryAction action = MemoryAction::kAllocate;
  std::int32_t device = -1;
  std::array<std::uint64_t, kValues> values{0, 0, ~std::uint64_t{0}, ~std::uint64_t{0}, 0, 0};
  std::size_t known = 0;

  std::uint64_t address() const noexcept { return values[0]; }
  std::uint64_t bytes() const noexcept { return values[1]; }
  std::int64_t allocated() const noexcept { return static_cast<std::int64_t>(values[2]); }
  std::int64_t reserved() const noexcept { return static_cast<std::int64_t>(values[3]); }
  std::uint64_t stream() const noexcept { return values[4]; }
  std::uint64_t pool() const noexcept { return values[5]; }
};

/// A collective is called.
struct AssembledCollective {
  std::uint64_t ticks = 0;
  std::int64_t number = -1;  ///< this and the next two: -1: not known
  std::int64_t elements_in = -1;
  std::int64_t elements_out = -1;
  std::uint32_t thread = 0;
  std::uint32_t signature = 0;  ///< name
  std::uint32_t handle = 0;
  std::uint32_t group = 0;  ///< name; 0: not known
  std::int32_t peer = -1;
  std::uint32_t in_splits = 0;  ///< this and the next: names; 0: none
  std::uint32_t out_splits = 0;
  CollectiveKind kind = CollectiveKind::kOther;
  CollectiveSource source = CollectiveSource::kC10d;
  std::uint8_t known = 0;  ///< values that were told

  void take(std::uint64_t value) noexcept;
};

/// How far a collective is.
struct AssembledCollectivePhase {
  std::uint64_t ticks = 0;
  std::uint32_t thread = 0;
  std::uint32_t handle = 0;
  detail::CollectivePhase phase = detail::CollectivePhase::kReturned;
};

/// How often each CpuEvent has occurred; -1: not known.
struct CpuCounts {
  std::array<std::int64_t, kCpuEvents> count{-1, -1, -1, -1, -1, -1, -1, -1, -1};

  bool any() const noexcept {
    for (const std::int64_t each : count)
      if (each >= 0) return true;
    return false;
  }
};

/// What the records of all threads mean. Ranges arrive when their end is known: children before their parents, except
/// for those that ended on another thread, whose end may stand further on in the file.
class AssemblySink {
 public:
  virtual ~AssemblySink() = default;
  /// A range has begun; its end is not known.
  virtual void on_begin(const AssembledRange&) {}
  virtual void on_range(const AssembledRange&) = 0;
  /// The range of that key was reported as suspended, and never goes on.
  virtual void on_not_resumed(std::uint64_t range) { (void)range; }
  virtual void on_launch(const AssembledLaunch&) {}
  virtual void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) {
    (void)thread, (void)ticks, (void)name, (void)category;
  }
  virtual void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, const AssembledValue& value) {
    (void)thread, (void)ticks, (void)name, (void)value;
  }
  /// Belongs to the range or mark that was reported, or opened, last on that thread.
  virtual void on_value(std::uint32_t thread, const AssembledValue&) { (void)thread; }
  virtual void on_operator(const AssembledOperator&) {}
  /// What occurred in the range of that key, which is reported next.
  virtual void on_cpu_counts(std::uint64_t range, const CpuCounts&) { (void)range; }
  virtual void on_sequence(const AssembledSequence&) {}
  /// A node has begun; its end and its number are not known.
  virtual void on_node_begin(const AssembledNode&) {}
  /// Inner ones before outer ones.
  virtual void on_node(const AssembledNode&) {}
  /// In order of time within a thread.
  virtual void on_memory(const AssembledMemory&) {}
  /// In order of time within a thread; what another thread tells of it may come earlier.
  virtual void on_collective(const AssembledCollective&) {}
  virtual void on_collective_phase(const AssembledCollectivePhase&) {}
  virtual void on_step(const AssembledStep&) {}
  /// What was done in the step that ended with the one reported last on that thread.
  virtual void on_step_items(std::uint32_t thread, std::uint64_t items) { (void)thread, (void)items; }
};

/// Turns each thread's records into ranges, launches, marks and samples. Feed it the host events of a capture in order;
/// `finish` closes what is open, flagged unfinished. Memory: the open ranges, those whose end is missing so far, and
/// up to 65,536 that were resumed before their suspension was read.
///
/// Records may be anything: no sequence of them takes more than a bounded time each.
class HostAssembler {
 public:
  explicit HostAssembler(AssemblySink& sink) noexcept : sink_(&sink) {}
  /// Before any events: they are told to another sink.
  void tell(AssemblySink& sink) noexcept { sink_ = &sink; }
  void feed(const format::HostEvents& events);
  void finish(std::uint64_t end_ticks);
  /// Ends the ranges whose end on another thread has been read, whether or not their own thread has come so far: all
  /// that it did until then has been read.
  void end_all_elsewhere();

  /// Calls `use(range, is_lost)` for each range that has begun and was not reported, in no order. `is_lost`: nothing
  /// ends it any more but, perhaps, another thread; end_ticks is the latest that it can be otherwise.
  template <typename Use>
  void for_each_open(Use use) const {
    for (const auto& thread : threads_)
      if (thread != nullptr)
        for (const AssembledRange& range : thread->open) use(range, false);
    for (const auto& [handle, range] : start_end_) use(range, false);
    for (const auto& [place, range] : missing_ends_) use(range, true);
    for (const auto& [key, early] : early_resumed_)
      if (early.ended) use(early.range, true);
  }
  /// The autograd nodes that run, by thread, outer ones first.
  template <typename Use>
  void for_each_running(Use use) const {
    for (const auto& thread : threads_)
      if (thread != nullptr)
        for (const AssembledNode& node : thread->nodes) use(node);
  }
  /// Calls `use(sequence)` for each thread that numbers nodes: the numbers that it has taken since its last record are
  /// taken there.
  template <typename Use>
  void for_each_to_come(Use use) const {
    for (const auto& thread : threads_)
      if (thread != nullptr && thread->sequence.has_value()) use(to_come(*thread));
  }
  /// Only unmatched_ends, unfinished_ranges and dropped_memory_events are set.
  const CaptureHealth& health() const noexcept { return health_; }
  /// No range so far is a start/end range, ended on another thread, was suspended or resumed, or lacks its end.
  bool only_nests() const noexcept { return only_nests_; }

 private:
  // A file may name any thread index; beyond this it is damaged, and its records are not worth a table.
  static constexpr std::uint32_t kMaxThreads = 1u << 20;
  // How far down the stack of open ranges is looked for one that is not on top. Deeper ones are found by their count.
  static constexpr std::size_t kNearby = 256;
  // How many resumed ranges wait for the records of another thread.
  static constexpr std::size_t kMaxEarlyResumed = 1u << 16;

  /// What an end names its range by: name, and category with domain.
  using Label = std::uint64_t;
  static Label label_of(const AssembledRange& range) noexcept { return Label{range.category} << 32 | range.name; }
  static Label label_of(std::uint64_t word) noexcept {
    return Label{detail::word_category(word)} << 32 | detail::word_id(word);
  }
  struct End {
    std::uint64_t ticks;
    std::uint32_t thread;
  };
  struct ComingEnd {
    bool is_start_end;
    std::uint64_t what;    // handle, else label
    std::uint32_t thread;  // that ends it
  };
  struct Thread {
    std::vector<AssembledRange> open;
    CpuCounts cpu_events;  // of the thread so far
    // When ranges that are open began, by key of the first of those that began with the same counts.
    std::vector<std::pair<std::uint64_t, CpuCounts>> counts_before;
    std::unordered_map<Label, std::uint32_t> deep;         // how often each is open beyond kNearby
    bool deep_known = false;                               // they are counted since is_deep was asked
    std::set<std::uint64_t> open_start_end;                // keys
    std::vector<AssembledNode> nodes;                      // that run, innermost last
    std::optional<AssembledSequence> sequence;             // noted last
    std::int64_t noted = -1;                               // its number; -1: records may be missing since
    std::uint64_t block = 0, next_record = 0;              // where the next run of records starts
    std::uint64_t last_ticks = 0;                          // of the last record that has a time
    std::multimap<std::uint64_t, ComingEnd> ends_to_come;  // on other threads, later than that; by ticks
    detail::Record pending{};                              // waits for its kExtra
    std::uint64_t started = 0, started_handle = 0;         // key of a start/end range whose value may follow
    AssembledMemory memory;                                // what `pending` began, where that is kMemory
    AssembledCollective collective;                        // likewise kCollective
    std::vector<std::uint64_t> host_sizes;                 // by number; 0: not said in this block of records
    std::int64_t host_total = -1;                          // likewise; -1: not said
  };
  struct DeferredEnd {
    std::uint32_t owner;
    Label label;
    End end;
  };
  /// Thread, label, begin in ticks, key: the ranges that an end can mean stand together, in order of their begin.
  using MissingPlace = std::tuple<std::uint32_t, Label, std::uint64_t, std::uint64_t>;
  Thread& thread_at(std::uint32_t index);
  Thread* find_thread(std::uint32_t index) noexcept;
  static bool is_deep(Thread& thread, Label label);
  static bool find_open(Thread& thread, Label label, std::size_t& position);
  static AssembledRange take_open(Thread& thread, std::size_t position);
  static std::uint64_t innermost(const Thread& thread) noexcept;
  static std::uint64_t innermost_scoped(const Thread& thread) noexcept {
    return thread.open.empty() ? 0 : thread.open.back().key;
  }
  static AssembledSequence to_come(const Thread& thread) noexcept;
  void on_record(std::uint32_t index, Thread& thread, const detail::Record& record);
  void on_extra(std::uint32_t index, Thread& thread, const detail::Record& record);
  void note_number(std::uint32_t index, Thread& thread, std::uint64_t next, std::uint32_t forward_thread, bool resumed);
  static void note_gap(Thread& thread, const format::HostRun& run, std::size_t records) noexcept;
  void report_operator(const AssembledRange& range, std::int64_t sequence, std::uint32_t forward_thread,
                       std::uint32_t inputs);
  void on_facts(Thread& thread, const detail::Record& record);
  void end_node(Thread& thread, std::uint64_t ticks);
  void begin_memory(std::uint32_t index, Thread& thread, const detail::Record& record);
  void end_memory(Thread& thread);
  static void begin_collective(std::uint32_t index, Thread& thread, const detail::Record& record);
  void end_collective(Thread& thread);
  void on_collective_phase(std::uint32_t index, const detail::Record& record, std::uint32_t handle);
  static void on_host_fact(Thread& thread, const detail::Record& record);
  void on_host_block(std::uint32_t index, Thread& thread, const detail::Record& record);
  void open_range(std::uint32_t index, Thread& thread, const detail::Record& record);
  void resume(AssembledRange& range, std::uint64_t since_ticks);
  void suspend(AssembledRange range);
  std::optional<AssembledRange> settle_resumed(std::uint64_t key, std::uint64_t instance_begin_ticks);
  void give_up_suspension();
  void report(const AssembledRange& range, const CpuCounts& counts = {});
  void close_range(Thread& thread, const detail::Record& record);
  void close_top(Thread& thread, std::uint64_t ticks, bool suspended = false);
  static CpuCounts take_cpu_counts(Thread& thread, std::uint64_t range);
  void report_unfinished(AssembledRange range, std::uint64_t end_ticks);
  void begin_start_end(std::uint32_t index, Thread& thread, const detail::Record& record, std::uint64_t handle);
  void settle_started(Thread& thread);
  void end_start_end(std::uint64_t handle, End end);
  void on_foreign_end(std::uint32_t owner, const detail::Record& record, std::uint32_t index);
  void end_until(std::uint32_t index, Thread& thread, std::uint64_t ticks);
  void end_deferred();
  bool end_elsewhere(std::uint32_t owner, Label label, End end);
  bool end_elsewhere_of_missing(std::uint32_t owner, Label label, End end, std::uint64_t began_after);

  AssemblySink* sink_;
  std::uint64_t last_key_ = 0;
  bool only_nests_ = true;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::unordered_map<std::uint64_t, AssembledRange> start_end_;  // by handle
  std::unordered_map<std::uint64_t, End> early_ends_;            // of start/end ranges whose begin has not been read
  // Of scoped ranges whose thread has not been read.
  std::unordered_map<std::uint32_t, std::multimap<std::uint64_t, ComingEnd>> early_foreign_ends_;
  std::vector<DeferredEnd> deferred_ends_;  // of scoped ranges that were not there
  // Scoped ranges that are no longer open, though nothing has ended them yet: an end on another thread may stand
  // further on. end_ticks is the latest that it can be otherwise.
  std::map<MissingPlace, AssembledRange> missing_ends_;
  struct Suspended {
    std::uint64_t key;
    std::uint64_t instance_begin_ticks;
  };
  using SuspendedPlace = std::pair<std::uint64_t, Label>;       // when and what; where clocks are coarse, several
  std::map<SuspendedPlace, std::vector<Suspended>> suspended_;  // that wait to be resumed
  // Resumed on one thread, suspended on another whose records come later: not reported until those are read.
  struct EarlyResumed {
    SuspendedPlace place;
    AssembledRange range;
    bool ended = false;  // then `range` and `counts` are final but for the begin of the instance
    CpuCounts counts;
  };
  std::map<std::uint64_t, EarlyResumed> early_resumed_;                    // by key
  std::map<SuspendedPlace, std::set<std::uint64_t>> awaited_suspensions_;  // keys of those
  CaptureHealth health_;
};

}  // namespace rangefinder::importer
