// SPDX-License-Identifier: MIT
//
// Ranges in which CUDA graphs are captured while nothing is recorded. docs/reference/cupti.md, "Graphs".
#include "session/session_fixture.hpp"
#include "support/device_process.hpp"
#include "support/seed.hpp"

#include <rangefinder/exporters.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/report.hpp>

#include <fake_cupti.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using rangefinder::testing::at_length;
using rangefinder::testing::sanitized;

namespace {

constexpr const char* kKernelLaunch = "cudaLaunchKernel_v7000";

/// A process that captures and replays graphs; CUPTI has been opened, and time stands still.
class Program : public DeviceProcess {
 public:
  /// Its CUPTI is of this API version.
  explicit Program(std::uint32_t cupti_version = 130001) {
    fakecupti_become(cupti_version);
    stop_clock();
    options.graph_node_replays = 2;
    REQUIRE(source::cupti_prepare(seams()).working);
  }

  void begin_capture() { stream_call("cudaStreamBeginCapture_v10000"); }
  void end_capture() { stream_call("cudaStreamEndCapture_v10000"); }
  /// A kernel of this name, captured in a range of that.
  void layer(FakeGraph* graph, const char* kernel, const std::string& range) {
    advance(10);
    const ProfileRange open{range};
    advance(10);
    FakeKernel k;
    k.name = kernel;
    k.duration_ns = 100;
    fakecupti_graph_capture(kKernelLaunch, graph, &k);
    advance(10);
  }
  FakeGraphExec* two_layers() {
    FakeGraph* graph = fakecupti_graph_create();
    begin_capture();
    layer(graph, "k0", "layer.0");
    layer(graph, "k1", "layer.1");
    end_capture();
    FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
    fakecupti_graph_destroy(graph, nullptr);
    return exec;
  }
  void replay(FakeGraphExec* exec) {
    advance(10);
    {
      const ProfileRange open{"replay"};
      advance(10);
      fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    }
    advance(10'000);
  }

 private:
  void stream_call(const char* function) {
    advance(10);
    fakecupti_call_on_stream(function, this, 0);
  }
};

/// The range that owns each kernel, by the kernel's name; "-": none.
std::map<std::string, std::string> owners(const Timeline& timeline) {
  const Projection projection = project(timeline, {});
  std::map<std::string, std::string> found;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    const std::uint32_t owner = projection.owner[row];
    found[std::string(timeline.text(timeline.activities.name[row]))] =
        owner < timeline.ranges.size() ? std::string(timeline.text(timeline.ranges.name[owner])) : "-";
  }
  return found;
}

using Owners = std::map<std::string, std::string>;
const Owners kLayers = {{"k0", "layer.0"}, {"k1", "layer.1"}};

}  // namespace

TEST_CASE("a graph that was captured before the session has its ranges in every session", "[session]") {
  Program program;
  FakeGraphExec* exec = nullptr;
  SECTION("on this thread") { exec = program.two_layers(); }
  SECTION("on another one, that is gone") {
    std::thread([&] { exec = program.two_layers(); }).join();
  }
  SECTION("after another capture") {
    (void)program.two_layers();
    exec = program.two_layers();
  }
  CHECK_FALSE(detail::is_recording());
  for (int session = 0; session < 2; ++session) {
    program.advance(1'000'000);
    Recording recording = program.record();
    program.replay(exec);
    program.replay(exec);
    const Timeline timeline = recording.stop();
    CHECK(owners(timeline) == kLayers);
    CHECK(timeline.health.complete());
    REQUIRE(timeline.activities.size() == 4);
    // Both parents: the launch that counts, and the one that replayed it.
    CHECK(timeline.launches.thread[timeline.activities.launch[0]] < timeline.threads.size());
    CHECK(timeline.activities.launch[0] != timeline.activities.captured[0]);
    // Times are those of the capture.
    for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
      if (timeline.text(timeline.ranges.name[range]) == "layer.0")
        CHECK(timeline.ranges.end_ns[range] - timeline.ranges.begin_ns[range] == 20);
    }
  }
}

