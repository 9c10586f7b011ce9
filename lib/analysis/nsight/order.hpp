// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/arrange.hpp"
#include "analysis/nsight/labels.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace rangefinder::analysis::nsight {

/// Rows with a `name` and a `style`, of which there is one each: the greatest `total_of(row)` first, then by name and
/// style.
template <typename Row, typename TotalOf>
void order_by_total(std::vector<Row>& rows, const Labels& labels, TotalOf total_of) {
  struct Keyed {
    __int128 total;
    std::uint32_t rank;  // of the name
    std::uint32_t row;
  };
  std::vector<Label> names;
  names.reserve(rows.size());
  for (const Row& row : rows) names.push_back(row.name);
  const std::vector<std::uint32_t> ranks = labels.ranks(names);
  std::vector<Keyed> keyed;
  keyed.reserve(rows.size());
  for (std::uint32_t row = 0; row < rows.size(); ++row)
    keyed.push_back({total_of(rows[row]), ranks[rows[row].name], row});
  const auto before = [&](const Keyed& a, const Keyed& b) {
    if (a.total != b.total) return a.total > b.total;
    return a.rank != b.rank ? a.rank < b.rank : rows[a.row].style < rows[b.row].style;
  };
  if (!std::is_sorted(keyed.begin(), keyed.end(), before)) std::sort(keyed.begin(), keyed.end(), before);
  std::vector<std::uint32_t> order;
  order.reserve(rows.size());
  for (const Keyed& key : keyed) order.push_back(key.row);
  std::vector<Keyed>().swap(keyed);
  arrange(rows, std::move(order));
}

}  // namespace rangefinder::analysis::nsight
