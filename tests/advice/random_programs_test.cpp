// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/loaded_capture.hpp"
#include "support/random_program.hpp"
#include "support/seed.hpp"

#include <rangefinder/analysis/advice.hpp>

#include <cstdint>
#include <random>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("advice on any program gains at most what there is, in order, and is the same every time",
          "[advice][property]") {
  std::uint64_t findings = 0;
  for (const std::uint64_t seed : property_seeds("advice on random programs", repeats(60))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = load(random_program(random));
    AdviceOptions options;
    options.least_gain_permille = 0;
    const Advice advice = advise(timeline, options);
    findings += advice.findings.size();
    std::int64_t before_ns = advice.findings.empty() ? 0 : advice.findings.front().own_gain_ns;
    for (const AdviceFinding& finding : advice.findings) {
      INFO(to_string(finding.rule));
      CHECK(finding.gain_ns >= 0);
      CHECK(finding.gain_ns <= timeline.end_ns - timeline.begin_ns);
      CHECK(finding.own_gain_ns <= finding.gain_ns);
      CHECK(finding.own_gain_ns <= before_ns);
      CHECK_FALSE(finding.headline.empty());
      CHECK_FALSE(finding.change.empty());
      CHECK_FALSE(finding.check.empty());
      CHECK_FALSE(finding.evidence.empty());
      before_ns = finding.own_gain_ns;
    }
    for (const AdviceAbstention& one : advice.abstentions) CHECK_FALSE(one.missing.empty());
    const Advice again = advise(timeline, options);
    REQUIRE(again.verdict == advice.verdict);
    REQUIRE(again.findings.size() == advice.findings.size());
    for (std::size_t i = 0; i < again.findings.size(); ++i) {
      CHECK(again.findings[i].rule == advice.findings[i].rule);
      CHECK(again.findings[i].gain_ns == advice.findings[i].gain_ns);
    }
  }
  CHECK((given_seed() != nullptr || findings > 0));  // else it would test nothing
}
