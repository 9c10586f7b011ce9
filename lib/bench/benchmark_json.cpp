// SPDX-License-Identifier: MIT
#include "bench/benchmark_json.hpp"

#include <rangefinder/bench/worker.hpp>

#include <algorithm>
#include <array>
#include <memory>

namespace rangefinder::bench {
namespace {

constexpr std::array<std::string_view, 3> kGoals{"speed", "throughput", "memory"};
constexpr std::array<std::string_view, 4> kLevels{"none", "minimal", "deep", "roofline"};
constexpr std::array<std::string_view, 5> kKinds{"time", "bytes", "count", "rate", "fact"};
constexpr std::array<std::string_view, 4> kOverRanks{"by_kind", "sum", "most", "first"};

template <std::size_t N>
std::size_t position(const std::array<std::string_view, N>& names, const std::string& name, std::size_t otherwise) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found != names.end() ? static_cast<std::size_t>(found - names.begin()) : otherwise;
}

Json texts(const std::vector<std::string>& all) {
  Json out = Json::array();
  for (const std::string& each : all) out.push_back(each);
  return out;
}

std::vector<std::string> texts(JsonView json) {
  std::vector<std::string> out;
  for (const JsonView each : json.items()) out.push_back(each.text());
  return out;
}

Json to_json(const Tolerance& tolerance) {
  return Json::object(
      {{"relative", tolerance.relative}, {"absolute", tolerance.absolute}, {"frobenius", tolerance.frobenius}});
}

Tolerance tolerance_from_json(JsonView json) {
  return {json["relative"].number(), json["absolute"].number(), json["frobenius"].number()};
}

Json to_json(const VariantSpec& variant) {
  return Json::object({{"cpu", to_json(variant.cpu)}, {"cuda", to_json(variant.cuda)}});
}

VariantSpec variant_from_json(JsonView json) {
  return {{}, tolerance_from_json(json["cpu"]), tolerance_from_json(json["cuda"])};
}

std::uint32_t small(JsonView json, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(json.integer(otherwise), 0, 1'000'000'000));
}

}  // namespace

std::string_view to_string(ProfileLevel level) noexcept { return kLevels[static_cast<std::size_t>(level)]; }

std::string_view to_string(Goal goal) noexcept { return kGoals[static_cast<std::size_t>(goal)]; }

Json to_json(const Benchmark& benchmark) {
  return Json::object({{"name", benchmark.name},
                       {"purpose", benchmark.purpose},
                       {"goal", to_string(benchmark.goal)},
                       {"chapter", benchmark.chapter},
                       {"devices", texts(benchmark.devices)},
                       {"sizes", texts(benchmark.sizes)},
                       {"baseline", to_json(benchmark.baseline)},
                       {"optimized", to_json(benchmark.optimized)},
                       {"has_reference", static_cast<bool>(benchmark.reference.make)},
                       {"least_ratio_cpu", benchmark.least_ratio_cpu},
                       {"least_ratio_cuda", benchmark.least_ratio_cuda},
                       {"time_bound", benchmark.time_bound},
                       {"memory_above_setup", benchmark.memory_above_setup},
                       {"check_steps", std::int64_t{benchmark.check_steps}},
                       {"check_size", benchmark.check_size},
                       {"iterations", std::int64_t{benchmark.iterations}},
                       {"warmup", std::int64_t{benchmark.warmup}},
                       {"least_ranks", std::int64_t{benchmark.least_ranks}},
                       {"informational", benchmark.informational},
                       {"series", benchmark.series},
                       {"builds_on", benchmark.builds_on}});
}

Json to_json(const Work& work) {
  return Json::object({{"tokens", work.tokens},
                       {"samples", work.samples},
                       {"requests", work.requests},
                       {"bytes", work.bytes},
                       {"flops", work.flops},
                       {"useful_share", work.useful_share},
                       {"flops_type", work.flops_type}});
}

Json to_json(const Estimate& estimate) {
  return Json::object({{"input_bytes", estimate.input_bytes},
                       {"output_bytes", estimate.output_bytes},
                       {"flops", estimate.flops},
                       {"bytes", estimate.bytes},
                       {"launches", estimate.launches},
                       {"random_numbers", estimate.random_numbers},
                       {"waiting_s", estimate.waiting_s},
                       {"step_waiting_s", estimate.step_waiting_s},
                       {"half", estimate.half}});
}

Json to_json(const Metric& metric) {
  return Json::object(
      {{"name", metric.name}, {"value", metric.value}, {"kind", kKinds[static_cast<std::size_t>(metric.kind)]}});
}

Json to_message(const Metric& metric) {
  Json out = to_json(metric);
  out["over_ranks"] = kOverRanks[static_cast<std::size_t>(metric.over_ranks)];
  return out;
}

Benchmark benchmark_from_json(JsonView json) {
  Benchmark benchmark;
  benchmark.name = json["name"].text();
  benchmark.purpose = json["purpose"].text();
  benchmark.goal = static_cast<Goal>(position(kGoals, json["goal"].text(), 0));
  benchmark.chapter = json["chapter"].text(benchmark.chapter);
  benchmark.devices = texts(json["devices"]);
  benchmark.sizes = texts(json["sizes"]);
  benchmark.baseline = variant_from_json(json["baseline"]);
  benchmark.optimized = variant_from_json(json["optimized"]);
  // A worker alone can make one: here it only says that there is one.
  if (json["has_reference"].boolean()) benchmark.reference.make = [] { return std::unique_ptr<Variant>(); };
  benchmark.least_ratio_cpu = json["least_ratio_cpu"].number();
  benchmark.least_ratio_cuda = json["least_ratio_cuda"].number();
  benchmark.time_bound = json["time_bound"].number(benchmark.time_bound);
  benchmark.memory_above_setup = json["memory_above_setup"].boolean();
  benchmark.check_steps = std::max(1u, small(json["check_steps"], benchmark.check_steps));
  benchmark.check_size = json["check_size"].text();
  benchmark.iterations = std::max(1u, small(json["iterations"], benchmark.iterations));
  benchmark.warmup = small(json["warmup"], benchmark.warmup);
  benchmark.least_ranks = std::max(1u, small(json["least_ranks"], benchmark.least_ranks));
  benchmark.informational = json["informational"].boolean();
  benchmark.series = json["series"].text();
  benchmark.builds_on = json["builds_on"].text();
  return benchmark;
}

Work work_from_json(JsonView json) {
  return {json["tokens"].number(), json["samples"].number(),       json["requests"].number(), json["bytes"].number(),
          json["flops"].number(),  json["useful_share"].number(1), json["flops_type"].text()};
}

Estimate estimate_from_json(JsonView json) {
  return {json["input_bytes"].number(), json["output_bytes"].number(),   json["flops"].number(),
          json["bytes"].number(),       json["launches"].number(),       json["random_numbers"].number(),
          json["waiting_s"].number(),   json["step_waiting_s"].number(), json["half"].boolean()};
}

Metric metric_from_json(JsonView json) {
  return {json["name"].text(), json["value"].number(),
          static_cast<MetricKind>(position(kKinds, json["kind"].text(), kKinds.size() - 1)),
          static_cast<OverRanks>(position(kOverRanks, json["over_ranks"].text(), 0))};
}

}  // namespace rangefinder::bench
