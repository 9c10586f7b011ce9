// SPDX-License-Identifier: MIT
#include "compare/run_speeds.hpp"

#include "base/quantile.hpp"
#include "compare/gate_rule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rangefinder::compare {
namespace {

// Fewer paths are no measure of a machine: one that changed would be a large part of them.
constexpr std::size_t kFewestPaths = 5;
/// The times of shorter paths are mostly chance.
constexpr double kLeastShare = 0.01;
/// Paths that tell the speed of one that is like them. The middle of four holds when one of them changed.
constexpr std::size_t kPathsBeside = 4;
/// Two paths are as far apart as so many of the runs show: load that hits one of them in some runs is not their work.
constexpr double kShareOfRuns = 0.7;

double median_of_values(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return base::quantile(values, 0.5);
}

double usual_step_ns(std::span<const Run> runs) {
  std::vector<double> steps;
  for (const Run& run : runs)
    if (const std::vector<double> series = series_of(run, "step"); !series.empty())
      steps.push_back(figure_of_run(series, default_statistic(MetricUnit::kNanoseconds)));
  return steps.empty() ? 0 : median_of_values(steps);
}

/// How far the ratio of two times goes up and down from run to run, whatever it is on either side.
double distance(const FiguresOfRuns& times, std::span<const double> beside) {
  std::vector<double> apart;
  apart.reserve(times.size());
  const auto add = [&](std::span<const double> side, std::span<const double> other) {
    std::vector<double> ratios;
    for (std::size_t run = 0; run < side.size(); ++run) ratios.push_back(std::log(side[run] / other[run]));
    const double middle = median_of_values(ratios);
    for (const double ratio : ratios) apart.push_back(std::abs(ratio - middle));
  };
  add(times.baseline, beside.first(times.baseline.size()));
  add(times.candidate, beside.subspan(times.baseline.size()));
  std::sort(apart.begin(), apart.end());
  return base::quantile(apart, kShareOfRuns);
}

bool all_above_zero(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return value > 0; });
}

}  // namespace

FiguresOfRuns figures_of_runs(Samples baseline, Samples candidate, Statistic statistic) {
  const auto of = [&](Samples side) {
    std::vector<double> out;
    for (const std::vector<double>& run : side)
      if (!run.empty()) out.push_back(figure_of_run(run, statistic));
    return out;
  };
  return {of(baseline), of(candidate)};
}

bool share_time(std::string_view path, std::string_view other) noexcept {
  if (path.size() > other.size()) std::swap(path, other);
  return other.starts_with(path) && (other.size() == path.size() || other[path.size()] == '/');
}

PathTimes::PathTimes(std::span<const Run> baseline, std::span<const Run> candidate)
    : baseline_runs_(baseline.size()),
      candidate_runs_(candidate.size()),
      speeds_{std::vector<double>(baseline.size(), 1.0), std::vector<double>(candidate.size(), 1.0)} {
  if (baseline.empty() || candidate.empty()) return;
  std::size_t earlier_runs = 0;
  for (const std::span<const Run> side : {baseline, candidate})
    for (const Run& run : side) {
      std::vector<bool> has_inside(run.paths.size());
      for (const PathNode& path : run.paths)
        if (path.around < has_inside.size()) has_inside[path.around] = true;
      for (const Subject& subject : run.subjects) {
        if (subject.kind != SubjectKind::kPath || subject.index >= has_inside.size()) continue;
        const std::vector<double> series = series_of(run, subject);
        if (series.empty()) continue;
        Times& times = paths_[path_text(run, subject.index)];
        times.has_inside = times.has_inside || has_inside[subject.index];
        // One time of each run, in their order: "a/b" is also the name of a range, and an earlier run may have neither.
        if (times.usual.size() != earlier_runs) continue;
        times.usual.push_back(figure_of_run(series, default_statistic(MetricUnit::kNanoseconds)));
      }
      ++earlier_runs;
    }
  const double least = usual_step_ns(baseline) * kLeastShare;
  std::erase_if(paths_, [&](const auto& path) {
    const std::vector<double>& times = path.second.usual;
    return times.size() != baseline_runs_ + candidate_runs_ || !all_above_zero(times) ||
           median_of_values(times) < least;
  });
  for (auto& [path, times] : paths_) {
    const double usual = median_of_values(times.usual);
    for (double& time : times.usual) time /= usual;
  }
  std::vector<const Times*> innermost;
  for (const auto& [path, times] : paths_)
    if (!times.has_inside) innermost.push_back(&times);
  if (innermost.size() >= kFewestPaths) speeds_ = middle_of(innermost);
}

std::optional<RunSpeeds> PathTimes::speeds_beside(std::string_view path, const FiguresOfRuns& times,
                                                  std::span<const std::string_view> without) const {
  if (times.baseline.size() != baseline_runs_ || times.candidate.size() != candidate_runs_) return std::nullopt;
  if (std::min(baseline_runs_, candidate_runs_) < kRunsThatTellAll) return std::nullopt;
  if (!all_above_zero(times.baseline) || !all_above_zero(times.candidate)) return std::nullopt;
  std::vector<std::pair<double, const Times*>> beside;
  for (const auto& [other, of_other] : paths_) {
    const auto shares = [&, &name = other](std::string_view each) { return share_time(each, name); };
    if (shares(path) || std::any_of(without.begin(), without.end(), shares)) continue;
    beside.emplace_back(distance(times, of_other.usual), &of_other);
  }
  if (beside.size() < kFewestPaths) return std::nullopt;
  const auto nearer = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(beside.begin(), beside.end(), nearer);
  std::vector<const Times*> nearest;
  for (std::size_t i = 0; i < kPathsBeside; ++i) nearest.push_back(beside[i].second);
  return middle_of(nearest);
}

RunSpeeds PathTimes::middle_of(std::span<const Times* const> paths) const {
  RunSpeeds out;
  out.paths = paths.size();
  std::vector<double> of_run(paths.size());
  for (std::size_t run = 0; run < baseline_runs_ + candidate_runs_; ++run) {
    for (std::size_t path = 0; path < paths.size(); ++path) of_run[path] = paths[path]->usual[run];
    std::sort(of_run.begin(), of_run.end());
    (run < baseline_runs_ ? out.baseline : out.candidate).push_back(midmean(of_run));
  }
  return out;
}

}  // namespace rangefinder::compare
