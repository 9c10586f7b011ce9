// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"
#include "report/table.hpp"
#include "report/views/own_columns.hpp"

#include <utility>
#include <vector>

// The passes that have a column, and what it is called. Device time added up.
namespace rangefinder::report::own {

inline constexpr std::pair<Pass, const char*> kPassColumns[] = {{Pass::kForward, "GPU forward"},
                                                                {Pass::kBackward, "GPU backward"},
                                                                {Pass::kRecompute, "GPU recompute"},
                                                                {Pass::kAccumulation, "GPU accumulation"},
                                                                {Pass::kUnmatched, "GPU unmatched"}};

/// `any`: the projection tells passes.
inline void add_pass_columns(std::vector<Column>& columns, bool any) {
  if (!any) return;
  for (const auto& [pass, name] : kPassColumns) columns.push_back(if_room(3, if_any(time(name))));
}

inline void add_passes(Table& table, bool any, const analysis::PassTimes& times) {
  if (!any) return;
  for (const auto& [pass, name] : kPassColumns) table.number(times[static_cast<std::size_t>(pass)]);
}

}  // namespace rangefinder::report::own
