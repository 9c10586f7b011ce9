// SPDX-License-Identifier: MIT
//
// Where nodes of CUDA graphs were captured: written, and read again by our importer.
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>

#include <map>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Two layers that are captured on the main thread and replayed on another, twice.
CaptureBuilder replayed() {
  CaptureBuilder capture;
  capture.h100().on_thread(10, "main").range("capture", 0, 100);
  capture.range("layer.0", 10, 40).launch(20).graph_node(1, 25);
  capture.range("layer.1", 50, 90).launch(60).graph_node(2, 65);
  capture.on_thread(11, "server");
  for (const std::int64_t time : {1'000, 3'000}) {
    capture.range("replay", time, time + 500).launch(time + 100, 311);
    capture.call("cudaGraphLaunch_v10000", time + 100, time + 110);
    capture.kernel("a", time + 200, time + 210).of_graph(1).kernel("b", time + 210, time + 230).of_graph(2);
    capture.kernel("unknown", time + 230, time + 260).of_graph(9);
  }
  return capture;
}

/// Device time of each range by attribution `capture`, with what is inside it.
std::map<std::string, std::int64_t> times(const Timeline& timeline) {
  const Projection projection = project(timeline, {Attribution::kCapture, true, false});
  std::map<std::string, std::int64_t> found;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    if (timeline.ranges.kind[range] == RangeKind::kAnnotation)
      found[std::string(timeline.text(timeline.ranges.name[range]))] += projection.inclusive[range].gpu_sum_ns;
  }
  return found;
}

Timeline load(const std::string& path) {
  Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

const std::map<std::string, std::int64_t> kByLayer = {
    {"capture", 60}, {"layer.0", 20}, {"layer.1", 40}, {"replay", 60}};

}  // namespace

TEST_CASE("an exported trace gives graphs to the ranges that captured them, as the capture does", "[exporter]") {
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  const std::string trace = folder.file("a.pt.trace.json");
  replayed().write(capture);
  CHECK(times(load(capture)) == kByLayer);
  ChromeExportOptions options;
  options.attribution = GENERATE(Attribution::kAuto, Attribution::kCapture, Attribution::kLaunch);
  REQUIRE(export_chrome_trace(capture, trace, options).ok());
  const Timeline once = load(trace);
  CHECK(times(once) == kByLayer);
  CHECK(once.activities.captured[0] != once.activities.launch[0]);
  // And once more, from the trace.
  const std::string again = folder.file("b.pt.trace.json");
  REQUIRE(export_chrome_trace(trace, again, options).ok());
  CHECK(times(load(again)) == kByLayer);
}

