// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spread.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis::nsight {

/// A part of a list, [first, last); not empty.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// A list of numbers that is asked for the n-th smallest of parts of it: a wavelet matrix, one bit of every number a
/// level, the highest first.
class RankedNumbers {
 public:
  explicit RankedNumbers(std::vector<std::uint32_t> numbers);

  struct Part {
    std::size_t first;
    std::size_t last;
    std::uint64_t times;  ///< how often each of its numbers counts
  };
  /// `n` from 0, less than all of the parts have. O(parts * bits of the greatest number).
  std::uint32_t nth(std::vector<Part> parts, std::uint64_t n) const;

 private:
  struct Level {
    std::vector<std::uint64_t> ones;     // a bit for each number, as this level orders them
    std::vector<std::uint32_t> ones_to;  // in all words before
    std::size_t zeros = 0;               // numbers without the bit come first on the next level

    std::size_t ones_before(std::size_t at) const noexcept;
  };
  std::vector<Level> levels_;
};

/// Statistics of stretches of a list of samples, in time that does not depend on how long the stretches are. So the
/// kernels under each of many ranges, one inside the other, are not gone through for each.
///
/// Cost: O(samples log samples), some 8 bytes a sample; a spread O(stretches log samples).
class StretchSpreads {
 public:
  explicit StretchSpreads(std::span<const std::int64_t> samples);

  /// What lies in several stretches counts as often. Reorders the stretches.
  Spread of(std::span<Stretch> stretches) const;

 private:
  using Part = RankedNumbers::Part;
  /// Of the samples before a place, as they are above the least: their sum, and that of their squares.
  struct Sums {
    unsigned __int128 above = 0;
    unsigned __int128 squares = 0;
    long double rough_squares = 0;
  };
  Sums sums_before(std::size_t place) const noexcept;
  void add(Sums& sums, std::int64_t sample) const noexcept;
  static std::vector<Part> parts_of(std::span<Stretch> stretches);
  void set_moments(Spread& spread, std::span<const Part> parts) const;

  static constexpr std::size_t kBlock = 8;
  std::span<const std::int64_t> samples_;
  std::vector<std::int64_t> values_;  // distinct, sorted
  RankedNumbers ranks_;               // of the samples among them
  std::vector<Sums> blocks_;          // before each so many samples
  bool exact_ = true;                 // squares did not overflow
};

}  // namespace rangefinder::analysis::nsight
