// SPDX-License-Identifier: MIT
// What ranges do when the inline path cannot: attach, take a block, intern a name, drop and count, tell a listener.
#include "base/health_numbers.hpp"
#include "buffer/listener.hpp"
#include "buffer/name_table.hpp"
#include "buffer/recorder.hpp"
#include "buffer/thread_log.hpp"

#include <rangefinder/detail/operators.hpp>
#include <rangefinder/range.hpp>

#include <cstring>

namespace rangefinder::buffer {
namespace {

using detail::Extra;
using detail::ExtraKind;
using detail::HotThread;
using detail::make_word;
using detail::OpenRange;
using detail::Record;
using detail::RecordKind;
using format::BlockHeader;
using ThreadState = Recorder::ThreadState;

// Tokens of ranges that must be closed on the slow path. Fast tokens are generation << 32 | thread index, with
// generations below 2^29, so they have none of these bits.
constexpr std::uint64_t kSlowToken = std::uint64_t{1} << 63;
constexpr std::uint64_t kRecorded = std::uint64_t{1} << 62;
constexpr std::uint64_t kHeard = std::uint64_t{1} << 61;
constexpr std::uint64_t kTokenBits = kHeard - 1;

// How far records may reach into a block: a begin and what stands for itself leave room for the ends of open ranges.
constexpr std::uint32_t kForBegins = detail::kBeginLimit;
constexpr std::uint32_t kForEnds = detail::kEndLimit;

std::atomic<const Listener*> the_listener{nullptr};

std::uint32_t recording_generation() noexcept {
  return detail::active.load(std::memory_order_relaxed) & ~detail::kSlowPath;
}

ThreadState* state_of(const HotThread& hot) noexcept { return static_cast<ThreadState*>(hot.state); }

/// Takes the calling thread's token while the slow path writes. `entered()` is false in a signal handler that
/// interrupted the writing of a record, the slow path, or a lock of ours: nothing may be recorded then.
class Busy {
 public:
  explicit Busy(HotThread& hot) noexcept : hot_(hot) {
    const bool writing = hot.block != nullptr && __atomic_load_n(&hot.token, __ATOMIC_RELAXED) == 0;
    entered_ = hot.busy == 0 && !writing;
    if (!entered_) return;
    enter_recorder(hot);
    __atomic_store_n(&hot.token, 0, __ATOMIC_RELAXED);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Busy() {
    if (!entered_) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const ThreadState* const state = state_of(hot_);
    __atomic_store_n(&hot_.token, state != nullptr ? state->token : 0, __ATOMIC_RELAXED);
    leave_recorder(hot_);
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  bool entered() const noexcept { return entered_; }

 private:
  HotThread& hot_;
  bool entered_;
};

std::uint32_t used_of(const HotThread& hot) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(hot.block), __ATOMIC_RELAXED);
}

void put(const HotThread& hot, std::uint64_t word, std::uint64_t ticks) noexcept {
  const std::uint32_t offset = used_of(hot);
  auto* const record = reinterpret_cast<Record*>(hot.block + offset);
  record->word = word;
  record->ticks = ticks;
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(hot.block), offset + static_cast<std::uint32_t>(sizeof(Record)),
                   __ATOMIC_RELEASE);
}

bool has_room(const HotThread& hot, std::size_t records, std::uint32_t limit) noexcept {
  return used_of(hot) + records * sizeof(Record) <= limit;
}

/// The calling thread attached, with room for so many records below `limit`; null when they must be dropped, which the
/// caller counts.
ThreadState* ready(HotThread& hot, std::size_t records, std::uint32_t limit, bool may_wait = true) noexcept {
  Recorder& recorder = Recorder::instance();
  ThreadState* state = recorder.attach();
  if (state == nullptr) return nullptr;
  const std::size_t wanted = records + (state->lost_ends != 0 ? 1 : 0);
  if (!has_room(hot, wanted, limit) && !recorder.next_block(*state, may_wait)) return nullptr;
  if (state->lost_ends != 0) {
    put(hot, make_word(RecordKind::kLostEnds, state->lost_ends), recorder.ticks());
    state->lost_ends = 0;
  }
  return state;
}

/// Room that put_sequence may need.
std::size_t sequence_records() noexcept { return Recorder::instance().autograd() != nullptr ? 1 : 0; }

bool has_new_sequence(const ThreadState& state) noexcept {
  const Recorder& recorder = Recorder::instance();
  const detail::AutogradHooks* const hooks = recorder.autograd();
  return hooks != nullptr && (state.numbered != recorder.resumed() || hooks->next_sequence() != state.next_sequence);
}

/// How far the numbers of the thread's autograd nodes are, where that has changed. Before the record that opens or
/// closes something, so that all numbers up to here were taken in what was open until then.
void put_sequence(const HotThread& hot, ThreadState& state) noexcept {
  if (!has_new_sequence(state)) return;
  const Recorder& recorder = Recorder::instance();
  const detail::AutogradHooks* const hooks = recorder.autograd();
  if (hooks == nullptr) return;  // just switched off
  const bool known = state.numbered == recorder.resumed();
  state.numbered = recorder.resumed();
  state.next_sequence = hooks->next_sequence();
  const auto thread = static_cast<std::uint32_t>(hooks->thread_number());
  put(hot, make_word(RecordKind::kSequence, known ? 0 : 1, thread), state.next_sequence);
}

/// `ready` for a record that closes something. Where the room that is kept for ends is all there is, the numbers taken
/// until now count as unknown.
ThreadState* ready_to_close(HotThread& hot, bool may_wait) noexcept {
  if (ThreadState* const state = state_of(hot); state != nullptr && has_new_sequence(*state)) {
    if (ThreadState* const roomy = ready(hot, 2, kForBegins, may_wait); roomy != nullptr) {
      put_sequence(hot, *roomy);
      return roomy;
    }
    state->numbered = 0;
  }
  return ready(hot, 1, kForEnds, may_wait);
}

void put_node_ends(const HotThread& hot, ThreadState& state) noexcept {
  if (state.nodes_to_end == 0) return;
  put(hot, make_word(RecordKind::kNodeEnd, state.nodes_to_end), Recorder::instance().ticks());
  state.nodes_to_end = 0;
}

void count_dropped_range(const HotThread& hot) noexcept {
  // In the thread's own block where it has one: threads that drop must not meet on one counter.
  const ThreadState* const state = state_of(hot);
  if (state != nullptr && state->generation.load(std::memory_order_relaxed) == Recorder::instance().generation()) {
    if (BlockHeader* block = state->block.load(std::memory_order_relaxed); block != nullptr) {
      block->dropped_ranges.store(block->dropped_ranges.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
  }
  Recorder::instance().count(health::dropped_ranges, 1);
}

std::uint32_t intern(std::string_view text) noexcept {
  const NameTable::Interned interned = names().intern(text, false);
  Recorder& recorder = Recorder::instance();
  if (interned.truncated) recorder.count(health::truncated_names, 1);
  recorder.publish_name(interned.id);
  if (interned.id == 0) recorder.count(health::unnamed_ranges, 1);
  return interned.id;
}

std::uint64_t literal_word(ThreadState& state, const char* literal, std::size_t size) noexcept {
  return state.literals.word(literal, size, Recorder::instance().unloaded(), [](const char* text, std::size_t n) {
    return intern({text, n});
  });
}

std::uint64_t text_word(ThreadState& state, std::string_view text, std::uint64_t hash) noexcept {
  detail::TextSlot* slot = state.texts + (hash >> (64 - detail::kTextSlotBits));
  for (int way = 0; way < 2; ++way) {
    const detail::TextSlot& found = slot[way];
    if (found.text != nullptr && found.hash == hash && found.size == text.size() &&
        std::memcmp(found.text, text.data(), text.size()) == 0)
      return found.word;
  }
  const std::uint32_t id = intern(text);
  const std::uint64_t word = make_word(RecordKind::kBegin, id);
  // A cut or refused name is not the text: it must not be found by it.
  const std::string_view stored = names().text(id);
  if (id != 0 && stored.size() == text.size())
    slot[slot->text == nullptr ? 0 : 1] = {stored.data(), stored.size(), hash, word};
  return word;
}

void put_extra(const HotThread& hot, const Extra& extra) noexcept {
  const std::uint32_t text = extra.kind == ExtraKind::kText ? intern(extra.text) : 0;
  put(hot, make_word(RecordKind::kExtra, text, static_cast<std::uint32_t>(extra.kind)), extra.bits);
}

/// Everything that a begin can need. `word_of(state)` finds the begin word once it is known that it will be written;
/// `put_more()` writes the `more` records that stand behind it, of which listeners hear `extra`.
template <typename WordOf, typename PutMore>
OpenRange begin(std::size_t more, const Extra* extra, std::uint32_t category, WordOf word_of,
                PutMore put_more) noexcept {
  HotThread& hot = detail::hot_thread;
  const std::uint32_t now_active = detail::active.load(std::memory_order_relaxed);
  const Listener* const heard_by = (now_active & detail::kSlowPath) != 0 ? listener() : nullptr;
  const bool recording = (now_active & ~detail::kSlowPath) != 0;
  const Busy busy(hot);
  if (!busy.entered()) {
    if (recording) Recorder::instance().count(health::dropped_in_signal, 1);
    return {};
  }
  OpenRange open;
  ThreadState* state = nullptr;
  if (recording) {
    state = ready(hot, 1 + more + sequence_records(), kForBegins);
    if (state == nullptr) {
      count_dropped_range(hot);
    } else {
      put_sequence(hot, *state);
      open.word = word_of(state) | std::uint64_t{category} << 8;
      put(hot, open.word, Recorder::instance().ticks());
      put_more();
      open.token = state->token;
      if ((now_active & detail::kSlowPath) != 0) open.token |= kSlowToken | kRecorded;
    }
  }
  if (heard_by != nullptr) {
    if (state == nullptr) open.word = word_of(nullptr) | std::uint64_t{category} << 8;
    heard_by->begin(detail::word_id(open.word), category, extra);
    open.token |= kSlowToken | kHeard;
  }
  return open;
}

template <typename WordOf>
OpenRange begin(std::uint32_t category, WordOf word_of) noexcept {
  return begin(0, nullptr, category, word_of, []() {});
}

std::uint64_t word_of_text(ThreadState* state, std::string_view text) noexcept {
  return state != nullptr ? text_word(*state, text, detail::hash_text(text.data(), text.size()))
                          : make_word(RecordKind::kBegin, intern(text));
}

void put_foreign_end(const OpenRange& open, std::uint32_t thread) noexcept {
  HotThread& hot = detail::hot_thread;
  Recorder& recorder = Recorder::instance();
  recorder.count(health::foreign_ends, 1);
  if (ready(hot, 2, kForEnds) == nullptr) {
    recorder.count(health::lost_ends, 1);
    return;
  }
  put(hot, make_word(RecordKind::kForeignEnd, detail::word_id(open.word), detail::word_aux(open.word)),
      recorder.ticks());
  put(hot, make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(ExtraKind::kUnsigned)), thread);
}

void record_end(const OpenRange& open, std::uint64_t token) noexcept {
  HotThread& hot = detail::hot_thread;
  Recorder& recorder = Recorder::instance();
  // A range of an earlier recording was reported unfinished when that one stopped.
  if (token >> 32 != recorder.generation()) return;
  ThreadState* const state = state_of(hot);
  if (state == nullptr || token != state->token) return put_foreign_end(open, static_cast<std::uint32_t>(token));
  // Many open ranges may close in a row: the first to find no memory has waited for all of them.
  if (ready_to_close(hot, state->lost_ends == 0) == nullptr) {
    ++state->lost_ends;
    recorder.count(health::lost_ends, 1);
    return;
  }
  const std::uint64_t to_end =
      static_cast<std::uint64_t>(RecordKind::kEnd) - static_cast<std::uint64_t>(RecordKind::kBegin);
  put(hot, open.word + to_end, recorder.ticks());
}

/// Records that stand for themselves: marks, samples, start/end ranges, steps.
bool put_event(std::uint64_t word, const Extra* extra) noexcept {
  HotThread& hot = detail::hot_thread;
  Recorder& recorder = Recorder::instance();
  ThreadState* const state = ready(hot, (extra != nullptr ? 2 : 1) + sequence_records(), kForBegins);
  if (state == nullptr) {
    recorder.count(health::dropped_events, 1);
    return false;
  }
  put_sequence(hot, *state);
  put(hot, word, recorder.ticks());
  if (extra != nullptr) put_extra(hot, *extra);
  return true;
}

/// Runs `record` unless this is a signal handler in the wrong place.
template <typename Function>
void guarded(Function record) noexcept {
  const Busy busy(detail::hot_thread);
  if (busy.entered()) {
    record();
  } else if (recording_generation() != 0) {
    Recorder::instance().count(health::dropped_in_signal, 1);
  }
}

// Handles of start/end ranges: generation (11 bits) << 52 | thread index (20 bits) << 32 | number. Bit 63: only a
// listener knows it.
constexpr std::uint64_t kHeardHandle = std::uint64_t{1} << 63;
constexpr std::uint32_t kHandleGenerationMask = (1u << 11) - 1;
std::atomic<std::uint64_t> heard_handles{0};

}  // namespace

void set_listener(const Listener* value) noexcept {
  the_listener.store(value, std::memory_order_release);
  Recorder::instance().recompute_active();
}

const Listener* listener() noexcept { return the_listener.load(std::memory_order_acquire); }

void note_launch(std::uint32_t correlation, std::uint32_t callback) noexcept {
  const std::uint32_t now_active = detail::active.load(std::memory_order_relaxed);
  if ((now_active & ~detail::kSlowPath) == 0) return;
  HotThread& hot = detail::hot_thread;
  const std::uint64_t word = make_word(RecordKind::kLaunch, correlation, callback);
  const std::uint64_t token = hot.token;
  if (detail::attached(token, now_active) && detail::write_record(hot, token, detail::kBeginLimit, word)) return;
  const Busy busy(hot);
  if (!busy.entered() || ready(hot, 1, kForBegins) == nullptr) {
    Recorder::instance().count(health::dropped_launches, 1);
    return;
  }
  put(hot, word, Recorder::instance().ticks());
}

void note_step(std::uint32_t number) noexcept {
  if (recording_generation() == 0) return;
  guarded([&] { put_event(make_word(RecordKind::kStep, number), nullptr); });
}

}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

