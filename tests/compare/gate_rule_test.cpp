// SPDX-License-Identifier: MIT
#include "compare/gate_rule.hpp"

#include "support/catch.hpp"

#include <string>

using namespace rangefinder;
using namespace rangefinder::compare;

namespace {

GateRule rule_of(const std::string& text) {
  Result<GateRule> rule = parse_gate_rule(text);
  INFO(text);
  REQUIRE(rule.ok());
  return *rule;
}

std::string problem_of(const std::string& text) {
  const Result<GateRule> rule = parse_gate_rule(text);
  INFO(text);
  REQUIRE_FALSE(rule.ok());
  CHECK(rule.error().code() == ErrorCode::kInvalidArgument);
  return rule.error().message();
}

}  // namespace

TEST_CASE("a rule is a metric, a statistic, a direction and a limit", "[compare]") {
  const GateRule rule = rule_of("  step.p50 > +2%  ");
  CHECK(rule.text == "step.p50 > +2%");
  CHECK(rule.metric == "step");
  CHECK(rule.statistic == Statistic::quantile(0.5));
  CHECK(rule.above);
  CHECK(rule.limit == Approx(0.02));
  CHECK(rule.unit == LimitUnit::kShare);
  CHECK_FALSE(rule.has_wildcard());
}

TEST_CASE("limits have the units of what they limit", "[compare]") {
  CHECK(rule_of("memory.peak>+100MiB").limit == 100.0 * 1024 * 1024);
  CHECK(rule_of("memory.peak>+100MiB").metric == "memory.peak");
  CHECK_FALSE(rule_of("memory.peak>+100MiB").statistic.has_value());
  CHECK(rule_of("step > +1.5 ms").limit == 1.5e6);
  CHECK(rule_of("step > +7us").limit == 7e3);
  CHECK(rule_of("step > +7ns").limit == 7);
  CHECK(rule_of("step > +1s").limit == 1e9);
  CHECK(rule_of("memory.peak > +1GiB").limit == 0x1p30);
  CHECK(rule_of("memory.peak > +1KiB").limit == 1024);
  CHECK(rule_of("memory.peak > +1B").unit == LimitUnit::kBytes);
  CHECK(rule_of("step.ops > +3").unit == LimitUnit::kNone);
  const GateRule below = rule_of("step.items_per_second.mean < -2%");
  CHECK(below.metric == "step.items_per_second");
  CHECK(below.statistic == Statistic::mean());
  CHECK_FALSE(below.above);
  CHECK(below.limit == Approx(-0.02));
}

TEST_CASE("statistics are words behind the last dot, and other words belong to the name", "[compare]") {
  CHECK(rule_of("step.median > +1%").statistic == Statistic::quantile(0.5));
  CHECK(rule_of("step.min > +1%").statistic == Statistic::quantile(0));
  CHECK(rule_of("step.max > +1%").statistic == Statistic::quantile(1));
  CHECK(rule_of("step.p0 > +1%").statistic == Statistic::quantile(0));
  CHECK(rule_of("step.p100 > +1%").statistic == Statistic::quantile(1));
  CHECK(rule_of("path:train/layers.11 > +1%").metric == "path:train/layers.11");
  CHECK(rule_of("path:train/layers.11.p95 > +1%").metric == "path:train/layers.11");
  CHECK(rule_of("path.busy:train/* > +1%").has_wildcard());
  CHECK(rule_of("path:x.p > +1%").metric == "path:x.p");
  CHECK(rule_of("operator:copy<float> > +1%").metric == "operator:copy<float>");
}

TEST_CASE("what is wrong with a rule is said with its column", "[compare]") {
  CHECK(problem_of("step > 2%") ==
        "rule \"step > 2%\", column 8: a limit is a change from the baseline and begins with + or -; write +2%");
  CHECK(problem_of("step >= +2%") == "rule \"step >= +2%\", column 7: there is no >= and no <=; write > or <");
  CHECK(problem_of("step.p50 +2%") ==
        "rule \"step.p50 +2%\", column 13: no > or <; a rule is METRIC > LIMIT, such as step.p50 > +2%");
  CHECK(problem_of("step.p101 > +2%") ==
        "rule \"step.p101 > +2%\", column 6: there is no percentile p101; they go from p0 to p100");
  CHECK(problem_of("step > +2MB") ==
        "rule \"step > +2MB\", column 10: there is no unit \"MB\"; there are %, ns, us, ms, s, B, KiB, MiB, GiB, and "
        "none for counts");
  CHECK(problem_of(" > +2%") ==
        "rule \" > +2%\", column 2: the name of a metric is missing, such as step or memory.peak");
  CHECK(problem_of(".p50 > +2%").find("column 1: the name of a metric is missing") != std::string::npos);
  CHECK(problem_of("step >").find("column 7: a limit is missing") != std::string::npos);
  CHECK(problem_of("step > +").find("column 9: a number is missing") != std::string::npos);
  CHECK(problem_of("step > +%").find("column 9: a number is missing") != std::string::npos);
  CHECK(problem_of("step > +1.2.3%").find("column 9: a number is missing") != std::string::npos);
  CHECK(problem_of("step > +2% or step > +3%x").find("column 24") != std::string::npos);
  CHECK(problem_of("").find("column 1") != std::string::npos);
  CHECK(problem_of("st\x1b[31mep > 2").find('\x1b') == std::string::npos);
}

TEST_CASE("a limit fits metrics of its unit", "[compare]") {
  CHECK(fits(LimitUnit::kShare, MetricUnit::kBytes));
  CHECK(fits(LimitUnit::kNanoseconds, MetricUnit::kNanoseconds));
  CHECK_FALSE(fits(LimitUnit::kNanoseconds, MetricUnit::kBytes));
  CHECK(fits(LimitUnit::kBytes, MetricUnit::kBytes));
  CHECK(fits(LimitUnit::kNone, MetricUnit::kPerSecond));
  CHECK_FALSE(fits(LimitUnit::kNone, MetricUnit::kNanoseconds));
}
