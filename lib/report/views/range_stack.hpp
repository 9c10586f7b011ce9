// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight_ranges.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rangefinder::report::nsight {

/// A program that pushes and never pops nests without end, and every row would hold the whole stack: the innermost so
/// many levels are written, behind an ellipsis.
inline constexpr std::size_t kDeepestStack = 256;

/// `:1:2:7`, the ids of the ranges around a row and its own. Rows have `range` and `parent`, a position among the rows.
template <typename Row>
std::string range_stack(const Timeline& timeline, const std::vector<Row>& rows, const Row& row) {
  std::vector<std::int64_t> ids{analysis::nsight::range_id(timeline, row.range)};
  std::uint32_t parent = row.parent;
  for (; parent != kNone && ids.size() < kDeepestStack; parent = rows[parent].parent)
    ids.push_back(analysis::nsight::range_id(timeline, rows[parent].range));
  std::string out = parent == kNone ? "" : ":...";
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) out.append(":").append(std::to_string(*id));
  return out;
}

}  // namespace rangefinder::report::nsight
