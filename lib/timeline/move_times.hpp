// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace rangefinder::timeline {

/// How many rows each table of a timeline has that tells times. Files of a job are read one after the other, so that
/// the rows of one are those between the counts before and after it.
struct RowCounts {
  std::array<std::size_t, 19> of{};
};
RowCounts count_rows(const Timeline& timeline) noexcept;

/// Puts the times of the rows between two counts on another clock, in place. `moved` keeps the order of times. An
/// activity keeps its length, which the device measured.
void move_times(Timeline& timeline, const RowCounts& from, const RowCounts& to,
                const std::function<std::int64_t(std::int64_t)>& moved);

}  // namespace rangefinder::timeline
