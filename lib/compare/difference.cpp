// SPDX-License-Identifier: MIT
#include "compare/difference.hpp"

#include "base/quantile.hpp"
#include "compare/compared_side.hpp"
#include "compare/divided_rows.hpp"
#include "compare/gate_rule.hpp"
#include "compare/metric_changes.hpp"
#include "compare/path_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace rangefinder::compare {
namespace {

constexpr std::int64_t kLeastJudged = 1'000;  // of a step, of rows that are judged

std::int64_t to_ns(double value) noexcept {
  constexpr double kMost = 9.2e18;
  return std::isfinite(value) ? static_cast<std::int64_t>(std::llround(std::clamp(value, -kMost, kMost))) : 0;
}

constexpr std::array<std::pair<SubjectKind, DifferenceBy>, kSubjectKinds> kSections{{
    {SubjectKind::kStep, DifferenceBy::kStep},
    {SubjectKind::kPath, DifferenceBy::kPath},
    {SubjectKind::kOperator, DifferenceBy::kOperator},
    {SubjectKind::kKernelFamily, DifferenceBy::kKernelFamily},
    {SubjectKind::kCollective, DifferenceBy::kCollective},
}};

PathChange change_of(PathFate fate) noexcept {
  switch (fate) {
    case PathFate::kSame:
      return PathChange::kSame;
    case PathFate::kRenumbered:
      return PathChange::kRenumbered;
    case PathFate::kMoved:
      return PathChange::kMoved;
    case PathFate::kNew:
      return PathChange::kNew;
    case PathFate::kGone:
      return PathChange::kGone;
  }
  return PathChange::kSame;
}

ChangeVerdict verdict_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kSame:
      return ChangeVerdict::kSame;
    case Verdict::kBetter:
      return ChangeVerdict::kBetter;
    case Verdict::kWorse:
      return ChangeVerdict::kWorse;
    case Verdict::kCannotTell:
      return ChangeVerdict::kCannotTell;
  }
  return ChangeVerdict::kCannotTell;
}

std::string joined_names(const std::vector<std::string_view>& from_inside) {
  std::string text;
  for (auto name = from_inside.rbegin(); name != from_inside.rend(); ++name)
    text.append(text.empty() ? "" : "/").append(*name);
  return text;
}

std::string text_of_path(const std::vector<PathNode>& paths, std::uint32_t path) {
  std::vector<std::string_view> names;
  for (; path < paths.size(); path = paths[path].around) names.push_back(paths[path].name);
  return joined_names(names);
}

std::uint64_t size_of(std::int64_t change) noexcept {
  const auto size = static_cast<std::uint64_t>(change);
  return change < 0 ? 0 - size : size;
}

/// One or two steps say nothing of how much steps differ.
bool has_too_few_steps(std::span<const Run> runs) {
  constexpr std::size_t kFewestSteps = 3;
  std::size_t steps = 0;
  for (const Run& run : runs)
    for (const RunStep& step : run.steps) steps += step.counts() && step.places != 0 ? 1 : 0;
  return steps < kFewestSteps;
}

class Differences {
 public:
  Differences(const Side& baseline, const Side& candidate)
      : baseline_(baseline), candidate_(candidate), rows_(baseline, candidate) {}

  std::vector<TimeDifference> all() const {
    std::vector<NumberedDifference> rows;
    for (const auto& [kind, by] : kSections) {
      const auto first = static_cast<std::ptrdiff_t>(rows.size());
      const std::vector<DividedRow>& divided = rows_.rows(kind);
      for (std::uint32_t row = 0; row < divided.size(); ++row)
        if (divided[row].occurs) rows.push_back({kind, row, difference(kind, by, row)});
      std::stable_sort(rows.begin() + first, rows.end(), [](const NumberedDifference& a, const NumberedDifference& b) {
        return rank(a.time) != rank(b.time) ? rank(a.time) > rank(b.time) : a.time.name < b.time.name;
      });
    }
    judge(rows);
    std::vector<TimeDifference> out;
    out.reserve(rows.size());
    for (NumberedDifference& row : rows) out.push_back(std::move(row.time));
    return out;
  }

