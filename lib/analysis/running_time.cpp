// SPDX-License-Identifier: MIT
#include "analysis/running_time.hpp"

namespace rangefinder::analysis {

CommonRange::CommonRange(const Projection& projection, const RangeForest& forest)
    : projection_(projection), position_(projection.parent.size()), head_(projection.parent.size()) {
  std::vector<std::uint32_t> size(head_.size(), 1);
  forest.add_to_parents(size, [](std::uint32_t& around, std::uint32_t inside) { around += inside; });
  std::vector<RangeIndex> largest_inside(head_.size(), kNone);
  std::uint32_t position = 0;
  for (const RangeIndex range : forest.order()) {
    position_[range] = position++;
    const RangeIndex parent = projection.parent[range];
    if (parent == kNone) continue;
    RangeIndex& largest = largest_inside[parent];
    if (largest == kNone || size[range] > size[largest]) largest = range;
  }
  for (const RangeIndex range : forest.order()) {
    const RangeIndex parent = projection.parent[range];
    head_[range] = parent != kNone && largest_inside[parent] == range ? head_[parent] : range;
  }
}

RangeIndex CommonRange::of(RangeIndex a, RangeIndex b) const noexcept {
  const std::vector<std::uint32_t>& depth = projection_.depth;
  while (a != kNone && b != kNone && head_[a] != head_[b]) {
    RangeIndex& deeper = depth[head_[a]] > depth[head_[b]] ? a : b;
    deeper = projection_.parent[head_[deeper]];
  }
  if (a == kNone || b == kNone) return kNone;
  return depth[a] < depth[b] ? a : b;
}

}  // namespace rangefinder::analysis
