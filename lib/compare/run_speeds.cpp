// SPDX-License-Identifier: MIT
#include "base/quantile.hpp"
#include "compare/gate_rule.hpp"
#include "compare/metric_changes.hpp"

#include <algorithm>
#include <map>

namespace rangefinder::compare {
namespace {

// Fewer paths are no measure of a machine: one that changed would be a large part of them.
constexpr std::size_t kFewestPaths = 5;
/// The times of shorter paths are mostly chance.
constexpr double kLeastShare = 0.01;

double median_of_values(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return base::quantile(values, 0.5);
}

/// Paths without a path inside, by their text, with their figure.
std::map<std::string, double> innermost_paths(const Run& run) {
  std::vector<bool> has_inside(run.paths.size());
  for (const PathNode& path : run.paths)
    if (path.around < has_inside.size()) has_inside[path.around] = true;
  std::map<std::string, double> out;
  for (const Subject& subject : run.subjects) {
    if (subject.kind != SubjectKind::kPath || subject.index >= has_inside.size() || has_inside[subject.index]) continue;
    const std::vector<double> series = series_of(run, subject);
    if (series.empty()) continue;
    out.emplace(path_text(run, subject.index), figure_of_run(series, default_statistic(MetricUnit::kNanoseconds)));
  }
  return out;
}

/// What paths took in each run, of those that all runs have.
using FiguresByPath = std::map<std::string, std::vector<double>>;

void add_runs(std::span<const Run> runs, FiguresByPath& figures) {
  for (const Run& run : runs)
    for (const auto& [path, figure] : innermost_paths(run)) figures[path].push_back(figure);
}

void leave_out_short(std::span<const Run> runs, std::size_t count, FiguresByPath& figures) {
  std::vector<double> steps;
  for (const Run& run : runs)
    if (const std::vector<double> series = series_of(run, "step"); !series.empty())
      steps.push_back(figure_of_run(series, default_statistic(MetricUnit::kNanoseconds)));
  const double least = steps.empty() ? 0 : median_of_values(steps) * kLeastShare;
  std::erase_if(figures, [&](const auto& path) {
    const std::vector<double>& each = path.second;
    return each.size() != count || median_of_values(each) < least || *std::min_element(each.begin(), each.end()) <= 0;
  });
}

}  // namespace

RunSpeeds run_speeds(std::span<const Run> baseline, std::span<const Run> candidate) {
  RunSpeeds out{std::vector<double>(baseline.size(), 1.0), std::vector<double>(candidate.size(), 1.0)};
  if (baseline.empty() || candidate.empty()) return out;
  FiguresByPath figures;
  add_runs(baseline, figures);
  add_runs(candidate, figures);
  leave_out_short(baseline, baseline.size() + candidate.size(), figures);
  if (figures.size() < kFewestPaths) return out;
  out.paths = figures.size();
  for (auto& [path, each] : figures) {
    const double usual = median_of_values(each);
    for (double& figure : each) figure /= usual;
  }
  for (std::size_t run = 0; run < baseline.size() + candidate.size(); ++run) {
    std::vector<double> of_run;
    for (const auto& [path, each] : figures) of_run.push_back(each[run]);
    std::sort(of_run.begin(), of_run.end());
    const double speed = midmean(of_run);
    if (run < baseline.size())
      out.baseline[run] = speed;
    else
      out.candidate[run - baseline.size()] = speed;
  }
  return out;
}

}  // namespace rangefinder::compare
