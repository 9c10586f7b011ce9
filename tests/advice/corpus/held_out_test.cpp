// SPDX-License-Identifier: MIT
#include "advice/corpus/cases.hpp"
#include "advice/corpus/judge.hpp"
#include "advice/corpus/planted.hpp"
#include "support/catch.hpp"

using namespace rangefinder::testing::corpus;

TEST_CASE("advice finds what was planted in the held-out half of the corpus", "[advice]") {
  require_unseen("held-out", judge(affordable(held_out_cases()), corpus_seed()));
}

TEST_CASE("causes of the held-out half cost what causes do, in programs that could have run so", "[advice]") {
  check_planted("held-out", affordable(held_out_cases()));
}

TEST_CASE("programs of the held-out half come through the recorder as they are built", "[advice]") {
  check_recordings(affordable(held_out_cases()));
}
