// SPDX-License-Identifier: MIT
#include "compare/statistics.hpp"

#include "analysis/stragglers_statistics.hpp"
#include "base/quantile.hpp"
#include "compare/block_bootstrap.hpp"
#include "compare/synthetic_runs.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

using namespace rangefinder::compare;
using rangefinder::base::Random;
using rangefinder::testing::autocorrelated;
using rangefinder::testing::property_seed;
using rangefinder::testing::repeats;

namespace {

using Series = std::vector<std::vector<double>>;

Series series_around(std::mt19937_64& random, std::size_t count, double correlation, double middle,
                     double run_deviation) {
  std::normal_distribution<double> normal;
  Series runs;
  for (std::size_t i = 0; i < count; ++i)
    runs.push_back(autocorrelated(random, 100, correlation, middle + run_deviation * normal(random), 5));
  return runs;
}

/// Whether so many misses are what chance has where each has at most that probability. Of 10^9 seeds one is taken for
/// a promise that was not kept.
bool is_at_most(std::size_t tests, double rate, std::size_t misses) {
  return rangefinder::analysis::binomial_tail(tests, rate, misses) > 1e-9;
}

/// The circular block bootstrap as it is written down: put blocks together, sort, take the quantile.
double obvious_draw(const std::vector<double>& steps, std::size_t length, Statistic statistic, Random& random) {
  std::vector<double> drawn;
  while (drawn.size() < steps.size()) {
    const std::size_t begin = random.below(steps.size());
    for (std::size_t i = 0; i < length && drawn.size() < steps.size(); ++i)
      drawn.push_back(steps[(begin + i) % steps.size()]);
  }
  if (statistic.kind == Statistic::Kind::kMean)
    return std::accumulate(drawn.begin(), drawn.end(), 0.0) / static_cast<double>(drawn.size());
  if (statistic.kind == Statistic::Kind::kFast) std::erase_if(drawn, [](double step) { return step <= 0; });
  if (drawn.empty()) return 0;
  std::sort(drawn.begin(), drawn.end());
  return rangefinder::base::quantile(drawn, statistic.share) * static_cast<double>(drawn.size()) /
         static_cast<double>(steps.size());
}

}  // namespace

TEST_CASE("Benjamini and Hochberg's correction is the one worked out by hand", "[compare]") {
  // Ranks 1 to 5 of 5: 0.005 x 5, 0.02 x 5/2, 0.03 x 5/3, 0.04 x 5/4, 0.5; each at most what follows.
  const std::vector<double> adjusted = adjusted_p_values(std::vector<double>{0.03, 0.005, 0.5, 0.02, 0.04});
  CHECK(adjusted[1] == Approx(0.025));
  CHECK(adjusted[3] == Approx(0.05));
  CHECK(adjusted[0] == Approx(0.05));
  CHECK(adjusted[4] == Approx(0.05));
  CHECK(adjusted[2] == Approx(0.5));
  CHECK(adjusted_p_values({}).empty());
  CHECK(adjusted_p_values(std::vector<double>{0.9, 1.0})[0] == Approx(1.0));
}

