// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "report/columns.hpp"

#include <cstddef>
#include <functional>
#include <utility>

// The passes that have a column, and what it is called. Device time added up.
namespace rangefinder::report::common {

inline constexpr std::pair<Pass, const char*> kPassColumns[] = {{Pass::kForward, "GPU forward"},
                                                                {Pass::kBackward, "GPU backward"},
                                                                {Pass::kRecompute, "GPU recompute"},
                                                                {Pass::kAccumulation, "GPU accumulation"},
                                                                {Pass::kUnmatched, "GPU unmatched"}};

/// `any`: the projection tells passes. `times_of` gives a row's PassTimes.
template <typename Row, typename TimesOf>
void add_passes(ColumnsOf<Row>& columns, bool any, TimesOf times_of) {
  if (!any) return;
  for (const auto& [pass, title] : kPassColumns) {
    const auto number = static_cast<std::size_t>(pass);
    const auto time = [times_of, number](const Row& row) { return std::invoke(times_of, row)[number]; };
    columns.time(title, time).if_room(3).if_any();
  }
}

}  // namespace rangefinder::report::common
