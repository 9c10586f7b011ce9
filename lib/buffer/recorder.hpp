// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/arena.hpp"
#include "buffer/literals.hpp"
#include "buffer/thread_sync.hpp"
#include "clock/clock.hpp"
#include "format/host_events.hpp"

#include <rangefinder/detail/autograd.hpp>
#include <rangefinder/detail/hot_path.hpp>
#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/types.hpp>

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

namespace rangefinder::buffer {

/// What a thread does when no block is free.
enum class Overflow : std::uint8_t {
  kDrop,  ///< drops the range and counts it
  kWait,  ///< waits for the drain, for `wait_limit` at most, then drops
  kGrow,  ///< takes more memory, up to `limit_bytes`, then drops
};

/// Counts events of the calling thread. `read` fills `counts` by CpuEvent and gives the bits of those it filled; it
/// makes system calls, takes no lock and may allocate once a thread. Valid for the life of the process.
struct CpuCounterHook {
  std::uint32_t (*read)(std::int64_t* counts) noexcept;
};

struct RecorderOptions {
  ArenaOptions arena;
  Overflow overflow = Overflow::kDrop;
  std::chrono::milliseconds wait_limit{1000};
  clock::Clock* clock = nullptr;                 ///< null: system_clock()
  const CpuCounterHook* cpu_counters = nullptr;  ///< read at both ends of every range; null: not
  bool autograd = true;            ///< nodes, and the numbers of nodes at ranges, where hooks for them are set
  std::uint32_t first_thread = 0;  ///< index of the first thread that attaches
};

/// Takes what the drain reads from the blocks.
class HostSink {
 public:
  virtual ~HostSink() = default;
  struct Thread {
    std::uint32_t index;
    std::uint32_t tid;
    std::string_view name;  // of the operating system, as it was when the thread began to record
  };
  /// Records of one thread, in order. Must be stored when it returns: the block is used again. False when they could
  /// not be; they are counted then.
  virtual bool on_records(const Thread& thread, const format::HostRun& run,
                          std::span<const detail::Record> records) noexcept = 0;
  /// Of the run that was given last: what belongs to captures of CUDA graphs, which are replayed when all else is old.
  virtual void on_captured(const Thread&, const format::HostRun&, std::span<const detail::Record>) noexcept {}
};

/// Hands blocks to threads, takes them back full, and gives their records to one drain. There is one in a process, and
/// one recording at a time; sessions come and go.
///
/// Threads never wait for each other on the hot path. A thread attaches at its first range of a recording, under a
/// short lock, and is detached when it ends. After `finish` the arena stays mapped, holding nothing, until every thread
/// that was attached to it has attached to a later one or is gone: see Arena::retire.
class Recorder {
 public:
  static Recorder& instance() noexcept { return instance_; }

  /// kBusy while another recording runs.
  Status start(const RecorderOptions& options);
  /// Ranges are recorded from now on, or no longer. A range that is open when it goes off is still closed.
  void set_recording(bool on) noexcept;
  /// Ranges are recorded whatever `set_recording` said, as long as a recording runs: a CUDA graph is being captured.
  void set_capturing(bool on) noexcept;

  /// Gives `sink` all full blocks, and with `partial` what the open ones hold too. One caller at a time, and not during
  /// `finish`.
  void drain(HostSink& sink, bool partial) noexcept;
  /// Returns when full blocks wait, when `wake` is called, or after `most`.
  void wait_for_work(std::chrono::milliseconds most) noexcept;
  void wake() noexcept;
  /// Faults blocks in ahead of their use; call when there is nothing else to do. False when all are.
  bool prepare_ahead() noexcept;
  /// Makes threads forget literals of libraries that are gone; called by the drain now and then.
  void forget_unloaded_literals() noexcept;

  /// Stops recording and waits until no thread is inside the slow path, `deadline` at most.
  void quiesce(std::chrono::steady_clock::time_point deadline) noexcept;
  /// Ends the recording. What was not drained is lost; `remove_live` false leaves the live file for a reader.
  void finish(bool remove_live) noexcept;

  /// Counters of the running recording, drops of threads included.
  CaptureHealth health() noexcept;
  void count(std::uint32_t health_number, std::uint64_t n) noexcept;
  clock::Clock& clock() noexcept { return *clock_.load(std::memory_order_acquire); }
  std::uint64_t memory_bytes() const noexcept;

  // ---- the threads' side, called from slow_path.cpp, with the thread's token taken ----
  struct ThreadState;
  /// Attaches the calling thread if it is not; null when that is impossible now.
  ThreadState* attach() noexcept;
  /// A fresh block for the thread, its full one handed to the drain; false when none is to be had.
  bool next_block(ThreadState& state, bool may_wait) noexcept;
  void publish_name(std::uint32_t id) noexcept;
  std::uint64_t ticks() noexcept {
    return inline_ticks_.load(std::memory_order_acquire) ? detail::read_ticks() : clock().ticks();
  }
  std::uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  std::uint64_t unloaded() const noexcept { return unloaded_.load(std::memory_order_relaxed); }
  void recompute_active() noexcept;
  static void register_fork_handlers() noexcept;
  /// Threads that have attached since the recording began, and those before `first_thread`.
  std::uint32_t threads() noexcept;
  /// Null: nodes are not numbered, or the recording does not want them.
  const detail::AutogradHooks* autograd() const noexcept { return autograd_.load(std::memory_order_acquire); }
  void set_autograd_hooks(const detail::AutogradHooks* hooks) noexcept;
  /// Null: no counting. While counting, all ranges take the slow path.
  const CpuCounterHook* cpu_counters() const noexcept { return cpu_counters_.load(std::memory_order_acquire); }
  /// Grows whenever ranges are recorded again: what a thread numbered in between is not known.
  std::uint32_t resumed() const noexcept { return resumed_.load(std::memory_order_relaxed); }

