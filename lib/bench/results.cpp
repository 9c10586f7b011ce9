// SPDX-License-Identifier: MIT
#include "bench/results.hpp"

#include "bench/benchmark_json.hpp"
#include "bench/bottleneck.hpp"

#include <rangefinder/bench/harness.hpp>
#include <rangefinder/version.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace rangefinder::bench {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json or_null(double value) { return value > 0 ? Json(value) : Json(); }

Json statistics_json(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  const Statistics s = statistics_of(samples);
  return Json::object({{"count", static_cast<std::int64_t>(s.count)},
                       {"mean", s.mean},
                       {"std", s.deviation},
                       {"min", s.least},
                       {"max", s.most},
                       {"p50", s.p50},
                       {"p90", s.p90},
                       {"p95", s.p95},
                       {"p99", s.p99}});
}

Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(static_cast<std::int64_t>(value));
  return out;
}

Json energy_of_a_step(const VariantResult& variant) {
  if (!variant.energy_mj || variant.wall_ns.empty()) return {};
  return static_cast<double>(*variant.energy_mj) / 1000 / static_cast<double>(variant.wall_ns.size());
}

/// Null: the variant was not timed.
Json bottleneck_json(const VariantResult& variant, const std::string& device) {
  if (variant.wall_ns.empty()) return {};
  BottleneckEvidence evidence;
  evidence.on_device = device == "cuda";
  const double wall_ns = statistics_of(variant.wall_ns).p50;
  if (wall_ns > 0 && !variant.cpu_ns.empty()) evidence.processor = statistics_of(variant.cpu_ns).p50 / wall_ns;
  evidence.steps = variant.profile.steps;
  evidence.recording_overhead = JsonView(variant.profile.tables)["wall_overhead"].number();
  evidence.limits = variant.profile.limits;
  return to_json(bottleneck_of(evidence));
}

Json metrics_json(const std::vector<Metric>& all) {
  Json out = Json::array();
  for (const Metric& metric : all) out.push_back(to_json(metric));
  return out;
}

/// Of each rank what the variant's figures were made of; none of a single process, whose figures those are.
Json ranks_json(const VariantResult& variant) {
  Json out = Json::array();
  for (std::size_t rank = 0; variant.ranks.size() > 1 && rank < variant.ranks.size(); ++rank) {
    const RankResult& result = variant.ranks[rank];
    out.push_back(Json::object({{"rank", static_cast<std::int64_t>(rank)},
                                {"wall_ns", statistics_json(result.wall_ns)},
                                {"cpu_ns", statistics_json(result.cpu_ns)},
                                {"device_ns", statistics_json(result.device_ns)},
                                {"peak_bytes", or_null(result.peak_bytes)},
                                {"setup_bytes", or_null(result.setup_bytes)},
                                {"growth_bytes", or_null(result.growth_bytes)},
                                {"work", to_json(result.work)},
                                {"metrics", metrics_json(result.metrics)},
                                {"capture", text_or_null(result.capture)}}));
  }
  return out;
}

Json variant_json(const VariantResult& variant, const std::string& device) {
  const double wall_p50 = statistics_of(variant.wall_ns).p50;
  return Json::object(
      {{"log", variant.log},
       {"wall_ns", statistics_json(variant.wall_ns)},
       {"cpu_ns", statistics_json(variant.cpu_ns)},
       {"device_ns", statistics_json(variant.device_ns)},
       {"samples", Json::object({{"wall_ns", numbers(variant.wall_ns)},
                                 {"cpu_ns", numbers(variant.cpu_ns)},
                                 {"device_ns", numbers(variant.device_ns)}})},
       {"energy_j_per_step", energy_of_a_step(variant)},
       {"energy_missing", text_or_null(variant.energy_missing)},
       {"process_energy_j", variant.use.energy_mj ? Json(static_cast<double>(*variant.use.energy_mj) / 1000) : Json()},
       {"goodput", goodput_json(variant.use, variant.wall_ns)},
       {"peak_bytes", or_null(variant.peak_bytes)},
       {"setup_bytes", or_null(variant.setup_bytes)},
       {"growth_bytes", or_null(variant.growth_bytes)},
       {"rates", rates_of(variant.work, wall_p50)},
       {"work", to_json(variant.work)},
       {"mfu", model_flops_json(variant.work, wall_p50, variant.peak)},
       {"mfu_missing", wall_p50 > 0 ? text_or_null(variant.peak.missing) : Json()},
       {"metrics", metrics_json(variant.metrics)},
       {"ranks", ranks_json(variant)},
       {"bottleneck", bottleneck_json(variant, device)},
       {"profile", variant.profile.tables}});
}

/// Of the baseline from the reference; null where there is no reference.
Json reference_json(const Row& row) {
  if (!row.benchmark.reference.make) return {};
  const Difference baseline = row.baseline_difference.value_or(Difference{});
  return Json::object({{"log", row.reference_log},
                       {"elements", static_cast<std::int64_t>(baseline.elements)},
                       {"outside", static_cast<std::int64_t>(baseline.outside)},
                       {"most_absolute", baseline.most_absolute},
                       {"most_relative", baseline.most_relative},
                       {"frobenius", baseline.frobenius}});
}

