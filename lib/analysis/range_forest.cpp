// SPDX-License-Identifier: MIT
#include "analysis/range_forest.hpp"

namespace rangefinder::analysis {

RangeForest::RangeForest(const Projection& projection) : projection_(projection) {
  const std::vector<RangeIndex>& parent = projection_.parent;
  const std::size_t count = parent.size();
  std::vector<RangeIndex> first_inside(count, kNone), next(count, kNone);
  RangeIndex first_root = kNone;
  for (std::size_t row = count; row-- > 0;) {
    const RangeIndex range(row);
    RangeIndex& first = parent[range] == kNone ? first_root : first_inside[parent[range]];
    next[range] = first;
    first = range;
  }
  order_.reserve(count);
  for (RangeIndex range = first_root; range != kNone;) {
    order_.push_back(range);
    if (first_inside[range] != kNone) {
      range = first_inside[range];
      continue;
    }
    while (range != kNone && next[range] == kNone) range = parent[range];
    if (range != kNone) range = next[range];
  }
}

}  // namespace rangefinder::analysis
