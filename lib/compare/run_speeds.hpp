// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"
#include "compare/statistics.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// How fast the machine was while each run was recorded, as the program's own paths tell it.
namespace rangefinder::compare {

/// How slow each run was, beside the others: 1 is usual, 1.1 takes 10 % longer.
struct RunSpeeds {
  std::vector<double> baseline;
  std::vector<double> candidate;
  /// That tell it. 0: too few, and nothing is known.
  std::size_t paths = 0;
};

/// What stands for each run of both sides, by Statistic.
struct FiguresOfRuns {
  std::vector<double> baseline;
  std::vector<double> candidate;

  std::size_t size() const noexcept { return baseline.size() + candidate.size(); }
};
FiguresOfRuns figures_of_runs(Samples baseline, Samples candidate, Statistic statistic);

/// Whether one path is in the other, or both are the same: "a/b" and "a".
bool share_time(std::string_view path, std::string_view other) noexcept;

/// What paths took in the runs of two sides: those that all runs have, and that take 1 % of a step or more.
class PathTimes {
 public:
  PathTimes(std::span<const Run> baseline, std::span<const Run> candidate);

  /// By all paths without a path inside: each one's time by what it usually takes, of these the half in the middle.
  ///
  /// A machine under load, or at a lower clock, slows all paths of a run; a change of the program slows some. While
  /// these are few, the middle stays where it is. (Anders and Huber 2010 scale samples by the median, DESeq.)
  const RunSpeeds& speeds() const noexcept { return speeds_; }

  /// By the four paths whose times go up and down with those of `path` the most: load slows paths that wait for memory
  /// by a half and others by nothing, and the four do the same kind of work as `path`. Paths that share time with it or
  /// with one of `without` are none of them.
  ///
  /// Nothing where a side has less than eight runs, since that shows no such likeness, or less than five paths are
  /// left.
  ///
  /// Cost: O(paths * runs log runs).
  std::optional<RunSpeeds> speeds_beside(std::string_view path, const FiguresOfRuns& times,
                                         std::span<const std::string_view> without = {}) const;

 private:
  struct Times {
    bool has_inside = false;
    std::vector<double> usual;  ///< by run, baseline first: time / median of all runs
  };

  RunSpeeds middle_of(std::span<const Times* const> paths) const;

  std::size_t baseline_runs_ = 0, candidate_runs_ = 0;
  std::map<std::string, Times, std::less<>> paths_;
  RunSpeeds speeds_;
};

}  // namespace rangefinder::compare
