// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rangefinder::injection {

/// RANGEFINDER_NVTX_DOMAINS, a list of names separated by commas: those with a - in front are left out; where there are
/// others, all but these are. "default" is where calls without a domain belong, whose name is empty.
bool records_domain(std::string_view name) noexcept;

/// Reads RANGEFINDER_STEP_RANGE, the push/pop range whose end is a step's. Called before the first range.
void read_step_range() noexcept;
bool is_step_range(std::string_view name) noexcept;

}  // namespace rangefinder::injection
