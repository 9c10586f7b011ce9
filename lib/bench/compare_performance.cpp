// SPDX-License-Identifier: MIT
#include "bench/json.hpp"
#include "bench/statistics.hpp"

#include <rangefinder/bench/harness.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace rangefinder::bench {
namespace {

constexpr std::array<const char*, 3> kUnits{"tokens_per_s", "samples_per_s", "steps_per_s"};

using Comparison = PerformanceComparison;
using Verdict = Comparison::Verdict;

struct Rate {
  std::string name;
  JsonView rates;
  std::vector<double> wall_ns{};     ///< that the rates are by; empty: not told
  std::vector<double> control_ns{};  ///< of the baseline variant of the same run
};

std::vector<double> wall_times_of(JsonView variant) {
  std::vector<double> out;
  for (const JsonView each : variant["samples"]["wall_ns"].items()) out.push_back(each.number());
  return out;
}

/// Rates of all examples of a file that were measured; one without a name where it holds a rate alone.
std::vector<Rate> rates_in(JsonView document) {
  std::vector<Rate> out;
  for (const JsonView row : document["rows"].items()) {
    const JsonView rates = row["optimized"]["rates"];
    const std::string status = row["status"].text();
    if (!rates.members().empty() && status != "failed" && status != "skipped")
      out.push_back({row["name"].text(), rates, wall_times_of(row["optimized"]), wall_times_of(row["baseline"])});
  }
  for (const char* unit : kUnits) {
    if (!document[unit].is_number()) continue;
    out.push_back({"", document});
    break;
  }
  return out;
}

const Rate* find(const std::vector<Rate>& all, const std::string& name) {
  for (const Rate& rate : all) {
    if (rate.name == name) return &rate;
  }
  return nullptr;
}

/// Noise of the steps is in the interval; what made all steps of one run slower is in the baseline variant, too.
void set_verdict(Comparison::Row& row, const Rate& before, const Rate& after, double share) {
  row.ratio = row.candidate / row.baseline;
  const Interval times = ratio_interval(before.wall_ns, after.wall_ns);
  const double median = ratio_of_medians(before.wall_ns, after.wall_ns);
  if (times.high > 0 && median > 0) {
    row.low = row.ratio * times.low / median;  // work of a step may have changed as well
    row.high = row.ratio * times.high / median;
  }
  row.control = ratio_of_medians(before.control_ns, after.control_ns);
  const double most = row.high > 0 ? row.high : row.ratio;
  row.verdict = Verdict::kKeptUp;
  if (most < share) {
    const bool both = row.control > 0 && row.control < 1 && most >= share * row.control;
    row.verdict = both ? Verdict::kUnclear : Verdict::kFellBehind;
  }
}

Comparison::Row compare(const Rate& before, const Rate* after, double share) {
  Comparison::Row row;
  row.name = before.name;
  for (const char* unit : kUnits) {
    if (!before.rates[unit].is_number()) continue;
    row.unit = unit;
    row.baseline = before.rates[unit].number();
    row.candidate = after != nullptr ? after->rates[unit].number() : 0;
    break;
  }
  if (row.baseline > 0 && row.candidate > 0) set_verdict(row, before, *after, share);
  row.kept = row.verdict != Verdict::kFellBehind;
  return row;
}

}  // namespace

Result<PerformanceComparison> compare_performance(const std::string& baseline_path, const std::string& candidate_path,
                                                  double share) {
  const Result<Json> baseline = load_json(baseline_path), candidate = load_json(candidate_path);
  if (!baseline) return baseline.error();
  if (!candidate) return candidate.error();
  const std::vector<Rate> before = rates_in(*baseline), after = rates_in(*candidate);
  if (before.empty()) return Error{ErrorCode::kInvalidArgument, baseline_path + ": no rates to compare with"};
  if (after.empty()) return Error{ErrorCode::kInvalidArgument, candidate_path + ": no rates to compare"};
  Comparison out;
  for (const Rate& rate : before) {
    Comparison::Row row = compare(rate, find(after, rate.name), share);
    out.kept = out.kept && row.kept;
    out.rows.push_back(std::move(row));
  }
  return out;
}

const char* to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kKeptUp:
      return "kept up";
    case Verdict::kFellBehind:
      return "fell behind";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

std::string comparison_json(const PerformanceComparison& comparison) {
  const auto or_null = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
  Json rows = Json::array();
  for (const Comparison::Row& row : comparison.rows)
    rows.push_back(Json::object({{"name", row.name},
                                 {"unit", row.unit},
                                 {"baseline", or_null(row.baseline)},
                                 {"candidate", or_null(row.candidate)},
                                 {"ratio", or_null(row.ratio)},
                                 {"low", or_null(row.low)},
                                 {"high", or_null(row.high)},
                                 {"control", or_null(row.control)},
                                 {"verdict", to_string(row.verdict)}}));
  return json_text(Json::object({{"schema_version", 1}, {"kept", comparison.kept}, {"rows", std::move(rows)}}));
}

}  // namespace rangefinder::bench
