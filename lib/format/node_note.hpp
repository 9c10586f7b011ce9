// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// A launch among the host events has a correlation id, but for one: the note that a node of a CUDA graph is made where
// no call is noted. It has a number of its own, which a row of chunk kind 17 refers to.
namespace rangefinder::format {

/// The callback id (24 bits) of such a note; no function has it.
inline constexpr std::uint32_t kNodeNote = 0x7FFFFF;

/// What a note and a row of chunk kind 17 are joined by, apart from all correlation ids, which have 32 bits.
constexpr std::uint64_t node_note_key(std::uint32_t number) noexcept { return std::uint64_t{1} << 32 | number; }
constexpr bool is_node_note_key(std::uint64_t key) noexcept { return key >> 32 == 1; }
/// By what a launch is joined.
constexpr std::uint64_t launch_key(std::uint32_t id, std::uint32_t callback) noexcept {
  return callback == kNodeNote ? node_note_key(id) : id;
}

/// By what that is joined which made a node: its note, else the call; 0: not known.
constexpr std::uint64_t maker_key(std::uint32_t correlation, std::uint32_t note) noexcept {
  return note != 0 ? node_note_key(note) : correlation;
}

}  // namespace rangefinder::format