 private:
  std::uint32_t publish_names(Arena& arena, std::uint32_t last) noexcept;
  constexpr Recorder() noexcept = default;
  ThreadState* attach_with(format::BlockHeader* block, Arena& arena) noexcept;
  ThreadState* new_state() noexcept;
  void detach(ThreadState& state) noexcept;
  void drain_block(HostSink& sink, Arena& arena, format::BlockHeader& block, std::uint32_t used) noexcept;
  void drain_full(HostSink& sink, Arena& arena) noexcept;
  void drain_open(HostSink& sink, Arena& arena, const ThreadState& state) noexcept;
  void open_block(ThreadState& state, format::BlockHeader& block) noexcept;
  static bool hand_in(Arena& arena, format::BlockHeader& full) noexcept;
  void wait_for_block(std::uint32_t seen, std::chrono::milliseconds most) noexcept;
  void free_unused_arenas() noexcept;
  void after_fork_in_child() noexcept;
  template <typename Change>
  void change_recording(Change change) noexcept;
  void resume() noexcept;
  bool is_on() const noexcept { return generation() != 0 && (recording_ || (capturing_ && !ending_)); }
  static const pthread_key_t* exit_key() noexcept;

  static Recorder instance_;

  ShortLock lock_;
  std::atomic<Arena*> arena_{nullptr};
  std::atomic<std::uint32_t> generation_{0};  // of the running recording; 0: none
  std::uint32_t last_generation_ = 0;
  bool recording_ = false;  // under lock_, and the next two
  bool capturing_ = false;
  bool ending_ = false;  // nothing is recorded any more
  // Atomic: a thread of the recording before may look at them while the next one starts.
  std::atomic<bool> inline_ticks_{true};
  std::atomic<Overflow> overflow_{Overflow::kDrop};
  std::atomic<std::chrono::milliseconds> wait_limit_{std::chrono::milliseconds(0)};
  std::atomic<clock::Clock*> clock_{nullptr};
  const detail::AutogradHooks* hooks_ = nullptr;                 // under lock_
  bool wants_autograd_ = false;                                  // under lock_
  std::atomic<const detail::AutogradHooks*> autograd_{nullptr};  // hooks_ while ranges are recorded and it is wanted
  const CpuCounterHook* wanted_cpu_counters_ = nullptr;          // under lock_
  std::atomic<const CpuCounterHook*> cpu_counters_{nullptr};     // the same while ranges are recorded
  std::atomic<std::uint32_t> resumed_{0};
  std::atomic<std::uint32_t> counting_{0};  // threads inside `count`: they may hold an arena that is over
  ThreadState* states_ = nullptr;           // all ever made; never freed, used again
  std::uint32_t next_thread_ = 0;
  Arena* retired_ = nullptr;                // linked by Arena::next_retired
  std::atomic<std::uint64_t> unloaded_{0};  // libraries
  std::atomic<std::uint32_t> work_{0};      // futex of the drain
  std::atomic<std::uint32_t> freed_{0};     // futex of waiting threads
  std::atomic<std::uint32_t> waiting_{0};
};

/// The name of an operator by where the framework keeps it: found without a look at its length. All zeros: none yet.
struct alignas(64) OperatorSlot {
  static constexpr std::size_t kMaxWords = 5;

  std::uint64_t word;       // the begin word of `text`
  std::uint64_t last;       // number of the last word of `text`, which the end of the name is in
  std::uint64_t last_mask;  // what of that word belongs to the name
  std::uint64_t text[kMaxWords];
};
static_assert(sizeof(OperatorSlot) == 64, "one cache line");
inline constexpr std::size_t kOperatorSlots = 256;

/// What the thread's records of blocks of the host have said so far in its open block of records.
struct HostBlocksSaid {
  std::uint64_t in = 0;     // the block's sequence number + 1; 0: none
  std::uint64_t total = 0;  // of all blocks, after the last one; where one was recorded
  bool has_total = false;
  std::uint64_t bytes[detail::kHostSizes]{};  // by number of the size; 0: not said
};

/// The thread's counts of CPU events as they were recorded last.
struct CpuCountsSaid {
  std::uint64_t in = 0;  // the sequence number + 1 of the block of records that holds them; 0: none
  std::int64_t count[kCpuEvents]{};
};

/// The calling thread, as the recorder knows it.
struct Recorder::ThreadState {
  Literals literals;
  detail::TextSlot texts[detail::kTextSlots];
  OperatorSlot operators[kOperatorSlots];  // by the address of the name
  detail::HotThread* hot;                  // null while no thread has this state
  std::atomic<std::uint32_t> generation;   // attached to; 0: none
  std::uint32_t index;                     // thread index of the capture
  std::uint64_t token;                     // generation << 32 | index: what the thread's hot token is
  Arena* arena;                            // attached to; not freed while it is
  std::uint32_t tid;
  char name[16];
  std::atomic<format::BlockHeader*> block;
  std::uint64_t sequence;                // of the next block
  std::atomic<std::uint64_t> handed_in;  // blocks given to the drain
  std::uint32_t lost_ends;               // ends that found no memory since the last record
  std::uint32_t async_ranges;            // handles given out
  std::uint32_t numbered;                // `resumed` when hot->noted_sequence was written; 0: never
  std::uint32_t autograd_thread;         // the thread as autograd numbers it; from the first time it noted a number
  std::uint32_t nodes_to_end;            // that are done, but whose end found no memory
  HostBlocksSaid host_blocks;
  CpuCountsSaid cpu_counts;
  ThreadState* next;
};

}  // namespace rangefinder::buffer
