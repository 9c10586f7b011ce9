// SPDX-License-Identifier: MIT
#include "report/texts.hpp"

#include "support/catch.hpp"

#include <rangefinder/timeline.hpp>

#include <string>

using rangefinder::StringId;
using rangefinder::Timeline;
using rangefinder::report::Texts;

TEST_CASE("texts are those of the timeline, and others beside them", "[report]") {
  Timeline timeline;
  const StringId forward = timeline.intern("forward"), step = timeline.intern("step");
  Texts texts;
  const Texts::Id outside = texts.add("(outside)");
  const Texts::Id by_reference = texts.add(timeline, forward);
  CHECK(texts.text(by_reference) == "forward");
  CHECK(texts.text(by_reference).data() == timeline.text(forward).data());  // not copied
  CHECK(texts.text(texts.add(timeline, step)) == "step");
  CHECK(texts.text(outside) == "(outside)");
  CHECK(texts.add("(outside)") == outside);
}

TEST_CASE("the empty text is 0, wherever it comes from", "[report]") {
  const Timeline timeline;
  Texts texts;
  CHECK(texts.text(0).empty());
  CHECK(texts.add("") == 0);
  CHECK(texts.add(timeline, StringId::kEmpty) == 0);
  CHECK(texts.text(0).empty());
}

TEST_CASE("names of a second timeline are kept as well", "[report]") {
  Timeline first, second;
  const StringId a = first.intern("a"), b = second.intern("b");
  Texts texts;
  const Texts::Id of_first = texts.add(first, a), of_second = texts.add(second, b);
  CHECK(texts.text(of_first) == "a");
  CHECK(texts.text(of_second) == "b");
}
