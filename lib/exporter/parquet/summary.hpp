// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/parquet/range_paths.hpp"
#include "projection/figures.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace rangefinder::parquet {

/// What an activity is for the summaries.
struct SummedActivity {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t step;    ///< kNoTime: none
  std::uint32_t owner;  ///< a path, or a value of Unowned
  StringId name;
  ActivityKind kind;
  bool communication;
  std::uint64_t bytes;
  std::int64_t launch_delay_ns;
};

/// Figures of a process by step and range, by step, and by kernel. All of them are integers that add up, so that every
/// engine finds the same totals.
class Summary {
 public:
  struct Cell {
    std::int64_t step;
    std::uint32_t owner;
    friend auto operator<=>(const Cell&, const Cell&) = default;
  };
  struct CellFigures {
    std::uint64_t runs = 0;
    std::int64_t host_ns = 0;
    std::uint64_t gpu_ops = 0;
    std::int64_t gpu_sum_ns = 0;
    std::int64_t gpu_inclusive_ns = 0;
    std::uint64_t bytes = 0;
    std::int64_t launch_delay_ns = 0;
  };
  struct StepFigures {
    bool finished = false;
    std::int64_t begin_ns = kNoTime;
    std::int64_t end_ns = kNoTime;
    std::uint64_t items = 0;
    std::uint64_t gpu_ops = 0;
    std::int64_t gpu_sum_ns = 0;
    projection::RunningUnion busy;  ///< any device works for the step
    projection::RunningUnion work;  ///< likewise, at anything but communication
  };
  struct KernelKey {
    ActivityKind kind;
    StringId name;
    bool communication;
    friend auto operator<=>(const KernelKey&, const KernelKey&) = default;
  };
  struct KernelFigures {
    std::uint64_t gpu_ops = 0;
    std::int64_t gpu_sum_ns = 0;
    std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t most_ns = 0;
    std::uint64_t bytes = 0;
  };

  void add(const SummedActivity& activity);
  /// A run of a range on the host.
  void add_run(std::int64_t step, std::uint32_t path, std::int64_t host_ns);
  void add_step(std::int64_t number, std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t items);

  using Cells = std::map<Cell, CellFigures>;
  std::size_t cell_count() const noexcept { return cells_.size(); }
  /// Takes out the cells of all steps but the newest ones, to which more is likely to come. What comes to a step that
  /// was taken is in another cell: those of the same step and owner add up.
  Cells take_earlier(const RangePaths& paths);
  Cells take_all(const RangePaths& paths);

  const std::map<std::int64_t, StepFigures>& steps() const noexcept { return steps_; }
  const std::map<KernelKey, KernelFigures>& kernels() const noexcept { return kernels_; }
  const Account& account() const noexcept { return account_; }

 private:
  Cells take_before(Cells::iterator end, const RangePaths& paths);
  KernelFigures& kernel(const KernelKey& key);

  Cells cells_;
  std::map<std::int64_t, StepFigures> steps_;
  std::map<KernelKey, KernelFigures> kernels_;
  Account account_;
  // Most activities are of the same cell and step as the one before.
  Cell last_cell_{};
  CellFigures* last_figures_ = nullptr;
  std::int64_t last_step_ = kNoTime;
  StepFigures* last_step_figures_ = nullptr;
  struct KnownKernel {
    KernelKey key{};
    KernelFigures* figures = nullptr;
  };
  std::vector<KnownKernel> known_kernels_;  // by name: the one that came last
};

}  // namespace rangefinder::parquet
