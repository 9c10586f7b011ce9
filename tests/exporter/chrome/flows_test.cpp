// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <stdexcept>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("an arrow leads from the launching call to its activity", "[exporter]") {
  const auto expect = [](const Exported& trace) {
    require_sound(trace);
    const auto arrows = trace.arrows();
    REQUIRE(arrows.size() == 1);
    CHECK(arrows[0].category == "ac2g");
    CHECK(arrows[0].to_row == "GPU 0 / stream 7");
    CHECK(arrows[0].to_ns - arrows[0].from_ns == 190);
    CHECK(arrows[0].id == 1);  // the correlation id
  };
  expect(Exported::of(
      TimelineBuilder().range("step", 0, 100).launch_call("cudaLaunchKernel", 10, 20).kernel(200, 300).build()));
  expect(Exported::of(
      CaptureBuilder().range("step", 0, 100).launch(10).call("cudaLaunchKernel", 10, 20).kernel("k", 200, 300)));
}

TEST_CASE("without a recorded call the arrow begins in the range that launched", "[exporter]") {
  const auto expect = [](const Exported& trace) {
    require_sound(trace);
    const auto arrows = trace.arrows();
    REQUIRE(arrows.size() == 1);
    CHECK(arrows[0].to_ns - arrows[0].from_ns == 190);
    CHECK(trace.report.left_out == 0);
  };
  expect(Exported::of(TimelineBuilder().range("step", 0, 100).launch(10).kernel(200, 300).build()));
  expect(Exported::of(CaptureBuilder().range("step", 0, 100).launch(10).kernel("k", 200, 300)));
}

TEST_CASE("all nodes of a graph launch get arrows with ids of their own", "[exporter]") {
  const auto expect = [](const Exported& trace) {
    require_sound(trace);
    const auto arrows = trace.arrows();
    REQUIRE(arrows.size() == 3);
    CHECK(arrows[0].from_ns == arrows[2].from_ns);
    CHECK(std::count_if(arrows.begin(), arrows.end(), [](const auto& a) { return a.id == 1; }) == 1);
  };
  expect(Exported::of(TimelineBuilder()
                          .range("s", 0, 100)
                          .launch_call("cudaGraphLaunch", 10, 20)
                          .kernel(30, 40)
                          .kernel(50, 60)
                          .kernel(70, 80)
                          .build()));
  expect(Exported::of(CaptureBuilder()
                          .range("s", 0, 100)
                          .launch(10, 311)
                          .call("cudaGraphLaunch", 10, 20)
                          .kernel("a", 30, 40)
                          .kernel("b", 50, 60)
                          .kernel("c", 70, 80)));
}

TEST_CASE("an arrow that a viewer could not draw is left out and counted", "[exporter]") {
  SECTION("the activity ended before its call began") {
    const Exported trace = Exported::of(
        TimelineBuilder().range("s", 0, 1000).launch_call("cudaLaunchKernel", 500, 520).kernel(100, 200).build());
    require_sound(trace);
    CHECK(trace.arrows().empty());
    CHECK(trace.report.left_out == 1);
  }
  SECTION("the activity has no length") {
    const Exported trace = Exported::of(
        TimelineBuilder().range("s", 0, 1000).launch_call("cudaLaunchKernel", 500, 520).kernel(600, 600).build());
    require_sound(trace);
    CHECK(trace.arrows().empty());
    CHECK(trace.report.left_out == 1);
  }
  SECTION("the activity began before its call, within the clocks' error: the arrow is drawn straight down") {
    const Exported trace = Exported::of(
        TimelineBuilder().range("s", 0, 1000).launch_call("cudaLaunchKernel", 500, 520).kernel(490, 600).build());
    require_sound(trace);
    REQUIRE(trace.arrows().size() == 1);
    CHECK(trace.arrows()[0].from_ns == trace.arrows()[0].to_ns);
  }
  SECTION("the launch is unknown") {
    const Exported trace =
        Exported::of(TimelineBuilder().range("s", 0, 1000).without_launch(77).kernel(490, 600).build());
    require_sound(trace);
    CHECK(trace.arrows().empty());
    CHECK(trace.report.left_out == 0);
  }
}

TEST_CASE("arrows of several processes never share an id", "[exporter]") {
  const Exported trace = Exported::of(TimelineBuilder()
                                          .range("a", 0, 100)
                                          .correlation(5)
                                          .launch_call("cudaLaunchKernel", 10, 20)
                                          .kernel(30, 40)
                                          .on_process(2)
                                          .range("b", 0, 100)
                                          .correlation(5)
                                          .launch_call("cudaLaunchKernel", 10, 20)
                                          .kernel(30, 40)
                                          .build());
  require_sound(trace);
  const auto arrows = trace.arrows();
  REQUIRE(arrows.size() == 2);
  CHECK(arrows[0].id != arrows[1].id);
}

TEST_CASE("arguments that both ends of an imported flow have are written once, and told apart where they differ",
          "[exporter]") {
  const ScratchFolder folder;
  write_file(folder.file("in.json"), R"({"traceEvents": [
  {"ph": "f", "id": 3, "cat": "critical_path", "name": "critical_path", "pid": 1, "tid": 2, "ts": 25, "bp": "e", "args": {"weight": 7, "type": "sync", "to": "b"}},
  {"ph": "s", "id": 3, "cat": "critical_path", "name": "critical_path", "pid": 1, "tid": 1, "ts": 5, "args": {"weight": 0, "type": "sync"}},
  {"ph": "s", "id": 4, "cat": "critical_path", "name": "critical_path", "pid": 1, "tid": 1, "ts": 6, "args": {"weight": 0}},
  {"ph": "f", "id": 4, "cat": "critical_path", "name": "critical_path", "pid": 1, "tid": 2, "ts": 26, "bp": "e", "args": {"weight": 0}},
  {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 10},
  {"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 2, "ts": 21, "dur": 10}
  ]})");
  const Exported trace = Exported::of_file(folder.file("in.json"));
  require_sound(trace);
  CHECK(trace.report.left_out == 0);
  CHECK(trace.arrows().size() == 2);
  const auto arguments = [&](const std::string& phase, const std::string& id) {
    for (const JsonValue& event : trace.document["traceEvents"].items())
      if (event["ph"].text() == phase && event["id"].text() == id)
        return event.has("args") ? event["args"] : JsonValue();
    throw std::runtime_error("no such half: " + phase + " " + id);
  };
  CHECK(arguments("s", "3")["weight"].text() == "0");
  CHECK(arguments("s", "3")["type"].text() == "sync");
  const JsonValue end = arguments("f", "3");
  CHECK(end["weight (end)"].text() == "7");
  CHECK(end["to"].text() == "b");
  CHECK_FALSE(end.has("weight"));
  CHECK_FALSE(end.has("type"));
  CHECK(arguments("s", "4")["weight"].text() == "0");
  CHECK(arguments("f", "4").kind() == JsonValue::Kind::kNull);
}