TEST_CASE("a graph that is captured in a pause has its ranges", "[session]") {
  Program program;
  program.options.idle = GENERATE(source::CuptiOptions::Idle::kGate, source::CuptiOptions::Idle::kDisable);
  program.session.schedule.skip_first = 1;
  program.session.schedule.wait = 1;
  program.session.schedule.active = 1;
  FakeGraphExec* exec = nullptr;
  Recording recording = program.record();
  {
    const ProfileRange off{"not recorded"};
    CHECK_FALSE(detail::is_recording());
    exec = program.two_layers();
    CHECK_FALSE(detail::is_recording());
  }
  recording->step();
  recording->step();  // recorded from here
  program.replay(exec);
  recording->step();
  recording->step();
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  CHECK(count_of(timeline, "not recorded") == 0);
  CHECK(count_of(timeline, "layer.0") == 1);
  CHECK(timeline.health.complete());
}

TEST_CASE("a capture that a pause begins in is recorded to its end", "[session]") {
  Program program;
  program.session.schedule.active = 1;
  program.session.schedule.wait = 1;
  FakeGraph* graph = fakecupti_graph_create();
  Recording recording = program.record();
  recording->step();
  program.begin_capture();
  program.layer(graph, "k0", "layer.0");
  recording->step();
  program.layer(graph, "k1", "layer.1");
  program.end_capture();
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  recording->step();
  program.replay(exec);
  CHECK(owners(recording.stop()) == kLayers);
}

TEST_CASE("what was opened before the capture while nothing was recorded owns nothing", "[session]") {
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  {
    const ProfileRange off{"outer"};
    program.begin_capture();
    FakeKernel k;
    k.name = "in no range";
    fakecupti_graph_capture(kKernelLaunch, graph, &k);
    program.layer(graph, "k0", "layer.0");
    program.end_capture();
  }
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == Owners{{"k0", "layer.0"}, {"in no range", "replay"}});
  CHECK(count_of(timeline, "outer") == 0);
}

TEST_CASE("a session may begin in the middle of a capture", "[session]") {
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  program.begin_capture();
  program.layer(graph, "k0", "layer.0");
  Recording recording = program.record();
  program.layer(graph, "k1", "layer.1");
  program.end_capture();
  program.replay(fakecupti_graph_instantiate(graph));
  CHECK(owners(recording.stop()) == kLayers);
  CHECK_FALSE(detail::is_recording());
}

TEST_CASE("a graph that was captured in a session has its ranges in those after it", "[session]") {
  Program program;
  FakeGraphExec* exec = nullptr;
  for (int session = 0; session < 3; ++session) {
    Recording recording = program.record();
    {
      const ProfileRange outer{"not of the capture"};
      if (exec == nullptr) {
        program.begin_capture();
        {
          const ProfileRange layers{"layers"};
          FakeGraph* graph = fakecupti_graph_create();
          program.layer(graph, "k0", "layer.0");
          REQUIRE(recording->flush().ok());  // in the middle
          program.layer(graph, "k1", "layer.1");
          exec = fakecupti_graph_instantiate(graph);
          program.end_capture();
          program.advance(10);
        }
        mark("not of the capture");
      }
      program.replay(exec);
    }
    const Timeline timeline = recording.stop();
    CHECK(owners(timeline) == kLayers);
    CHECK(timeline.health.complete());
    CHECK(timeline.health.unmatched_ends == 0);
    CHECK(count_of(timeline, "layers") == 1);
    CHECK(count_of(timeline, "not of the capture") == 1);
    CHECK(timeline.marks.size() == (session == 0 ? 1 : 0));
    for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
      if (timeline.text(timeline.ranges.name[range]) == "layers")
        CHECK(timeline.ranges.end_ns[range] - timeline.ranges.begin_ns[range] == 80);
    }
  }
}

