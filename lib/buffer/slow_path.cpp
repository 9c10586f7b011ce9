// SPDX-License-Identifier: MIT
// What ranges do when the inline path cannot: attach, take a block, intern a name, drop and count, tell a listener.
#include "base/health_numbers.hpp"
#include "buffer/listener.hpp"
#include "buffer/name_table.hpp"
#include "buffer/record_writer.hpp"
#include "buffer/thread_log.hpp"

#include <rangefinder/detail/nvtx.hpp>
#include <rangefinder/detail/operators.hpp>
#include <rangefinder/detail/suspended_range.hpp>
#include <rangefinder/range.hpp>

#include <cstring>

namespace rangefinder::buffer {
namespace {

using detail::Extra;
using detail::ExtraKind;
using detail::make_word;
using detail::OpenRange;
using format::BlockHeader;

// Tokens of ranges that must be closed on the slow path. Fast tokens are generation << 32 | thread index, and
// generations are below kNumbered, so they have none of these bits. kNumberedToken stands alone: such a range opened
// while nodes were numbered, and closes as inline where no number was taken in it.
constexpr std::uint64_t kSlowToken = std::uint64_t{1} << 63;
constexpr std::uint64_t kRecorded = std::uint64_t{1} << 62;
constexpr std::uint64_t kHeard = std::uint64_t{1} << 61;
constexpr std::uint64_t kNumberedToken = std::uint64_t{detail::kNumbered} << 32;
constexpr std::uint64_t kTokenBits = kNumberedToken - 1;
static_assert(kNumberedToken < kHeard);

std::atomic<const Listener*> the_listener{nullptr};

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

std::uint64_t literal_word(ThreadState& state, const char* literal, std::size_t size) noexcept {
  return state.literals.word(literal, size, Recorder::instance().unloaded(), [](const char* text, std::size_t n) {
    return intern({text, n});
  });
}

/// Whether the thread is attached, and all that keeps ranges from being recorded as inline is that nodes are numbered.
bool only_numbered(std::uint64_t token) noexcept {
  const std::uint32_t now_active = detail::active.load(std::memory_order_relaxed);
  return (static_cast<std::uint32_t>(token >> 32) | detail::kNumbered) == now_active;
}

/// `write` is what is done inline; false where the rest of the slow path must be gone through. A signal handler that
/// takes numbers may come after the question; they then count as taken in the range.
template <typename Write>
bool begin_without_note(OpenRange& open, Write write) noexcept {
  HotThread& hot = detail::hot_thread;
  const std::uint64_t token = hot.token;
  if (!only_numbered(token) || !has_noted_all(hot) || !write(hot, token, open.word)) return false;
  open.token = token | kNumberedToken;
  return true;
}

/// Everything that a begin can need. `word_of(state)` finds the begin word once it is known that it will be written;
/// `put_more()` writes the `more` records that stand behind it, of which listeners hear `extra`.
/// Not inlined: begin_without_note would save all the registers that this needs.
template <typename WordOf, typename PutMore>
[[gnu::noinline]] OpenRange begin(std::size_t more, const Extra* extra, std::uint32_t category, WordOf word_of,
                                  PutMore put_more) noexcept {
  HotThread& hot = detail::hot_thread;
  const std::uint32_t now_active = detail::active.load(std::memory_order_relaxed);
  const Listener* const heard_by = (now_active & detail::kSlowPath) != 0 ? listener() : nullptr;
  const bool recording = generation_in(now_active) != 0;
  const SlowPathGuard busy(hot);
  if (!busy.entered()) {
    if (recording) Recorder::instance().count(health::dropped_in_signal, 1);
    return {};
  }
  OpenRange open;
  ThreadState* state = nullptr;
  if (recording) {
    const CpuCounterHook* const counters = Recorder::instance().cpu_counters();
    state = ready(hot, 1 + more + sequence_records() + (counters != nullptr ? kCpuEvents : 0), kForBegins);
    if (state == nullptr) {
      count_dropped_range(hot);
    } else {
      put_sequence(hot, *state);
      open.word = word_of(state) | std::uint64_t{category} << 8;
      if (counters != nullptr) put_cpu_counts(hot, *state, *counters);
      put(hot, open.word, Recorder::instance().ticks());
      put_more();
      open.token = state->token;
      if ((now_active & detail::kNumbered) != 0) open.token |= kNumberedToken;
      if ((now_active & detail::kSlowPath) != 0) open.token |= kSlowToken | kRecorded;
    }
  }
  if (heard_by != nullptr) {
    if (state == nullptr) open.word = word_of(nullptr) | std::uint64_t{category} << 8;
    heard_by->begin(detail::word_id(open.word), detail::word_category(open.word), extra);
    open.token |= kSlowToken | kHeard;
  }
  return open;
}

template <typename WordOf>
OpenRange begin(std::uint32_t category, WordOf word_of) noexcept {
  return begin(0, nullptr, category, word_of, []() {});
}

template <typename WordOf>
OpenRange begin_with(const Extra& value, std::uint32_t category, WordOf word_of) noexcept {
  return begin(1, &value, category, word_of, [&] { put_extra(detail::hot_thread, value); });
}

/// `find` names the range on a thread that is attached, as inline.
template <typename Find>
bool begin_number_without_note(OpenRange& open, const Extra& value, Find find) noexcept {
  return detail::is_number(value) &&
         begin_without_note(open, [&](HotThread& hot, std::uint64_t token, std::uint64_t& word) {
           return find(hot, word) && detail::write_with_number(hot, token, word, value);
         });
}

std::uint64_t word_of_literal(ThreadState* state, const char* literal, std::size_t size) noexcept {
  if (state == nullptr) return make_word(RecordKind::kBegin, intern({literal, size}));
  if (const std::uint64_t word = literal_word(*state, literal, size); word != 0) return word;
  // A member or a local array: its text ends at the first NUL, and may differ next time.
  const std::size_t length = ::strnlen(literal, size);
  return text_word(*state, {literal, length}, detail::hash_text(literal, length));
}

std::uint64_t word_of_text(ThreadState* state, std::string_view text) noexcept {
  return state != nullptr ? text_word(*state, text, detail::hash_text(text.data(), text.size()))
                          : make_word(RecordKind::kBegin, intern(text));
}

/// Says whose range it is, and so closes none inside it.
void put_end_of(const OpenRange& open, std::uint32_t thread) noexcept {
  HotThread& hot = detail::hot_thread;
  Recorder& recorder = Recorder::instance();
  if (ready(hot, 2, kForEnds) == nullptr) {
    recorder.count(health::lost_ends, 1);
    return;
  }
  put(hot, make_word(RecordKind::kForeignEnd, detail::word_id(open.word), detail::word_category(open.word)),
      recorder.ticks());
  put(hot, make_word(RecordKind::kExtra, 0, static_cast<std::uint32_t>(ExtraKind::kUnsigned)), thread);
}

enum class Order : std::uint8_t { kInnermost, kAny };

/// The ticks of the end; 0 where none was written for a range of this thread.
std::uint64_t record_end(const OpenRange& open, std::uint64_t token, Order order) noexcept {
  HotThread& hot = detail::hot_thread;
  Recorder& recorder = Recorder::instance();
  // A range of an earlier recording was reported unfinished when that one stopped.
  if (token >> 32 != recorder.generation()) return 0;
  ThreadState* const state = state_of(hot);
  const bool foreign = state == nullptr || token != state->token;
  if (foreign) recorder.count(health::foreign_ends, 1);
  if (foreign || order == Order::kAny) return put_end_of(open, static_cast<std::uint32_t>(token)), 0;
  if (const CpuCounterHook* const counters = recorder.cpu_counters(); counters != nullptr) {
    if (ready(hot, kCpuEvents, kForBegins, false) != nullptr)
      put_cpu_counts(hot, *state, *counters);
    else
      recorder.count(health::dropped_events, 1);
  }
  // Many open ranges may close in a row: the first to find no memory has waited for all of them.
  if (ready_to_close(hot, state->lost_ends == 0) == nullptr) {
    ++state->lost_ends;
    recorder.count(health::lost_ends, 1);
    return 0;
  }
  const std::uint64_t ticks = recorder.ticks();
  put(hot, open.word + detail::kToEnd, ticks);
  return ticks;
}

bool may_be_recorded(const OpenRange& open) noexcept {
  return (open.token & kSlowToken) == 0 || (open.token & kRecorded) != 0;
}

/// Everything that an end can need. Not inlined, as `begin`. Gives what record_end does.
[[gnu::noinline]] std::uint64_t close_range(OpenRange open, Order order) noexcept {
  std::uint64_t ticks = 0;
  if (may_be_recorded(open)) guarded([&] { ticks = record_end(open, open.token & kTokenBits, order); });
  if ((open.token & kSlowToken) == 0 || (open.token & kHeard) == 0) return ticks;
  if (const Listener* heard_by = listener(); heard_by != nullptr) heard_by->end();
  return ticks;
}

constexpr std::uint64_t in_aux(std::uint32_t bits) noexcept { return std::uint64_t{bits} << 8; }

std::uint64_t word_of_facts(std::uint64_t forward_thread, std::uint32_t inputs) noexcept {
  return make_word(RecordKind::kOperator, inputs, static_cast<std::uint32_t>(forward_thread));
}

bool has_aligned_words(const char* name) noexcept {
  return reinterpret_cast<std::uintptr_t>(name) % sizeof(std::uint64_t) == 0;
}

/// Whether the slot is filled and what stands at `name` is its text. Words that begin in the name are in its pages to
/// their end. Not forced inline: it would lose what it says to AddressSanitizer.
[[gnu::no_sanitize_address]] inline bool has_name(const OperatorSlot& slot, const char* name) noexcept {
  if (slot.word == 0 || !has_aligned_words(name)) return false;
  const std::uint64_t* text = slot.text;
  for (std::uint64_t left = slot.last; left != 0; --left, ++text, name += sizeof(std::uint64_t)) {
    if (detail::load8(name) != *text) return false;
  }
  return ((detail::load8(name) ^ *text) & slot.last_mask) == 0;
}

/// Of a name whose words are aligned, since they might reach into the next page otherwise, and not too many.
void fill(OperatorSlot& slot, const char* name, std::string_view stored, std::uint64_t word) noexcept {
  const std::size_t last = stored.size() / sizeof(std::uint64_t);  // with the NUL
  if (!has_aligned_words(name) || last >= OperatorSlot::kMaxWords) return;
  slot = {word, last, ~std::uint64_t{0} >> (56 - 8 * (stored.size() % sizeof(std::uint64_t))), {}};
  std::memcpy(slot.text, stored.data(), stored.size());
}

OperatorSlot& slot_of(const HotThread& hot, const char* name) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(name);
  return state_of(hot)->operators[(address >> 4 ^ address >> 12) % kOperatorSlots];
}

/// The begin word of a name on a thread that is attached, and fills its slot; 0 in a signal handler.
[[gnu::noinline]] std::uint64_t learn_operator(HotThread& hot, const char* name) noexcept {
  const SlowPathGuard busy(hot);
  if (!busy.entered()) return 0;
  const std::string_view given(name);
  const std::uint64_t word = text_word(*state_of(hot), given, detail::hash_text(given.data(), given.size()));
  // As of run-time names: one that was cut or refused is not found again.
  const std::string_view stored = names().text(detail::word_id(word));
  if (detail::word_id(word) != 0 && stored.size() == given.size()) fill(slot_of(hot, name), name, stored, word);
  return word;
}

constexpr std::uint64_t kOfOperators = std::uint64_t{Category::operators().id()} << 8;
constexpr std::uint64_t kOfNumberedOperators = kOfOperators | std::uint64_t{detail::kHasNotedNumber} << 8;

/// What is done inline for an operator without inputs on a thread that has nothing to note; false where the rest of the
/// slow path must be gone through.
bool write_operator(OpenRange& open, const char* name, std::int64_t number, std::uint64_t forward_thread) noexcept {
  HotThread& hot = detail::hot_thread;
  const std::uint64_t token = hot.token;
  const auto sequence = static_cast<std::uint64_t>(number);
  // Then it is also what the thread's next node gets: there is no need to ask.
  const bool has_noted_number = forward_thread == 0 && sequence == noted_sequence(hot);
  if (!only_numbered(token) || !(has_noted_number || has_noted_all(hot))) return false;
  const OperatorSlot& slot = slot_of(hot, name);
  const std::uint64_t word = has_name(slot, name) ? slot.word : learn_operator(hot, name);
  if (word == 0) return false;
  open = {token | kNumberedToken, word | (has_noted_number ? kOfNumberedOperators : kOfOperators)};
  return number < 0 || has_noted_number ? detail::write_record(hot, token, kForBegins, open.word)
                                        : write_pair(hot, token, kForBegins, {detail::read_ticks(), open.word},
                                                     {sequence, word_of_facts(forward_thread, 0)});
}

// Most operators by far need little of it: what follows calls almost nothing on the way, so that few registers must be
// saved.

RANGEFINDER_INLINE bool write_known_operator(HotThread& hot, std::uint64_t token, const char* name, std::uint64_t bits,
                                             std::uint64_t& word) noexcept {
  const OperatorSlot& slot = slot_of(hot, name);
  if (!RANGEFINDER_LIKELY(has_name(slot, name))) return false;
  const std::uint64_t begin_word = word = slot.word | bits;
  return RANGEFINDER_LIKELY(detail::write_record(hot, token, kForBegins, begin_word));
}

[[gnu::noinline]] std::uint64_t begin_operator_without_number(const char* name, std::uint64_t& word) noexcept {
  HotThread& hot = detail::hot_thread;
  const std::uint64_t token = hot.token;
  if (has_noted_all(hot) && write_known_operator(hot, token, name, kOfOperators, word)) return token | kNumberedToken;
  return detail::begin_operator(name, -1, 0, 0, word);
}

OpenRange begin_any_operator(const char* name, std::int64_t sequence, std::uint64_t forward_thread,
                             std::uint32_t inputs) noexcept {
  OpenRange open;
  if (inputs == 0 && write_operator(open, name, sequence, forward_thread)) return open;
  const std::uint32_t category = Category::operators().id();
  if (inputs == 0 && sequence < 0) return detail::begin_text_slow(name, std::strlen(name), category);
  return begin(
      1, nullptr, category, [&](ThreadState* state) { return word_of_text(state, name); },
      [&] {
        // Another recording may have been the first to hear of this text.
        Recorder::instance().publish_name(inputs);
        put(detail::hot_thread, word_of_facts(forward_thread, inputs), static_cast<std::uint64_t>(sequence));
      });
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

bool try_note_launch(std::uint32_t correlation, std::uint32_t callback) noexcept {
  const std::uint32_t now_active = detail::active.load(std::memory_order_relaxed);
  if (generation_in(now_active) == 0) return false;
  HotThread& hot = detail::hot_thread;
  const std::uint64_t word = make_word(RecordKind::kLaunch, correlation, callback);
  const std::uint64_t token = hot.token;
  // Opens and closes nothing, so that it matters to no number.
  if (detail::attached(token, now_active & ~detail::kNumbered) &&
      detail::write_record(hot, token, detail::kBeginLimit, word))
    return true;
  const SlowPathGuard busy(hot);
  if (!busy.entered() || ready(hot, 1, kForBegins) == nullptr) {
    Recorder::instance().count(health::dropped_launches, 1);
    return false;
  }
  put(hot, word, Recorder::instance().ticks());
  return true;
}

void note_launch(std::uint32_t correlation, std::uint32_t callback) noexcept {
  (void)try_note_launch(correlation, callback);
}

void note_step(std::uint32_t number, std::uint64_t items_done, bool recorded) noexcept {
  if (recording_generation() == 0) return;
  const Extra items{ExtraKind::kUnsigned, items_done, {}};
  const std::uint64_t word = make_word(RecordKind::kStep, number, recorded ? 0 : detail::kStepNotRecorded);
  guarded([&] { put_event(word, items_done != 0 ? &items : nullptr); });
}

}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

inline namespace v1 {

OpenRange begin_word_slow(std::uint64_t word) noexcept {
  OpenRange open{0, word};
  if (begin_without_note(open, [](HotThread& hot, std::uint64_t token, std::uint64_t w) {
        return write_record(hot, token, kBeginLimit, w);
      }))
    return open;
  return begin(0, [&](ThreadState*) { return word; });
}

OpenRange begin_literal_slow(const char* literal, std::size_t size, std::uint32_t category) noexcept {
  OpenRange open;
  if (begin_without_note(open, [&](HotThread& hot, std::uint64_t token, std::uint64_t& word) {
        return write_literal(hot, token, literal, size, category, word);
      }))
    return open;
  return begin(category, [&](ThreadState* state) { return word_of_literal(state, literal, size); });
}

OpenRange begin_text_slow(const char* text, std::size_t size, std::uint32_t category) noexcept {
  OpenRange open;
  if (begin_without_note(open, [&](HotThread& hot, std::uint64_t token, std::uint64_t& word) {
        return write_text(hot, token, text, size, category, word);
      }))
    return open;
  return begin(category, [&](ThreadState* state) { return word_of_text(state, {text, size}); });
}

OpenRange begin_word_with_slow(std::uint64_t word, const Extra& value) noexcept {
  OpenRange open{0, word};
  if (begin_number_without_note(open, value, [](HotThread&, std::uint64_t&) { return true; })) return open;
  if (active.load(std::memory_order_relaxed) == 0) return {};
  return begin_with(value, 0, [&](ThreadState*) { return word; });
}

OpenRange begin_literal_with_slow(const char* literal, std::size_t size, std::uint32_t category,
                                  const Extra& value) noexcept {
  OpenRange open;
  if (begin_number_without_note(open, value, [&](HotThread& hot, std::uint64_t& word) {
        return find_literal(hot, literal, size, category, word);
      }))
    return open;
  if (active.load(std::memory_order_relaxed) == 0) return {};
  return begin_with(value, category, [&](ThreadState* state) { return word_of_literal(state, literal, size); });
}

OpenRange begin_text_with_slow(const char* text, std::size_t size, std::uint32_t category,
                               const Extra& value) noexcept {
  OpenRange open;
  if (begin_number_without_note(
          open, value, [&](HotThread& hot, std::uint64_t& word) { return find_text(hot, text, size, category, word); }))
    return open;
  if (active.load(std::memory_order_relaxed) == 0) return {};
  return begin_with(value, category, [&](ThreadState* state) { return word_of_text(state, {text, size}); });
}

std::uint64_t literal_word_slow(const char* literal, std::size_t size) noexcept {
  HotThread& hot = hot_thread;
  const SlowPathGuard busy(hot);
  if (!busy.entered() || hot.state == nullptr) return 0;
  return literal_word(*state_of(hot), literal, size);
}

std::uint64_t text_word_slow(const char* text, std::size_t size, std::uint64_t hash) noexcept {
  HotThread& hot = hot_thread;
  const SlowPathGuard busy(hot);
  if (!busy.entered() || hot.state == nullptr) return 0;
  return text_word(*state_of(hot), {text, size}, hash);
}

void end_slow(std::uint64_t token, std::uint64_t word) noexcept {
  HotThread& hot = hot_thread;
  if (const std::uint64_t own = token ^ kNumberedToken; own == hot.token && only_numbered(own)) {
    const std::uint64_t next = hot.next_sequence();
    const std::uint64_t noted = noted_sequence(hot);
    if (const std::uint64_t taken = next - noted; taken <= 1) {
      if (write_record(hot, own, kEndLimit, (word + kToEnd) | taken * kTookOneNumber << 8))
        return set_noted_sequence(hot, next);
    } else if (noted != kNothingNoted && end_with_note(hot, own, next, word + kToEnd)) {
      return;
    }
  }
  (void)close_range({token, word}, Order::kInnermost);
}

void end_out_of_order(std::uint64_t token, std::uint64_t word) noexcept {
  if (token != 0) (void)close_range({token, word}, Order::kAny);
}

std::uint32_t intern_name(std::string_view name) noexcept { return intern(name); }

std::uint32_t intern_category(std::string_view name) noexcept {
  const std::uint32_t id = categories().intern(name, false).id;
  return id <= 0xFFFF ? id : 0;
}

}  // namespace v1

SuspendedRange suspend_range(const OpenRange& open) noexcept {
  if (open.token == 0) return {};
  return {open, close_range({open.token, open.word | in_aux(kSuspended)}, Order::kInnermost)};
}

OpenRange resume_range(const SuspendedRange& range) noexcept {
  if (range.open.token == 0 || active.load(std::memory_order_relaxed) == 0) return {};
  const std::uint64_t recording = (range.open.token & kTokenBits) >> 32;
  if (may_be_recorded(range.open) && recording != Recorder::instance().generation()) return {};
  OpenRange resumed = begin(
      1, nullptr, word_category(range.open.word) | kResumed,
      [&](ThreadState*) { return range.open.word & ~in_aux(0xFFFFFFu); },
      [&] {
        put_extra(hot_thread, {ExtraKind::kUnsigned, range.since_ticks, {}});
      });
  resumed.word &= ~in_aux(kResumed);
  return resumed;
}

std::uint64_t begin_operator(const char* name, std::int64_t sequence, std::uint64_t& word) noexcept {
  HotThread& hot = hot_thread;
  const std::uint64_t token = hot.token;
  if (RANGEFINDER_LIKELY(only_numbered(token))) {
    if (static_cast<std::uint64_t>(sequence) == noted_sequence(hot)) {
      if (write_known_operator(hot, token, name, kOfNumberedOperators, word)) return token | kNumberedToken;
    } else if (sequence < 0) {
      return begin_operator_without_number(name, word);
    }
  }
  return begin_operator(name, sequence, 0, 0, word);
}

std::uint64_t begin_operator(const char* name, std::int64_t sequence, std::uint64_t forward_thread,
                             std::uint32_t inputs, std::uint64_t& word) noexcept {
  if (active.load(std::memory_order_relaxed) == 0) return 0;
  return keep(begin_any_operator(name, sequence, forward_thread, inputs), word);
}

std::uint32_t intern_inputs(std::string_view text) noexcept {
  std::uint32_t id = 0;
  guarded([&] { id = names().intern_inputs(text).id; });
  return id;
}

void count_sampled_out() noexcept {
  if (is_recording()) Recorder::instance().count(health::sampled_out_operators, 1);
}

void count_lost_inputs() noexcept {
  if (is_recording()) Recorder::instance().count(health::operators_without_inputs, 1);
}

void count_lost_operator() noexcept {
  if (is_recording()) Recorder::instance().count(health::dropped_ranges, 1);
}

namespace {

void put_mark(std::uint32_t name, std::uint32_t category, const Extra* extra, const Listener* heard_by) noexcept {
  if (recording_generation() != 0) put_event(make_word(RecordKind::kMark, name, category), extra);
  if (heard_by != nullptr) heard_by->mark(name, category, extra);
}

void put_sample(std::uint32_t name, const Extra& value) noexcept {
  put_event(make_word(RecordKind::kCounter, name), &value);
}

/// What is no number is counted.
bool is_sample(const Extra& value) noexcept {
  if (value.kind == ExtraKind::kText) Recorder::instance().count(health::dropped_events, 1);
  return value.kind != ExtraKind::kText;
}

}  // namespace

void mark_slow(std::string_view name, std::uint32_t category, const Extra* extra) noexcept {
  const Listener* const heard_by = listener();
  guarded([&] { put_mark(intern(name), category, extra, heard_by); });
}

void mark_named(std::uint32_t name, const Extra* extra) noexcept {
  const Listener* const heard_by = listener();
  guarded([&] { put_mark(name, 0, extra, heard_by); });
}

void counter_slow(std::string_view name, const Extra& value) noexcept {
  if (recording_generation() == 0) return;
  guarded([&] {
    if (is_sample(value)) put_sample(intern(name), value);
  });
}

void counter_named(std::uint32_t name, const Extra& value) noexcept {
  if (recording_generation() == 0) return;
  guarded([&] {
    if (is_sample(value)) put_sample(name, value);
  });
}

std::uint64_t async_begin_slow(std::string_view name, std::uint32_t category) noexcept {
  return async_begin_extra(name, category, nullptr);
}

std::uint64_t async_begin_extra(std::string_view name, std::uint32_t category, const Extra* value) noexcept {
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
        if (put_event(make_word(RecordKind::kAsyncBegin, id, category), &extra, value)) handle = mine;
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
