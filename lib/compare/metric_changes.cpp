// SPDX-License-Identifier: MIT
#include "compare/metric_changes.hpp"

#include "compare/gate_rule.hpp"

#include <algorithm>
#include <unordered_set>

namespace rangefinder::compare {
namespace {

using SeriesOfRuns = std::vector<std::vector<double>>;

/// Metrics of what may be missing in a run: "path:train", and not "step".
bool is_of_subject(std::string_view metric) noexcept { return metric.find(':') != std::string_view::npos; }

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

Verdict turned(Verdict verdict) noexcept {
  if (verdict == Verdict::kBetter) return Verdict::kWorse;
  return verdict == Verdict::kWorse ? Verdict::kBetter : verdict;
}

}  // namespace

Noise noise_of(MetricUnit unit) noexcept {
  return unit == MetricUnit::kBytes || unit == MetricUnit::kCount ? Noise::kExact : Noise::kTimed;
}

std::optional<Change> relative_change(Samples baseline, Samples candidate, const Metric& metric, Statistic statistic,
                                      const RunSpeeds& speeds, const StatisticsOptions& options) {
  if (speeds.paths == 0 || metric.unit != MetricUnit::kNanoseconds) return std::nullopt;
  return change_of(at_usual_speed(baseline, speeds.baseline), at_usual_speed(candidate, speeds.candidate), statistic,
                   noise_of(metric.unit), options);
}

ChangeJudge::ChangeJudge(RunSpeeds speeds, const ComparisonOptions& options)
    : speeds_(std::move(speeds)), options_(options) {}

void ChangeJudge::add(Samples baseline, Samples candidate, const Metric& metric, Statistic statistic) {
  JudgedChange out;
  out.change = change_of(baseline, candidate, statistic, noise_of(metric.unit), options_.statistics);
  if (out.change.measured())
    out.relative = relative_change(baseline, candidate, metric, statistic, speeds_, options_.statistics);
  changes_.push_back(out);
  less_is_better_.push_back(metric.less_is_better);
}

std::vector<JudgedChange> ChangeJudge::judged() const {
  std::vector<JudgedChange> out = changes_;
  std::vector<double> chances;
  for (const JudgedChange& change : out) {
    if (change.change.measured()) chances.push_back(change.change.p_value);
    if (change.relative) chances.push_back(change.relative->p_value);
  }
  const std::vector<double> adjusted = adjusted_p_values(chances);
  auto next = adjusted.begin();
  for (std::size_t i = 0; i < out.size(); ++i) {
    JudgedChange& change = out[i];
    if (change.change.measured()) change.p_value = *next++;
    if (change.relative) change.relative_p_value = *next++;
    change.verdict = verdict_of(change.change, change.p_value, options_.judge);
    if (change.verdict == Verdict::kCannotTell && change.relative) {
      const Verdict relative = verdict_of(*change.relative, change.relative_p_value, options_.judge);
      change.decided_by_relative =
          (relative == Verdict::kBetter || relative == Verdict::kWorse) && points_as(*change.relative, change.change);
      if (change.decided_by_relative) change.verdict = relative;
    }
    if (!less_is_better_[i]) change.verdict = turned(change.verdict);
  }
  return out;
}

std::optional<Change> ChangeJudge::speed() const {
  if (speeds_.paths == 0) return std::nullopt;
  return change_of(one_value_a_run(speeds_.baseline), one_value_a_run(speeds_.candidate), Statistic::mean(),
                   Noise::kTimed, options_.statistics);
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
  ChangeJudge judge(run_speeds(baseline, candidate), options);
  const SideSeries before(baseline), after(candidate);
  for (const Metric& metric : metrics)
    judge.add(before.of(metric.name), after.of(metric.name), metric, default_statistic(metric.unit));
  MetricComparison out;
  out.speed = judge.speed();
  std::vector<JudgedChange> judged = judge.judged();
  for (std::size_t i = 0; i < metrics.size(); ++i)
    out.changes.push_back({judged[i], metrics[i], default_statistic(metrics[i].unit)});
  return out;
}

}  // namespace rangefinder::compare
