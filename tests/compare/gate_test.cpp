// SPDX-License-Identifier: MIT
#include "compare/gate.hpp"

#include "compare/metric_changes.hpp"
#include "compare/synthetic_runs.hpp"
#include "compare/written.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::compare;
using namespace rangefinder::testing;

namespace {

using Runs = std::vector<Run>;

Result<GateResult> judged(const Runs& baseline, const Runs& candidate, const std::vector<std::string>& rules,
                          const GateOptions& options = {}) {
  std::vector<GateRule> parsed;
  for (const std::string& rule : rules) parsed.push_back(parse_gate_rule(rule).value());
  return judge_runs(baseline, candidate, parsed, false, options);
}

SyntheticRun with_slow_path(double factor) {
  SyntheticRun shape;
  shape.path_ns[1] *= factor;
  return shape;
}

}  // namespace

TEST_CASE("a gate passes, fails, or cannot tell", "[compare]") {
  std::mt19937_64 random(1);
  const Runs baseline = synthetic_runs(random, 10, {}, 0.002);
  SECTION("what is the same passes") {
    const GateResult gate = judged(baseline, synthetic_runs(random, 10, {}, 0.002), {"step > +2%"}).value();
    CHECK(gate.verdict == GateVerdict::kPass);
    REQUIRE(gate.checks.size() == 1);
    CHECK(gate.checks[0].change_high < 0.02);
    CHECK(gate.checks[0].statistic == "fast");
    CHECK(gate.checks[0].unit == "ns");
    CHECK(gate.baseline.runs.size() == 10);
  }
  SECTION("what is slower by more than the limit fails") {
    const Runs slow = synthetic_runs(random, 10, with_slow_path(1.4), 0.002);  // 6.7 % of the step
    const GateResult gate = judged(baseline, slow, {"step > +50%", "step.p50 > +2%"}).value();
    CHECK(gate.verdict == GateVerdict::kRegression);
  }
  SECTION("what varies by more than the limit cannot be told") {
    const GateResult gate =
        judged(synthetic_runs(random, 4, {}, 0.1), synthetic_runs(random, 4, {}, 0.1), {"step > +2%"}).value();
    CHECK(gate.verdict == GateVerdict::kCannotTell);
    CHECK(gate.checks[0].reason.find("record more runs") != std::string::npos);
  }
  SECTION("single runs are said to be ones") {
    const GateResult gate = judged({baseline[0]}, {baseline[1]}, {"step > +2%"}).value();
    CHECK(gate.verdict == GateVerdict::kCannotTell);
    REQUIRE(gate.notes.size() == 1);
    CHECK(gate.notes[0].find("each side is one run") != std::string::npos);
    CHECK(judged({baseline[0]}, {baseline[1]}, {"step > +20%"}).value().verdict == GateVerdict::kPass);
  }
}

TEST_CASE("a path that became slower is found though the machine's speed varies more", "[compare]") {
  std::mt19937_64 random(2);
  const Runs baseline = synthetic_runs(random, 20, {}, 0.1);
  const Runs slow = synthetic_runs(random, 20, with_slow_path(1.05), 0.1);
  const GateResult gate = judged(baseline, slow, {"path:train/p1 > +2%", "path:train/p2 > +2%"}).value();
  CHECK(gate.verdict == GateVerdict::kRegression);
  CHECK(gate.checks[0].metric == "path:train/p1");
  CHECK(gate.checks[0].verdict == GateVerdict::kRegression);
  CHECK(gate.checks[0].reason.find("against the other paths") != std::string::npos);
  CHECK(gate.checks[1].verdict == GateVerdict::kCannotTell);
  SECTION("and no other is said to be faster for it") {
    for (const double slower : {1.05, 1.2, 2.0}) {
      const Runs changed = synthetic_runs(random, 20, with_slow_path(slower), 0.1);
      for (const MetricChange& change : compare_metrics(baseline, changed, metrics_of(baseline)).changes) {
        INFO(change.metric.name << ", " << slower);
        CHECK(change.verdict != Verdict::kBetter);
        if (change.metric.name == "path:train/p1") CHECK(change.verdict == Verdict::kWorse);
      }
    }
  }
  SECTION("what slows all paths alike is never let pass by that") {
    SyntheticRun slower;
    slower.speed = 1.05;
    const GateResult all = judged(baseline, synthetic_runs(random, 20, slower, 0.1), {"path:* > +2%"}).value();
    CHECK(std::none_of(all.checks.begin(), all.checks.end(),
                       [](const GateCheck& check) { return check.verdict == GateVerdict::kPass; }));
  }
}