TEST_CASE("graphs of the time before a release keep their ranges, and what is not known of them is said", "[session]") {
  Program program;
  FakeGraphExec* exec = program.two_layers();
  const bool released = GENERATE(false, true);
  if (released) REQUIRE(source::cupti_release(soon()).ok());
  Recording recording = program.record();
  program.replay(exec);
  REQUIRE(recording->flush().ok());
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  const bool said = std::any_of(timeline.metadata.begin(), timeline.metadata.end(), [](const auto& fact) {
    return fact.first == "cupti_notes" && fact.second.find("not watched") != std::string::npos;
  });
  CHECK(said == released);
}

TEST_CASE("a session may stop in the middle of a capture", "[session]") {
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  {
    Recording recording = program.record();
    program.begin_capture();
    program.layer(graph, "k0", "layer.0");
  }
  CHECK(detail::is_recording());
  program.layer(graph, "k1", "layer.1");
  program.end_capture();
  CHECK_FALSE(detail::is_recording());
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  CHECK(timeline.health.complete());
}

TEST_CASE("a range of a capture that a session's end cuts off ends with the session", "[session]") {
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  {
    std::optional<Recording> recording;
    recording.emplace(program.session, program.parts());
    program.begin_capture();
    const ProfileRange open{"open"};
    program.advance(10);
    program.layer(graph, "k0", "layer.0");
    recording.reset();
    program.advance(1'000'000);
  }
  program.end_capture();
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == Owners{{"k0", "layer.0"}});
  CHECK(timeline.health.complete());
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    if (timeline.text(timeline.ranges.name[range]) == "open")
      CHECK(timeline.ranges.end_ns[range] - timeline.ranges.begin_ns[range] == 40);
  }
}

TEST_CASE("ranges of graphs that are gone are held no longer", "[session]") {
  Program program;
  const bool in_session = GENERATE(false, true);
  FakeGraphExec* exec = nullptr;
  const auto capture = [&] {
    for (int i = 0; i < 20; ++i) fakecupti_graph_destroy(nullptr, program.two_layers());
    exec = program.two_layers();
    fakecupti_graph_destroy(nullptr, program.two_layers());
  };
  {
    std::optional<Recording> recording;
    if (in_session) recording.emplace(program.session, program.parts());
    capture();
  }
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  CHECK(count_of(timeline, "layer.0") == 1);
  CHECK(timeline.health.complete());
}

TEST_CASE("graphs replayed by several threads on several streams have their ranges, and both parents", "[session]") {
  Program program;
  FakeGraphExec* first = program.two_layers();
  FakeGraphExec* second = program.two_layers();
  fakecupti_add_stream(1, 13, 0);
  Recording recording = program.record();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const ProfileRange open{"replay " + std::to_string(thread)};
      for (int i = 0; i < 25; ++i)
        fakecupti_graph_launch("cudaGraphLaunch_v10000", i % 2 == 0 ? first : second, thread % 2 == 0 ? 7 : 13);
    });
  }
  for (std::thread& thread : threads) thread.join();
  program.advance(1'000'000);
  const Timeline timeline = recording.stop();
  REQUIRE(timeline.activities.size() == 4 * 25 * 2);
  CHECK(owners(timeline) == kLayers);
  const Projection by_replay = project(timeline, {Attribution::kLaunch, true, false});
  std::map<std::string, std::uint64_t> operations;
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    const std::string name(timeline.text(timeline.ranges.name[range]));
    if (name.starts_with("replay")) operations[name] += by_replay.inclusive[range].gpu_ops;
  }
  CHECK(operations ==
        std::map<std::string, std::uint64_t>{{"replay 0", 50}, {"replay 1", 50}, {"replay 2", 50}, {"replay 3", 50}});
}

