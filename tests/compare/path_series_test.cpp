// SPDX-License-Identifier: MIT
#include "compare/path_series.hpp"

#include "compare/difference.hpp"
#include "compare/divided_rows.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr std::int64_t kStepNs = 10'000;

/// A run of so many steps of the host, each filled by `fill(builder, step, begin_ns)`.
compare::Run run_of(std::int64_t steps, const std::function<void(TimelineBuilder&, std::size_t, std::int64_t)>& fill) {
  TimelineBuilder builder;
  for (std::int64_t step = 0; step < steps; ++step) {
    builder.step(step, step * kStepNs, (step + 1) * kStepNs);
    fill(builder, static_cast<std::size_t>(step), step * kStepNs);
  }
  return compare::figures_of(builder.build());
}

std::uint32_t number_of(const compare::Side& side, const std::string& name) {
  for (std::uint32_t path = 0; path < side.paths.size(); ++path)
    if (side.paths[path].name == name) return path;
  throw std::invalid_argument("no path " + name);
}

/// Checks that `level`, which the candidate alone has, has these values on the baseline's side, whichever way round
/// they are compared.
void check_level(const compare::Run& without, const compare::Run& with, const std::string& level,
                 const std::vector<double>& values) {
  const compare::Side baseline({&without, 1}), candidate({&with, 1});
  const std::uint32_t path = number_of(candidate, level);
  const compare::PathSeries::Series expected{values};
  const compare::DividedRows rows(baseline, candidate);
  REQUIRE(rows.paths().baseline_of[path] == kNone);
  CHECK(compare::PathSeries(baseline, candidate, rows.paths()).of(kNone, path).first == expected);
  CHECK(static_cast<double>(rows.rows(compare::SubjectKind::kPath)[path].baseline.time_ns()) ==
        std::accumulate(values.begin(), values.end(), 0.0));
  const compare::PathAlignment turned = compare::align_paths(candidate.paths, baseline.paths);
  CHECK(compare::PathSeries(candidate, baseline, turned).of(path, kNone).second == expected);
}

}  // namespace

TEST_CASE("a new level is compared with what was there without it", "[compare][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("levels put in", 200)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const std::size_t leaves = 2 + random() % 5, steps = 1 + random() % 6;
    const std::size_t first = random() % leaves, last = first + random() % (leaves - first);
    std::vector<std::vector<std::int64_t>> lengths(steps, std::vector<std::int64_t>(leaves));
    std::vector<double> wrapped(steps);
    for (std::size_t step = 0; step < steps; ++step)
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        lengths[step][leaf] = 1 + static_cast<std::int64_t>(random() % 1'000);
        if (leaf >= first && leaf <= last) wrapped[step] += static_cast<double>(lengths[step][leaf]);
      }
    const auto run = [&](bool has_level) {
      return run_of(static_cast<std::int64_t>(steps), [&](TimelineBuilder& builder, std::size_t step, std::int64_t at) {
        builder.range("train", at, at + kStepNs);
        const auto length = [&](std::size_t from, std::size_t to) {
          return std::accumulate(lengths[step].begin() + static_cast<std::ptrdiff_t>(from),
                                 lengths[step].begin() + static_cast<std::ptrdiff_t>(to), std::int64_t{0});
        };
        if (has_level) builder.range("encoder", at + length(0, first), at + length(0, last + 1));
        for (std::size_t leaf = 0; leaf < leaves; ++leaf)
          builder.range(std::string("leaf ") + static_cast<char>('a' + leaf), at + length(0, leaf),
                        at + length(0, leaf + 1));
      });
    };
    check_level(run(false), run(true), "encoder", wrapped);
  }
}

TEST_CASE("what left a path is not in the level that was put around it", "[compare]") {
  const compare::Run before = run_of(2, [](TimelineBuilder& builder, std::size_t step, std::int64_t at) {
    const auto more = static_cast<std::int64_t>(step) * 10;
    builder.range("block", at, at + 300 + more).range("kept", at, at + 100 + more).range("left", at + 200, at + 230);
  });
  const compare::Run after = run_of(2, [](TimelineBuilder& builder, std::size_t step, std::int64_t at) {
    const auto more = static_cast<std::int64_t>(step) * 10;
    builder.range("encoder", at, at + 270 + more).range("block", at, at + 270 + more);
    builder.range("kept", at, at + 100 + more).range("left", at + 400, at + 430);
  });
  check_level(before, after, "encoder", {270, 280});
}

TEST_CASE("a level around what did not change is no change", "[compare]") {
  const auto run = [](bool has_level) {
    std::vector<compare::Run> runs;
    for (std::int64_t i = 0; i < 5; ++i)
      runs.push_back(run_of(30, [&](TimelineBuilder& builder, std::size_t step, std::int64_t at) {
        const std::int64_t end = at + 5'000 + (static_cast<std::int64_t>(step) * 7 + i * 3) % 11;
        if (has_level) builder.range("encoder", at, end);
        builder.range("layer a", at, at + 2'000).range("layer b", at + 2'000, end);
      }));
    return runs;
  };
  for (const bool is_put_in : {true, false}) {
    const RunDifference found = compare::difference_of(run(!is_put_in), run(is_put_in));
    for (const TimeDifference& row : found.times) {
      if (row.name != "encoder") continue;
      CHECK(row.change_ns() == 0);
      REQUIRE(row.fast_change);
      CHECK(row.fast_change->change_ns == 0);
      CHECK(row.verdict == ChangeVerdict::kSame);
    }
  }
}
