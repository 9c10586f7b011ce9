// SPDX-License-Identifier: MIT
#include "advice/corpus/cases.hpp"
#include "advice/corpus/judge.hpp"
#include "support/catch.hpp"

using namespace rangefinder::testing::corpus;

TEST_CASE("advice finds what was planted in the visible half of the corpus", "[advice]") {
  require_good("visible", judge(visible_cases(), corpus_seed()));
}
