// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/spread.hpp"

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::nsight {

/// How a kernel is named in a report, after its name: `:base`, `:mangled`, `:nvtx-name`.
struct KernelNaming {
  KernelName form = KernelName::kFull;
  bool innermost_range = false;  ///< with the innermost range around its launch in front
};

/// The label of every activity: kernels by `naming`, copies and memsets by operation.
std::vector<Label> activity_labels(const Timeline& timeline, const KernelNaming& naming, Labels& labels);

enum class Category : std::uint8_t { kApi, kKernel, kMemory };
std::string_view category_name(Category category) noexcept;

/// A group of a summary.
struct SumRow {
  Category category;
  Label name;
  Spread spread;
};

/// What a summary sums.
enum class SumOf : std::uint8_t { kDuration, kBytes };
struct SumParts {
  bool calls = false;
  bool kernels = false;
  bool memory = false;
};
/// Ordered by total, greatest first, then name.
std::vector<SumRow> cuda_sum(const Timeline& timeline, const SumParts& parts, SumOf what, const KernelNaming& naming,
                             Labels& labels);

/// All activities, or the kernels alone, by begin; of equal begin kernels, copies, memsets, each in order of their
/// rows.
std::vector<ActivityIndex> activities_by_begin(const Timeline& timeline);

}  // namespace rangefinder::analysis::nsight
