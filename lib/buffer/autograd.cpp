// SPDX-License-Identifier: MIT
// How far the numbers of autograd's nodes are at ranges, and the nodes as they run.
#include "buffer/record_writer.hpp"

#include <rangefinder/detail/autograd.hpp>

namespace rangefinder::buffer {

using detail::ExtraKind;
using detail::make_word;

namespace {

/// The hooks where the thread has taken numbers since it noted them last, or may have while nothing was recorded.
const detail::AutogradHooks* hooks_to_note(const HotThread& hot, const ThreadState& state) noexcept {
  const Recorder& recorder = Recorder::instance();
  const detail::AutogradHooks* const hooks = recorder.autograd();
  if (hooks == nullptr) return nullptr;
  const bool noted = state.numbered == recorder.resumed() && hooks->next_sequence() == noted_sequence(hot);
  return noted ? nullptr : hooks;
}

void note(const detail::AutogradHooks& hooks, HotThread& hot, ThreadState& state) noexcept {
  const std::uint32_t resumed = Recorder::instance().resumed();
  const bool known = state.numbered == resumed;
  const std::uint64_t next = hooks.next_sequence();
  state.numbered = resumed;
  hot.next_sequence = hooks.next_sequence;
  set_noted_sequence(hot, next);
  state.autograd_thread = static_cast<std::uint32_t>(hooks.thread_number());
  put(hot, make_word(RecordKind::kSequence, known ? 0 : 1, state.autograd_thread), next);
}

void put_node_ends(const HotThread& hot, ThreadState& state) noexcept {
  if (state.nodes_to_end == 0) return;
  put(hot, make_word(RecordKind::kNodeEnd, state.nodes_to_end), Recorder::instance().ticks());
  state.nodes_to_end = 0;
}

}  // namespace

void put_sequence(HotThread& hot, ThreadState& state) noexcept {
  if (const detail::AutogradHooks* const hooks = hooks_to_note(hot, state); hooks != nullptr) note(*hooks, hot, state);
}

bool end_with_note(HotThread& hot, std::uint64_t token, std::uint64_t next, std::uint64_t word) noexcept {
  const std::uint64_t number = make_word(RecordKind::kSequence, 0, state_of(hot)->autograd_thread);
  if (!write_pair(hot, token, kForBegins, {next, number}, {detail::read_ticks(), word})) return false;
  set_noted_sequence(hot, next);
  return true;
}

ThreadState* ready_to_close(HotThread& hot, bool may_wait) noexcept {
  ThreadState* const state = state_of(hot);
  const detail::AutogradHooks* const hooks = state != nullptr ? hooks_to_note(hot, *state) : nullptr;
  if (hooks != nullptr) {
    if (ThreadState* const roomy = ready(hot, 2, kForBegins, may_wait); roomy != nullptr) {
      note(*hooks, hot, *roomy);
      return roomy;
    }
    // The room that is kept for ends is all there is: the numbers taken until now count as unknown.
    state->numbered = 0;
    set_noted_sequence(hot, kNothingNoted);
  }
  return ready(hot, 1, kForEnds, may_wait);
}

}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

void set_autograd_hooks(const AutogradHooks* hooks) noexcept { Recorder::instance().set_autograd_hooks(hooks); }

bool node_begin(std::string_view name, std::int64_t sequence, std::uint64_t forward_thread) noexcept {
  if (Recorder::instance().autograd() == nullptr) return false;
  bool recorded = false;
  guarded([&] {
    ThreadState* const state = ready(hot_thread, 4, kForBegins);
    if (state == nullptr) return Recorder::instance().count(health::dropped_events, 1);
    put_node_ends(hot_thread, *state);
    put_sequence(hot_thread, *state);
    const std::uint32_t id = word_id(text_word(*state, name, hash_text(name.data(), name.size())));
    put(hot_thread, make_word(RecordKind::kNodeBegin, id, static_cast<std::uint32_t>(forward_thread)),
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

}  // namespace rangefinder::detail