inline namespace v1 {

OpenRange begin_word_slow(std::uint64_t word) noexcept {
  return begin(0, [&](ThreadState*) { return word; });
}

OpenRange begin_literal_slow(const char* literal, std::size_t size, std::uint32_t category) noexcept {
  return begin(category, [&](ThreadState* state) {
    if (state == nullptr) return make_word(RecordKind::kBegin, intern({literal, size}));
    if (const std::uint64_t word = literal_word(*state, literal, size); word != 0) return word;
    // A member or a local array: its text ends at the first NUL, and may differ next time.
    const std::size_t length = ::strnlen(literal, size);
    return text_word(*state, {literal, length}, hash_text(literal, length));
  });
}

OpenRange begin_text_slow(const char* text, std::size_t size, std::uint32_t category) noexcept {
  return begin(category, [&](ThreadState* state) { return word_of_text(state, {text, size}); });
}

OpenRange begin_extra(std::string_view name, std::uint32_t category, const Extra& extra) noexcept {
  if (active.load(std::memory_order_relaxed) == 0) return {};
  return begin(
      1, &extra, category, [&](ThreadState* state) { return word_of_text(state, name); },
      [&] { put_extra(detail::hot_thread, extra); });
}

std::uint64_t literal_word_slow(const char* literal, std::size_t size) noexcept {
  HotThread& hot = hot_thread;
  const Busy busy(hot);
  if (!busy.entered() || hot.state == nullptr) return 0;
  return literal_word(*state_of(hot), literal, size);
}

std::uint64_t text_word_slow(const char* text, std::size_t size, std::uint64_t hash) noexcept {
  HotThread& hot = hot_thread;
  const Busy busy(hot);
  if (!busy.entered() || hot.state == nullptr) return 0;
  return text_word(*state_of(hot), {text, size}, hash);
}

void end_slow(std::uint64_t token, std::uint64_t word) noexcept {
  const OpenRange open{token, word};
  if ((token & kSlowToken) == 0) {
    guarded([&] { record_end(open, token); });
    return;
  }
  if ((token & kRecorded) != 0) guarded([&] { record_end(open, token & kTokenBits); });
  if ((token & kHeard) != 0) {
    if (const Listener* heard_by = listener(); heard_by != nullptr) heard_by->end();
  }
}

std::uint32_t intern_name(std::string_view name) noexcept { return intern(name); }

std::uint32_t intern_category(std::string_view name) noexcept {
  const std::uint32_t id = categories().intern(name, false).id;
  return id <= 0xFFFF ? id : 0;
}

}  // namespace v1

