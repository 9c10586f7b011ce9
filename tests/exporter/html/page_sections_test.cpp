// SPDX-License-Identifier: MIT
#include "exporter/html/page_reader.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Two steps of 1000 ns. Each loads data for 300 ns, in which the device does nothing, and computes for 400 ns.
TimelineBuilder two_steps() {
  TimelineBuilder builder;
  for (std::int64_t begin = 0; begin < 2000; begin += 1000) {
    builder.step(begin / 1000 + 1, begin, begin + 1000);
    builder.range("data", begin, begin + 300).range("forward", begin + 300, begin + 900);
    builder.launch_call("cudaLaunchKernel", begin + 310, begin + 320).kernel(begin + 400, begin + 800, "gemm");
  }
  return builder;
}

}  // namespace

TEST_CASE("step bars of a page are parts of the breakdown, with input taken out of idle time", "[exporter]") {
  const Timeline timeline = two_steps().build();
  const PageReader page = PageReader::of(timeline);
  const JsonValue& steps = page.index()["steps"];
  const PageTable table = page.table(steps["table"]);
  CHECK(table.at("step").integers == std::vector<std::int64_t>{1, 2});
  CHECK(table.at("begin_ns").integers == std::vector<std::int64_t>{0, 1000});
  CHECK(table.at("total_ns").integers == std::vector<std::int64_t>{1000, 1000});
  CHECK(table.at("computation_ns").integers == std::vector<std::int64_t>{400, 400});
  // The device waits for data from the step's begin on; from 0.3 us on it waits for the launch.
  CHECK(table.at("input_ns").integers == std::vector<std::int64_t>{300, 300});
  std::vector<std::int64_t> sums(2);
  for (const JsonValue& part : steps["parts"].items())
    for (std::size_t row = 0; row < 2; ++row) sums[row] += table.at(part["column"].text()).integers[row];
  CHECK(sums == std::vector<std::int64_t>{1000, 1000});
  REQUIRE(steps["groups"].size() == 1);
  CHECK(steps["groups"][std::size_t{0}]["rows"].integer() == 2);
  CHECK_FALSE(steps.has("whole"));
}

TEST_CASE("without steps a page has a bar for each device", "[exporter]") {
  TimelineBuilder builder;
  builder.range("all", 0, 1000).launch(10).kernel(100, 300);
  builder.on_device(1).launch(20).kernel(100, 200);
  const PageReader page = PageReader::of(builder.build());
  const JsonValue& steps = page.index()["steps"];
  CHECK(steps["whole"].boolean());
  CHECK(steps["groups"].size() == 2);
  CHECK(page.table(steps["table"]).at("computation_ns").integers == std::vector<std::int64_t>{200, 100});
}

