// SPDX-License-Identifier: MIT
#include "buffer/record_writer.hpp"

#include "buffer/name_table.hpp"

#include <cstring>

namespace rangefinder::buffer {

using detail::Extra;
using detail::ExtraKind;
using detail::make_word;

ThreadState* ready(HotThread& hot, std::size_t records, std::uint32_t limit, bool may_wait) noexcept {
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

namespace {

std::uint32_t known(const NameTable::Interned& interned) noexcept {
  Recorder& recorder = Recorder::instance();
  if (interned.truncated) recorder.count(health::truncated_names, 1);
  recorder.publish_name(interned.id);
  if (interned.id == 0) recorder.count(health::unnamed_ranges, 1);
  return interned.id;
}

/// A text that data makes, not the program: it must leave room for names.
std::uint32_t intern_data(std::string_view text) noexcept {
  NameTable::Interned interned = names().intern_inputs(text.substr(0, NameTable::kMaxNameBytes));
  interned.truncated = interned.id != 0 && text.size() > NameTable::kMaxNameBytes;
  return known(interned);
}

}  // namespace

std::uint32_t intern(std::string_view text) noexcept { return known(names().intern(text, false)); }

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
  const std::uint32_t text = extra.kind == ExtraKind::kText ? intern_data(extra.text) : 0;
  put(hot, make_word(RecordKind::kExtra, text, static_cast<std::uint32_t>(extra.kind)), extra.bits);
}

bool put_event(std::uint64_t word, const Extra* extra, const Extra* further) noexcept {
  HotThread& hot = detail::hot_thread;
  Recorder& recorder = Recorder::instance();
  const std::size_t extras = (extra != nullptr ? 1 : 0) + (further != nullptr ? 1 : 0);
  ThreadState* const state = ready(hot, 1 + extras + sequence_records(), kForBegins);
  if (state == nullptr) {
    recorder.count(health::dropped_events, 1);
    return false;
  }
  put_sequence(hot, *state);
  put(hot, word, recorder.ticks());
  if (extra != nullptr) put_extra(hot, *extra);
  if (further != nullptr) put_extra(hot, *further);
  return true;
}

}  // namespace rangefinder::buffer
