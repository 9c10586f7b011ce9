// SPDX-License-Identifier: MIT
#include "advice/corpus/cases.hpp"
#include "advice/corpus/judge.hpp"
#include "advice/corpus/planted.hpp"
#include "support/catch.hpp"

using namespace rangefinder::testing::corpus;

TEST_CASE("advice finds what was planted in the visible half of the corpus", "[advice]") {
  require_good("visible", judge(affordable(visible_cases()), corpus_seed()));
}

TEST_CASE("causes of the visible half cost what causes do, in programs that could have run so", "[advice]") {
  check_planted("visible", affordable(visible_cases()));
}

TEST_CASE("programs of the visible half come through the recorder as they are built", "[advice]") {
  check_recordings(affordable(visible_cases()));
}
