// SPDX-License-Identifier: MIT
#include "projection/slow_projection.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>

#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// What became of each activity: 'o'wned, 'x' outside, 'b'efore, 'u'nknown.
std::string fates(TimelineBuilder& builder) {
  const Timeline timeline = builder.build();
  const Projection projection = project(timeline, {});
  require_sound_account(timeline, projection);
  std::string text;
  for (const std::uint32_t owner : projection.owner) {
    text += owner == static_cast<std::uint32_t>(Unowned::kOutside)   ? 'x'
            : owner == static_cast<std::uint32_t>(Unowned::kBefore)  ? 'b'
            : owner == static_cast<std::uint32_t>(Unowned::kUnknown) ? 'u'
                                                                     : 'o';
  }
  return text;
}

}  // namespace

TEST_CASE("all device time is owned, outside, before or unknown", "[projection]") {
  TimelineBuilder builder;
  builder.correlation(100).range("step", 0, 100);
  builder.launch(10).kernel(20, 25).launch(150).kernel(160, 170);
  builder.without_launch(42).kernel(12, 32).without_launch(0).kernel(40, 80);
  const Timeline timeline = builder.build();
  const Projection projection = project(timeline, {});
  require_sound_account(timeline, projection);
  CHECK(projection.account.total.gpu_ops == 4);
  CHECK(projection.account.total.gpu_sum_ns == 75);
  CHECK(projection.account.owned.gpu_sum_ns == 5);
  CHECK(projection.account.outside.gpu_sum_ns == 10);
  CHECK(projection.account.before.gpu_sum_ns == 20);
  CHECK(projection.account.unknown.gpu_sum_ns == 40);
}

TEST_CASE("an activity without a launch is judged by its correlation id", "[projection]") {
  TimelineBuilder builder;
  SECTION("below the first call: before; between and above: unknown; none: unknown") {
    builder.correlation(100).launch(10).kernel(20, 30).correlation(110).launch(50).kernel(60, 70);
    for (const std::uint64_t id : {99, 100, 105, 111, 0}) builder.without_launch(id).kernel(80, 90);
    CHECK(fates(builder) == "xxbuuuu");
  }
  SECTION("calls that launch nothing bound it too") {
    builder.correlation(90).call("cudaStreamSynchronize", 5, 8).correlation(100).launch(10).kernel(20, 30);
    for (const std::uint64_t id : {89, 95}) builder.without_launch(id).kernel(80, 90);
    CHECK(fates(builder) == "xbu");
  }
  SECTION("another process's calls do not") {
    builder.on_process(1).correlation(100).launch(10).kernel(20, 30);
    builder.on_process(2).correlation(5).launch(10).kernel(20, 30);
    builder.on_process(1).without_launch(50).kernel(80, 90).on_process(2).without_launch(50).kernel(80, 90);
    CHECK(fates(builder) == "xxbu");
  }
  SECTION("without any call nothing is known") {
    builder.without_launch(50).kernel(80, 90);
    CHECK(fates(builder) == "u");
  }
  SECTION("ids that wrap around") {
    builder.correlation(0xFFFFFFF0u).launch(10).kernel(20, 30).correlation(5).launch(20).kernel(40, 50);
    for (const std::uint64_t id : {0xFFFFFFE0u, 0xFFFFFFF8u, 3u, 9u}) builder.without_launch(id).kernel(80, 90);
    CHECK(fates(builder) == "xxbuuu");
  }
  SECTION("ids of 64 bits") {
    builder.correlation(1ull << 40).launch(10).kernel(20, 30);
    for (const std::uint64_t id : {(1ull << 40) - 1, (1ull << 40) + 1}) builder.without_launch(id).kernel(80, 90);
    CHECK(fates(builder) == "xbu");
  }
}

TEST_CASE("what began before the first call was launched before it", "[projection]") {
  TimelineBuilder builder;
  builder.correlation(100).launch(50).kernel(60, 70).without_launch(105).kernel(40, 45);
  SECTION("clocks that agree") { CHECK(fates(builder) == "xb"); }
  SECTION("unless the clocks may be that far off") {
    builder.clock_error(20);
    CHECK(fates(builder) == "xu");
  }
  SECTION("but not where there is no correlation id at all") {
    builder.without_launch(0).kernel(30, 35);
    CHECK(fates(builder) == "xbu");
  }
}

TEST_CASE("a schedule's pauses", "[projection]") {
  TimelineBuilder builder;
  builder.window(100, 200).window(300, 400);
  builder.correlation(10).launch(110).kernel(120, 130).correlation(15).launch(190).kernel(195, 199);
  builder.correlation(30).launch(310).kernel(320, 330).correlation(40).launch(390).kernel(395, 410);
  SECTION("launched before the first window") {
    builder.without_launch(9).kernel(150, 160).without_launch(12).kernel(50, 60);
    CHECK(fates(builder) == "xxxxbb");
  }
  SECTION("launched in the pause, ran in the next window") {
    builder.without_launch(20).kernel(305, 308);
    CHECK(fates(builder) == "xxxxb");
  }
  SECTION("launched in a window and lost, whenever it ran") {
    builder.without_launch(12).kernel(150, 160).without_launch(12).kernel(305, 308).without_launch(35).kernel(380, 385);
    CHECK(fates(builder) == "xxxxuuu");
  }
  SECTION("above the calls of the window it ran in: lost") {
    builder.without_launch(17).kernel(198, 210).without_launch(99).kernel(405, 410);
    CHECK(fates(builder) == "xxxxuu");
  }
  SECTION("a launch that is known, in the pause, outside every range") {
    builder.correlation(20).launch(250).kernel(305, 310).correlation(21).launch(251).kernel(255, 260);
    CHECK(fates(builder) == "xxxxbx");
  }
  SECTION("a launch in the pause, in a range that is open across it") {
    builder.range("epoch", 100, 400).correlation(20).launch(250).kernel(305, 310);
    CHECK(fates(builder) == "ooooo");
  }
  SECTION("launched in one window, ran in the next: known as ever") {
    builder.range("step", 180, 200).correlation(16).launch(195).kernel(305, 310);
    CHECK(fates(builder) == "xoxxo");
  }
}

TEST_CASE("windows may overlap and come in any order", "[projection]") {
  TimelineBuilder builder;
  builder.window(300, 400).window(90, 210).window(100, 200).window(500, 450);
  builder.correlation(10).launch(205).kernel(206, 207).correlation(30).launch(310).kernel(320, 330);
  builder.without_launch(20).kernel(305, 308).without_launch(5).kernel(206, 207);
  CHECK(fates(builder) == "xxbb");
}

TEST_CASE("a launch row that says nothing counts as no launch", "[projection]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100).launch(10).kernel(20, 30).launch(30).kernel(40, 50);
  change_last(builder.timeline().launches, [&](auto& changed) { changed.source = LaunchSource::kUnknown; });
  builder.without_launch(1000).kernel(60, 70);
  change_last(builder.timeline().activities, [&](auto& changed) { changed.launch = LaunchIndex{4711}; });
  CHECK(fates(builder) == "ouu");
}
