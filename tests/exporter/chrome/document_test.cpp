// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/version.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("the document has torch.profiler's frame", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .h100()
                                          .meta("rank", "3")
                                          .meta("world_size", "8")
                                          .meta("program", "train")
                                          .range("r", 0, 1000)
                                          .launch(1)
                                          .kernel("k", 5, 9));
  require_sound(trace);
  const JsonValue& document = trace.document;
  CHECK(document["schemaVersion"].integer() == 1);
  CHECK(document["displayTimeUnit"].text() == "ns");
  CHECK(document["distributedInfo"]["rank"].integer() == 3);
  CHECK(document["distributedInfo"]["world_size"].integer() == 8);
  CHECK(trace.text.find("\"rank\": 3") != std::string::npos);  // HolisticTraceAnalysis looks for it with the space
  CHECK(document["traceName"].text() == "x.rfcap");
  REQUIRE(document["deviceProperties"].size() == 1);
  const JsonValue& device = document["deviceProperties"][0];
  CHECK(device["name"].text() == "NVIDIA H100 80GB HBM3");
  CHECK(device["computeMajor"].integer() == 9);
  CHECK(device["computeMinor"].integer() == 0);
  CHECK(device["totalGlobalMem"].integer() == 85'018'279'936);
  CHECK(device["numSms"].integer() == 132);
  CHECK(device["maxThreadsPerMultiprocessor"].integer() == 2048);
  CHECK_FALSE(device.has("sharedMemPerBlockOptin"));  // not known: left out, not 0
  const std::int64_t base = document["baseTimeNanoseconds"].integer();
  CHECK(base + trace.one("user_annotation", "r").time_ns == CaptureBuilder::at(0) + CaptureBuilder::kRealtimeOffset);
}

TEST_CASE("windows of a schedule are slices on a row of the process", "[exporter]") {
  const Exported trace =
      Exported::of(CaptureBuilder().meta("program", "train").range("r", 0, 9000).window(0, 2000).window(5000, 7000));
  require_sound(trace);
  const std::vector<TraceEvent> windows = trace.all("Trace");
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].name == "window 1");
  CHECK(windows[0].row == "CPU / recording windows");
  CHECK(windows[1].time_ns - windows[0].time_ns == 5000);
  CHECK(windows[1].duration_ns == 2000);
  CHECK(trace.headings() == std::vector<std::string>{"train"});
}

TEST_CASE("one window is the trace itself and has no slice", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder().range("r", 0, 9000).window(0, 9000));
  require_sound(trace);
  CHECK(trace.all("Trace").empty());
}

TEST_CASE("what the recording lost is told on the main thread, at the end", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder capture;
  capture.range("r", 0, 10).on_thread(4242, "train").range("main", 5, 20);  // 4242: the process
  capture.write(folder.file("x.rfcap"));
  const Result<Timeline> timeline = load_timeline(folder.file("x.rfcap"));
  REQUIRE(timeline);
  for (const Exported& trace : {Exported::of_file(folder.file("x.rfcap")), Exported::of(*timeline)}) {
    const TraceEvent mark = trace.one("rangefinder", "rangefinder: recording complete");
    CHECK(mark.row == "CPU / train");
    CHECK(mark.time_ns - trace.one("user_annotation", "main").time_ns == 15);
  }
}

TEST_CASE("what the recording lost is in the document and on the timeline", "[exporter]") {
  SECTION("nothing") {
    const Exported trace = Exported::of(CaptureBuilder().range("r", 0, 10));
    CHECK(trace.document["rangefinder"]["health"]["complete"].boolean());
    CHECK(trace.one("rangefinder", "rangefinder: recording complete").phase == "i");
  }
  SECTION("ranges and device records") {
    const Exported trace = Exported::of(CaptureBuilder().range("r", 0, 10).health(1, 1200).health(16, 3));
    require_sound(trace);
    const JsonValue& health = trace.document["rangefinder"]["health"];
    CHECK_FALSE(health["complete"].boolean());
    CHECK(health["dropped_ranges"].integer() == 1200);
    CHECK(health["cupti_dropped"].integer() == 3);
    const TraceEvent mark = trace.all("rangefinder").at(0);
    CHECK(mark.name.find("INCOMPLETE: 1,200 ranges dropped") != std::string::npos);
    CHECK(mark["dropped_ranges"].integer() == 1200);
  }
  SECTION("the end") {
    const Exported trace = Exported::of(CaptureBuilder().range("r", 0, 10).unfinished());
    REQUIRE(trace.document["rangefinder"]["notes"].size() == 1);
    CHECK(trace.document["rangefinder"]["notes"][0].text().find("without stopping the session") != std::string::npos);
  }
}