Json correctness_json(const Row& row) {
  const Difference& d = row.difference;
  return Json::object({{"passed", row.correct},
                       {"size", row.checked_size},
                       {"inputs", row.inputs},
                       {"input_bytes", row.input_bytes},
                       {"output_bytes", row.output_bytes},
                       {"elements", static_cast<std::int64_t>(d.elements)},
                       {"outside", static_cast<std::int64_t>(d.outside)},
                       {"most_absolute", d.most_absolute},
                       {"most_relative", d.most_relative},
                       {"frobenius", d.frobenius},
                       {"tolerance", Json::object({{"relative", row.tolerance.relative},
                                                   {"absolute", row.tolerance.absolute},
                                                   {"frobenius", row.tolerance.frobenius}})},
                       {"reference", reference_json(row)}});
}

Json ratios_json(const Row& row) {
  const bool cpu = row.by_cpu();
  const Interval interval = ratio_interval(row.baseline.samples(cpu), row.optimized.samples(cpu));
  const Interval wall = ratio_interval(row.baseline.wall_ns, row.optimized.wall_ns);
  const auto measured = [](double ratio, const Interval& i) {
    return ratio > 0 ? Json::object({{"value", ratio}, {"low", or_null(i.low)}, {"high", or_null(i.high)}}) : Json();
  };
  return Json::object({{"basis", cpu ? "cpu_ns" : "wall_ns"},
                       {"time", measured(row.time_ratio(), interval)},
                       {"wall", measured(row.time_ratio(false), wall)},
                       {"bytes", or_null(row.bytes_ratio())},
                       {"least", or_null(row.least_ratio())}});
}

Json goal_json(const GoalResult& goal) {
  if (goal.state == GoalState::kNotMeasured) return {};
  return Json::object({{"state", to_string(goal.state)}, {"reason", goal.reason}});
}

Json regression_json(const Row& row) {
  if (!row.regression_checked) return {};
  Json metrics = Json::array();
  for (const MetricState& metric : row.regression.metrics) {
    const bool stored = metric.state != State::kNew, reported = metric.state != State::kNotReported;
    metrics.push_back(Json::object({{"name", metric.name},
                                    {"state", to_string(metric.state)},
                                    {"stored", stored ? Json(metric.stored) : Json()},
                                    {"measured", reported ? Json(metric.measured) : Json()}}));
  }
  return Json::object({{"state", to_string(row.regression.state)},
                       {"conflict", row.regression.conflict},
                       {"metrics", std::move(metrics)}});
}

}  // namespace

Json row_json(const Row& row) {
  return Json::object({{"name", row.benchmark.name},
                       {"chapter", row.benchmark.chapter},
                       {"purpose", row.benchmark.purpose},
                       {"goal", to_string(row.benchmark.goal)},
                       {"goal_result", goal_json(row.goal)},
                       {"informational", row.benchmark.informational},
                       {"series", row.benchmark.series},
                       {"builds_on", row.benchmark.builds_on},
                       {"status", to_string(row.status)},
                       {"reason", row.reason},
                       {"ranks", std::int64_t{row.ranks}},
                       {"iterations", row.iterations},
                       {"warmup", row.warmup},
                       {"ratios", ratios_json(row)},
                       {"correctness", correctness_json(row)},
                       {"baseline", variant_json(row.baseline, row.setup.device)},
                       {"optimized", variant_json(row.optimized, row.setup.device)},
                       {"expectations", regression_json(row)}});
}

Json rates_of(const Work& work, double median_wall_ns) {
  Json out = Json::object();
  if (median_wall_ns <= 0) return out;
  const auto add = [&](const char* name, double amount) {
    if (amount > 0) out[name] = amount * 1e9 / median_wall_ns;
  };
  add("steps_per_s", 1);
  add("tokens_per_s", work.tokens);
  add("samples_per_s", work.samples);
  add("requests_per_s", work.requests);
  add("bytes_per_s", work.bytes);
  add("flops_per_s", work.flops);
  if (work.useful_share < 1) add("useful_tokens_per_s", work.tokens * work.useful_share);
  return out;
}

Json results_json(const ResultsHead& head, const Json& rows, const std::vector<std::string>& notes, int exit_code) {
  return Json::object({{"schema_version", kResultsSchemaVersion},
                       {"kind", "rangefinder.bench"},
                       {"rangefinder", version()},
                       {"worker", head.worker},
                       {"seed", head.seed},
                       {"provenance", head.provenance.to_json()},
                       {"exit_code", exit_code},
                       {"notes", notes},
                       {"energy", energy_json(rows, head.carbon_intensity)},
                       {"rows", rows}});
}

int exit_code_of(JsonView rows) {
  const std::vector<JsonView> all = rows.items();
  const auto is = [](RowStatus status) {
    return [name = to_string(status)](JsonView row) { return row["status"].text() == name; };
  };
  const auto any = [&](RowStatus status) { return std::any_of(all.begin(), all.end(), is(status)); };
  if (any(RowStatus::kFailed)) return kFailure;
  if (any(RowStatus::kRegressed) || any(RowStatus::kBelowGoal)) return kRegression;
  return std::all_of(all.begin(), all.end(), is(RowStatus::kSkipped)) ? kAllSkipped : kAllMet;
}

Status check_results(JsonView document) {
  if (document["kind"].text() != "rangefinder.bench")
    return Error{ErrorCode::kUnreadable, "not a results file of `rangefinder bench run`"};
  if (const std::int64_t version = document["schema_version"].integer(); version != kResultsSchemaVersion)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("results have schema_version {}; this version reads {}: run `rangefinder bench run` again",
                             version, kResultsSchemaVersion)};
  return {};
}

Result<Json> results_from(const std::string& json) {
  Result<Json> document = parse_json(json);
  if (!document) return document.error();
  if (Status status = check_results(*document); !status.ok()) return std::move(status).error();
  return document;
}

}  // namespace rangefinder::bench
