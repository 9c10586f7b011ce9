// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
#include "projection/flat_map.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::compare {

/// What the time of a step is added up by.
struct CellKey {
  std::uint32_t path = kNone;
  std::uint32_t op = kNone;
  std::uint32_t kernel_family = kNone;
  std::uint32_t collective = kNone;
  StringId kernel = StringId::kEmpty;  ///< its name
};

/// Amounts by step and cell, and what is made of them.
///
/// Cost: constant time each; memory for each pair of a step and a cell that has anything.
class RunCells {
 public:
  /// Number of a cell.
  std::uint32_t cell(const CellKey& key);
  /// What a cell has in a step. Valid until the next call.
  Amounts& at(std::uint32_t step, std::uint32_t cell);

  /// Calls of a path whose runs go on over several steps say nothing of a step: they are forgotten.
  void forget_calls(const std::vector<bool>& of_paths);
  /// Fills Run::subjects and Run::cells; of cells that are in a step that counts. Names are the timeline's.
  void fill(const Timeline& timeline, Run& run) &&;

 private:
  struct Entry {
    std::uint32_t step;
    std::uint32_t cell;
    Amounts amounts;
  };
  void add_subjects(Run& run) const;
  void add_cells(const Timeline& timeline, Run& run) const;

  projection::FlatMap places_, works_, kinds_, cells_;  // path and operator; family and collective; both; and kernel
  std::vector<CellKey> keys_;
  projection::FlatMap rows_;  // by step and cell
  std::vector<Entry> entries_;
};

}  // namespace rangefinder::compare
