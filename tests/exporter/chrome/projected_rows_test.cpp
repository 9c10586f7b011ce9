// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// "row name [begin, end) ops sum busy", sorted; times since the first kernel.
std::vector<std::string> projected(const Exported& trace) {
  std::int64_t zero = std::numeric_limits<std::int64_t>::max();
  for (const char* category : {"kernel", "gpu_memcpy"})
    for (const TraceEvent& event : trace.all(category)) zero = std::min(zero, event.time_ns);
  std::vector<std::string> out;
  for (const TraceEvent& e : trace.all("gpu_user_annotation"))
    out.push_back(e.row + ": " + e.name + " [" + std::to_string(e.time_ns - zero) + ", " +
                  std::to_string(e.time_ns - zero + e.duration_ns) + ") " + e["gpu_ops"].text() + " ops, sum " +
                  e["gpu_sum_ns"].text() + ", busy " + e["gpu_busy_ns"].text());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("a range is on its stream's row with its own work, and on a row a depth with all inside it", "[exporter]") {
  const std::vector<std::string> expected{
      "GPU 0 / stream 7 ranges, depth 0: step [0, 400) 3 ops, sum 250, busy 250",
      "GPU 0 / stream 7 ranges, depth 1: layer [150, 400) 2 ops, sum 150, busy 150",
      "GPU 0 / stream 7: layer [150, 400) 2 ops, sum 150, busy 150",
      "GPU 0 / stream 7: step [0, 100) 1 ops, sum 100, busy 100",
      "GPU 0 / stream 8 ranges, depth 0: step [50, 90) 1 ops, sum 40, busy 40",
      "GPU 0 / stream 8 ranges, depth 1: layer [50, 90) 1 ops, sum 40, busy 40",
      "GPU 0 / stream 8: layer [50, 90) 1 ops, sum 40, busy 40",
  };
  SECTION("of a timeline") {
    const Exported trace = Exported::of(TimelineBuilder()
                                            .range("step", 0, 1000)
                                            .range("layer", 100, 500)
                                            .launch_call("l", 10, 11)
                                            .kernel(2000, 2100)
                                            .launch_call("l", 110, 111)
                                            .kernel(2150, 2200)
                                            .launch_call("l", 120, 121)
                                            .kernel(2300, 2400)
                                            .on_stream(8)
                                            .launch_call("l", 130, 131)
                                            .memcpy(2050, 2090, 10)
                                            .build());
    require_sound(trace);
    CHECK(projected(trace) == expected);
  }
  SECTION("of a capture, streamed") {
    const Exported trace = Exported::of(CaptureBuilder()
                                            .range("step", 0, 1000)
                                            .range("layer", 100, 500)
                                            .launch(10)
                                            .kernel("k", 2000, 2100)
                                            .launch(110)
                                            .kernel("k", 2150, 2200)
                                            .launch(120)
                                            .kernel("k", 2300, 2400)
                                            .on_stream(8)
                                            .launch(130)
                                            .memcpy(2050, 2090, 10));
    require_sound(trace);
    CHECK(projected(trace) == expected);
  }
}

TEST_CASE("a projected range carries the External id of its host range", "[exporter]") {
  for (const Exported& trace :
       {Exported::of(
            TimelineBuilder().range("a", 0, 10).range("b", 20, 30).launch_call("l", 22, 23).kernel(50, 60).build()),
        Exported::of(CaptureBuilder().range("a", 0, 10).range("b", 20, 30).launch(22).kernel("k", 50, 60))}) {
    const std::string id = trace.one("user_annotation", "b")["External id"].text();
    REQUIRE(trace.all("gpu_user_annotation", "b").size() == 2);
    for (const TraceEvent& span : trace.all("gpu_user_annotation", "b")) CHECK(span["External id"].text() == id);
    CHECK(trace.one("kernel", trace.all("kernel")[0].name)["External id"].text() == id);
    CHECK_FALSE(trace.one("user_annotation", "a").has("External id"));  // launched nothing
  }
}

TEST_CASE("an own span that would cut a kernel or another span stands beside the stream's row", "[exporter]") {
  // Two threads launch alternately on one stream: their spans [0, 30) and [10, 40) cut each other.
  const auto build = [] {
    CaptureBuilder capture;
    capture.range("a", 0, 100).launch(10).kernel("k1", 1000, 1010).launch(20).kernel("k3", 1020, 1030);
    capture.on_thread(2).range("b", 0, 100).launch(15).kernel("k2", 1010, 1020).launch(25).kernel("k4", 1030, 1040);
    return capture;
  };
  const Exported trace = Exported::of(build());
  require_sound(trace);
  std::size_t beside = 0;
  for (const TraceEvent& span : trace.all("gpu_user_annotation"))
    beside += span.row.find("own ranges") != std::string::npos;
  CHECK(beside == 1);
  CHECK(trace.all("gpu_user_annotation").size() == 4);
  for (const TraceEvent& kernel : trace.all("kernel")) CHECK(kernel.row == "GPU 0 / stream 7");
}

TEST_CASE("busy time is a union, sum is not", "[exporter]") {
  const Exported trace = Exported::of(TimelineBuilder()
                                          .range("r", 0, 100)
                                          .launch_call("l", 10, 11)
                                          .kernel(200, 300)
                                          .launch_call("l", 12, 13)
                                          .kernel(250, 400)
                                          .build());
  require_sound(trace);
  for (const TraceEvent& span : trace.all("gpu_user_annotation", "r")) {
    CHECK(span["gpu_sum_ns"].integer() == 250);
    CHECK(span["gpu_busy_ns"].integer() == 200);
    CHECK(span.duration_ns == 200);
  }
}

TEST_CASE("ranges nested deeper than there are rows are left out by count", "[exporter]") {
  TimelineBuilder builder;
  for (int depth = 0; depth < 70; ++depth) builder.range("r" + std::to_string(depth), depth, 1000 - depth);
  const Exported trace = Exported::of(builder.launch_call("l", 500, 501).kernel(2000, 2100).build());
  require_sound(trace);
  CHECK(trace.all("gpu_user_annotation").size() == 65);  // one exclusive, 64 inclusive
  CHECK(trace.report.left_out == 6);
}

TEST_CASE("a call that causes several activities has them all on its range", "[exporter]") {
  // A batch of copies: nothing says how many there are.
  const Exported trace = Exported::of(
      CaptureBuilder().range("r", 0, 100).launch(10).memcpy(200, 300, 1).memcpy(300, 400, 1).memcpy(450, 500, 1));
  require_sound(trace);
  for (const TraceEvent& span : trace.all("gpu_user_annotation", "r")) {
    CHECK(span["gpu_ops"].integer() == 3);
    CHECK(span.duration_ns == 300);
  }
  CHECK(trace.document["rangefinder"]["notes"].size() == 0);
}

TEST_CASE("several devices have a heading each", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .range("r", 0, 100)
                                          .launch(10)
                                          .kernel("k", 200, 300)
                                          .on_device(1)
                                          .on_context(2)
                                          .launch(20)
                                          .kernel("k", 210, 310));
  require_sound(trace);
  CHECK(trace.all("kernel").size() == 2);
  CHECK(trace.all("kernel")[0].row == "GPU 0 / stream 7");
  CHECK(trace.all("kernel")[1].row == "GPU 1 / stream 7");
}
