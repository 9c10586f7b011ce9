// SPDX-License-Identifier: MIT
#pragma once

#include "base/health_numbers.hpp"
#include "buffer/recorder.hpp"

#include <rangefinder/detail/hot_path.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

// How a thread writes records on the slow path. Everything but SlowPathGuard and `guarded` needs the thread's token
// taken.
namespace rangefinder::buffer {

using detail::HotThread;
using detail::Record;
using detail::RecordKind;
using ThreadState = Recorder::ThreadState;

// How far records may reach into a block: a begin and what stands for itself leave room for the ends of open ranges.
inline constexpr std::uint32_t kForBegins = detail::kBeginLimit;
inline constexpr std::uint32_t kForEnds = detail::kEndLimit;

/// Without the bits that say how ranges are recorded.
inline std::uint32_t generation_in(std::uint32_t active) noexcept {
  return active & ~(detail::kSlowPath | detail::kNumbered);
}
inline std::uint32_t recording_generation() noexcept {
  return generation_in(detail::active.load(std::memory_order_relaxed));
}

inline ThreadState* state_of(const HotThread& hot) noexcept { return static_cast<ThreadState*>(hot.state); }

/// Neither a number, nor one before a number, nor what stands for none.
inline constexpr std::uint64_t kNothingNoted = ~std::uint64_t{0} - 1;
inline std::uint64_t noted_sequence(const HotThread& hot) noexcept {
  return __atomic_load_n(&hot.noted_sequence, __ATOMIC_RELAXED);
}
inline void set_noted_sequence(HotThread& hot, std::uint64_t next) noexcept {
  __atomic_store_n(&hot.noted_sequence, next, __ATOMIC_RELAXED);
}
/// Whether the thread has taken no number of autograd since its last record. Only while it is attached.
inline bool has_noted_all(const HotThread& hot) noexcept { return hot.next_sequence() == noted_sequence(hot); }

/// Takes the calling thread's token while the slow path writes. `entered()` is false in a signal handler that
/// interrupted the writing of a record, the slow path, or a held lock: nothing may be recorded then.
class SlowPathGuard {
 public:
  explicit SlowPathGuard(HotThread& hot) noexcept : hot_(hot) {
    const bool writing = hot.block != nullptr && __atomic_load_n(&hot.token, __ATOMIC_RELAXED) == 0;
    entered_ = hot.busy == 0 && !writing;
    if (!entered_) return;
    enter_recorder(hot);
    __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~SlowPathGuard() {
    if (!entered_) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const ThreadState* const state = state_of(hot_);
    __atomic_store_n(&hot_.token, state != nullptr ? state->token : 0, __ATOMIC_RELAXED);
    leave_recorder(hot_);
  }
  SlowPathGuard(const SlowPathGuard&) = delete;
  SlowPathGuard& operator=(const SlowPathGuard&) = delete;
  bool entered() const noexcept { return entered_; }

 private:
  HotThread& hot_;
  bool entered_;
};

inline std::uint32_t used_of(const HotThread& hot) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(hot.block), __ATOMIC_RELAXED);
}

inline void put(const HotThread& hot, std::uint64_t word, std::uint64_t ticks) noexcept {
  const std::uint32_t offset = used_of(hot);
  auto* const record = reinterpret_cast<Record*>(hot.block + offset);
  record->word = word;
  record->ticks = ticks;
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(hot.block), offset + static_cast<std::uint32_t>(sizeof(Record)),
                   __ATOMIC_RELEASE);
}

inline bool has_room(const HotThread& hot, std::size_t records, std::uint32_t limit) noexcept {
  return used_of(hot) + records * sizeof(Record) <= limit;
}

/// Several records that belong together. `fill` writes them where it is told to and gives the first byte behind; the
/// thread's block has room for them.
template <typename Fill>
void put_together(const HotThread& hot, Fill fill) noexcept {
  const Record* const end = fill(reinterpret_cast<Record*>(hot.block + used_of(hot)));
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(hot.block),
                   static_cast<std::uint32_t>(reinterpret_cast<const char*>(end) - hot.block), __ATOMIC_RELEASE);
}

/// As detail::write_record, for at most `records` that belong together: all or none.
template <typename Fill>
bool write_together(HotThread& hot, std::uint64_t token, std::size_t records, std::uint32_t limit, Fill fill) noexcept {
  __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool room = has_room(hot, records, limit);
  if (room) put_together(hot, fill);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  __atomic_store_n(&hot.token, token, __ATOMIC_RELAXED);
  return room;
}

inline bool write_pair(HotThread& hot, std::uint64_t token, std::uint32_t limit, const Record& first,
                       const Record& second) noexcept {
  return write_together(hot, token, 2, limit, [&](Record* at) {
    at[0] = first;
    at[1] = second;
    return at + 2;
  });
}

/// The calling thread attached, with room for so many records below `limit`; null when they must be dropped, which the
/// caller counts.
ThreadState* ready(HotThread& hot, std::size_t records, std::uint32_t limit, bool may_wait = true) noexcept;
/// `ready` for a record that closes something, and the numbers of autograd written that came before it.
ThreadState* ready_to_close(HotThread& hot, bool may_wait) noexcept;

/// Room that put_sequence may need.
inline std::size_t sequence_records() noexcept { return Recorder::instance().autograd() != nullptr ? 1 : 0; }

/// How far the numbers of the thread's autograd nodes are, where that has changed. Before the record that opens or
/// closes something, so that all numbers up to here were taken in what was open until then.
void put_sequence(HotThread& hot, ThreadState& state) noexcept;

/// What CPU events the thread has had, before the record that opens or closes a range. Room that it may need:
/// kCpuEvents records.
void put_cpu_counts(const HotThread& hot, ThreadState& state, const CpuCounterHook& hook) noexcept;

/// Closes a range in which a thread that has noted a number has taken more, up to `next`, as put_sequence and the end
/// would; false where the slow path must. `token`: the thread's own.
bool end_with_note(HotThread& hot, std::uint64_t token, std::uint64_t next, std::uint64_t word) noexcept;

/// The id of a name that the recording, if there is one, knows from now on; 0 when it cannot be named.
std::uint32_t intern(std::string_view text) noexcept;
/// The begin word of a run-time name, from the thread's own table where it is there.
std::uint64_t text_word(ThreadState& state, std::string_view text, std::uint64_t hash) noexcept;
void put_extra(const HotThread& hot, const detail::Extra& extra) noexcept;
/// Records that stand for themselves: marks, samples, start/end ranges, steps.
bool put_event(std::uint64_t word, const detail::Extra* extra, const detail::Extra* further = nullptr) noexcept;

/// Runs `record` unless this is a signal handler in the wrong place.
template <typename Function>
void guarded(Function record) noexcept {
  const SlowPathGuard busy(detail::hot_thread);
  if (busy.entered()) {
    record();
  } else if (recording_generation() != 0) {
    Recorder::instance().count(health::dropped_in_signal, 1);
  }
}

}  // namespace rangefinder::buffer
