// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// Puts rows in an order, row `order[i]` at place i, without a second copy of them: a sort of numbers and this is
/// cheaper than a sort of large rows.
template <typename Row>
void arrange(std::vector<Row>& rows, std::vector<std::uint32_t> order) {
  for (std::uint32_t first = 0; first < order.size(); ++first) {
    if (order[first] == first) continue;
    Row held = std::move(rows[first]);
    std::uint32_t place = first;
    while (order[place] != first) {
      const std::uint32_t from = order[place];
      rows[place] = std::move(rows[from]);
      order[place] = place;
      place = from;
    }
    rows[place] = std::move(held);
    order[place] = place;
  }
}

}  // namespace rangefinder::analysis