 private:
  struct NumberedDifference {
    SubjectKind kind;
    std::uint32_t row;  // of DividedRows
    TimeDifference time;
  };

  /// Rows that are too short to matter are left alone: they would only make it harder to tell of others.
  void judge(std::vector<NumberedDifference>& rows) const {
    if (rows.empty() || has_too_few_steps(baseline_.runs) || has_too_few_steps(candidate_.runs)) return;
    const auto longer = [](const TimeDifference& time) { return std::max(time.baseline_ns, time.candidate_ns); };
    const std::int64_t least_ns = longer(rows.front().time) / kLeastJudged;  // the first row is the step
    const PathTimes times(baseline_.runs, candidate_.runs);
    ChangeJudge judge(times);
    const PathSeries paths(baseline_, candidate_, rows_.paths());
    std::vector<TimeDifference*> judged;
    for (NumberedDifference& row : rows) {
      if (longer(row.time) <= least_ns) continue;
      const auto [in_baseline, in_candidate] = rows_.sides_of(row.kind, row.row);
      const auto [before, after] =
          row.kind == SubjectKind::kPath
              ? paths.of(in_baseline, in_candidate)
              : std::pair(baseline_.series(row.kind, in_baseline), candidate_.series(row.kind, in_candidate));
      const Metric metric{row.kind == SubjectKind::kPath ? "path:" + row.time.name : row.time.name};
      judge.add(before, after, metric, default_statistic(metric.unit));
      judged.push_back(&row.time);
    }
    const std::vector<JudgedChange> changes = judge.judged();
    for (std::size_t i = 0; i < judged.size(); ++i) {
      judged[i]->verdict = verdict_of(changes[i].verdict);
      const Change& change = changes[i].change;
      if (change.measured())
        judged[i]->fast_change = {to_ns(change.difference), to_ns(change.difference_interval.low),
                                  to_ns(change.difference_interval.high)};
    }
  }

  /// The greatest change first; of those without the longest.
  static std::pair<std::uint64_t, std::int64_t> rank(const TimeDifference& row) noexcept {
    return {size_of(row.change_ns()), std::max(row.baseline_ns, row.candidate_ns)};
  }

  TimeDifference difference(SubjectKind kind, DifferenceBy by, std::uint32_t row) const {
    const DividedRow& divided = rows_.rows(kind)[row];
    TimeDifference out;
    out.by = by;
    name(kind, row, out);
    out.baseline_ns = mean_ns(divided.baseline.time_ns(), baseline_.counted_steps);
    out.candidate_ns = mean_ns(divided.candidate.time_ns(), candidate_.counted_steps);
    out.division = rounded_to(divided.parts, out.change_ns());
    const MeanAmounts before = mean_of(divided.baseline, baseline_.counted_steps);
    const MeanAmounts after = mean_of(divided.candidate, candidate_.counted_steps);
    out.baseline_calls = before.calls;
    out.candidate_calls = after.calls;
    out.baseline_ops = before.ops;
    out.candidate_ops = after.ops;
    return out;
  }

  void name(SubjectKind kind, std::uint32_t row, TimeDifference& out) const {
    const std::uint32_t in_baseline = rows_.sides_of(kind, row).first;
    const std::uint32_t in_candidate = rows_.sides_of(kind, row).second;
    if (in_baseline == kNone) out.change = PathChange::kNew;
    if (in_candidate == kNone) out.change = PathChange::kGone;
    const auto text = [&](const std::vector<std::string>& baseline, const std::vector<std::string>& candidate) {
      return in_candidate != kNone ? candidate[in_candidate] : baseline[in_baseline];
    };
    switch (kind) {
      case SubjectKind::kStep:
        out.name = "step";
        return;
      case SubjectKind::kOperator:
        out.name = text(baseline_.operators, candidate_.operators);
        return;
      case SubjectKind::kKernelFamily:
        out.name = text(baseline_.kernel_families, candidate_.kernel_families);
        return;
      case SubjectKind::kCollective:
        out.name = text(baseline_.collectives, candidate_.collectives);
        return;
      case SubjectKind::kPath:
        break;
    }
    out.change = change_of(fate_of(rows_.paths(), baseline_.paths, candidate_.paths, in_baseline, in_candidate));
    const std::string was = text_of_path(baseline_.paths, in_baseline);
    out.name = in_candidate == kNone ? was : text_of_path(candidate_.paths, in_candidate);
    if (in_baseline != kNone && out.name != was) out.was = was;
  }

