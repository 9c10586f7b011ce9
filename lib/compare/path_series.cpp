// SPDX-License-Identifier: MIT
#include "compare/path_series.hpp"

#include <algorithm>
#include <cstddef>

namespace rangefinder::compare {
namespace {

void add_values(PathSeries::Series& to, const PathSeries::Series& values, double sign) {
  for (std::size_t run = 0; run < to.size(); ++run)
    for (std::size_t step = 0; step < to[run].size() && step < values[run].size(); ++step)
      to[run][step] += sign * values[run][step];
}

}  // namespace

PathSeries::Paths::Paths(const Side& of_side, const std::vector<std::uint32_t>& on_other_side)
    : side(of_side), same(on_other_side), inside(of_side.paths.size()) {
  for (std::uint32_t path = 0; path < side.paths.size(); ++path)
    if (const std::uint32_t around = side.paths[path].around; around != kNone) inside[around].push_back(path);
}

PathSeries::PathSeries(const Side& baseline, const Side& candidate, const PathAlignment& alignment)
    : baseline_(baseline, alignment.candidate_of), candidate_(candidate, alignment.baseline_of) {}

std::pair<PathSeries::Series, PathSeries::Series> PathSeries::of(std::uint32_t in_baseline,
                                                                 std::uint32_t in_candidate) const {
  return {in_baseline != kNone ? baseline_.series(in_baseline) : without_level(baseline_, candidate_, in_candidate),
          in_candidate != kNone ? candidate_.series(in_candidate) : without_level(candidate_, baseline_, in_baseline)};
}

/// What both sides have of what is in the level: each path with what is in it, less what was in it and is not now.
PathSeries::Series PathSeries::without_level(const Paths& lacking, const Paths& having, std::uint32_t level) {
  std::vector<std::uint32_t> paths;  // of `lacking`
  std::vector<std::uint32_t> left{level};
  while (!left.empty()) {
    const std::uint32_t at = left.back();
    left.pop_back();
    left.insert(left.end(), having.inside[at].begin(), having.inside[at].end());
    if (having.same[at] != kNone) paths.push_back(having.same[at]);
  }
  std::sort(paths.begin(), paths.end());
  const auto is_in_level = [&](std::uint32_t path) { return std::binary_search(paths.begin(), paths.end(), path); };
  Series sum = lacking.series(kNone);
  for (const std::uint32_t path : paths) {
    if (!is_in_level(lacking.side.paths[path].around)) add_values(sum, lacking.series(path), 1);
    for (const std::uint32_t each : lacking.inside[path])
      if (!is_in_level(each)) add_values(sum, lacking.series(each), -1);
  }
  return sum;
}

}  // namespace rangefinder::compare
