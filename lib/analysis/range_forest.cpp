// SPDX-License-Identifier: MIT
#include "analysis/range_forest.hpp"

#include <unordered_map>

namespace rangefinder::analysis {

RangeForest::RangeForest(const Projection& projection) : projection_(projection) {
  const std::vector<RangeIndex>& parent = projection_.parent;
  const auto count = static_cast<RangeIndex>(parent.size());
  std::vector<RangeIndex> first_inside(count, kNone), next(count, kNone);
  RangeIndex first_root = kNone;
  for (RangeIndex range = count; range-- > 0;) {
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

std::vector<bool> inside_their_like(std::span<const StringId> names, const RangeForest& forest) {
  std::vector<bool> inside(names.size());
  std::unordered_map<StringId, std::uint32_t> open;  // how often each name is, around the range at hand
  forest.walk([&](RangeIndex range) { inside[range] = open[names[range]]++ != 0; },
              [&](RangeIndex range) {
                const auto found = open.find(names[range]);
                if (--found->second == 0) open.erase(found);
              });
  return inside;
}

}  // namespace rangefinder::analysis