OpenRange begin_operator(std::string_view name, std::uint32_t category, const OperatorFacts& facts) noexcept {
  if (active.load(std::memory_order_relaxed) == 0) return {};
  const bool tells = facts.sequence >= 0 || facts.inputs != 0;
  const OpenRange open = begin(
      tells ? 1 : 0, nullptr, category, [&](ThreadState* state) { return word_of_text(state, name); },
      [&] {
        if (!tells) return;
        // Another recording may have been the first to hear of this text.
        Recorder::instance().publish_name(facts.inputs);
        put(hot_thread, make_word(RecordKind::kOperator, facts.inputs, static_cast<std::uint32_t>(facts.made_on)),
            static_cast<std::uint64_t>(facts.sequence));
      });
  if (facts.inputs_lost && open.token != 0) Recorder::instance().count(health::operators_without_inputs, 1);
  return open;
}

std::uint32_t intern_inputs(std::string_view text) noexcept {
  std::uint32_t id = 0;
  guarded([&] { id = names().intern_inputs(text).id; });
  return id;
}

void count_sampled_out() noexcept {
  if (is_recording()) Recorder::instance().count(health::sampled_out_operators, 1);
}

void count_lost_operator() noexcept {
  if (is_recording()) Recorder::instance().count(health::dropped_ranges, 1);
}

