// SPDX-License-Identifier: MIT
#include "compare/metric_changes.hpp"

#include "compare/gate_rule.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace rangefinder::compare {
namespace {

using SeriesOfRuns = std::vector<std::vector<double>>;

/// Metrics of what may be missing in a run: "path:train", and not "step".
bool is_of_subject(std::string_view metric) noexcept { return metric.find(':') != std::string_view::npos; }

constexpr std::string_view kPath = "path:";

SeriesOfRuns one_value_a_run(const std::vector<double>& values) {
  SeriesOfRuns out;
  for (const double value : values) out.push_back({value});
  return out;
}

SeriesOfRuns at_usual_speed(Samples runs, const std::vector<double>& speeds) {
  SeriesOfRuns out(runs.begin(), runs.end());
  for (std::size_t run = 0; run < out.size() && run < speeds.size(); ++run)
    for (double& value : out[run]) value /= speeds[run];
  return out;
}

/// "train/forward" of "path:train/forward"; empty: the metric is of something else.
std::string_view path_of(const Metric& metric) noexcept {
  const std::string_view name = metric.name;
  return name.starts_with(kPath) ? name.substr(kPath.size()) : std::string_view();
}

std::optional<RelativeChange> change_beside(const Metric& metric, const FiguresOfRuns& figures,
                                            std::span<const std::string_view> without, const PathTimes& times,
                                            const StatisticsOptions& options) {
  if (path_of(metric).empty()) return std::nullopt;
  const std::optional<RunSpeeds> speeds = times.speeds_beside(path_of(metric), figures, without);
  if (!speeds) return std::nullopt;
  return RelativeChange{change_of(at_usual_speed(one_value_a_run(figures.baseline), speeds->baseline),
                                  at_usual_speed(one_value_a_run(figures.candidate), speeds->candidate),
                                  Statistic::mean(), noise_of(metric.unit), options),
                        true};
}

bool is_called(Verdict verdict) noexcept { return verdict == Verdict::kBetter || verdict == Verdict::kWorse; }

bool is_called_beside(const JudgedChange& change) noexcept {
  return change.decided_by_relative && change.relative->beside_paths_alike;
}

double errors_away(const Change& change) { return std::abs(std::log(change.ratio)) / change.of_log_ratio.error; }

Verdict turned(Verdict verdict) noexcept {
  if (verdict == Verdict::kBetter) return Verdict::kWorse;
  return verdict == Verdict::kWorse ? Verdict::kBetter : verdict;
}

}  // namespace

Noise noise_of(MetricUnit unit) noexcept {
  return unit == MetricUnit::kBytes || unit == MetricUnit::kCount ? Noise::kExact : Noise::kTimed;
}

std::optional<RelativeChange> relative_change(Samples baseline, Samples candidate, const Metric& metric,
                                              Statistic statistic, const PathTimes& times,
                                              const StatisticsOptions& options) {
  if (metric.unit != MetricUnit::kNanoseconds) return std::nullopt;
  const FiguresOfRuns figures = figures_of_runs(baseline, candidate, statistic);
  if (std::optional<RelativeChange> beside = change_beside(metric, figures, {}, times, options)) return beside;
  const RunSpeeds& speeds = times.speeds();
  if (speeds.paths == 0) return std::nullopt;
  return RelativeChange{change_of(at_usual_speed(baseline, speeds.baseline),
                                  at_usual_speed(candidate, speeds.candidate), statistic, noise_of(metric.unit),
                                  options)};
}

std::optional<Change> speed_change(const PathTimes& times, const StatisticsOptions& options) {
  const RunSpeeds& speeds = times.speeds();
  if (speeds.paths == 0) return std::nullopt;
  return change_of(one_value_a_run(speeds.baseline), one_value_a_run(speeds.candidate), Statistic::mean(),
                   Noise::kTimed, options);
}

ChangeJudge::ChangeJudge(const PathTimes& times, const ComparisonOptions& options) : times_(times), options_(options) {}

void ChangeJudge::add(Samples baseline, Samples candidate, const Metric& metric, Statistic statistic) {
  Added out{{}, metric, figures_of_runs(baseline, candidate, statistic)};
  out.judged.change = change_of(baseline, candidate, statistic, noise_of(metric.unit), options_.statistics);
  if (out.judged.change.measured())
    out.judged.relative = relative_change(baseline, candidate, metric, statistic, times_, options_.statistics);
  // Neighbours on a machine make two kinds of runs, fast and slow. Which kind a side has more of is chance, and ranks
  // say how much of it, whatever the times are.
  if (noise_of(metric.unit) == Noise::kTimed)
    out.judged.change.p_value =
        std::max(out.judged.change.p_value, rank_chance(out.figures.baseline, out.figures.candidate));
  added_.push_back(std::move(out));
}

std::vector<JudgedChange> ChangeJudge::judged() const {
  std::vector<JudgedChange> changes;
  for (const Added& added : added_) changes.push_back(added.judged);
  std::vector<JudgedChange> out = judged(changes);
  if (!look_again(out, changes)) return out;
  const std::vector<JudgedChange> again = judged(std::move(changes));
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_called_beside(out[i])) out[i] = again[i];
  return out;
}

