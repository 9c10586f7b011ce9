// SPDX-License-Identifier: MIT
#include "bench/pair_json.hpp"

#include <rangefinder/bench/worker.hpp>

#include <algorithm>
#include <array>

namespace rangefinder::bench {
namespace {

constexpr std::array<std::string_view, 3> kGoals{"speed", "throughput", "memory"};
constexpr std::array<std::string_view, 4> kLevels{"none", "minimal", "deep", "roofline"};
constexpr std::array<std::string_view, 5> kKinds{"time", "bytes", "count", "rate", "fact"};

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

Json to_json(const PairSide& side) { return Json::object({{"cpu", to_json(side.cpu)}, {"cuda", to_json(side.cuda)}}); }

PairSide side_from_json(JsonView json) {
  return {{}, tolerance_from_json(json["cpu"]), tolerance_from_json(json["cuda"])};
}

std::uint32_t small(JsonView json, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(json.integer(otherwise), 0, 1'000'000'000));
}

}  // namespace

std::string_view to_string(ProfileLevel level) noexcept { return kLevels[static_cast<std::size_t>(level)]; }

std::string_view to_string(Goal goal) noexcept { return kGoals[static_cast<std::size_t>(goal)]; }

Json to_json(const Pair& pair) {
  return Json::object({{"name", pair.name},
                       {"purpose", pair.purpose},
                       {"goal", to_string(pair.goal)},
                       {"chapter", pair.chapter},
                       {"devices", texts(pair.devices)},
                       {"sizes", texts(pair.sizes)},
                       {"baseline", to_json(pair.baseline)},
                       {"optimized", to_json(pair.optimized)},
                       {"least_ratio_cpu", pair.least_ratio_cpu},
                       {"least_ratio_cuda", pair.least_ratio_cuda},
                       {"time_bound", pair.time_bound},
                       {"memory_above_setup", pair.memory_above_setup},
                       {"verify_steps", std::int64_t{pair.verify_steps}},
                       {"iterations", std::int64_t{pair.iterations}},
                       {"warmup", std::int64_t{pair.warmup}},
                       {"least_ranks", std::int64_t{pair.least_ranks}},
                       {"informational", pair.informational}});
}

Json to_json(const Work& work) {
  return Json::object({{"tokens", work.tokens},
                       {"samples", work.samples},
                       {"requests", work.requests},
                       {"bytes", work.bytes},
                       {"flops", work.flops},
                       {"useful_share", work.useful_share}});
}

Json to_json(const Metric& metric) {
  return Json::object(
      {{"name", metric.name}, {"value", metric.value}, {"kind", kKinds[static_cast<std::size_t>(metric.kind)]}});
}

Pair pair_from_json(JsonView json) {
  Pair pair;
  pair.name = json["name"].text();
  pair.purpose = json["purpose"].text();
  pair.goal = static_cast<Goal>(position(kGoals, json["goal"].text(), 0));
  pair.chapter = json["chapter"].text(pair.chapter);
  pair.devices = texts(json["devices"]);
  pair.sizes = texts(json["sizes"]);
  pair.baseline = side_from_json(json["baseline"]);
  pair.optimized = side_from_json(json["optimized"]);
  pair.least_ratio_cpu = json["least_ratio_cpu"].number();
  pair.least_ratio_cuda = json["least_ratio_cuda"].number();
  pair.time_bound = json["time_bound"].number(pair.time_bound);
  pair.memory_above_setup = json["memory_above_setup"].boolean();
  pair.verify_steps = std::max(1u, small(json["verify_steps"], pair.verify_steps));
  pair.iterations = std::max(1u, small(json["iterations"], pair.iterations));
  pair.warmup = small(json["warmup"], pair.warmup);
  pair.least_ranks = small(json["least_ranks"], pair.least_ranks);
  pair.informational = json["informational"].boolean();
  return pair;
}

Work work_from_json(JsonView json) {
  return {json["tokens"].number(), json["samples"].number(), json["requests"].number(),
          json["bytes"].number(),  json["flops"].number(),   json["useful_share"].number(1)};
}

Metric metric_from_json(JsonView json) {
  return {json["name"].text(), json["value"].number(),
          static_cast<MetricKind>(position(kKinds, json["kind"].text(), kKinds.size() - 1))};
}

}  // namespace rangefinder::bench