void set_autograd_hooks(const AutogradHooks* hooks) noexcept { Recorder::instance().set_autograd_hooks(hooks); }

bool node_begin(std::string_view name, std::int64_t sequence, std::uint64_t made_on) noexcept {
  if (Recorder::instance().autograd() == nullptr) return false;
  bool recorded = false;
  guarded([&] {
    ThreadState* const state = ready(hot_thread, 4, kForBegins);
    if (state == nullptr) return Recorder::instance().count(health::dropped_events, 1);
    put_node_ends(hot_thread, *state);
    put_sequence(hot_thread, *state);
    const std::uint32_t id = word_id(text_word(*state, name, hash_text(name.data(), name.size())));
    put(hot_thread, make_word(RecordKind::kNodeBegin, id, static_cast<std::uint32_t>(made_on)),
        Recorder::instance().ticks());
    if (sequence >= 0) put_extra(hot_thread, {ExtraKind::kSigned, static_cast<std::uint64_t>(sequence), {}});
    recorded = true;
  });
  return recorded;
}

void node_end() noexcept {
  guarded([] {
    Recorder& recorder = Recorder::instance();
    ThreadState* const state = state_of(hot_thread);
    if (state == nullptr || state->generation.load(std::memory_order_relaxed) != recorder.generation()) return;
    ++state->nodes_to_end;
    if (ready_to_close(hot_thread, state->nodes_to_end == 1) == nullptr)
      return recorder.count(health::dropped_events, 1);
    put_node_ends(hot_thread, *state);
  });
}