TEST_CASE("memory of a page adds up to what was allocated", "[exporter]") {
  TimelineBuilder builder;
  builder.range("forward", 0, 500).range("backward", 500, 1000);
  builder.memory(MemoryAction::kAllocate, 100, 1, 1000, 0).in_memory(1000, 4096);
  builder.memory(MemoryAction::kAllocate, 600, 2, 300, 0).in_memory(1300, 4096);
  builder.memory(MemoryAction::kFree, 700, 1, 1000, 0).in_memory(300, 4096);
  builder.timeline().devices.front().memory_bytes = 80'000;
  const PageReader page = PageReader::of(builder.build());
  const JsonValue& memory = page.index()["memory"];
  REQUIRE(memory["series"].size() == 3);
  CHECK(memory["series"][std::size_t{0}]["label"].text() == "forward");
  CHECK(memory["series"][std::size_t{1}]["label"].text() == "backward");
  const PageTable table = page.table(memory["table"]);
  CHECK(table.at("time_ns").integers == std::vector<std::int64_t>{100, 600, 700});
  CHECK(table.at("held_0").integers == std::vector<std::int64_t>{1000, 1000, 0});
  CHECK(table.at("held_1").integers == std::vector<std::int64_t>{0, 300, 300});
  CHECK(table.at("held_2").integers == std::vector<std::int64_t>{0, 0, 0});
  CHECK(table.at("reserved_bytes").integers == std::vector<std::int64_t>{4096, 4096, 4096});
  CHECK(memory["limit_bytes"].integer() == 80'000);
  CHECK(memory["peak"]["bytes"].integer() == 1300);
  CHECK(memory["peak"]["time_ns"].integer() == 600);
}

TEST_CASE("counters of a page have their samples", "[exporter]") {
  TimelineBuilder builder;
  builder.range("all", 0, 1000).power(100, 250'000).power(200, 300'000);
  const PageReader page = PageReader::of(builder.build());
  const JsonValue& tracks = page.index()["timeline"]["tracks"];
  const JsonValue& power = tracks[tracks.size() - 1];
  CHECK(power["kind"].text() == "counter");
  CHECK(power["label"].text() == "Power");
  CHECK(power["unit"].text() == "W");
  const PageTable table = page.table(power["table"]);
  CHECK(table.at("time_ns").integers == std::vector<std::int64_t>{100, 200});
  CHECK(table.at("value").reals == std::vector<double>{250, 300});
}

TEST_CASE("the verdict of a page is that of its figures", "[exporter]") {
  SECTION("a busy device") {
    TimelineBuilder builder;
    builder.range("all", 0, 1000).launch(0).kernel(0, 1000);
    const JsonValue verdict = PageReader::of(builder.build()).index()["verdict"];
    CHECK(verdict["level"].text() == "good");
    CHECK(verdict["text"].text() == "The device computed for 100 % of 1.000 us.");
  }
  SECTION("a device that waits for the host") {
    TimelineBuilder builder;
    builder.range("all", 0, 1'000'000).launch_call("a", 0, 10).kernel(0, 100'000);
    builder.launch_call("b", 899'000, 899'010).kernel(900'000, 1'000'000);
    const JsonValue page = PageReader::of(builder.build()).index();
    CHECK(page["verdict"]["level"].text() == "bad");
    CHECK(page["verdict"]["text"].text().find("it was idle, waiting for the host") != std::string::npos);
    const JsonValue& first = page["advice"]["items"][std::size_t{0}];
    CHECK(first["title"].text() == "The device waits for the host");
    CHECK(first["begin_ns"].integer() == 100'000);
    CHECK(first["duration_ns"].integer() == 800'000);
    CHECK(first["gain_ns"].integer() == 800'000);
  }
  SECTION("no device") {
    TimelineBuilder builder;
    builder.range("all", 0, 1000).range("part", 100, 700);
    const JsonValue page = PageReader::of(builder.build()).index();
    CHECK(page["verdict"]["text"].text() ==
          "No device activity was recorded. Of 1.000 us in ranges, the host spent the most in part: 60 %.");
    CHECK(page["verdict"]["level"].text() == "note");
    CHECK(page["advice"]["not_evaluated"].size() >= 1);
  }
}

TEST_CASE("a page shows what the recording lost", "[exporter]") {
  TimelineBuilder builder;
  builder.range("all", 0, 1000).clock_error(850);
  builder.timeline().health.dropped_ranges = 17;
  builder.timeline().notes.emplace_back("no driver");
  const JsonValue page = PageReader::of(builder.build()).index();
  const JsonValue& lost = page["lost"];
  CHECK_FALSE(lost["complete"].boolean());
  REQUIRE(lost["counts"].size() == 1);
  CHECK(lost["counts"][std::size_t{0}]["count"].integer() == 17);
  CHECK(lost["notes"][std::size_t{0}].text() == "no driver");
  CHECK(lost["clock_error_ns"].integer() == 850);
  CHECK(page["verdict"]["text"].text().find("17 losses") != std::string::npos);
}

TEST_CASE("operators are the ranges of a page where a recording has no others", "[exporter]") {
  TimelineBuilder builder;
  builder.range("aten::mm", 0, 1000).of_kind(RangeKind::kOperator).launch(10).kernel(100, 300);
  const PageReader page = PageReader::of(builder.build());
  CHECK(page.table(page.index()["ranges"]["table"]).at("gpu_busy_ns").integers == std::vector<std::int64_t>{200});
}
