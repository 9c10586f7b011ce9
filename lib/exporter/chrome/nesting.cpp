// SPDX-License-Identifier: MIT
#include "exporter/chrome/nesting.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace rangefinder::chrome {
namespace {

// Real traces need two levels. Hostile ones could ask for one a slice; from here on slices are only laid end to end,
// which needs as many rows as slices lie over each other, and no more time than sorting.
constexpr std::uint32_t kNestedLevels = 16;

using Positions = std::vector<std::uint32_t>;  // in the list of slices

/// One level: keeps what nests, moves the rest to `evicted`.
class Level {
 public:
  Level(const std::vector<Placed>& slices, Positions& evicted) noexcept : slices_(slices), evicted_(evicted) {}

  void add(std::uint32_t position) {
    const Placed& slice = slices_[position];
    while (!open_.empty() && slices_[open_.back()].end_ns <= slice.begin_ns) open_.pop_back();
    // What is open begins no later and, from the innermost out, ends later and later: the ones that this slice cuts are
    // the last ones.
    auto cut = open_.end();
    bool stays = true;
    while (cut != open_.begin() && slices_[*(cut - 1)].end_ns < slice.end_ns) {
      --cut;
      stays = stays && slices_[*cut].weight < slice.weight;
    }
    if (!stays) {
      evicted_.push_back(position);
      return;
    }
    evicted_.insert(evicted_.end(), cut, open_.end());
    open_.erase(cut, open_.end());
    open_.push_back(position);
  }

 private:
  const std::vector<Placed>& slices_;
  Positions& evicted_;
  Positions open_;
};

/// Lays what is left end to end.
void lay_out(std::vector<Placed>& slices, const Positions& positions, std::uint32_t first_level) {
  using Entry = std::pair<std::int64_t, std::uint32_t>;  // where a row ends, its level
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> rows;
  std::uint32_t next = first_level;
  for (const std::uint32_t position : positions) {
    Placed& slice = slices[position];
    if (!rows.empty() && rows.top().first <= slice.begin_ns) {
      slice.level = rows.top().second;
      rows.pop();
    } else {
      slice.level = next++;
    }
    rows.push({slice.end_ns, slice.level});
  }
}

}  // namespace

void nest(std::vector<Placed>& slices) {
  const auto outer_first = [](const Placed& a, const Placed& b) {
    return std::tie(a.begin_ns, b.end_ns, a.order, a.row) < std::tie(b.begin_ns, a.end_ns, b.order, b.row);
  };
  if (!std::is_sorted(slices.begin(), slices.end(), outer_first)) std::sort(slices.begin(), slices.end(), outer_first);
  Positions evicted;
  {
    Level level(slices, evicted);
    for (std::uint32_t i = 0; i < slices.size(); ++i) level.add(i);
  }
  for (std::uint32_t number = 1; !evicted.empty(); ++number) {
    Positions waiting;
    waiting.swap(evicted);
    std::sort(waiting.begin(), waiting.end());
    if (number == kNestedLevels) return lay_out(slices, waiting, number);
    Level level(slices, evicted);
    for (const std::uint32_t position : waiting) {
      slices[position].level = number;
      level.add(position);
    }
  }
}

}  // namespace rangefinder::chrome
