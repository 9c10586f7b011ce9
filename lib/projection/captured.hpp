// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::projection {

/// Attribution `capture` gives a graph's work another launch to count at: the call that made its node. Per activity;
/// empty when that is known of none.
std::vector<LaunchIndex> places_of_captured(const Timeline& timeline);

/// Sets the places of work whose node was made outside of any range back to its launch. True when there was any: the
/// projection has to be made again. `owner` is of a projection by `place`.
bool give_back_unowned(const Timeline& timeline, const std::vector<std::uint32_t>& owner,
                       std::vector<LaunchIndex>& place);

}  // namespace rangefinder::projection
