// SPDX-License-Identifier: MIT
#pragma once

#include "format/time_coder.hpp"

#include <rangefinder/detail/record.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

// What writer and reader of a kHostEvents chunk share; see host_events.hpp.
namespace rangefinder::format {

enum HostColumn : std::uint16_t {
  kHostHead = 1,
  kHostWords = 2,
  kHostSymbols = 3,
  kHostTimes = 4,
  kHostValues = 5,
  kHostLaunches = 6,
  kHostBlocks = 7,
};

/// Lowest bits of a symbol: how many matching ends follow; the greatest number means that many and another varint.
inline constexpr unsigned kEndBits = 2;
inline constexpr std::uint32_t kManyEnds = 3;

inline bool carries_value(detail::RecordKind kind) noexcept {
  return kind == detail::RecordKind::kExtra || kind == detail::RecordKind::kSequence ||
         kind == detail::RecordKind::kOperator || kind == detail::RecordKind::kHostBlockFact ||
         kind == detail::RecordKind::kThreadEvent;
}
/// Of others `ticks` is something else.
inline bool has_time(const detail::Record& record) noexcept { return !carries_value(detail::word_kind(record.word)); }

/// A double differs from the one before in most of its bits: it is written as it is, all other values as differences.
inline bool is_double(std::uint64_t word) noexcept {
  return word ==
         detail::make_word(detail::RecordKind::kExtra, 0, static_cast<std::uint32_t>(detail::ExtraKind::kDouble));
}

/// What differs from one kHostBlock to the next, and would fill the dictionary: all of its word but the kind.
inline constexpr unsigned kKindBits = 8;

/// The blocks of the host that a chunk told of last: a block that is freed was allocated before, and programs are given
/// the same blocks again at each of their steps. A block has one place; what is there may be another one.
class RecentBlocks {
 public:
  static constexpr unsigned kPlaceBits = 11;
  static constexpr std::uint16_t kNew = 0x8000;  // in a code: the block itself follows
  static constexpr std::uint16_t kFreed = 1;
  static constexpr std::uint64_t kFreedBit = std::uint64_t{1} << (detail::kHostFreedBit - kKindBits);

  static constexpr std::size_t place_of(std::uint64_t block) noexcept {
    return static_cast<std::size_t>(block * 0x9E3779B97F4A7C15u >> (64 - kPlaceBits));
  }
  std::uint64_t& at(std::size_t place) noexcept { return blocks_[place % blocks_.size()]; }

 private:
  std::array<std::uint64_t, std::size_t{1} << kPlaceBits> blocks_{};  // words without kind, as if not freed
};

inline std::uint64_t end_of_begin(std::uint64_t word) noexcept {
  return word + (static_cast<std::uint64_t>(detail::RecordKind::kEnd) -
                 static_cast<std::uint64_t>(detail::RecordKind::kBegin));
}

/// A matching end but for that bit: it needs a symbol, and closes the range all the same.
inline std::uint64_t with_number(std::uint64_t end_word) noexcept {
  return end_word | std::uint64_t{detail::kTookOneNumber} << 8;
}

/// The models of a chunk's times. One that is new starts from what was learned of words of its kind.
class HostModels {
 public:
  HostModels(std::vector<TimeModel>& memory, std::span<const std::uint64_t> words) : models_(memory), words_(words) {
    models_.assign(2 * words.size(), {});
  }

  /// The model of the time before a word, and before the end of the range that it opens.
  static constexpr std::uint32_t before(std::uint32_t index) noexcept { return 2 * index; }
  static constexpr std::uint32_t before_end(std::uint32_t index) noexcept { return 2 * index + 1; }

  /// `code` codes one time with the model that it is given.
  template <typename Code>
  [[gnu::always_inline]] auto use(std::uint32_t model, Code code) {
    TimeModel& mine = models_[model];
    TimeModel& chosen = mine.is_new() ? of_kind(model) : mine;
    const auto result = code(chosen);
    if (&chosen != &mine) [[unlikely]]
      mine = chosen;
    return result;
  }

 private:
  TimeModel& of_kind(std::uint32_t model) noexcept {
    const detail::RecordKind kind = model % 2 != 0 ? detail::RecordKind::kEnd : detail::word_kind(words_[model / 2]);
    return by_kind_[static_cast<std::size_t>(kind) % by_kind_.size()];
  }

  std::vector<TimeModel>& models_;
  std::span<const std::uint64_t> words_;
  std::array<TimeModel, 16> by_kind_{};
};

}  // namespace rangefinder::format
