// SPDX-License-Identifier: MIT
// How often a comparison of runs is wrong: sides drawn from a pool of recorded runs (record_pool.py), of which nothing
// is different (A/A), or one has a path that takes longer (A/B).
//
//   bench_diff_gate --pool pool.rfbase [--slow slow.rfbase] [--pairs 1000] [--runs 20] [--percent 2] [--seed 1]
//
// Each pair has two sides of --runs runs, none of them on both. A/A: a false alarm is a pair in which any metric is
// called better or worse. A/B: --percent is added to the time of a path, in each of its steps, and to all that is
// around it; the paths of 10 % and more of a step take turns. Found: the path is called worse, nothing is called
// better, and nothing else worse but what is around or inside it. --slow: runs of a program that does more work,
// instead.
#include "base/random.hpp"
#include "common/arguments.hpp"
#include "compare/baseline_file.hpp"
#include "compare/gate.hpp"
#include "compare/metric_changes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace rangefinder;
using namespace rangefinder::compare;

struct Options {
  std::string pool, slow;
  std::uint32_t pairs = 1000, runs = 20, percent = 2;
  std::uint64_t seed = 1;
};

using Runs = std::vector<Run>;

struct Pair {
  Runs baseline, candidate;
};

/// Numbers from 0 on, in an order that is drawn.
std::vector<std::size_t> shuffled(std::size_t count, base::Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

Runs drawn(const Runs& from, const std::vector<std::size_t>& order, std::size_t first, std::size_t count) {
  Runs out;
  for (std::size_t i = first; i < first + count; ++i) out.push_back(from[order[i]]);
  return out;
}

/// The path and those around it, outwards.
std::vector<std::uint32_t> with_around(const Run& run, std::uint32_t path) {
  std::vector<std::uint32_t> out;
  for (; path < run.paths.size(); path = run.paths[path].around) out.push_back(path);
  return out;
}

const Subject* find_path(const Run& run, std::string_view path) {
  for (const Subject& subject : run.subjects)
    if (subject.kind == SubjectKind::kPath && path_text(run, subject.index) == path) return &subject;
  return nullptr;
}

/// Makes a path take longer in each step, and with it the step and all paths around.
void slow_down(Run& run, std::string_view path, std::uint32_t percent) {
  const Subject* const slow = find_path(run, path);
  if (slow == nullptr) return;
  const std::vector<std::uint32_t> around = with_around(run, slow->index);
  std::map<std::uint32_t, std::int64_t> more_ns;  // by step
  for (const auto& [step, amounts] : slow->by_step) more_ns[step] = amounts.host_ns * percent / 100;
  for (Subject& subject : run.subjects) {
    const bool is_around =
        subject.kind == SubjectKind::kPath && std::find(around.begin(), around.end(), subject.index) != around.end();
    if (subject.kind != SubjectKind::kStep && !is_around) continue;
    for (auto& [step, amounts] : subject.by_step)
      if (const auto more = more_ns.find(step); more != more_ns.end()) amounts.host_ns += more->second;
  }
  for (const auto& [step, more] : more_ns) run.steps[step].computation_ns += more;
}

double middle_of(std::vector<double> values) { return figure_of_run(values, Statistic::quantile(0.5)); }

/// Paths of at least that share of a step in the middle of all runs, but the one around all others.
std::vector<std::pair<std::string, double>> large_paths(const Runs& pool, double least) {
  std::map<std::string, std::vector<double>> shares;
  for (const Run& run : pool) {
    const double step = middle_of(series_of(run, "step"));
    for (const Subject& subject : run.subjects)
      if (subject.kind == SubjectKind::kPath)
        shares[path_text(run, subject.index)].push_back(middle_of(series_of(run, subject)) / step);
  }
  std::vector<std::pair<std::string, double>> out;
  for (const auto& [path, of_runs] : shares)
    if (const double share = middle_of(of_runs); share >= least && share < 0.9) out.emplace_back(path, share);
  return out;
}

bool is_alarm(const MetricChange& change) {
  return change.verdict == Verdict::kBetter || change.verdict == Verdict::kWorse;
}

/// Whether a metric is about what is around a path, or inside.
bool belongs_to(std::string_view metric, std::string_view path) {
  if (!metric.starts_with("path:")) return metric.starts_with("step");
  const std::string_view other = metric.substr(5);
  return path.starts_with(other) || other.starts_with(path);
}

struct Tally {
  std::uint32_t pairs = 0, found = 0, elsewhere = 0, better = 0, untold = 0;

  void add(const MetricComparison& comparison, std::string_view path) {
    ++pairs;
    const std::string metric = "path:" + std::string(path);
    bool is_found = false, is_elsewhere = false, is_better = false;
    for (const MetricChange& change : comparison.changes) {
      if (change.metric.name == metric && change.verdict == Verdict::kCannotTell) ++untold;
      if (!is_alarm(change)) continue;
      is_found |= change.metric.name == metric && change.verdict == Verdict::kWorse;
      is_better |= change.verdict == Verdict::kBetter;
      is_elsewhere |= !belongs_to(change.metric.name, path);
    }
    found += is_found && !is_elsewhere && !is_better ? 1 : 0;
    elsewhere += is_elsewhere ? 1 : 0;
    better += is_better ? 1 : 0;
  }
};

double percent_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

MetricComparison compare_all(const Runs& baseline, const Runs& candidate) {
  return compare_metrics(baseline, candidate, metrics_of(std::span<const Run>(baseline)));
}

void compare_alike(const Runs& pool, const Options& options) {
  base::Random random(options.seed);
  std::uint32_t alarms = 0;
  std::array<std::uint64_t, 4> verdicts{};
  std::array<std::uint32_t, 3> gates{};
  Result<GateRule> rule = parse_gate_rule("step > +2%");
  for (std::uint32_t pair = 0; pair < options.pairs; ++pair) {
    const std::vector<std::size_t> order = shuffled(pool.size(), random);
    const Runs baseline = drawn(pool, order, 0, options.runs),
               candidate = drawn(pool, order, options.runs, options.runs);
    const MetricComparison found = compare_all(baseline, candidate);
    alarms += std::any_of(found.changes.begin(), found.changes.end(), is_alarm) ? 1 : 0;
    for (const MetricChange& change : found.changes) ++verdicts[static_cast<std::size_t>(change.verdict)];
    const Result<GateResult> gate = judge_runs(baseline, candidate, std::span(&*rule, 1), false, {});
    if (gate) ++gates[static_cast<std::size_t>(gate->verdict)];
  }
  const std::uint64_t all = std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0});
  std::printf("A/A  %u pairs of %u + %u runs: false alarms in %u (%.1f %%)\n", options.pairs, options.runs,
              options.runs, alarms, percent_of(alarms, options.pairs));
  for (const Verdict verdict : {Verdict::kSame, Verdict::kBetter, Verdict::kWorse, Verdict::kCannotTell})
    std::printf("     of all metrics %-12s %5.1f %%\n", std::string(to_string(verdict)).c_str(),
                percent_of(verdicts[static_cast<std::size_t>(verdict)], all));
  for (const GateVerdict verdict : {GateVerdict::kPass, GateVerdict::kRegression, GateVerdict::kCannotTell})
    std::printf("     gate 'step > +2%%' %-12s %5.1f %%\n", rangefinder::to_string(verdict),
                percent_of(gates[static_cast<std::size_t>(verdict)], options.pairs));
}

