// SPDX-License-Identifier: MIT
#pragma once

#include "format/bit_stream.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

// How long it took from one record to the next, in about as many bits as it surprises. A range of one name takes about
// as long each time, and so does the way to it; so every word of a chunk's dictionary has a model of its own for the
// time before it, and one for the time before the end of the range that it opens. Only the difference from what the
// model expects is written, as a Rice code whose parameter is the model's too. Writer and reader learn alike, so that
// nothing of a model is stored (docs/reference/capture-format.md, "times").
namespace rangefinder::format {

/// What was seen before a word so far. All arithmetic is modulo 2^64, so that every time is coded without loss, those
/// that run backwards too.
class TimeModel {
 public:
  /// Nothing was learned yet, or only times of 0.
  bool is_new() const noexcept { return (expected_ | error_) == 0; }
  std::uint64_t expected() const noexcept { return expected_ >> kWeight; }
  /// Bits of a Rice code that are written as they are: the size of a usual error.
  unsigned plain_bits() const noexcept {
    return std::min(static_cast<unsigned>(std::bit_width(error_ >> kWeight | 1)) - 1, kMaxPlainBits);
  }

  /// Moves an eighth of the way to `time`. `error` is the zigzagged difference from what was expected.
  void learn(std::uint64_t time, std::uint64_t error) noexcept {
    expected_ += time - (expected_ >> kWeight);
    error_ += error - (error_ >> kWeight);
  }
  /// The same for a time far from what was expected: a stall must not spoil what comes after it.
  void learn_little(std::uint64_t time, std::uint64_t error) noexcept {
    const std::uint64_t usual = error_ >> kWeight;
    const std::uint64_t most = std::min((usual + 4) * 8, kMaxStep);
    if (is_new()) {
      expected_ = time << kWeight;
    } else {
      const std::int64_t difference = base::unzigzag(error);
      expected_ += static_cast<std::uint64_t>(
          std::clamp(difference, -static_cast<std::int64_t>(most), static_cast<std::int64_t>(most)));
    }
    error_ += std::min(error, 2 * most) - usual;
  }

  static constexpr unsigned kMaxPlainBits = 35;

 private:
  static constexpr unsigned kWeight = 3;
  static constexpr std::uint64_t kMaxStep = std::uint64_t{1} << 40;

  std::uint64_t expected_ = 0;  // 8 times the expected time
  std::uint64_t error_ = 0;     // 8 times the usual error
};

/// The Rice code of `error`: error >> plain_bits in ones, a zero, then the plain bits. From kMaxOnes on: that many
/// ones, the number of bits less one in 6 bits, and the error as it is.
inline constexpr unsigned kMaxOnes = 20;
static_assert(kMaxOnes + TimeModel::kMaxPlainBits < BitWriter::kMaxAtOnce);
/// More bits than any code has.
inline constexpr unsigned kMaxCodeBits = kMaxOnes + 6 + 64;

[[gnu::noinline]] inline void put_far_time(BitWriter& out, TimeModel& model, std::uint64_t time,
                                           std::uint64_t error) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(error));  // not 0: the error is kMaxOnes at least
  out.put(((std::uint64_t{1} << kMaxOnes) - 1) | static_cast<std::uint64_t>(bits - 1) << kMaxOnes, kMaxOnes + 6);
  out.put_wide(error, bits);
  model.learn_little(time, error);
}

[[gnu::always_inline]] inline void put_time(BitWriter& out, TimeModel& model, std::uint64_t time) noexcept {
  const std::uint64_t error = base::zigzag(static_cast<std::int64_t>(time - model.expected()));
  const unsigned plain = model.plain_bits();
  const std::uint64_t ones = error >> plain;
  if (ones >= kMaxOnes) [[unlikely]] {
    BitWriter here = out;  // its state stays in registers on the path that matters
    put_far_time(here, model, time, error);
    out = here;
    return;
  }
  // Ones, a zero and the plain bits in one number.
  const std::uint64_t low = error - (ones << plain);
  out.put(((2 * low + 1) << ones) - 1, static_cast<unsigned>(ones) + 1 + plain);
  model.learn(time, error);
}

[[gnu::always_inline]] inline std::uint64_t get_time(BitReader& in, TimeModel& model) noexcept {
  const unsigned plain = model.plain_bits();
  const std::uint64_t bits = in.peek();
  const auto ones = static_cast<unsigned>(std::countr_one(bits));
  if (ones >= kMaxOnes) [[unlikely]] {
    in.skip(kMaxOnes);
    const std::uint64_t error = in.get_wide(static_cast<unsigned>(in.get(6)) + 1);
    const std::uint64_t time = model.expected() + static_cast<std::uint64_t>(base::unzigzag(error));
    model.learn_little(time, error);
    return time;
  }
  const std::uint64_t error = std::uint64_t{ones} << plain | ((bits >> (ones + 1)) & ((std::uint64_t{1} << plain) - 1));
  in.skip(ones + 1 + plain);
  const std::uint64_t time = model.expected() + static_cast<std::uint64_t>(base::unzigzag(error));
  model.learn(time, error);
  return time;
}

}  // namespace rangefinder::format
