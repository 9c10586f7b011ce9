// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/nsight/name_groups.hpp"
#include "analysis/spread.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

/// Calls and activities by name, of a timeline or of the windows of a capture, which are one timeline whose rows
/// change.
///
/// Memory: 12 bytes a call or activity, of at most `most_kept`; beyond, medians are exact to `precision()`.
class CudaSums {
 public:
  CudaSums(const Timeline& timeline, const SumParts& parts, SumOf what, const KernelNaming& naming,
           std::size_t most_kept = GroupedSamples::kAll)
      : timeline_(timeline), parts_(parts), what_(what), naming_(naming), samples_(most_kept) {}

  CudaSums(const CudaSums&) = delete;
  CudaSums& operator=(const CudaSums&) = delete;

  /// Of the rows that the timeline holds now; of calls, the first `own_calls`.
  void add(std::size_t own_calls);
  /// Ordered by total, greatest first, then name.
  std::vector<SumRow> rows() const;
  const Labels& labels() const noexcept { return labels_; }
  bool is_exact() const noexcept { return samples_.is_exact(); }
  std::string precision() const { return samples_.precision(); }
  std::uint64_t memory_bytes() const noexcept { return samples_.memory_bytes() + groups_.memory_bytes(); }

 private:
  void add_calls(std::size_t own_calls);
  void add_activities();
  std::uint32_t group_of(Category category, Label name) {
    return groups_.of(name, static_cast<std::uint8_t>(category));
  }

  const Timeline& timeline_;
  SumParts parts_;
  SumOf what_;
  KernelNaming naming_;
  Labels labels_{timeline_};
  NameGroups groups_{labels_};
  GroupedSamples samples_;
};

/// All activities, or the kernels alone, by begin; of equal begin kernels, copies, memsets, each in order of their
/// rows.
std::vector<ActivityIndex> activities_by_begin(const Timeline& timeline);

}  // namespace rangefinder::analysis::nsight