void print_tally(const std::string& path, double share, const Tally& tally) {
  std::printf("     %-34s %5.1f %%  %5u  %5.1f %%  %5.1f %%  %5.1f %%  %5.1f %%\n", path.c_str(), 100 * share,
              tally.pairs, percent_of(tally.found, tally.pairs), percent_of(tally.untold, tally.pairs),
              percent_of(tally.elsewhere, tally.pairs), percent_of(tally.better, tally.pairs));
}

void compare_slower(const Runs& pool, const Options& options) {
  const auto paths = large_paths(pool, 0.1);
  if (paths.empty()) return;
  std::vector<Tally> tallies(paths.size());
  base::Random random(options.seed + 1);
  for (std::uint32_t pair = 0; pair < options.pairs; ++pair) {
    const std::string& path = paths[pair % paths.size()].first;
    const std::vector<std::size_t> order = shuffled(pool.size(), random);
    const Runs baseline = drawn(pool, order, 0, options.runs);
    Runs candidate = drawn(pool, order, options.runs, options.runs);
    for (Run& run : candidate) slow_down(run, path, options.percent);
    tallies[pair % paths.size()].add(compare_all(baseline, candidate), path);
  }
  std::printf("\nA/B, +%u %%, path                    share of step  pairs    found   untold  elsewhere  better\n",
              options.percent);
  Tally all;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    print_tally(paths[i].first, paths[i].second, tallies[i]);
    all.pairs += tallies[i].pairs, all.found += tallies[i].found, all.untold += tallies[i].untold;
    all.elsewhere += tallies[i].elsewhere, all.better += tallies[i].better;
  }
  std::printf("     all: %u pairs, found %.1f %%, elsewhere %.1f %%, better %.1f %%\n", all.pairs,
              percent_of(all.found, all.pairs), percent_of(all.elsewhere, all.pairs),
              percent_of(all.better, all.pairs));
}

