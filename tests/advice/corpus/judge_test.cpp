// SPDX-License-Identifier: MIT
#include "advice/corpus/judge.hpp"

#include "advice/corpus/cases.hpp"
#include "advice/corpus/training_loop.hpp"
#include "support/catch.hpp"

#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing::corpus;

namespace {

constexpr std::uint64_t kSeed = 5;

/// Waits for data, and waits for the device.
Program waits(std::uint64_t seed, Planted planted) {
  Loop loop{mlp({3, 1024, 2048})};
  loop.steps = 12;
  loop.data = [planted](Simulation& run, int) { run.host(planted(0) ? 4'000 : 50); };
  if (planted(1)) loop.after_forward = [](Simulation& run, int) { run.item(); };
  return run_loop(seed, loop);
}
Program plain(std::uint64_t seed, Planted) { return waits(seed, Planted::all().without(0).without(1)); }

std::vector<AdviceCase> three_cases() {
  using R = AdviceRule;
  return {{"waits", {{R::kDataWait}, {R::kImplicitSynchronization}}, alone(waits), {}},
          {"waits, with a consequence", {{R::kDataWait}}, alone(waits), {{R::kLaunchBound, "made up"}}},
          {"plain", {}, alone(plain), {}}};
}

AdviceFinding finding(AdviceRule rule, std::int64_t gain_ns) {
  AdviceFinding made;
  made.rule = rule;
  made.gain_ns = gain_ns;
  return made;
}

/// Names each cause and what is also right, with what it gains.
Advice right_advice(const AdviceCase& one, const Timeline&) {
  Advice advice;
  for (std::size_t cause = 0; cause < one.causes.size(); ++cause)
    advice.findings.push_back(finding(one.causes[cause].rule, true_gain_ns(one, kSeed, cause)));
  for (const AlsoRight& also : one.also_right) advice.findings.push_back(finding(also.rule, 1));
  return advice;
}

}  // namespace

TEST_CASE("the judge of advice gives full marks to what names all causes", "[advice]") {
  const Score score = judge(three_cases(), kSeed, right_advice);
  CHECK(score.cases == 3);
  CHECK(score.healthy == 1);
  CHECK(score.causes == 3);
  CHECK(score.found == 3);
  CHECK(score.findings == 4);
  CHECK(score.right == 4);
  CHECK(score.first_place() == 1);
  CHECK(score.wrong_bounds == 0);
  CHECK(score.faults.empty());
}

TEST_CASE("the judge of advice counts what was missed, made up, ranked or bounded wrongly", "[advice]") {
  SECTION("nothing is found") {
    const Score score = judge(three_cases(), kSeed, [](const AdviceCase&, const Timeline&) { return Advice{}; });
    CHECK(score.recall() == 0);
    CHECK(score.precision() == 1);
    CHECK(score.first_place() == 0);
    CHECK(score.faults.size() == 3);
  }
  SECTION("something is found everywhere") {
    const Score score = judge(three_cases(), kSeed, [](const AdviceCase& one, const Timeline& timeline) {
      Advice advice = right_advice(one, timeline);
      advice.findings.push_back(finding(AdviceRule::kClocks, 1));
      return advice;
    });
    CHECK(score.recall() == 1);
    CHECK(score.findings == 7);
    CHECK(score.right == 4);
    CHECK(score.on_healthy == 1);
    CHECK(score.first_place() == 1);
  }
  SECTION("the lesser cause comes first") {
    const Score score = judge(three_cases(), kSeed, [](const AdviceCase& one, const Timeline& timeline) {
      Advice advice = right_advice(one, timeline);
      if (!advice.findings.empty()) std::swap(advice.findings.front(), advice.findings.back());
      return advice;
    });
    CHECK(score.first == 0);
    CHECK(score.ranked == 2);
  }
  SECTION("less is promised than there is to gain") {
    const Score score = judge(three_cases(), kSeed, [](const AdviceCase& one, const Timeline& timeline) {
      Advice advice = right_advice(one, timeline);
      for (AdviceFinding& one_finding : advice.findings) one_finding.gain_ns = one_finding.gain_ns * 9 / 10;
      return advice;
    });
    CHECK(score.bounds == 3);
    CHECK(score.wrong_bounds == 3);
  }
  SECTION("more is promised than a step takes") {
    const Score score = judge(three_cases(), kSeed, [](const AdviceCase& one, const Timeline& timeline) {
      Advice advice = right_advice(one, timeline);
      for (AdviceFinding& one_finding : advice.findings) one_finding.gain_ns = 1'000'000'000;
      return advice;
    });
    CHECK(score.wrong_bounds == 4);
  }
}