TEST_CASE("a host node of a graph leaves no record, and takes none from the others", "[session]") {
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  program.begin_capture();
  program.layer(graph, "k0", "layer.0");
  fakecupti_graph_add_host("cudaLaunchHostFunc_v10000", graph);
  program.layer(graph, "k1", "layer.1");
  program.end_capture();
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  CHECK(timeline.activities.size() == 2);
  CHECK(timeline.health.complete());
}

TEST_CASE("a capture says that loops inside of graphs are not recorded whole", "[session]") {
  Program program;
  const bool loop = GENERATE(true, false);
  FakeGraph* graph = fakecupti_graph_create();
  FakeGraph* body = fakecupti_graph_create();
  program.begin_capture();
  program.layer(body, "k0", "layer.0");
  program.layer(graph, "k1", "layer.1");
  if (loop)
    fakecupti_graph_add_conditional("cudaGraphAddNode_v12020", graph, body);
  else
    fakecupti_graph_add_child("cudaGraphAddChildGraphNode_v10000", graph, body);
  program.end_capture();
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  const auto says = [](const std::string& note) { return note.find("lower bounds") != std::string::npos; };
  CHECK(std::count_if(timeline.notes.begin(), timeline.notes.end(), says) == (loop ? 1 : 0));
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) CHECK(timeline.is_lower_bound(row) == loop);
}

TEST_CASE("a graph with a loop that is not replayed makes nothing a lower bound", "[session]") {
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  FakeGraph* body = fakecupti_graph_create();
  fakecupti_graph_add_conditional("cudaGraphAddNode_v12020", graph, body);
  FakeGraphExec* loop = fakecupti_graph_instantiate(graph);
  FakeGraphExec* exec = program.two_layers();
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(timeline.conditional_graphs.size() == 2);  // and the one that it was made from
  CHECK(timeline.notes.empty());
  CHECK_FALSE(timeline.is_lower_bound(ActivityIndex{0}));
  fakecupti_graph_destroy(graph, loop);
}

TEST_CASE("launches recorded as a whole are divided over the ranges of the capture", "[session]") {
  Program program;
  program.options.graph_tracing = source::CuptiOptions::GraphTracing::kAutomatic;
  Recording recording = program.record();
  FakeGraphExec* exec = program.two_layers();
  for (int round = 0; round < 10; ++round) {
    program.replay(exec);
    REQUIRE(recording->flush().ok());
    REQUIRE(recording->flush().ok());  // the switch is asked of a thread of its own
  }
  Timeline timeline = recording.stop();
  CHECK(split_graph_launches(timeline) > 0);
  const Projection projection = project(timeline, {});
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
    if (timeline.text(timeline.ranges.name[range]) == "layer.0") CHECK(projection.inclusive[range].gpu_sum_ns == 1'000);
    if (timeline.text(timeline.ranges.name[range]) == "replay") CHECK(projection.inclusive[range].gpu_ops == 0);
  }
}

TEST_CASE("launches that a pause throws away do not count as recorded node by node", "[session]") {
  Program program;
  program.options.graph_tracing = source::CuptiOptions::GraphTracing::kAutomatic;
  program.options.idle = source::CuptiOptions::Idle::kGate;
  program.session.schedule.skip_first = 5;
  program.session.schedule.active = 5;
  Recording recording = program.record();
  FakeGraphExec* exec = program.two_layers();
  for (int step = 0; step < 10; ++step) {
    program.replay(exec);
    REQUIRE(recording->flush().ok());
    REQUIRE(recording->flush().ok());  // the switch is asked of a thread of its own
    recording->step();
  }
  Timeline timeline = recording.stop();
  CHECK(timeline.activities.size() == 7);  // two launches as a whole, two node by node, one as a whole
  CHECK(split_graph_launches(timeline) == 3);
}

