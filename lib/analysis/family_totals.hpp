// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/kernel_families.hpp"
#include "analysis/range_rollup.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// Operations of one family, of all or of one range.
struct FamilyTotal {
  KernelFamily family = KernelFamily::kOther;
  StringId range = StringId::kEmpty;  ///< by range: its name; kEmpty where `unowned` is set
  std::optional<Unowned> unowned;
  std::uint64_t ops = 0;
  std::int64_t gpu_sum_ns = 0;

  // Not by range.
  std::int64_t gpu_busy_ns = 0;               ///< union per device, added over devices
  std::uint64_t names = 0;                    ///< kernels of different names
  StringId main_kernel = StringId::kEmpty;    ///< the name with most time
  StringId main_operator = StringId::kEmpty;  ///< the operator whose launches took most time; kEmpty: none
};

/// A row for each family that has operations, most time first.
///
/// Cost: O(n log n) in activities.
std::vector<FamilyTotal> family_totals(const Timeline& timeline, const KernelFamilies& families);

/// A row for each name of range and family: the work of the ranges of that name and of all inside them; a range inside
/// one of its own name adds nothing. Ranges in the order of the first of each name, then what no range owns; families
/// of one range with most time first.
///
/// Cost: O(n log n) in activities and ranges.
std::vector<FamilyTotal> family_totals_of_ranges(const Timeline& timeline, const Projection& projection,
                                                 const ProjectionOptions& options, const KernelFamilies& families);

}  // namespace rangefinder::analysis