/// A path that changed makes those look changed, to the other side, that are measured by it. So paths that are called
/// changed by others like them are measured once more, without those that changed more certainly.
bool ChangeJudge::look_again(const std::vector<JudgedChange>& first, std::vector<JudgedChange>& again) const {
  std::vector<std::size_t> called;
  std::vector<std::string_view> changed;  // paths, the most certain first
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::string_view path = path_of(added_[i].metric);
    if (path.empty() || !is_called(first[i].verdict)) continue;
    if (is_called_beside(first[i]))
      called.push_back(i);
    else
      changed.push_back(path);
  }
  std::stable_sort(called.begin(), called.end(), [&](std::size_t a, std::size_t b) {
    return errors_away(first[a].relative->change) > errors_away(first[b].relative->change);
  });
  bool is_measured = false;
  for (const std::size_t i : called) {
    const std::string_view path = path_of(added_[i].metric);
    std::vector<std::string_view> without = changed;
    std::erase_if(without, [&](std::string_view other) { return share_time(path, other); });
    changed.push_back(path);
    // Of too few that are left, nothing is told.
    if (without.empty()) continue;
    again[i].relative = change_beside(added_[i].metric, added_[i].figures, without, times_, options_.statistics);
    is_measured = true;
  }
  return is_measured;
}

std::vector<JudgedChange> ChangeJudge::judged(std::vector<JudgedChange> out) const {
  std::vector<double> chances;
  for (const JudgedChange& change : out) {
    if (change.change.measured()) chances.push_back(change.change.p_value);
    if (change.relative) chances.push_back(change.relative->change.p_value);
  }
  const std::vector<double> adjusted = adjusted_p_values(chances);
  auto next = adjusted.begin();
  for (std::size_t i = 0; i < out.size(); ++i) {
    JudgedChange& change = out[i];
    if (change.change.measured()) change.p_value = *next++;
    if (change.relative) change.relative_p_value = *next++;
    change.verdict = verdict_of(change.change, change.p_value, options_.judge);
    if (change.verdict == Verdict::kCannotTell && change.relative) {
      const Verdict relative = verdict_of(change.relative->change, change.relative_p_value, options_.judge);
      change.decided_by_relative = is_called(relative) && (change.relative->beside_paths_alike ||
                                                           points_as(change.relative->change, change.change));
      if (change.decided_by_relative) change.verdict = relative;
    }
    if (!added_[i].metric.less_is_better) change.verdict = turned(change.verdict);
  }
  return out;
}

std::vector<Metric> metrics_of(std::span<const Run> runs, bool figures) {
  std::vector<Metric> out;
  std::unordered_set<std::string> known;
  for (const Run& run : runs)
    for (Metric& metric : metrics_of(run, figures))
      if (known.insert(metric.name).second) out.push_back(std::move(metric));
  return out;
}

SideSeries::SideSeries(std::span<const Run> runs) : runs_(runs), subjects_(runs.size()) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    // One a subject, in their order, behind those of steps.
    auto subject = runs[i].subjects.begin();
    for (Metric& metric : metrics_of(runs[i])) {
      if (!is_of_subject(metric.name)) continue;
      subject = std::find_if(subject, runs[i].subjects.end(),
                             [](const Subject& each) { return each.kind != SubjectKind::kStep; });
      if (subject == runs[i].subjects.end()) break;
      subjects_[i].emplace_back(std::move(metric.name), &*subject++);
    }
    std::sort(subjects_[i].begin(), subjects_[i].end());
  }
}

std::vector<std::vector<double>> SideSeries::of(std::string_view metric) const {
  std::vector<std::vector<double>> out;
  bool known = false;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const auto found =
        std::lower_bound(subjects_[i].begin(), subjects_[i].end(), metric,
                         [](const auto& subject, std::string_view name) { return subject.first < name; });
    const bool is_subject = found != subjects_[i].end() && found->first == metric;
    out.push_back(is_subject ? series_of(runs_[i], *found->second) : series_of(runs_[i], metric));
    known |= !out.back().empty();
  }
  if (!known || !is_of_subject(metric)) return out;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!out[i].empty()) continue;
    const auto& steps = runs_[i].steps;
    out[i].resize(static_cast<std::size_t>(
        std::count_if(steps.begin(), steps.end(), [](const RunStep& step) { return step.counts(); })));
  }
  return out;
}

MetricComparison compare_metrics(std::span<const Run> baseline, std::span<const Run> candidate,
                                 const std::vector<Metric>& metrics, const ComparisonOptions& options) {
  const PathTimes times(baseline, candidate);
  ChangeJudge judge(times, options);
  const SideSeries before(baseline), after(candidate);
  for (const Metric& metric : metrics)
    judge.add(before.of(metric.name), after.of(metric.name), metric, default_statistic(metric.unit));
  MetricComparison out;
  out.speed = speed_change(times, options.statistics);
  std::vector<JudgedChange> judged = judge.judged();
  for (std::size_t i = 0; i < metrics.size(); ++i)
    out.changes.push_back({judged[i], metrics[i], default_statistic(metrics[i].unit)});
  return out;
}

}  // namespace rangefinder::compare
