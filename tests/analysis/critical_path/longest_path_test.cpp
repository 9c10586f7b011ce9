// SPDX-License-Identifier: MIT
// The schedule against a slow longest path: relax every edge until nothing changes.
#include "analysis/critical_path/build.hpp"
#include "analysis/critical_path/check_path.hpp"
#include "analysis/critical_path/schedule.hpp"
#include "analysis/critical_path/simulated_program.hpp"
#include "projection/project.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::below;
using rangefinder::testing::check_path;
namespace critical = rangefinder::analysis::critical_path;

namespace {

struct Times {
  std::vector<std::int64_t> begin, end;
};

/// When each node can begin: the greatest of what its edges say, again and again from nothing.
Times relaxed(const critical::Graph& graph, const std::vector<double>& by_node, const std::vector<double>& by_edge) {
  Times times{std::vector<std::int64_t>(graph.size(), graph.origin_ns), {}};
  const auto length = [&](critical::NodeIndex node) {
    if (graph.kind[node] == critical::NodeKind::kWait) return std::int64_t{0};
    return critical::scaled(graph.end_ns[node] - graph.begin_ns[node], by_node[node]);
  };
  bool changed = true;
  while (changed) {
    changed = false;
    times.end.resize(graph.size());
    for (critical::NodeIndex node = 0; node < graph.size(); ++node) times.end[node] = times.begin[node] + length(node);
    for (critical::NodeIndex node = 0; node < graph.size(); ++node) {
      std::int64_t begin = graph.origin_ns;
      const bool first_of_thread = std::find(graph.lane.begin(), graph.lane.end(), node) != graph.lane.end();
      if (node < graph.first_activity && !first_of_thread) begin = std::max(begin, times.end[node - 1]);
      for (std::uint32_t at = graph.first_edge[node]; at < graph.first_edge[node + 1]; ++at) {
        const critical::Edge& edge = graph.edges[at];
        std::int64_t from = graph.origin_ns;
        if (edge.from != kNone) from = edge.from_begin ? times.begin[edge.from] : times.end[edge.from];
        const bool scales = edge.lag_ns > 0 && !critical::is_wait(edge.kind);
        begin = std::max(begin, from + (scales ? critical::scaled(edge.lag_ns, by_edge[at]) : edge.lag_ns));
      }
      changed = changed || begin != times.begin[node];
      times.begin[node] = begin;
    }
  }
  return times;
}

std::vector<double> random_factors(std::mt19937_64& random, std::size_t count) {
  constexpr double kFactors[] = {0, 0.5, 1, 1, 2};
  std::vector<double> factors(count);
  for (double& one : factors) one = kFactors[below(random, 5)];
  return factors;
}

}  // namespace

TEST_CASE("schedules are those of a slow longest path", "[critical_path][property]") {
  for (const std::uint64_t seed :
       rangefinder::testing::property_seeds("longest path", rangefinder::testing::repeats(1000))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto run = simulate(rangefinder::testing::random_program(random), {});
    const auto owner = projection::project_owners(run.timeline, {}).owner;
    const critical::Graph graph = critical::build(run.timeline, 100'000, owner).graph;
    const std::vector<double> ones(std::max<std::size_t>(graph.size(), graph.edges.size()), 1.0);
    const Times recorded = relaxed(graph, ones, ones);
    REQUIRE(recorded.begin == graph.begin_ns);

    // A segment does not tell its node: factors go by what both have.
    const std::vector<double> by_begin = random_factors(random, 7);
    const auto factor = [&](const CriticalSegment& segment) {
      return by_begin[static_cast<std::uint64_t>(segment.end_ns) % by_begin.size()];
    };
    std::vector<double> by_node(graph.size()), by_edge(graph.edges.size());
    for (critical::NodeIndex node = 0; node < graph.size(); ++node) {
      by_node[node] = factor(graph.segment_of(node));
      for (std::uint32_t at = graph.first_edge[node]; at < graph.first_edge[node + 1]; ++at)
        by_edge[at] = factor(graph.segment_of(node, graph.edges[at]));
    }
    const critical::Schedule fast = critical::schedule_of(
        graph, [&](const CriticalSegment& segment) { return segment.is_wait ? 1.0 : factor(segment); });
    const Times slow = relaxed(graph, by_node, by_edge);
    REQUIRE(std::equal(fast.begin_ns.begin(), fast.begin_ns.end(), slow.begin.begin(), slow.begin.end()));
    REQUIRE(std::equal(fast.end_ns.begin(), fast.end_ns.end(), slow.end.begin(), slow.end.end()));
  }
}

TEST_CASE("segments of a critical path adjoin and are as long as its window", "[critical_path][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("paths", rangefinder::testing::repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto run = simulate(rangefinder::testing::random_program(random), {});
    const CriticalPathGraph graph(run.timeline);
    std::vector<CriticalWindow> windows = graph.steps();
    windows.push_back(graph.whole());
    for (const CriticalWindow& one : graph.runs_of("backward")) windows.push_back(one);
    const auto length = static_cast<std::uint64_t>(run.whole_ns);
    const auto begin = static_cast<std::int64_t>(below(random, length));
    windows.push_back(graph.between(begin, begin + static_cast<std::int64_t>(below(random, length))));
    const auto paths = graph.paths(windows);
    REQUIRE(paths.size() == windows.size());
    for (std::size_t i = 0; i < paths.size(); ++i) check_path(paths[i], windows[i]);
    const std::vector<std::int64_t> times = graph.times(windows, {});
    for (std::size_t i = 0; i < paths.size(); ++i) CHECK(times[i] == windows[i].length_ns());
  }
}