TEST_CASE("counts and bytes are judged by their amounts", "[compare]") {
  std::mt19937_64 random(3);
  Runs baseline = synthetic_runs(random, 3, {.peak_bytes = 1000 << 20}, 0.01);
  Runs candidate = synthetic_runs(random, 3, {.peak_bytes = 1150 << 20}, 0.01);
  const GateResult gate =
      judged(baseline, candidate, {"memory.peak > +100MiB", "memory.peak > +20%", "path.calls:train > +0"}).value();
  REQUIRE(gate.checks.size() == 3);
  CHECK(gate.checks[0].rule == "memory.peak > +100MiB");
  CHECK(gate.checks[0].verdict == GateVerdict::kRegression);
  CHECK(gate.checks[0].change == 150.0 * (1 << 20));
  CHECK(gate.checks[1].verdict == GateVerdict::kPass);
  CHECK(gate.checks[2].verdict == GateVerdict::kPass);
}

TEST_CASE("rules name metrics that are there, in their unit", "[compare]") {
  std::mt19937_64 random(4);
  const Runs runs = synthetic_runs(random, 3, {}, 0.01);
  const auto problem = [&](const std::string& rule) { return judged(runs, runs, {rule}).error(); };
  CHECK(problem("stp > +2%").code() == ErrorCode::kNotFound);
  CHECK(problem("stp > +2%").message() == "rule \"stp > +2%\": no run has a metric \"stp\"; did you mean step?");
  CHECK(problem("path:nothing/* > +2%").code() == ErrorCode::kNotFound);
  CHECK(problem("step > +2MiB").code() == ErrorCode::kInvalidArgument);
  CHECK(problem("step > +2").message() == "rule \"step > +2\": step is in ns: give its limit in %, ns, us, ms or s");
  CHECK(judge_runs(runs, runs, {}, true, {}).value().notes.back() == "no metric was compared");
}

TEST_CASE("new and gone paths are no regression, and are said", "[compare]") {
  std::mt19937_64 random(5);
  Runs baseline = synthetic_runs(random, 5, {}, 0.001), candidate = synthetic_runs(random, 5, {}, 0.001);
  for (Run& run : candidate) run.paths[3].name = "renamed";
  const GateResult gate = judged(baseline, candidate, {"path:* > +5%"}).value();
  CHECK(gate.verdict == GateVerdict::kPass);
  CHECK(gate.checks.size() == 6);
  CHECK(gate.notes ==
        std::vector<std::string>{"metrics found by * that are new: 1", "metrics found by * that are gone: 1"});
  const GateResult named = judged(baseline, candidate, {"path:train/renamed > +5%"}).value();
  CHECK(named.verdict == GateVerdict::kCannotTell);
  CHECK(named.checks[0].reason == "the baseline does not have it");
}

TEST_CASE("other hardware is refused, or said", "[compare]") {
  std::mt19937_64 random(6);
  const Runs baseline = synthetic_runs(random, 3, {}, 0.001);
  Runs candidate = synthetic_runs(random, 3, {}, 0.001);
  for (Run& run : candidate) run.hardware.cpu = "cpu_other_64t";
  const Result<GateResult> refused = judged(baseline, candidate, {"step > +2%"});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kInvalidArgument);
  CHECK(refused.error().message().find("the baseline is of cpu_test_2t, the candidate of cpu_other_64t") == 0);
  GateOptions options;
  options.other_hardware = true;
  const GateResult gate = judged(baseline, candidate, {"step > +2%"}, options).value();
  CHECK(gate.notes.front() == "other hardware: the baseline is of cpu_test_2t, the candidate of cpu_other_64t");
  for (Run& run : candidate) run.hardware.cpu.clear();
  CHECK(judged(baseline, candidate, {"step > +2%"}).ok());
}

TEST_CASE("many metrics of runs that are alike give no alarm, but in the promised share", "[compare][property]") {
  std::mt19937_64 random(property_seed("A/A"));
  int alarms = 0, rounds = 0;
  for (; rounds < repeats(60); ++rounds) {
    const Runs baseline = synthetic_runs(random, 8, {.steps = 30}, 0.03);
    const Runs candidate = synthetic_runs(random, 8, {.steps = 30}, 0.03);
    const MetricComparison found = compare_metrics(baseline, candidate, metrics_of(std::span<const Run>(baseline)));
    alarms += std::any_of(found.changes.begin(), found.changes.end(), [](const MetricChange& change) {
      return change.verdict == Verdict::kBetter || change.verdict == Verdict::kWorse;
    });
  }
  INFO(alarms << " of " << rounds);
  CHECK(alarms <= rounds / 5);  // 1 % are promised: more than 20 % happen once in 10^9 seeds
}