void mark_slow(std::string_view name, std::uint32_t category, const Extra* extra) noexcept {
  const Listener* const heard_by = listener();
  guarded([&] {
    const std::uint32_t id = intern(name);
    if (recording_generation() != 0) put_event(make_word(RecordKind::kMark, id, category), extra);
    if (heard_by != nullptr) heard_by->mark(id, category, extra);
  });
}

void counter_slow(std::string_view name, const Extra& value) noexcept {
  if (recording_generation() == 0) return;
  guarded([&] {
    if (value.kind == ExtraKind::kText) {
      Recorder::instance().count(health::dropped_events, 1);
      return;
    }
    put_event(make_word(RecordKind::kCounter, intern(name)), &value);
  });
}

std::uint64_t async_begin_slow(std::string_view name, std::uint32_t category) noexcept {
  const Listener* const heard_by = listener();
  std::uint64_t handle = 0;
  guarded([&] {
    const std::uint32_t id = intern(name);
    Recorder& recorder = Recorder::instance();
    if (recording_generation() != 0) {
      if (ThreadState* state = recorder.attach(); state != nullptr) {
        const std::uint64_t mine = std::uint64_t{recorder.generation() & kHandleGenerationMask} << 52 |
                                   std::uint64_t{state->index & 0xFFFFFu} << 32 | ++state->async_ranges;
        const Extra extra{ExtraKind::kUnsigned, mine, {}};
        if (put_event(make_word(RecordKind::kAsyncBegin, id, category), &extra)) handle = mine;
      } else {
        recorder.count(health::dropped_events, 1);
      }
    }
    if (heard_by != nullptr) {
      if (handle == 0) handle = kHeardHandle | heard_handles.fetch_add(1, std::memory_order_relaxed);
      heard_by->async_begin(id, category, handle);
    }
  });
  return handle;
}

void async_end_slow(std::uint64_t handle) noexcept {
  const Listener* const heard_by = listener();
  guarded([&] {
    Recorder& recorder = Recorder::instance();
    const bool of_this_recording = (handle & kHeardHandle) == 0 && recorder.generation() != 0 &&
                                   (handle >> 52) == (recorder.generation() & kHandleGenerationMask);
    if (of_this_recording) {
      const Extra extra{ExtraKind::kUnsigned, handle, {}};
      put_event(make_word(RecordKind::kAsyncEnd, 0), &extra);
    }
    if (heard_by != nullptr) heard_by->async_end(handle);
  });
}

}  // namespace rangefinder::detail