TEST_CASE("the account of all device time is in the document", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .range("r", 100, 200)
                                          .launch(110)
                                          .kernel("owned", 300, 400)
                                          .launch(250)
                                          .kernel("outside", 400, 450)
                                          .correlation(999)
                                          .kernel("unknown", 500, 525));
  require_sound(trace);
  const JsonValue& account = trace.document["rangefinder"]["device_time"];
  CHECK(account["total"]["gpu_sum_ns"].integer() == 175);
  CHECK(account["owned"]["gpu_sum_ns"].integer() == 100);
  CHECK(account["launched_outside_any_range"]["gpu_sum_ns"].integer() == 50);
  CHECK(account["launch_unknown"]["gpu_sum_ns"].integer() +
            account["launched_before_the_recording"]["gpu_sum_ns"].integer() ==
        25);
  CHECK(account["total"]["gpu_ops"].integer() == 3);
  CHECK_FALSE(Exported::of(CaptureBuilder().range("r", 0, 10)).document["rangefinder"].has("device_time"));
}

TEST_CASE("a simulated recording says so wherever somebody may look", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder().simulated().range("r", 0, 100).launch(10).kernel("k", 200, 300).write(folder.file("x.rfcap"));
  REQUIRE(export_chrome_trace(folder.file("x.rfcap"), folder.file("first.json")).ok());
  const auto expect = [](const Exported& trace) {
    require_sound(trace);
    CHECK(trace.document["rangefinder"]["simulated"].boolean());
    CHECK(trace.document["traceName"].text().find("SIMULATED") != std::string::npos);
    CHECK(trace.all("rangefinder").back().name.find("SIMULATED") != std::string::npos);
    CHECK(trace.all("kernel")[0].row.find("SIMULATED: no GPU was used") != std::string::npos);
  };
  expect(Exported::of_file(folder.file("x.rfcap")));
  expect(Exported::of_file(folder.file("first.json")));  // come back and gone out again
}

TEST_CASE("members of an imported document are kept, each once and strict", "[exporter]") {
  const ScratchFolder folder;
  write_file(folder.file("in.json"),
             "{\"schemaVersion\": 9, \"with_stack\": 1, \"with_stack\": 2, \"note\": \"</script>\", \"odd\": NaN,\n"
             "\"distributedInfo\": {\"backend\":\"nccl\",\"rank\":5,\"world_size\":16},\n"
             "\"traceEvents\": "
             "[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"r\",\"pid\":1,\"tid\":1,\"ts\":1.5,\"dur\":2}]}");
  const Exported trace = Exported::of_file(folder.file("in.json"));
  require_sound(trace);
  CHECK(trace.document["schemaVersion"].integer() == 1);
  CHECK(trace.document["with_stack"].integer() >= 1);
  CHECK(trace.document["note"].text() == "</script>");
  CHECK(trace.document["distributedInfo"]["backend"].text() == "nccl");
  CHECK(trace.text.find("\"rank\": 5") != std::string::npos);
  const std::string& text = trace.text;
  CHECK(text.find("\"with_stack\"") == text.rfind("\"with_stack\""));
  CHECK(text.find("\"schemaVersion\"") == text.rfind("\"schemaVersion\""));
}

TEST_CASE("a re-export keeps what the first one said of its input", "[exporter]") {
  const ScratchFolder folder;
  CaptureBuilder().range("r", 0, 10).health(1, 7).write(folder.file("x.rfcap"));
  REQUIRE(export_chrome_trace(folder.file("x.rfcap"), folder.file("1.json")).ok());
  REQUIRE(export_chrome_trace(folder.file("1.json"), folder.file("2.json")).ok());
  REQUIRE(export_chrome_trace(folder.file("2.json"), folder.file("3.json")).ok());
  for (const char* name : {"2.json", "3.json"}) {
    const JsonValue document = JsonValue::load(folder.file(name));
    REQUIRE(document.has("rangefinder_input"));
    CHECK(document.has("rangefinder"));
  }
  CHECK(JsonValue::load(folder.file("2.json"))["rangefinder_input"]["health"]["dropped_ranges"].integer() == 7);
}

TEST_CASE("the report counts what was written", "[exporter]") {
  const Exported trace = Exported::of(CaptureBuilder().range("r", 0, 10).launch(1).kernel("k", 5, 9));
  CHECK(trace.report.events == trace.document["traceEvents"].size());
  CHECK(trace.report.json_bytes == trace.text.size());
}

TEST_CASE("an empty recording is a whole document", "[exporter]") {
  for (const Exported& trace : {Exported::of(CaptureBuilder()), Exported::of(TimelineBuilder().build())}) {
    require_sound(trace);
    CHECK(trace.document["rangefinder"]["version"].text() == version());
  }
}