TEST_CASE("a node that was updated while its graph's launch was queued is exported as the launch had it",
          "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.h100().on_thread(10, "main");
  capture.range("old", 10, 40).launch(20).graph_node(1, 25);
  capture.range("new", 50, 90).launch(60).graph_node(1, 500).graph_node(2, 500);
  capture.range("replay", 100, 2'000).launch(400, 311).call("cudaGraphLaunch_v10000", 400, 410);
  capture.kernel("a", 600, 700).of_graph(1).kernel("b", 700, 800).of_graph(2);  // 2 was not known before
  capture.write(folder.file("a.rfcap"));
  const std::map<std::string, std::int64_t> expected = {{"new", 0}, {"old", 100}, {"replay", 100}};
  CHECK(times(load(folder.file("a.rfcap"))) == expected);
  ChromeExportOptions options;
  options.attribution = GENERATE(Attribution::kLaunch, Attribution::kCapture);
  const std::string trace = folder.file("a.pt.trace.json");
  REQUIRE(export_chrome_trace(folder.file("a.rfcap"), trace, options).ok());
  CHECK(times(load(trace)) == expected);
}

TEST_CASE("launches recorded as a whole are divided in the trace, and are known again", "[exporter]") {
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  CaptureBuilder builder = replayed();
  for (const std::int64_t time : {5'000, 7'000}) {
    builder.range("whole", time, time + 500).launch(time + 100, 311);
    builder.call("cudaGraphLaunch_v10000", time + 100, time + 110).graph_launch(time + 200, time + 260);
  }
  builder.write(capture);
  Timeline loaded = load(capture);
  CHECK(split_graph_launches(loaded) == 2);
  const std::map<std::string, std::int64_t> divided = times(loaded);
  CHECK(divided.at("layer.1") == 40 + 40);
  CHECK(divided.at("whole") == 60);  // of the unknown node
  ChromeExportOptions options;
  options.attribution = GENERATE(Attribution::kAuto, Attribution::kCapture, Attribution::kLaunch);
  const Exported trace = Exported::of_file(capture, options);
  require_sound(trace);
  const bool whole = options.attribution == Attribution::kLaunch;
  const auto graphs = trace.all("kernel", "CUDA graph 1");
  REQUIRE(graphs.size() == (whole ? 2 : 6));
  CHECK(graphs.front()["graph launch"].text() == (whole ? "whole" : "estimated part"));
  CHECK_FALSE(trace.all("kernel", "a").front().has("graph launch"));
  CHECK(Exported::of(load(capture), options).all("kernel", "CUDA graph 1").size() == graphs.size());
  const std::string written = folder.file("a.pt.trace.json");
  REQUIRE(export_chrome_trace(capture, written, options).ok());
  Timeline once = load(written);
  CHECK(split_graph_launches(once) == (whole ? 2 : 0));
  CHECK(times(once) == divided);
  for (ActivityIndex row{0}; row < once.activities.size(); ++row)
    CHECK((once.activities.kind[row] == ActivityKind::kGraph) == once.activities.estimated[row]);
  const std::string again = folder.file("b.pt.trace.json");
  options.attribution = Attribution::kAuto;
  REQUIRE(export_chrome_trace(written, again, options).ok());
  Timeline twice = load(again);
  CHECK(split_graph_launches(twice) == 0);
  CHECK(times(twice) == divided);
}

TEST_CASE("a graph that was captured before the recording does not stretch its trace, and keeps its ranges",
          "[exporter]") {
  const ScratchFolder folder;
  const std::string capture = folder.file("a.rfcap");
  CaptureBuilder builder;
  builder.h100().on_thread(10, "gone").range("model", -900'000'000, -899'990'000).mark("warm", -899'999'000);
  builder.range("layer \"0\"", -899'999'000, -899'998'000).launch(-899'998'500).graph_node(1, -899'998'400);
  builder.range("layer/1", -899'997'000, -899'996'000).launch(-899'996'500).graph_node(2, -899'996'400);
  builder.launch(-899'995'000).graph_node(3, -899'994'900);
  builder.on_thread(11, "server").range("replay", 1'000, 2'000).launch(1'100, 311);
  builder.kernel("a", 1'200, 1'210).of_graph(1).kernel("b", 1'210, 1'230).of_graph(2);
  builder.kernel("c", 1'230, 1'270).of_graph(3).write(capture);
  const std::map<std::string, std::int64_t> expected = {
      {"model", 70}, {"layer \"0\"", 10}, {"layer/1", 20}, {"replay", 0}};
  CHECK(times(load(capture)) == expected);
  ChromeExportOptions options;
  options.attribution = GENERATE(Attribution::kAuto, Attribution::kCapture, Attribution::kLaunch);
  const Exported trace = Exported::of_file(capture, options);
  require_sound(trace);
  CHECK(trace.all("user_annotation", "model").empty());
  CHECK(trace.all("user_annotation", "layer/1").empty());
  CHECK(trace.one("kernel", "b").has("Captured in"));
  const std::string written = folder.file("a.pt.trace.json");
  REQUIRE(export_chrome_trace(capture, written, options).ok());
  const Timeline once = load(written);
  CHECK(once.end_ns - once.begin_ns < 100'000);
  CHECK(times(once) == expected);
  const std::string again = folder.file("b.pt.trace.json");
  REQUIRE(export_chrome_trace(written, again, options).ok());
  const Timeline twice = load(again);
  CHECK(twice.end_ns - twice.begin_ns < 100'000);
  CHECK(times(twice) == expected);
}

TEST_CASE("the place of a node stands with the work of its replay, and with no other", "[exporter]") {
  const ScratchFolder folder;
  replayed().launch(5'000).kernel("eager", 5'100, 5'200).write(folder.file("a.rfcap"));
  ChromeExportOptions options;
  options.attribution = GENERATE(Attribution::kCapture, Attribution::kLaunch);
  const Exported trace = Exported::of_file(folder.file("a.rfcap"), options);
  require_sound(trace);
  CHECK(trace.all("kernel", "a").front()["Captured tid"].text() == "10");
  CHECK(trace.all("kernel", "a").front().has("Captured ts"));
  CHECK_FALSE(trace.all("kernel", "unknown").front().has("Captured ts"));
  CHECK_FALSE(trace.one("kernel", "eager").has("Captured tid"));
}
