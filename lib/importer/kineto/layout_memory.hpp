// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/scan.hpp"

#include <cstdint>
#include <cstring>
#include <memory>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace rangefinder::importer::kineto {

/// What comes next in an event's text: a member whose value has a place in Event, one that has none, or a bracket.
enum class EventStep : std::uint8_t {
  kPhase,
  kCategory,
  kName,
  kProcess,
  kThread,
  kTime,
  kDuration,
  kOpenArguments,
  kOtherMember,
  kNoArguments,  ///< args that are no object
  kOpenEvent,
  kCloseEvent,
  // Inside args; the first nineteen are whole numbers.
  kExternalId,
  kCorrelation,
  kDevice,
  kStream,
  kContext,
  kBytes,
  kRegisters,
  kSharedMemory,
  kGraph,
  kGraphNode,
  kFromDevice,
  kToDevice,
  kSequence,
  kForwardThread,
  kItems,
  kSuspended,
  kOpenedAgo,
  kCapturedThread,
  kEventStream,
  kOldExternalId,
  kGrid,
  kBlock,
  kSyncKind,
  kArgumentName,
  kFinished,
  kInputShapes,
  kInputTypes,
  kInputValues,
  kForwardTime,
  kCapturedTime,
  kCapturedRanges,
  kGraphLaunch,
  kOtherArgument,
  kCloseArguments,
};

/// How events of this file are laid out. A profiler writes the same few layouts a hundred thousand times: the commas,
/// white space and names between two values never change. They are remembered as a tree, and the next stretch of text
/// is compared with what followed last time before it is taken apart. A stretch that differs costs the comparisons and
/// nothing else: what it means is found out from the text itself then.
class LayoutMemory {
 public:
  static constexpr std::size_t kLongest = 48;

  /// A stretch of text, from the end of a value to the beginning of the next, or behind a bracket. That of a phase or
  /// category ends behind its value, so that kinds of events part early.
  struct Stretch {
    alignas(16) char text[kLongest];
    std::uint16_t masks[kLongest / 16];  ///< which bytes of each sixteen count
    std::uint8_t length;
    std::uint8_t value_at;  ///< of a phase or category: where the quoted value begins
    EventStep step;
    bool value_follows;
    std::uint8_t children;
    const Stretch* first_child;
    const Stretch* next_sibling;
  };
  using Node = const Stretch*;  ///< null: nothing is known to follow, and nothing can be learnt

  LayoutMemory() : stretches_(std::make_unique_for_overwrite<Stretch[]>(kMax)) { stretches_[0] = {}; }

  Node root() const noexcept { return &stretches_[0]; }
  /// The stretch behind `node` that stands at `at`; null when it is none of those seen.
  static Node follow(Node node, const char* at) noexcept {
    if (node == nullptr) return nullptr;
    Node child = node->first_child;
    while (child != nullptr && !stands_at(*child, at)) child = child->next_sibling;
    return child;
  }
  /// Remembers that [from, to) followed `node`; null when there is no room.
  Node learn(Node node, const char* from, const char* to, EventStep step, const char* value) noexcept {
    const auto length = static_cast<std::size_t>(to - from);
    // Bounded, so that a file in which no two events are alike costs no more than a few comparisons each. And a zero
    // would match the padding behind the window.
    if (node == nullptr || length > kLongest || count_ == kMax || node->children == kMaxChildren ||
        std::memchr(from, 0, length) != nullptr)
      return nullptr;
    Stretch& stretch = stretches_[count_++] = {};
    std::memcpy(stretch.text, from, length);
    for (std::size_t i = 0; i < length; ++i) stretch.masks[i / 16] |= static_cast<std::uint16_t>(1u << i % 16);
    stretch.length = static_cast<std::uint8_t>(length);
    stretch.value_at = static_cast<std::uint8_t>(value - from);
    stretch.step = step;
    stretch.value_follows = has_value(step);
    stretch.next_sibling = node->first_child;
    Stretch& parent = stretches_[static_cast<std::size_t>(node - &stretches_[0])];
    parent.first_child = &stretch;
    ++parent.children;
    return &stretch;
  }

 private:
  static constexpr std::size_t kMax = 1024;
  static constexpr std::uint8_t kMaxChildren = 16;

  static bool has_value(EventStep step) noexcept {
    return step > EventStep::kCategory && step != EventStep::kOpenArguments && step != EventStep::kCloseArguments &&
           step != EventStep::kCloseEvent;
  }

  static bool stands_at(const Stretch& stretch, const char* at) noexcept {
    // A stretch ends where a value begins: more white space there than last time makes it another stretch.
    if (stretch.value_follows && static_cast<unsigned char>(at[stretch.length]) <= ' ') return false;
#if defined(__SSE2__)
    const auto differ = [&](std::size_t block) {
      const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * block));
      const __m128i there = _mm_load_si128(reinterpret_cast<const __m128i*>(stretch.text + 16 * block));
      return (~static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(here, there))) & stretch.masks[block]) != 0;
    };
    return !differ(0) && (stretch.length <= 16 || (!differ(1) && !differ(2)));
#else
    return std::memcmp(stretch.text, at, stretch.length) == 0;
#endif
  }

  std::unique_ptr<Stretch[]> stretches_;
  std::size_t count_ = 1;
};

}  // namespace rangefinder::importer::kineto
