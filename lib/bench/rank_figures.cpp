// SPDX-License-Identifier: MIT
#include "bench/rank_figures.hpp"

#include <algorithm>
#include <numeric>

namespace rangefinder::bench {
namespace {

double wall_ns_of(JsonView answer) {
  const std::vector<JsonView> steps = answer["wall_ns"].items();
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, JsonView step) { return sum + step.number(); });
}

/// None where a rank did not measure it.
std::optional<std::int64_t> sum_of(const std::vector<RankResult>& ranks,
                                   std::optional<std::int64_t> RankResult::*bytes) {
  std::int64_t sum = 0;
  for (const RankResult& rank : ranks) {
    if (!(rank.*bytes)) return std::nullopt;
    sum += *(rank.*bytes);
  }
  return sum;
}

/// What the useful share is a share of.
double items_of(const Work& work) {
  return work.tokens > 0 ? work.tokens : work.samples > 0 ? work.samples : work.requests;
}

Work sum_of_work(const std::vector<RankResult>& ranks) {
  Work out = ranks.front().work;
  double useful = items_of(out) * out.useful_share;
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const Work& work = ranks[rank].work;
    out.tokens += work.tokens;
    out.samples += work.samples;
    out.requests += work.requests;
    out.bytes += work.bytes;
    out.flops += work.flops;
    useful += items_of(work) * work.useful_share;
  }
  if (ranks.size() > 1 && items_of(out) > 0) out.useful_share = useful / items_of(out);
  return out;
}

OverRanks how_over_ranks(const Metric& metric) {
  if (metric.over_ranks != OverRanks::kByKind) return metric.over_ranks;
  switch (metric.kind) {
    case MetricKind::kTime:
      return OverRanks::kMost;
    case MetricKind::kFact:
      return OverRanks::kFirst;
    default:
      return OverRanks::kSum;
  }
}

void add_metric(std::vector<Metric>& all, const Metric& metric) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Metric& each) { return each.name == metric.name; });
  if (found == all.end()) return all.push_back(metric);
  switch (how_over_ranks(metric)) {
    case OverRanks::kSum:
      found->value += metric.value;
      return;
    case OverRanks::kMost:
      found->value = std::max(found->value, metric.value);
      return;
    default:
      return;
  }
}

}  // namespace

unsigned ranks_of(const Benchmark& benchmark, unsigned ranks) {
  return benchmark.least_ranks > 1 || benchmark.reference.make ? ranks : 1;
}

std::size_t slowest_rank(const std::vector<Json>& answers) {
  const auto found = std::max_element(answers.begin(), answers.end(),
                                      [](const Json& a, const Json& b) { return wall_ns_of(a) < wall_ns_of(b); });
  return static_cast<std::size_t>(found - answers.begin());
}

Json slowest_answer(const std::vector<Json>& answers) {
  if (answers.size() == 1) return answers.front();
  std::int64_t request_ns = 0, start_ns = 0;
  for (const Json& answer : answers) {
    request_ns = std::max(request_ns, JsonView(answer)["request_ns"].integer());
    start_ns = std::max(start_ns, JsonView(answer)["start_ns"].integer());
  }
  return Json::object({{"request_ns", request_ns}, {"start_ns", start_ns}});
}

void add_up(VariantResult& variant) {
  variant.peak_bytes = sum_of(variant.ranks, &RankResult::peak_bytes);
  variant.setup_bytes = sum_of(variant.ranks, &RankResult::setup_bytes);
  variant.growth_bytes = sum_of(variant.ranks, &RankResult::growth_bytes);
  variant.work = sum_of_work(variant.ranks);
  variant.metrics.clear();
  if (variant.ranks.size() == 1) {
    variant.metrics = variant.ranks.front().metrics;  // as they are: two of one name, too
    return;
  }
  for (const RankResult& rank : variant.ranks) {
    for (const Metric& metric : rank.metrics) add_metric(variant.metrics, metric);
  }
}

}  // namespace rangefinder::bench
