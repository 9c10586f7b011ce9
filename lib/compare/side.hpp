// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rangefinder::compare {

/// The runs of one side of a comparison, put together by their names.
struct Side {
  std::span<const Run> runs;
  std::vector<PathNode> paths;  ///< of all runs; those around come first
  std::vector<std::string> operators, kernel_families, collectives;
  std::vector<Cell> cells;  ///< sums over runs, in the order of key_of
  std::uint64_t counted_steps = 0;
  /// By SubjectKind and index: the subject of each run, null where the run has none.
  std::array<std::vector<std::vector<const Subject*>>, kSubjectKinds> subjects;

  /// `of_runs` outlives it.
  explicit Side(std::span<const Run> of_runs);
  /// The step values of a subject, run by run. `index` kNone, or no run has it: values of 0 where the run has steps.
  std::vector<std::vector<double>> series(SubjectKind kind, std::uint32_t index) const;
};

}  // namespace rangefinder::compare
