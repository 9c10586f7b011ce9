// SPDX-License-Identifier: MIT
#include "exporter/chrome/nesting.hpp"

#include "exporter/chrome/nesting_levels.hpp"

namespace rangefinder::chrome {

void nest(std::vector<Placed>& slices) {
  if (!std::is_sorted(slices.begin(), slices.end(), is_outer_first))
    std::sort(slices.begin(), slices.end(), is_outer_first);
  const auto slice = [&](std::uint32_t position) { return slices[position]; };
  const std::vector<std::uint32_t> levels = NestingLevels(static_cast<std::uint32_t>(slices.size()), slice).find();
  for (std::size_t i = 0; i < levels.size(); ++i) slices[i].level = levels[i];
}

}  // namespace rangefinder::chrome
