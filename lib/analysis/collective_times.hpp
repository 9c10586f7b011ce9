// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/spans.hpp"

#include <rangefinder/timeline.hpp>

#include <string_view>
#include <vector>

namespace rangefinder::analysis {

/// When each thread was in the call of a collective, or in the wait for one. By thread, in the order of the
/// collectives; times that are not known, or beyond kFarthestNs, are left out.
std::vector<std::vector<Span>> times_in_collectives(const Timeline& timeline);

/// Whether a range is the work of a collective on a thread of its library: Gloo's own slices.
bool is_collective_work(std::string_view range_name) noexcept;

}  // namespace rangefinder::analysis
