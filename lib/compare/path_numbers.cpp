// SPDX-License-Identifier: MIT
#include "compare/path_numbers.hpp"

#include "analysis/range_forest.hpp"
#include "projection/flat_map.hpp"

#include <string_view>

namespace rangefinder::compare {

bool is_step_name(std::string_view name) noexcept { return name.starts_with("ProfilerStep#"); }

PathNumbers::PathNumbers(const Timeline& timeline, const Projection& projection)
    : of_range(timeline.ranges.size(), kNone), is_named(timeline.ranges.size()) {
  const RangeTable& ranges = timeline.ranges;
  projection::FlatMap known;  // by path around and name
  std::vector<std::uint32_t> depths;
  const analysis::RangeForest forest(projection);
  for (const RangeIndex range : forest.order()) {
    if (ranges.kind[range] != RangeKind::kAnnotation || (ranges.flags[range] & kOwnerless) != 0) continue;
    const RangeIndex parent = projection.parent[range];
    const std::uint32_t around = parent == kNone ? std::uint32_t{kNone} : of_range[parent];
    const std::uint32_t depth = around == kNone ? 0 : depths[around] + 1;
    if (depth >= kDeepestPath || is_step_name(timeline.text(ranges.name[range]))) {
      of_range[range] = around;
      continue;
    }
    is_named[range] = true;
    const std::uint64_t key = std::uint64_t{around} << 32 | static_cast<std::uint32_t>(ranges.name[range]);
    of_range[range] = known.find_or_set(key, static_cast<std::uint32_t>(nodes.size()));
    if (of_range[range] < nodes.size()) continue;
    nodes.push_back({around, std::string(timeline.text(ranges.name[range]))});
    depths.push_back(depth);
  }
}

}  // namespace rangefinder::compare