TEST_CASE("runs that lack a path took no time in it", "[compare]") {
  std::mt19937_64 random(7);
  Runs runs = synthetic_runs(random, 2, {.steps = 4}, 0);
  runs[1].paths[1].name = "other";
  const SideSeries series(runs);
  CHECK(series.of("path:train/p0")[1] == std::vector<double>(4, 0.0));
  CHECK(series.of("path:train/p0")[0].size() == 4);
  CHECK(series.of("path:train/none")[0].empty());
  CHECK(series.of("memory.peak")[0].empty());
  CHECK(metrics_of(std::span<const Run>(runs)).size() == metrics_of(runs[0]).size() + 1);
}

TEST_CASE("the result is written for people and for programs", "[compare]") {
  GateResult result;
  result.verdict = GateVerdict::kRegression;
  result.baseline.runs = {"a.rfcap"};
  result.baseline.steps = 100;
  result.candidate.runs = {"b.rfcap", "c.rfcap"};
  result.candidate.steps = 200;
  result.candidate.warm_up = 4;
  GateCheck check;
  check.rule = "path:a<b>.p50 > +2%";
  check.metric = "path:a<b>";
  check.statistic = "p50";
  check.unit = "ns";
  check.baseline = 1e6;
  check.candidate = 1.05e6;
  check.limit = 0.02;
  check.change = 0.05;
  check.change_low = 0.041;
  check.change_high = 0.059;
  check.verdict = GateVerdict::kRegression;
  result.checks.push_back(check);
  check.verdict = GateVerdict::kCannotTell;
  check.rule = "path:* > +2%";
  check.metric = "path:\x1b\"&";
  check.reason = "record more runs";
  result.checks.push_back(check);
  check.verdict = GateVerdict::kPass;
  result.checks.push_back(check);
  result.notes = {"a *note*"};
  CHECK(written(result, GateFormat::kJunit) ==
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">\n"
        "  <testsuite name=\"rangefinder gate\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\">\n"
        "    <testcase classname=\"path:a&lt;b&gt;.p50 &gt; +2%\" name=\"path:a&lt;b&gt; p50\">\n"
        "      <failure type=\"regression\" message=\"path:a&lt;b&gt; p50: 1.000 ms, now 1.050 ms: +5.0 % (+4.1 % to "
        "+5.9 %), limit +2.0 %\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"path:* &gt; +2%\" name=\"path:\\x1b&quot;&amp; p50\">\n"
        "      <skipped message=\"path:\\x1b&quot;&amp; p50: 1.000 ms, now 1.050 ms: +5.0 % (+4.1 % to +5.9 %), limit "
        "+2.0 %; record more runs\"/>\n"
        "    </testcase>\n"
        "    <testcase classname=\"path:* &gt; +2%\" name=\"path:\\x1b&quot;&amp; p50\"/>\n"
        "  </testsuite>\n"
        "</testsuites>\n");
  const std::string text = written(result, GateFormat::kText);
  CHECK(text.find("regression: 1 of 3 metrics past the limit, 1 cannot be told\n"
                  "baseline: 1 run, 100 steps\n"
                  "candidate: 2 runs, 200 steps (4 of warm-up left out)\n") == 0);
  CHECK(text.find("1 more found by * is within the limit") != std::string::npos);
  CHECK(text.find("note: a *note*") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  const std::string markdown = written(result, GateFormat::kMarkdown);
  CHECK(markdown.find("### Performance gate: regression: 1 of 3 metrics past the limit") == 0);
  CHECK(markdown.find("| regression | path:a\\<b> | p50 | 1.000 ms | 1.050 ms | +5.0 % | +4.1 % to +5.9 % |") !=
        std::string::npos);
  CHECK(markdown.find("- a \\*note\\*") != std::string::npos);
  const std::string json = written(result, GateFormat::kJson);
  CHECK(json.find(
            "{\"schema_version\":1,\"verdict\":\"regression\",\"baseline\":{\"runs\":[\"a.rfcap\"],\"steps\":100,") ==
        0);
  CHECK(json.find("\"limit\":0.02,\"change\":0.05,\"change_low\":0.041,\"change_high\":0.059,\"reason\":\"\"}") !=
        std::string::npos);
  CHECK_FALSE(write_gate(result, {}, [](std::string_view) { return false; }).ok());
}
