// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/kernel_families.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// Kernels that take less time than `usual_ns`, or less than the median of the calls that launch kernels: what launches
/// them matters as much as what they do. Communication is not among them: it waits for others.
///
/// Kernels of one name, grid and block are alike, and their mean decides for all of them: so a loop's kernels are short
/// or not in all of its runs.
///
/// Cost: O(n) in activities; 1 bit an activity.
class ShortKernels {
 public:
  static constexpr std::int64_t kUsualNs = 10'000;  ///< TraceLens's too
  ShortKernels(const Timeline& timeline, const KernelFamilies& families, std::int64_t usual_ns = kUsualNs);

  bool has(ActivityIndex activity) const noexcept { return short_[activity]; }
  /// Kernels whose mean is less are short.
  std::int64_t limit_ns() const noexcept { return limit_ns_; }

 private:
  std::int64_t limit_ns_;
  std::vector<bool> short_;
};

/// Short kernels of one name, operator and family.
struct ShortKernelTotal {
  StringId operator_name = StringId::kEmpty;  ///< the innermost around the launch; kEmpty: none
  StringId kernel = StringId::kEmpty;
  KernelFamily family = KernelFamily::kOther;
  std::uint64_t count = 0;
  std::int64_t gpu_sum_ns = 0;
};

/// Most time first.
std::vector<ShortKernelTotal> short_kernel_totals(const Timeline& timeline, const KernelFamilies& families,
                                                  const ShortKernels& kernels);

}  // namespace rangefinder::analysis