  const Side& baseline_;
  const Side& candidate_;
  DividedRows rows_;
};

// ---- figures of steps

double mean_of_values(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// `values` in any order, not empty.
double quantile_of(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return base::quantile(values, share);
}

FigureUnit unit_of(MetricUnit unit) noexcept {
  switch (unit) {
    case MetricUnit::kNanoseconds:
      return FigureUnit::kNanoseconds;
    case MetricUnit::kBytes:
      return FigureUnit::kBytes;
    case MetricUnit::kCount:
      return FigureUnit::kCount;
    case MetricUnit::kPerSecond:
      return FigureUnit::kPerSecond;
  }
  return FigureUnit::kCount;
}

/// All values of the metric, of all runs.
std::vector<double> values_of(std::span<const Run> runs, std::string_view metric) {
  std::vector<double> values;
  for (const Run& run : runs) {
    const std::vector<double> of_run = series_of(run, metric);
    values.insert(values.end(), of_run.begin(), of_run.end());
  }
  return values;
}

/// Metrics of steps that either side has, in their own order.
std::vector<Metric> step_metrics(std::span<const Run> baseline, std::span<const Run> candidate) {
  std::vector<Metric> metrics;
  for (const std::span<const Run> runs : {baseline, candidate})
    for (const Run& run : runs)
      for (Metric& metric : metrics_of(run)) {
        if (metric.name.find(':') != std::string::npos) break;  // those of subjects come last
        const auto is_same = [&](const Metric& other) { return other.name == metric.name; };
        if (std::none_of(metrics.begin(), metrics.end(), is_same)) metrics.push_back(std::move(metric));
      }
  return metrics;
}

std::vector<FigureDifference> figures_of(std::span<const Run> baseline, std::span<const Run> candidate) {
  std::vector<FigureDifference> figures;
  for (const Metric& metric : step_metrics(baseline, candidate)) {
    const std::vector<double> before = values_of(baseline, metric.name), after = values_of(candidate, metric.name);
    const auto add = [&](const std::string& name, auto figure) {
      figures.push_back(
          {name, unit_of(metric.unit), before.empty() ? 0 : figure(before), after.empty() ? 0 : figure(after)});
    };
    if (metric.unit == MetricUnit::kBytes) {
      add(metric.name,
          [](const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); });
      continue;
    }
    add(metric.name, mean_of_values);
    if (metric.name != "step") continue;
    add("step.p50", [](const std::vector<double>& values) { return quantile_of(values, 0.5); });
    add("step.p95", [](const std::vector<double>& values) { return quantile_of(values, 0.95); });
  }
  return figures;
}

