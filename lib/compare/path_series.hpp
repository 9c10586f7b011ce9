// SPDX-License-Identifier: MIT
#pragma once

#include "compare/path_alignment.hpp"
#include "compare/side.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace rangefinder::compare {

/// The step values of paths on both sides of a comparison, as DividedRows has their sums: a level that one side alone
/// has is compared with what both sides have of what is in it.
///
///   forward/layers.1  ->  forward/encoder/layers.1: the series of `encoder` in the baseline is that of layers.1
class PathSeries {
 public:
  using Series = std::vector<std::vector<double>>;  // by run and step

  /// `baseline`, `candidate` and `alignment` outlive it.
  PathSeries(const Side& baseline, const Side& candidate, const PathAlignment& alignment);

  /// Of a path by its numbers on both sides, of which one may be kNone.
  ///
  /// Cost: of a level on one side alone, also the paths in it.
  std::pair<Series, Series> of(std::uint32_t in_baseline, std::uint32_t in_candidate) const;

 private:
  struct Paths {
    Paths(const Side& of_side, const std::vector<std::uint32_t>& on_other_side);
    Series series(std::uint32_t path) const { return side.series(SubjectKind::kPath, path); }

    const Side& side;
    const std::vector<std::uint32_t>& same;          // by path: its number on the other side
    std::vector<std::vector<std::uint32_t>> inside;  // by path: those directly in it
  };
  static Series without_level(const Paths& lacking, const Paths& having, std::uint32_t level);

  Paths baseline_, candidate_;
};

}  // namespace rangefinder::compare
