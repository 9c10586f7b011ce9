// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/nesting.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::chrome {

/// The order of slices on a row: by begin, outer ones first.
inline bool is_outer_first(const Placed& a, const Placed& b) noexcept {
  return std::tie(a.begin_ns, b.end_ns, a.order, a.row) < std::tie(b.begin_ns, a.end_ns, b.order, b.row);
}

/// The level of each of `count` slices, as nest() says it; empty where all are 0. `slice(i)` gives the i-th in that
/// order as a Placed, so that they need not lie side by side.
template <typename Slice>
class NestingLevels {
 public:
  NestingLevels(std::uint32_t count, Slice slice) : count_(count), slice_(std::move(slice)) {}

  std::vector<std::uint32_t> find() && {
    Positions evicted;
    {
      Level level(slice_, evicted);
      for (std::uint32_t i = 0; i < count_; ++i) level.add(i);
    }
    if (!evicted.empty()) levels_.resize(count_);
    for (std::uint32_t number = 1; !evicted.empty(); ++number) {
      Positions waiting;
      waiting.swap(evicted);
      std::sort(waiting.begin(), waiting.end());
      if (number == kNestedLevels) {
        lay_out(waiting, number);
        break;
      }
      Level level(slice_, evicted);
      for (const std::uint32_t position : waiting) {
        levels_[position] = number;
        level.add(position);
      }
    }
    return std::move(levels_);
  }

 private:
  // Real traces need two levels. Hostile ones could ask for one a slice; from here on slices are only laid end to end,
  // which needs as many rows as slices lie over each other, and no more time than sorting.
  static constexpr std::uint32_t kNestedLevels = 16;
  using Positions = std::vector<std::uint32_t>;

  /// One level: keeps what nests, moves the rest to `evicted`.
  class Level {
   public:
    Level(const Slice& slice, Positions& evicted) noexcept : slice_(slice), evicted_(evicted) {}

    void add(std::uint32_t position) {
      const Placed placed = slice_(position);
      while (!open_.empty() && open_.back().end_ns <= placed.begin_ns) open_.pop_back();
      // What is open begins no later and, from the innermost out, ends later and later: the ones that this slice cuts
      // are the last ones.
      auto cut = open_.end();
      bool stays = true;
      while (cut != open_.begin() && (cut - 1)->end_ns < placed.end_ns) {
        --cut;
        stays = stays && cut->weight < placed.weight;
      }
      if (!stays) {
        evicted_.push_back(position);
        return;
      }
      for (auto one = cut; one != open_.end(); ++one) evicted_.push_back(one->position);
      open_.erase(cut, open_.end());
      open_.push_back({placed.end_ns, position, placed.weight});
    }

   private:
    struct Open {
      std::int64_t end_ns;
      std::uint32_t position;
      std::uint8_t weight;
    };
    const Slice& slice_;
    Positions& evicted_;
    std::vector<Open> open_;
  };

  /// Lays what is left end to end.
  void lay_out(const Positions& positions, std::uint32_t first_level) {
    using Entry = std::pair<std::int64_t, std::uint32_t>;  // where a row ends, its level
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> rows;
    std::uint32_t next = first_level;
    for (const std::uint32_t position : positions) {
      const Placed placed = slice_(position);
      if (!rows.empty() && rows.top().first <= placed.begin_ns) {
        levels_[position] = rows.top().second;
        rows.pop();
      } else {
        levels_[position] = next++;
      }
      rows.push({placed.end_ns, levels_[position]});
    }
  }

  std::uint32_t count_;
  Slice slice_;
  std::vector<std::uint32_t> levels_;
};

}  // namespace rangefinder::chrome