std::vector<MemoryDifference> memory_of(std::span<const Run> baseline, std::span<const Run> candidate) {
  std::map<std::pair<bool, std::string>, MemoryDifference> rows;
  const auto add = [&](std::span<const Run> runs, std::int64_t MemoryDifference::*side) {
    for (const Run& run : runs) {
      std::map<std::pair<bool, std::string>, std::int64_t> of_run;
      for (const MemoryShare& share : run.peak_memory) {
        std::int64_t& bytes = of_run[{share.by_operator, share.name}];
        bytes = detail::plus(bytes, share.bytes);
      }
      for (const auto& [key, bytes] : of_run) rows[key].*side = std::max(rows[key].*side, bytes);
    }
  };
  add(baseline, &MemoryDifference::baseline_bytes);
  add(candidate, &MemoryDifference::candidate_bytes);
  std::vector<MemoryDifference> out;
  for (auto& [key, row] : rows) {
    row.by = key.first ? DifferenceBy::kOperator : DifferenceBy::kPath;
    row.name = key.second;
    out.push_back(std::move(row));
  }
  std::stable_sort(out.begin(), out.end(), [](const MemoryDifference& a, const MemoryDifference& b) {
    if (a.by != b.by) return a.by < b.by;
    return size_of(a.change_bytes()) > size_of(b.change_bytes());
  });
  return out;
}

void add_notes(std::span<const Run> runs, std::string_view side, std::vector<std::string>& notes) {
  std::set<std::string> said;
  for (const Run& run : runs)
    for (const std::string& note : run.notes)
      if (said.insert(note).second) notes.push_back(std::string(side) + ": " + note);
}

}  // namespace

RunDifference difference_of(std::span<const Run> baseline, std::span<const Run> candidate) {
  RunDifference out;
  out.baseline = compared_side(baseline);
  out.candidate = compared_side(candidate);
  out.figures = figures_of(baseline, candidate);
  const Side before(baseline), after(candidate);
  out.times = Differences(before, after).all();
  out.memory = memory_of(baseline, candidate);
  add_notes(baseline, "baseline", out.notes);
  add_notes(candidate, "candidate", out.notes);
  if (out.baseline.devices != out.candidate.devices)
    out.notes.emplace_back("the devices are not the same: times of kernels say more of them than of the program");
  if (has_too_few_steps(baseline) || has_too_few_steps(candidate))
    out.notes.emplace_back("a side has fewer than three steps: no verdicts");
  else if (baseline.size() == 1 && candidate.size() == 1)
    out.notes.emplace_back(
        "each side is one run: by how much runs differ that are alike is not known, and 2 % is assumed; more runs a "
        "side "
        "tell more");
  if (before.counted_steps == 0 || after.counted_steps == 0) out.notes.emplace_back("a side has no step to compare");
  return out;
}

}  // namespace rangefinder::compare

namespace rangefinder {

bool RunDifference::nothing_found() const noexcept {
  const auto is_same = [](const TimeDifference& row) {
    return row.change_ns() == 0 && row.change == PathChange::kSame;
  };
  const auto is_equal = [](const FigureDifference& row) { return row.baseline == row.candidate; };
  const auto is_as_large = [](const MemoryDifference& row) { return row.baseline_bytes == row.candidate_bytes; };
  return std::all_of(times.begin(), times.end(), is_same) && std::all_of(figures.begin(), figures.end(), is_equal) &&
         std::all_of(memory.begin(), memory.end(), is_as_large);
}

const char* to_string(DifferenceBy by) noexcept {
  switch (by) {
    case DifferenceBy::kStep:
      return "step";
    case DifferenceBy::kPath:
      return "path";
    case DifferenceBy::kOperator:
      return "operator";
    case DifferenceBy::kKernelFamily:
      return "kernel family";
    case DifferenceBy::kCollective:
      return "collective";
  }
  return "step";
}

const char* to_string(ChangeVerdict verdict) noexcept {
  switch (verdict) {
    case ChangeVerdict::kSame:
      return "same";
    case ChangeVerdict::kBetter:
      return "better";
    case ChangeVerdict::kWorse:
      return "worse";
    case ChangeVerdict::kCannotTell:
      return "cannot tell";
  }
  return "cannot tell";
}

const char* to_string(PathChange change) noexcept {
  switch (change) {
    case PathChange::kSame:
      return "same";
    case PathChange::kRenumbered:
      return "renumbered";
    case PathChange::kMoved:
      return "moved";
    case PathChange::kNew:
      return "new";
    case PathChange::kGone:
      return "gone";
  }
  return "same";
}

}  // namespace rangefinder