/// Runs that were recorded of a slower program.
void compare_recorded(const Runs& pool, const Runs& slow, const Options& options) {
  base::Random random(options.seed + 2);
  std::map<std::string, std::array<std::uint32_t, 2>> called;  // better, worse
  for (std::uint32_t pair = 0; pair < options.pairs; ++pair) {
    const Runs baseline = drawn(pool, shuffled(pool.size(), random), 0, options.runs);
    const Runs candidate = drawn(slow, shuffled(slow.size(), random), 0, options.runs);
    for (const MetricChange& change : compare_all(baseline, candidate).changes)
      if (is_alarm(change)) ++called[change.metric.name][change.verdict == Verdict::kWorse ? 1 : 0];
  }
  std::printf("\nA/B, recorded: %u pairs; called       better   worse\n", options.pairs);
  for (const auto& [metric, counts] : called)
    std::printf("     %-34s %5.1f %%  %5.1f %%\n", metric.c_str(), percent_of(counts[0], options.pairs),
                percent_of(counts[1], options.pairs));
}

int fail(const Error& error) {
  std::fprintf(stderr, "bench_diff_gate: %s\n", error.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::read_arguments(argc, argv,
                        {{"--pool", &options.pool},
                         {"--slow", &options.slow},
                         {"--pairs", &options.pairs},
                         {"--runs", &options.runs},
                         {"--percent", &options.percent},
                         {"--seed", &options.seed}});
  if (options.pool.empty())
    return std::printf("bench_diff_gate: nothing is measured without --pool: see README.md beside it\n"), 0;
  constexpr std::uint64_t kLimit = std::uint64_t{4} << 30;
  const Result<Runs> pool = read_baseline_file(options.pool, kLimit);
  if (!pool) return fail(pool.error());
  if (pool->size() < 2 * std::size_t{options.runs})
    return std::fprintf(stderr, "bench_diff_gate: a pool of %zu runs is too small\n", pool->size()), 2;
  std::printf("pool of %zu runs on %s\n\n", pool->size(), pool->front().hardware.cpu.c_str());
  compare_alike(*pool, options);
  compare_slower(*pool, options);
  if (options.slow.empty()) return 0;
  const Result<Runs> slow = read_baseline_file(options.slow, kLimit);
  if (!slow) return fail(slow.error());
  if (slow->size() < options.runs) return std::fprintf(stderr, "bench_diff_gate: too few slow runs\n"), 2;
  compare_recorded(*pool, *slow, options);
  return 0;
}
