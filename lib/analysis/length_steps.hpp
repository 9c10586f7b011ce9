// SPDX-License-Identifier: MIT
#pragma once

#include "projection/flat_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// How many lengths of numbered groups are in each step of less than a thousandth of the length: what is left of them
/// where they are too many to be kept. Memory: 32 to 48 bytes a step that has any; where they would be more than
/// `most_steps`, as of very many groups, they get twice as long.
class LengthSteps {
 public:
  explicit LengthSteps(std::size_t most_steps = std::size_t{1} << 22) : most_steps_(most_steps) {}

  /// Below 0 counts as 0.
  void add(std::uint32_t group, std::int64_t length);
  std::uint64_t memory_bytes() const noexcept;
  /// How near to a length the middle of its step is: "a thousandth", "1/512".
  std::string precision() const;

  /// The lengths of one group, in order.
  class Ranked {
   public:
    std::uint32_t group() const noexcept { return group_; }
    std::uint64_t count() const noexcept { return count_; }
    /// The one of that rank, from 1 to count(): the middle of its step.
    std::int64_t at(std::uint64_t rank) const noexcept;

   private:
    friend class LengthSteps;
    const LengthSteps* steps_ = nullptr;
    const std::uint32_t* first_ = nullptr;  // rows of the steps, in order
    std::uint32_t group_ = 0;
    std::uint64_t count_ = 0;
  };
  /// Calls `use(ranked)` for each group that has any, in order of their numbers.
  template <typename Use>
  void each_group(Use use) const {
    const std::vector<std::uint32_t> order = in_order();
    for (std::size_t next = 0; next < order.size();) use(take_group(order, next));
  }

 private:
  void add(std::uint32_t group, std::uint32_t step, std::uint64_t count);
  void lengthen();
  std::uint32_t step_of(std::int64_t length) const noexcept;
  std::int64_t length_of(std::uint32_t step) const noexcept;
  std::uint32_t group_of(std::uint32_t row) const noexcept { return static_cast<std::uint32_t>(steps_[row] >> 32); }
  std::vector<std::uint32_t> in_order() const;
  Ranked take_group(const std::vector<std::uint32_t>& order, std::size_t& next) const;

  std::size_t most_steps_;
  int bits_ = 11;              // leading ones that tell steps apart: the middle of one is within 2^-bits of its lengths
  projection::FlatMap place_;  // group << 32 | step -> row
  std::vector<std::uint64_t> steps_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace rangefinder::analysis