TEST_CASE("the chance of an order of runs is that of all orders, counted", "[compare][property]") {
  std::mt19937_64 random(property_seed("orders of runs"));
  for (int round = 0; round < repeats(20); ++round) {
    const std::size_t n = 8, m = 8 + static_cast<std::size_t>(round % 2);
    // Numbers without equals, so that each order is as likely as any other.
    std::vector<double> all(n + m);
    std::iota(all.begin(), all.end(), 1.0);
    std::shuffle(all.begin(), all.end(), random);
    const auto away = [&](std::span<const double> before, std::span<const double> after) {
      int below = 0;
      for (const double one : before)
        for (const double other : after) below += one < other;
      return std::abs(2 * below - static_cast<int>(n * m));
    };
    const std::span<const double> values = all;
    const int seen = away(values.first(n), values.subspan(n));
    int as_far = 0, orders = 0;
    std::vector<bool> in_baseline(n + m);
    std::fill(in_baseline.begin(), in_baseline.begin() + static_cast<std::ptrdiff_t>(n), true);
    do {
      std::vector<double> before, after;
      for (std::size_t i = 0; i < n + m; ++i) (in_baseline[i] ? before : after).push_back(static_cast<double>(i));
      as_far += away(before, after) >= seen;
      ++orders;
    } while (std::prev_permutation(in_baseline.begin(), in_baseline.end()));
    CHECK(rank_chance(values.first(n), values.subspan(n)) == Approx(std::min(1.0, double(as_far) / orders)));
  }
  const std::vector<double> low(8, 1.0), high(8, 2.0);
  CHECK(rank_chance(low, high) == Approx(2.0 / 12'870));
  CHECK(rank_chance(high, low) == Approx(2.0 / 12'870));
  CHECK(rank_chance(low, low) == Approx(1));
  CHECK(rank_chance(std::vector<double>(7, 1.0), high) == 0);
  SECTION("of many runs, by the normal distribution") {
    std::vector<double> before, after;
    for (int i = 0; i < 100; ++i) (i % 2 == 0 ? before : after).push_back(i + (i % 2 == 0 ? 0 : 20));
    const double counted = rank_chance(before, after);  // 50 and 50
    before.push_back(50), after.push_back(70);
    CHECK(counted == Approx(0.001055).epsilon(0.001));
    CHECK(rank_chance(before, after) == Approx(counted).epsilon(0.2));
  }
}

TEST_CASE("the block bootstrap draws what the slow obvious one draws", "[compare][property]") {
  std::mt19937_64 random(property_seed("block bootstrap"));
  for (int round = 0; round < repeats(200); ++round) {
    std::vector<double> steps = autocorrelated(random, 1 + random() % 70, 0.7, 100, 10);
    for (double& step : steps) step = std::round(step);  // equal ones too
    if (round % 3 == 0)
      for (double& step : steps) step = random() % 4 == 0 ? step : 0;  // of a path that some steps have
    for (const Statistic statistic : {Statistic::mean(), Statistic::fast(), Statistic::quantile(0),
                                      Statistic::quantile(0.1), Statistic::quantile(0.5), Statistic::quantile(1)}) {
      BlockBootstrap fast(steps, statistic);
      const std::uint64_t seed = random();
      Random one(seed), other(seed);
      for (int draw = 0; draw < 5; ++draw)
        CHECK(fast.draw(one) == Approx(obvious_draw(steps, fast.block_steps(), statistic, other)));
    }
  }
}

TEST_CASE("blocks are as long as steps stay alike", "[compare][property]") {
  std::mt19937_64 random(property_seed("block length"));
  const auto mean_length = [&](double correlation) {
    double sum = 0;
    for (int i = 0; i < 40; ++i)
      sum += static_cast<double>(block_length(autocorrelated(random, 400, correlation, 100, 5)));
    return sum / 40;
  };
  const double independent = mean_length(0), alike = mean_length(0.9);
  CHECK(independent < 6);
  CHECK(alike > 12);
  CHECK(alike < 60);
  CHECK(block_length(std::vector<double>(100, 7.0)) == 1);
  CHECK(block_length(std::vector<double>{1, 2, 3}) == 1);
  CHECK(block_length({}) == 1);
}

TEST_CASE("intervals hold the truth as often as they promise", "[compare][property]") {
  std::mt19937_64 random(property_seed("coverage"));
  StatisticsOptions options;
  options.resamples = 300;
  options.assumed_run_spread = 0;
  struct Case {
    std::size_t runs;
    double correlation, most_misses;
  };
  // A bootstrap is right in the limit: of steps that are much alike an interval of one run is a little too short.
  for (const Case& each : {Case{1, 0, 0.09}, Case{1, 0.5, 0.14}, Case{2, 0.5, 0.05}, Case{5, 0.5, 0.06},
                           Case{10, 0.5, 0.08}, Case{20, 0.8, 0.08}}) {
    for (const Statistic statistic : {Statistic::mean(), Statistic::quantile(0.5), Statistic::quantile(0.1)}) {
      std::size_t misses = 0, tests = 0;
      for (int round = 0; round < repeats(120); ++round, ++tests) {
        const double deviation = each.runs == 1 ? 0 : 2;
        const Series baseline = series_around(random, each.runs, each.correlation, 100, deviation);
        const Series candidate = series_around(random, each.runs, each.correlation, 100, deviation);
        options.seed = random();
        const Change change = change_of(baseline, candidate, statistic, Noise::kTimed, options);
        misses += change.ratio_interval.low > 1 || change.ratio_interval.high < 1 ? 1 : 0;
      }
      INFO(each.runs << " runs, correlation " << each.correlation << ": " << misses << " of " << tests);
      CHECK(is_at_most(tests, each.most_misses, misses));
    }
  }
}

TEST_CASE("a change is found that is larger than what runs vary by", "[compare][property]") {
  std::mt19937_64 random(property_seed("power"));
  const Series baseline = series_around(random, 20, 0.5, 100, 1), candidate = series_around(random, 20, 0.5, 105, 1);
  const Change change = change_of(baseline, candidate, Statistic::quantile(0.5));
  CHECK(change.ratio > 1.02);
  CHECK(change.ratio_interval.low > 1.005);
  CHECK(change.ratio_interval.low < change.ratio);
  CHECK(change.ratio < change.ratio_interval.high);
  CHECK(change.p_value < 1e-6);
  CHECK(verdict_of(change, change.p_value) == Verdict::kWorse);
  const Change back = change_of(candidate, baseline, Statistic::quantile(0.5));
  CHECK(verdict_of(back, back.p_value) == Verdict::kBetter);
  CHECK(back.ratio == Approx(1 / change.ratio));
}

TEST_CASE("load on some of the runs does not hide a change of 2 %", "[compare][property]") {
  std::mt19937_64 random(property_seed("loaded runs"));
  const auto loaded = [&](double middle) {
    Series runs = series_around(random, 20, 0.3, middle, 0.3);
    for (std::size_t run = 0; run < runs.size(); run += 3) {
      const double slower = 1.1 + 0.1 * static_cast<double>(random() % 10);
      for (double& step : runs[run]) step *= slower;
    }
    return runs;
  };
  const Series baseline = loaded(1000), candidate = loaded(1020);
  const Change change = change_of(baseline, candidate, Statistic::fast());
  CHECK(change.baseline < 1010);
  CHECK(change.ratio > 1.01);
  CHECK(change.ratio < 1.03);
  CHECK(verdict_of(change, change.p_value) == Verdict::kWorse);
  SECTION("of counts, the middle is taken") {
    CHECK(change_of(baseline, candidate, Statistic::fast(), Noise::kExact).baseline > 1010);
  }
  SECTION("of rates, the high ones") {
    Series rates = baseline;
    for (std::vector<double>& run : rates)
      for (double& step : run) step = 1e6 / step;
    CHECK(change_of(rates, rates, Statistic::quantile(0.95)).baseline > 990);
  }
}

TEST_CASE("what only some steps have counts by what it takes in them", "[compare]") {
  std::mt19937_64 random(4);
  const auto every_fourth = [&](double time) {
    Series runs = series_around(random, 10, 0, time, 0.1);
    for (std::vector<double>& run : runs)
      for (std::size_t step = 0; step < run.size(); ++step)
        if (step % 4 != 0) run[step] = 0;
    return runs;
  };
  const Series baseline = every_fourth(1000), candidate = every_fourth(2000);
  const Change change = change_of(baseline, candidate, Statistic::fast());
  CHECK(change.baseline == Approx(250).epsilon(0.02));
  CHECK(change.ratio == Approx(2).epsilon(0.02));
  CHECK(verdict_of(change, change.p_value) == Verdict::kWorse);
  CHECK(change_of(baseline, candidate, Statistic::quantile(0.05)).candidate == 0);
  CHECK(figure_of_run(std::vector<double>{0, 0}, Statistic::fast()) == 0);
}

TEST_CASE("the same seed gives the same answer", "[compare]") {
  std::mt19937_64 random(1);
  const Series baseline = series_around(random, 3, 0.5, 100, 1), candidate = series_around(random, 12, 0.5, 100, 1);
  const Change first = change_of(baseline, candidate, Statistic::quantile(0.5));
  const Change second = change_of(baseline, candidate, Statistic::quantile(0.5));
  CHECK(first.ratio_interval.low == second.ratio_interval.low);
  CHECK(first.p_value == second.p_value);
}

TEST_CASE("single runs are widened, and say so", "[compare]") {
  std::mt19937_64 random(1);
  const Series one = series_around(random, 1, 0, 100, 0), other = series_around(random, 1, 0, 104, 0);
  const auto width = [](const Change& change) { return change.ratio_interval.high - change.ratio_interval.low; };
  StatisticsOptions narrow;
  narrow.assumed_run_spread = 0;
  const Change told = change_of(one, other, Statistic::quantile(0.5), Noise::kTimed, narrow);
  const Change widened = change_of(one, other, Statistic::quantile(0.5));
  CHECK_FALSE(widened.run_spread_known);
  CHECK(width(widened) > 0.1);
  CHECK(width(told) < 0.08);
  CHECK(verdict_of(widened, widened.p_value) == Verdict::kCannotTell);
  SECTION("counts are not: the program decides them") {
    const Series three(1, std::vector<double>(50, 3.0)), four(1, std::vector<double>(50, 4.0));
    const Change change = change_of(three, four, Statistic::mean(), Noise::kExact);
    CHECK(change.difference_interval.low == 1);
    CHECK(change.difference_interval.high == 1);
    CHECK(change.p_value == 0);
    CHECK(verdict_of(change, 0) == Verdict::kWorse);
  }
  SECTION("a single run gets the spread of the other side's runs") {
    const Series many = series_around(random, 20, 0, 100, 3);
    const Change change = change_of(many, one, Statistic::quantile(0.5));
    CHECK(change.run_spread_known);
    CHECK(width(change) > 0.06);
  }
}

TEST_CASE("what cannot be compared is said", "[compare]") {
  const Series none, empty(3), some(3, std::vector<double>{1, 2, 3});
  CHECK_FALSE(change_of(none, some, Statistic::mean()).measured());
  CHECK_FALSE(change_of(some, empty, Statistic::mean()).measured());
  CHECK(verdict_of(change_of(none, some, Statistic::mean()), 0) == Verdict::kCannotTell);
  SECTION("a baseline of nothing has no ratio, and a difference") {
    const Series many(10, std::vector<double>{1, 2, 3});
    const Change change = change_of(Series(10, std::vector<double>(9, 0.0)), many, Statistic::mean());
    CHECK(change.ratio == 0);
    CHECK(change.difference == 2);
    CHECK(verdict_of(change, change.p_value) == Verdict::kWorse);
  }
  SECTION("the same is the same") {
    const Change change = change_of(some, some, Statistic::mean());
    CHECK(change.ratio == 1);
    CHECK(change.p_value == 1);
  }
}

TEST_CASE("a limit is passed, kept or neither, by one-sided chances", "[compare]") {
  std::mt19937_64 random(3);
  const Series baseline = series_around(random, 20, 0, 100, 0.5), candidate = series_around(random, 20, 0, 105, 0.5);
  const Change change = change_of(baseline, candidate, Statistic::quantile(0.5));
  CHECK(chance_if_not_beyond(change, {0.02, true}, true) < 0.001);
  CHECK(chance_if_not_beyond(change, {0.10, true}, true) > 0.999);
  CHECK(chance_if_not_beyond(change, {0.10, true}, false) < 0.001);
  CHECK(chance_if_not_beyond(change, {2, false}, true) < 0.001);
  CHECK(chance_if_not_beyond(change, {10, false}, true) > 0.999);
  CHECK(chance_if_not_beyond(change, {-1, true}, true) < 0.001);
  CHECK(chance_if_not_beyond({}, {0.02, true}, true) == 1);
  // At the limit is not past it.
  const Change exact = change_of(Series(1, std::vector<double>(9, 3.0)), Series(1, std::vector<double>(9, 4.0)),
                                 Statistic::mean(), Noise::kExact);
  CHECK(chance_if_not_beyond(exact, {1, false}, true) == 1);
  CHECK(chance_if_not_beyond(exact, {0.5, false}, true) == 0);
}

TEST_CASE("warm-up of any times is cut without harm", "[compare]") {
  std::vector<double> steps(40, 1e6);
  steps[0] = 9e6;
  CHECK(warm_up_of(steps) == 1);
  CHECK(warm_up_of(std::vector<double>{1e300, -1e300, 0, 1, 2, 3, 4}) <= 3);
}
