// SPDX-License-Identifier: MIT
#pragma once

#include "projection/figures.hpp"

#include <cstdint>
#include <vector>

namespace rangefinder::projection {

/// Length of a union of intervals that arrive in about their order, in bounded memory: the latest stretches are kept as
/// they are, older ones closed up into one block of which only the length is known. What falls into such a block later
/// makes the length an upper bound, and says so.
class BusyBlocks {
 public:
  void add(const Interval& interval) {
    if (interval.length() <= 0) return;
    if (blocks_.empty() || interval.begin > blocks_.back().end)
      append({interval.begin, interval.end, interval.length()});
    else
      insert({interval.begin, interval.end, interval.length()});
  }
  void add(const BusyBlocks& other) {
    exact_ = exact_ && other.exact_;
    for (const Block& block : other.blocks_) insert(block);
  }

  std::int64_t busy() const noexcept;
  bool exact() const noexcept { return exact_; }
  void clear() noexcept {
    blocks_.clear();
    exact_ = true;
  }

 private:
  struct Block {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t busy;
    bool solid() const noexcept { return busy == minus(end, begin); }
  };
  void append(const Block& block) {
    blocks_.push_back(block);
    if (blocks_.size() > kMax) close_up();
  }
  void insert(Block block);
  void close_up();

  static constexpr std::size_t kMax = 32;
  static constexpr std::size_t kKept = 12;
  std::vector<Block> blocks_;  // in order, disjoint
  bool exact_ = true;
};

}  // namespace rangefinder::projection
