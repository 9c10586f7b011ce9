// SPDX-License-Identifier: MIT
#pragma once

#include "projection/stream_rows.hpp"

#include <rangefinder/projection.hpp>

#include <vector>

namespace rangefinder::projection {

/// What the sweeps write to.
struct Output {
  Projection& projection;
  StreamRows exclusive_rows;
  StreamRows inclusive_rows;
  /// False: only owners are found.
  bool wants_figures = true;
  /// Ranges whose exclusive figures are left to be found from `owner` at the end, by sorting.
  std::vector<RangeIndex> exclusive_by_owner;
};

/// Where an output stood, to go back to.
struct OutputMark {
  std::size_t exclusive_rows;
  std::size_t inclusive_rows;
  std::size_t exclusive_by_owner;

  explicit OutputMark(const Output& output)
      : exclusive_rows(output.exclusive_rows.size()),
        inclusive_rows(output.inclusive_rows.size()),
        exclusive_by_owner(output.exclusive_by_owner.size()) {}
  void restore(Output& output) const {
    output.exclusive_rows.shrink(exclusive_rows);
    output.inclusive_rows.shrink(inclusive_rows);
    output.exclusive_by_owner.resize(exclusive_by_owner);
  }
};

}  // namespace rangefinder::projection
