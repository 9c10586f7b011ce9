// SPDX-License-Identifier: MIT
// How far the numbers of autograd's nodes are at ranges, and the nodes as they run.
#include "buffer/record_writer.hpp"

#include <rangefinder/detail/autograd.hpp>

namespace rangefinder::buffer {

using detail::ExtraKind;
using detail::make_word;

namespace {

bool has_new_sequence(const ThreadState& state) noexcept {
  const Recorder& recorder = Recorder::instance();
  const detail::AutogradHooks* const hooks = recorder.autograd();
  return hooks != nullptr && (state.numbered != recorder.resumed() || hooks->next_sequence() != state.next_sequence);
}

void put_node_ends(const HotThread& hot, ThreadState& state) noexcept {
  if (state.nodes_to_end == 0) return;
  put(hot, make_word(RecordKind::kNodeEnd, state.nodes_to_end), Recorder::instance().ticks());
  state.nodes_to_end = 0;
}

}  // namespace

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

}  // namespace rangefinder::buffer

namespace rangefinder::detail {

using namespace rangefinder::buffer;

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

}  // namespace rangefinder::detail
