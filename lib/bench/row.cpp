// SPDX-License-Identifier: MIT
#include "bench/row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rangefinder::bench {
namespace {

constexpr std::array<std::string_view, 6> kStatuses{"passed",     "no_expectation", "failed",
                                                    "below_goal", "regressed",      "skipped"};
constexpr std::array<std::string_view, 4> kGoalStates{"not_measured", "met", "missed", "not_checked"};

constexpr double kFastShare = 0.1;

double ratio(double above, double below) { return above > 0 && below > 0 ? above / below : 0; }

void append_metrics(std::vector<Metric>& out, const std::string& prefix, const Row& row, const VariantResult& variant) {
  const std::vector<double>& samples = variant.samples(row.by_cpu());
  if (!samples.empty())
    out.push_back({prefix + (row.by_cpu() ? "cpu_ns" : "wall_ns"), statistics_of(samples).p50, MetricKind::kTime});
  if (variant.peak_bytes)
    out.push_back({prefix + "peak_bytes", static_cast<double>(*variant.peak_bytes), MetricKind::kBytes});
  // Without a warm-up whatever is made once counts as growth.
  if (variant.growth_bytes && row.warmup > 0)
    out.push_back({prefix + "growth_bytes", static_cast<double>(*variant.growth_bytes), MetricKind::kBytes});
  for (const Metric& metric : variant.metrics) {
    if (metric.kind != MetricKind::kFact) out.push_back({prefix + metric.name, metric.value, metric.kind});
  }
}

/// Why the goal is not met; empty: it is, or there is none.
std::string shortfall(const Row& row) {
  const double least = row.least_ratio();
  if (least <= 0) return {};
  const bool memory = row.benchmark.goal == Goal::kMemory;
  const double found = memory ? row.bytes_ratio() : row.time_ratio();
  if (found < least) return fmt::format("{} x{:.3g}, and the goal is x{:.3g}", memory ? "bytes" : "time", found, least);
  const double slower = ratio(1, row.time_ratio());
  if (memory && slower > row.benchmark.time_bound)
    return fmt::format("takes x{:.3g} of the baseline's time, and x{:.3g} is allowed", slower,
                       row.benchmark.time_bound);
  return {};
}

/// "at smoke", "with --validate", ...; empty: the goal is checked.
std::string why_goal_not_checked(const Row& row, bool validate) {
  if (row.setup.size != (row.setup.device == "cpu" ? "cpu" : "gpu")) return "at " + row.setup.size;
  if (validate) return "with --validate";
  if (row.benchmark.informational) return "of an informational benchmark";
  return row.least_ratio() > 0 ? "" : "without a least ratio";
}

bool is_ratio(const MetricState& metric) { return metric.name.rfind("ratio.", 0) == 0; }

/// All metrics that are as bad as the worst.
std::string worst_metrics(const RegressionCheck& regression) {
  std::string out;
  for (const MetricState& metric : regression.metrics) {
    if (metric.state != regression.state) continue;
    if (!out.empty()) out += "; ";
    out += regression.state == State::kNotReported
               ? fmt::format("{} is stored and was not reported", metric.name)
               : fmt::format("{} was {}{:.6g} and is {:.6g}", metric.name, is_ratio(metric) ? "at least " : "",
                             metric.stored, metric.measured);
  }
  return out;
}

}  // namespace

std::string_view to_string(RowStatus status) noexcept { return kStatuses[static_cast<std::size_t>(status)]; }
std::string_view to_string(GoalState state) noexcept { return kGoalStates[static_cast<std::size_t>(state)]; }

double Row::time_ratio(bool cpu) const { return ratio_of_medians(baseline.samples(cpu), optimized.samples(cpu)); }

std::optional<std::int64_t> Row::goal_bytes(const VariantResult& variant) const {
  if (!variant.peak_bytes || !benchmark.memory_above_setup || !variant.setup_bytes) return variant.peak_bytes;
  return *variant.peak_bytes - *variant.setup_bytes;
}

double Row::bytes_ratio() const {
  const std::optional<std::int64_t> before = goal_bytes(baseline), after = goal_bytes(optimized);
  return before && after ? ratio(static_cast<double>(*before), static_cast<double>(*after)) : 0;
}

double Row::least_ratio() const {
  if (setup.device == "cpu") return setup.size == "cpu" ? benchmark.least_ratio_cpu : 0;
  return setup.size == "gpu" ? benchmark.least_ratio_cuda : 0;
}

std::vector<Metric> metrics_of(const Row& row) {
  std::vector<Metric> out;
  append_metrics(out, "baseline.", row, row.baseline);
  append_metrics(out, "optimized.", row, row.optimized);
  return out;
}

std::vector<Ratio> ratios_of(const Row& row) {
  const std::vector<double>&baseline = row.baseline.samples(row.by_cpu()),
        &optimized = row.optimized.samples(row.by_cpu());
  std::vector<Ratio> out;
  if (const double time = ratio_of_quantiles(baseline, optimized, kFastShare); time > 0)
    out.push_back({"time", time, ratio_interval(baseline, optimized, kFastShare).high});
  if (const double bytes = row.bytes_ratio(); bytes > 0) out.push_back({"bytes", bytes, bytes});
  return out;
}

void decide(Row& row, const Expectations& expectations, const Measured& measured, bool validate) {
  if (row.status == RowStatus::kSkipped || row.status == RowStatus::kFailed) {
    if (expectations.has(measured.name)) {
      row.regression_checked = true;
      row.regression.state = State::kMissing;
    }
    return;
  }
  if (row.benchmark.goal == Goal::kMemory && row.bytes_ratio() == 0)
    return row.fail("its goal is memory, and peak bytes were not measured");
  row.regression = expectations.check(measured);
  row.regression_checked = true;
  std::string why;
  row.goal = {GoalState::kNotChecked, why_goal_not_checked(row, validate)};
  if (row.goal.reason.empty()) {
    why = shortfall(row);
    row.goal.state = why.empty() ? GoalState::kMet : GoalState::kMissed;
  }
  // Ratios that are stored are meant to be kept, whatever the benchmark promises.
  if (validate || (row.benchmark.informational && measured.ratios.empty())) return;
  if (!why.empty()) {
    row.status = RowStatus::kBelowGoal;
    row.reason = std::move(why);
  } else if (row.regression.state == State::kRegressed || row.regression.state == State::kNotReported) {
    row.status = RowStatus::kRegressed;
    row.reason = worst_metrics(row.regression);
  } else if (row.goal.state == GoalState::kNotChecked && row.regression.metrics.empty()) {
    row.status = RowStatus::kNoExpectation;
  }
}

}  // namespace rangefinder::bench