TEST_CASE("graphs have their owners on every CUPTI, and it is said where updates are not told", "[session][fault]") {
  const std::uint32_t version = GENERATE(18, 22, 24, 26, 28, 130001, 130300);
  CAPTURE(version);
  Program program(version);
  FakeGraphExec* exec = program.two_layers();
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  CHECK(timeline.health.complete());
  const auto notes = std::find_if(timeline.metadata.begin(), timeline.metadata.end(),
                                  [](const auto& fact) { return fact.first == "cupti_notes"; });
  REQUIRE((notes != timeline.metadata.end()) == (version < 130000));
  if (version < 130000) CHECK(notes->second.find("GRAPH_NODE_UPDATED") != std::string::npos);
  CHECK(fakecupti_misuse() == nullptr);
}

TEST_CASE("what makes graphs leaves no records, and is no sign of another profiler", "[session]") {
  Program program;
  program.options.api_records = false;
  const bool by_hand = GENERATE(false, true);
  Recording recording = program.record();
  if (!by_hand) program.begin_capture();
  for (int round = 0; round < 4; ++round) {
    fakecupti_tell_calls(by_hand ? "cudaGraphAddKernelNode_v10000" : kKernelLaunch, 20'000);
    REQUIRE(recording->flush().ok());
  }
  if (!by_hand) program.end_capture();
  const DeviceState state = recording->device();
  INFO(state.reason);
  CHECK(state.full);
}

// What examples/inference/cuda_graph_decode does on a device.
TEST_CASE("the report of a decoder shows its layers inside of the replays", "[session]") {
  Program program;
  std::map<int, FakeGraphExec*> graphs;
  for (const int sequences : {8, 4, 2, 1}) {
    FakeGraph* graph = fakecupti_graph_create();
    program.begin_capture();
    {
      const ProfileRange range{"sequences." + std::to_string(sequences)};
      for (const char* layer : {"layer.0", "layer.1", "head"}) program.layer(graph, "gemm", layer);
    }
    program.end_capture();
    graphs[sequences] = fakecupti_graph_instantiate(graph);
  }
  Recording recording = program.record();
  for (const int sequences : {8, 8, 8, 4, 4, 1}) program.replay(graphs[sequences]);
  (void)recording.stop();
  ReportOptions options;
  options.view = "tree";
  options.format = ReportFormat::kJson;
  const Result<std::string> json = render_report(recording.path(), options);
  REQUIRE(json.ok());
  INFO(*json);
  const auto operations = [&](const std::string& path) {
    const std::size_t row = json->find("\"path\": \"" + path + "\"");
    if (row == std::string::npos) return std::string("no such row");
    const std::size_t begin = json->rfind("\"gpu_ops\": ", row) + 11;
    return json->substr(begin, json->find(',', begin) - begin);
  };
  CHECK(operations("sequences.8") == "9");
  CHECK(operations("sequences.8/layer.1") == "3");
  CHECK(operations("sequences.4/head") == "2");
  CHECK(operations("sequences.2") == "no such row");  // captured long ago, and never replayed
  CHECK(operations("sequences.1/layer.0") == "1");
  CHECK(operations("replay") == "0");
  CHECK(json->find("capture: 18 operations of CUDA graphs on the ranges that captured them") != std::string::npos);
}

TEST_CASE("a capture of days ago does not make a recording of days", "[session]") {
  Program program;
  FakeGraphExec* exec = program.two_layers();
  fakecupti_graph_destroy(nullptr, program.two_layers());
  program.advance(36ull * 3600 * 1'000'000'000ull);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(owners(timeline) == kLayers);
  CHECK(timeline.end_ns - timeline.begin_ns < 1'000'000);
  ReportOptions options;
  options.format = ReportFormat::kCsv;
  options.view = "ranges";
  const Result<std::string> csv = render_report(recording.path(), options);
  REQUIRE(csv.ok());
  INFO(*csv);
  CHECK(csv->find("layer.0,0,0,0,0.0,,,,,,100,") != std::string::npos);
  const std::string trace = recording.file("a.pt.trace.json");
  ChromeExportOptions exported;
  exported.attribution = GENERATE(Attribution::kLaunch, Attribution::kAuto);
  REQUIRE(export_chrome_trace(recording.path(), trace, exported).ok());
  const Timeline again = load(trace);
  CHECK(again.end_ns - again.begin_ns < 1'000'000);
  CHECK(owners(again) == kLayers);
}

TEST_CASE("a flight recorder keeps the ranges of graphs", "[session]") {
  Program program;
  const bool before = GENERATE(true, false);
  FakeGraphExec* exec = before ? program.two_layers() : nullptr;
  program.session.mode = CaptureMode::kRing;
  program.session.ring_bytes = 8'000;
  Recording recording = program.record();
  if (!before) exec = program.two_layers();
  for (int round = 0; round < 100; ++round) {
    program.replay(exec);
    REQUIRE(recording->flush().ok());
  }
  const Result<std::string> dump = recording->dump({});
  REQUIRE(dump.ok());
  const Timeline timeline = load(*dump);
  CHECK(timeline.activities.size() < 200);  // the older ones are gone
  CHECK(count_of(timeline, "layer.0") == 1);
  CHECK(owners(timeline) == kLayers);
  CHECK(timeline.health.unmatched_ends == 0);
}

TEST_CASE("a capture of hours ago does not make a dump of hours", "[session]") {
  Program program;
  program.session.mode = CaptureMode::kRing;
  program.session.ring_bytes = 8'000;
  const bool forgotten = GENERATE(true, false);
  Recording recording = program.record();
  FakeGraphExec* exec = program.two_layers();
  program.replay(exec);
  REQUIRE(recording->flush().ok());
  if (forgotten) program.advance(5ull * 3600 * 1'000'000'000ull);
  for (int round = 0; round < (forgotten ? 100 : 1); ++round) {
    program.replay(exec);
    REQUIRE(recording->flush().ok());
  }
  const Result<std::string> dump = recording->dump({});
  REQUIRE(dump.ok());
  const Timeline timeline = load(*dump);
  CHECK(owners(timeline) == kLayers);
  CHECK(timeline.end_ns - timeline.begin_ns < 10'000'000);
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row) {
    const bool is_layer = timeline.text(timeline.ranges.name[row]).starts_with("layer.");
    CHECK(((timeline.ranges.flags[row] & kBeforeRecording) != 0) == (is_layer && forgotten));
  }
  REQUIRE(timeline.windows.size() == 1);
  CHECK(timeline.end_ns - timeline.windows[0].begin_ns < 10'000'000);
  const std::string trace = recording.file("a.pt.trace.json");
  ChromeExportOptions exported;
  exported.attribution = GENERATE(Attribution::kLaunch, Attribution::kAuto);
  REQUIRE(export_chrome_trace(*dump, trace, exported).ok());
  const Timeline again = load(trace);
  CHECK(again.end_ns - again.begin_ns < 10'000'000);
  CHECK(owners(again) == kLayers);
}

TEST_CASE("a capture that makes no end of ranges is bounded, and what is missing is counted", "[session][slow]") {
  if (sanitized() && !at_length()) RANGEFINDER_SKIP("millions of ranges on one thread take long under a sanitizer");
  Program program;
  FakeGraph* graph = fakecupti_graph_create();
  program.begin_capture();
  program.layer(graph, "k0", "layer.0");
  program.layer(graph, "k1", "layer.1");
  for (int i = 0; i < 2'300'000; ++i) const ProfileRange range{"r"};
  program.end_capture();
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  Recording recording = program.record();
  program.replay(exec);
  const Timeline timeline = recording.stop();
  CHECK(timeline.ranges.size() > 1'000'000);
  CHECK(timeline.ranges.size() < 2'300'000);
  CHECK(timeline.health.dropped_ranges > 0);
  CHECK(owners(timeline) == kLayers);
}
