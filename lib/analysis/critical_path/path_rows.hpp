// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

enum class PathBy : std::uint8_t { kReason, kRange, kOperator };

/// Time on critical paths that has something in common.
struct PathRow {
  CriticalReason reason = CriticalReason::kUnknown;  ///< with PathBy::kReason
  StringId name = StringId::kEmpty;                  ///< of the range or operator; kEmpty: in none
  std::int64_t time_ns = 0;
  std::uint64_t segments = 0;
  /// What all windows would be long together if this took no time, or half the time, wherever it is and not only on
  /// the path. Nothing where that was not asked for.
  std::optional<std::int64_t> if_free_ns;
  std::optional<std::int64_t> if_twice_as_fast_ns;
};

/// The paths of the windows divided completely, with most time first. What-ifs of the first `what_ifs` rows.
///
/// Cost: O(n) a what-if.
std::vector<PathRow> path_rows(const Timeline& timeline, const CriticalPathGraph& graph,
                               const std::vector<CriticalWindow>& windows, PathBy by, std::size_t what_ifs);

}  // namespace rangefinder::analysis
