// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
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

TEST_CASE("a range is on its stream's row with everything that was launched in it", "[exporter]") {
  const std::vector<std::string> expected{
      "GPU 0 / stream 7: layer [150, 400) 2 ops, sum 150, busy 150",
      "GPU 0 / stream 7: step [0, 400) 3 ops, sum 250, busy 250",
      "GPU 0 / stream 8: layer [50, 90) 1 ops, sum 40, busy 40",
      "GPU 0 / stream 8: step [50, 90) 1 ops, sum 40, busy 40",
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

namespace {

/// The export of a capture as it is streamed, and of the loaded one.
std::vector<Exported> both_of(const CaptureBuilder& capture, const ChromeExportOptions& options = {}) {
  const ScratchFolder folder;
  capture.write(folder.file("x.rfcap"));
  const Result<Timeline> timeline = load_timeline(folder.file("x.rfcap"));
  REQUIRE(timeline);
  std::vector<Exported> out;
  out.push_back(Exported::of_file(folder.file("x.rfcap"), options));
  out.push_back(Exported::of(*timeline, options));
  for (const Exported& trace : out) require_sound(trace);
  return out;
}

}  // namespace

TEST_CASE("where nothing else is asked for, a range is on its stream's row with its own work alone", "[exporter]") {
  CaptureBuilder capture;
  capture.range("step", 0, 1000).range("layer", 100, 500).launch(10).kernel("k", 2000, 2100);
  capture.launch(110).kernel("k", 2150, 2200).launch(600).kernel("k", 2300, 2400);
  ChromeExportOptions options;
  options.inclusive_ranges = false;
  for (const Exported& trace : both_of(capture, options))
    CHECK(projected(trace) == std::vector<std::string>{"GPU 0 / stream 7: layer [150, 200) 1 ops, sum 50, busy 50",
                                                       "GPU 0 / stream 7: step [0, 400) 2 ops, sum 200, busy 200"});
}

TEST_CASE("ranges that a kernel fills are written before it, outer ones first", "[exporter]") {
  CaptureBuilder capture;
  capture.range("step", 0, 1000).range("layer", 100, 200).range("inner", 110, 190);
  capture.launch(120).kernel("first", 2000, 2100).range("last", 300, 400).launch(310).kernel("second", 2100, 2200);
  for (const Exported& trace : both_of(capture)) {
    std::vector<std::string> order;
    for (const TraceEvent& event : trace.events)
      if (event.row == "GPU 0 / stream 7") order.push_back(event.name);
    const auto position = [&](const char* name) { return std::find(order.begin(), order.end(), name) - order.begin(); };
    REQUIRE(order.size() == 6);
    CHECK(position("step") < position("layer"));
    CHECK(position("layer") < position("inner"));
    CHECK(position("inner") < position("first"));
    CHECK(position("last") < position("second"));
  }
}

TEST_CASE("what a thread launches while another one waits is inside the other's range", "[exporter]") {
  // As autograd's thread does in a step.
  CaptureBuilder capture;
  capture.on_thread(1, "main").range("step", 0, 1000).launch(10).kernel("k", 2000, 2010);
  capture.on_thread(2, "autograd").range("backward", 100, 500).launch(110).kernel("k", 2020, 2030);
  capture.launch(120).kernel("k", 2030, 2040).on_thread(1).launch(900).kernel("k", 2050, 2060);
  for (const Exported& trace : both_of(capture)) {
    CHECK(trace.report.overlapping == 0);
    CHECK(projected(trace) == std::vector<std::string>{"GPU 0 / stream 7: backward [20, 40) 2 ops, sum 20, busy 20",
                                                       "GPU 0 / stream 7: step [0, 60) 2 ops, sum 20, busy 20"});
  }
}

TEST_CASE("start/end ranges on the device have a row beside the stream's", "[exporter]") {
  CaptureBuilder capture;
  capture.range("step", 0, 1000).start_end("request", 50, 1500);
  capture.launch(10).kernel("k", 2000, 2010).launch(60).kernel("k", 2020, 2030);
  capture.launch(1200).kernel("k", 2030, 2040);
  for (const Exported& trace : both_of(capture)) {
    CHECK(trace.report.overlapping == 0);
    CHECK(projected(trace) ==
          std::vector<std::string>{"GPU 0 / stream 7 start/end ranges: request [20, 40) 2 ops, sum 20, busy 20",
                                   "GPU 0 / stream 7: step [0, 30) 2 ops, sum 20, busy 20"});
  }
}

TEST_CASE("devices are named, and their rows stand in the order of the streams' numbers", "[exporter]") {
  CaptureBuilder capture;
  capture.h100().meta("program", "train").range("step", 0, 1000);
  for (const std::uint32_t stream : {13u, 7u, 9u})
    capture.on_stream(stream).launch(stream).kernel("k", 2000 + 10 * stream, 2005 + 10 * stream);
  for (const std::uint32_t stream : {13u, 7u})
    capture.on_stream(stream).correlation(40 + stream).sync(3, 3000 + 100 * stream, 3050 + 100 * stream);
  for (const Exported& trace : both_of(capture)) {
    CHECK(trace.headings() == std::vector<std::string>{"train", "GPU 0 (NVIDIA H100 80GB HBM3)"});
    CHECK(trace.rows_of("GPU 0 (NVIDIA H100 80GB HBM3)") ==
          std::vector<std::string>{"stream 7", "stream 9", "stream 13", "stream 7 waits", "stream 13 waits"});
  }
}

TEST_CASE("a projected range carries the External id of its host range", "[exporter]") {
  for (const Exported& trace :
       {Exported::of(
            TimelineBuilder().range("a", 0, 10).range("b", 20, 30).launch_call("l", 22, 23).kernel(50, 60).build()),
        Exported::of(CaptureBuilder().range("a", 0, 10).range("b", 20, 30).launch(22).kernel("k", 50, 60))}) {
    const std::string id = trace.one("user_annotation", "b")["External id"].text();
    REQUIRE(trace.all("gpu_user_annotation", "b").size() == 1);
    for (const TraceEvent& span : trace.all("gpu_user_annotation", "b")) CHECK(span["External id"].text() == id);
    CHECK(trace.one("kernel", trace.all("kernel")[0].name)["External id"].text() == id);
    CHECK_FALSE(trace.one("user_annotation", "a").has("External id"));  // launched nothing
  }
}

TEST_CASE("a range that would cut another one stands beside the stream's row", "[exporter]") {
  // Two threads launch alternately on one stream: their spans [0, 30) and [10, 40) cut each other.
  CaptureBuilder capture;
  capture.range("a", 0, 100).launch(10).kernel("k1", 1000, 1010).launch(20).kernel("k3", 1020, 1030);
  capture.on_thread(2).range("b", 0, 100).launch(15).kernel("k2", 1010, 1020).launch(25).kernel("k4", 1030, 1040);
  for (const Exported& trace : both_of(capture)) {
    CHECK(trace.report.overlapping == 1);
    CHECK(projected(trace) == std::vector<std::string>{"GPU 0 / stream 7 ranges: b [10, 40) 2 ops, sum 20, busy 20",
                                                       "GPU 0 / stream 7: a [0, 30) 2 ops, sum 20, busy 20"});
    for (const TraceEvent& kernel : trace.all("kernel")) CHECK(kernel.row == "GPU 0 / stream 7");
  }
}

TEST_CASE("a range that would cut an activity stands beside the stream's row", "[exporter]") {
  // Branches of a graph overlap: the range ends inside of a kernel.
  CaptureBuilder capture;
  capture.range("a", 0, 100).launch(10).kernel("k1", 1000, 1050).range("b", 200, 300).launch(210);
  capture.kernel("k2", 1020, 1090);
  for (const Exported& trace : both_of(capture)) {
    CHECK(trace.all("kernel").size() == 2);
    CHECK(trace.one("gpu_user_annotation", "b").row.starts_with("GPU 0 / stream 7 ranges"));
  }
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
  CHECK(trace.all("gpu_user_annotation").size() == 64);
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
