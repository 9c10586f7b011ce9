// SPDX-License-Identifier: MIT
//
// What reports say of the attributions `forward` and `capture`.
#include "report/rendered.hpp"
#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/report.hpp>

#include <algorithm>
#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// A layer that is computed forward on thread 1, backward on thread 2, and whose gradient is added up in a hook's
/// range.
Timeline one_layer() {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("layer", 10, 90).launch(20).kernel(30, 130);
  builder.on_thread(2).node(200, 250, 0, 1, 15).launch(210).kernel(220, 520);
  builder.gradient_accumulation(260, 290).range("all_reduce", 265, 280).launch(270).kernel(520, 570);
  return builder.build();
}

std::string attribution_report(const Timeline& timeline, std::string_view view, ReportFormat format,
                               Attribution attribution, bool instances = false) {
  ReportOptions options;
  options.view = view;
  options.format = format;
  options.instances = instances;
  options.projection.attribution = attribution;
  return rendered(timeline, options);
}

}  // namespace

TEST_CASE("a range's device time is shown by pass", "[report]") {
  const Timeline timeline = one_layer();
  for (const bool instances : {false, true}) {
    const std::string csv = attribution_report(timeline, "ranges", ReportFormat::kCsv, Attribution::kAuto, instances);
    INFO(csv);
    CHECK(has(csv, "GPU forward (ns),GPU backward (ns),GPU recompute (ns),GPU accumulation (ns),GPU unmatched (ns)"));
    // layer: 100 forward, 300 backward; the hook's range: 50 accumulated.
    CHECK(has(csv, instances ? ",100,300,0,0,0,2,1\n" : ",100,300,0,0,0\n"));
    CHECK(has(csv, instances ? ",0,0,0,50,0,3,\n" : ",0,0,0,50,0\n"));
  }
  const std::string tree = attribution_report(timeline, "tree", ReportFormat::kJson, Attribution::kForward);
  INFO(tree);
  CHECK(has(tree, "\"gpu_backward_ns\""));
  const std::string text = attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kAuto);
  INFO(text);
  CHECK(has(text, "GPU backward"));
  CHECK_FALSE(has(text, "GPU recompute"));  // nothing was
  CHECK(has(text,
            "forward: 300 ns of backward work is on the ranges of its forward operators; gradient accumulation 50 ns"));
}

TEST_CASE("by launch there are no passes, and what the input cannot answer is said", "[report]") {
  const std::string launch = attribution_report(one_layer(), "ranges", ReportFormat::kText, Attribution::kLaunch);
  CHECK_FALSE(has(launch, "GPU backward"));
  CHECK_FALSE(has(launch, "forward:"));
  TimelineBuilder builder;
  builder.range("step", 0, 100).launch(20).kernel(30, 130);
  const Timeline without_nodes = builder.build();
  CHECK(has(attribution_report(without_nodes, "ranges", ReportFormat::kText, Attribution::kForward),
            "the input has no autograd nodes"));
  CHECK_FALSE(has(attribution_report(without_nodes, "ranges", ReportFormat::kText, Attribution::kAuto), "autograd"));
}

TEST_CASE("what a graph replays is shown where it was captured, and what is not is said", "[report]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50).launch(10);
  const LaunchIndex made = builder.last_launch();
  builder.range("replay", 100, 200).launch(110).kernel(120, 130).of_graph(made).kernel(130, 140).of_graph(made);
  const bool all = GENERATE(true, false);
  if (!all) builder.launch(150).kernel(160, 170).of_graph(kNone, 5);
  const Timeline timeline = builder.build();
  for (const Attribution attribution : {Attribution::kAuto, Attribution::kCapture}) {
    const std::string text = attribution_report(timeline, "ranges", ReportFormat::kText, attribution);
    INFO(text);
    CHECK(has(text, "capture: 2 operations of CUDA graphs on the ranges that captured them"));
    CHECK(has(text, "1 operation of CUDA graphs on the ranges that replay them") == !all);
  }
  CHECK_FALSE(has(attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kLaunch), "capture:"));
}

TEST_CASE("ranges that were over before the recording count with what they own", "[report]") {
  TimelineBuilder builder;
  builder.range("model", 0, 60).flagged(kBeforeRecording).range("layer", 0, 50).flagged(kBeforeRecording).launch(10);
  const LaunchIndex made = builder.last_launch();
  builder.range("never replayed", 60, 70).flagged(kBeforeRecording);
  builder.range("layer", 1'000, 1'100).range("replay", 2'000, 2'100).launch(2'010).kernel(2'020, 2'050).of_graph(made);
  const Timeline timeline = builder.build();
  const std::string ranges = attribution_report(timeline, "ranges", ReportFormat::kCsv, Attribution::kAuto);
  INFO(ranges);
  CHECK(has(ranges, "\nmodel,0,0,0,0.0,,,,,,30,"));
  CHECK(has(ranges, "\nlayer,1,100,100,50.0,100,100,100,100,100,30,"));
  CHECK_FALSE(has(ranges, "never replayed"));
  const std::string tree = attribution_report(timeline, "tree", ReportFormat::kCsv, Attribution::kAuto);
  INFO(tree);
  CHECK(has(tree, "\nmodel,0,0,0,0.0,,,,,,30,"));
  CHECK(has(tree, "\nlayer,0,0,0,0.0,,,,,,30,"));
  CHECK(has(tree, "\nlayer,1,100,100,50.0,100,100,100,100,100,0,"));
  CHECK_FALSE(has(tree, "never replayed"));
  const std::string each = attribution_report(timeline, "ranges", ReportFormat::kCsv, Attribution::kAuto, true);
  INFO(each);
  CHECK(has(each, "\nmodel/layer,1,,0,,30,"));
  CHECK_FALSE(has(each, "never replayed"));
  // Nsight's views give work to those who launched it: there is nothing that these could own.
  CHECK_FALSE(has(attribution_report(timeline, "nvtx_pushpop_sum", ReportFormat::kCsv, Attribution::kAuto), "model"));
}

TEST_CASE("graphs recorded as a whole are told apart, and what is estimated is marked", "[report]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 50).launch(10);
  const LaunchIndex made = builder.last_launch();
  builder.range("replay", 100, 200).launch(110).kernel(120, 130).of_graph(made);
  builder.range("replay", 300, 400).launch(310).kernel(320, 1'320);
  Timeline timeline = builder.build();
  ActivityTable& activities = timeline.activities;
  change_row(activities, 0, [](ActivityRow& activity) { activity.graph = 5; });
  change_row(activities, 1, [](ActivityRow& activity) {
    activity.graph = 5;
    activity.kind = ActivityKind::kGraph;
  });
  CHECK_FALSE(has(attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kLaunch), "estimated"));
  const std::string text = attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kAuto);
  INFO(text);
  CHECK(timeline.activities.size() == 2);  // it was not changed
  Timeline divided = timeline;
  REQUIRE(split_graph_launches(divided) == 1);
  CHECK(attribution_report(divided, "ranges", ReportFormat::kText, Attribution::kAuto) == text);
  CHECK(has(text, "GPU estimated"));
  CHECK(has(text, "estimated: 1.000 us of CUDA graphs was recorded as a whole and is divided"));
  CHECK_FALSE(has(text, "1 launch of CUDA graphs"));
  for (const bool instances : {false, true}) {
    const std::string json = attribution_report(timeline, "ranges", ReportFormat::kJson, Attribution::kAuto, instances);
    INFO(json);
    CHECK(has(json, "\"gpu_estimated_ns\": 1000"));
    const std::string csv = attribution_report(timeline, "ranges", ReportFormat::kCsv, Attribution::kAuto, instances);
    INFO(csv);
    CHECK(has(csv, "GPU estimated (ns)"));
  }
  CHECK(has(attribution_report(timeline, "kernels", ReportFormat::kText, Attribution::kAuto), "kernel"));
}

TEST_CASE("a report divides graphs unless it is by launch or of Nsight's", "[report]") {
  ReportOptions options;
  const auto divided = [&] {
    TimelineBuilder builder;
    builder.range("layer", 0, 50).launch(10);
    const LaunchIndex made = builder.last_launch();
    builder.range("replay", 100, 200).launch(110).kernel(120, 130).of_graph(made);
    builder.range("replay", 300, 400).launch(310).kernel(320, 420);
    Timeline timeline = builder.build();
    change_row(timeline.activities, 0, [](ActivityRow& activity) { activity.graph = 5; });
    change_row(timeline.activities, 1, [](ActivityRow& activity) {
      activity.graph = 5;
      activity.kind = ActivityKind::kGraph;
    });
    const std::string text = rendered(timeline, options);
    REQUIRE(has(text, options.view == "ranges" ? "layer" : "Instances"));
    return has(text, "estimated");
  };
  CHECK(divided());
  options.projection.attribution = Attribution::kLaunch;
  CHECK_FALSE(divided());
  options.projection.attribution = Attribution::kCapture;
  CHECK(divided());
  options.view = "cuda_gpu_kern_sum";
  CHECK_FALSE(divided());
}

TEST_CASE("why work of graphs stays on the replay is said of each kind, and of no other", "[report]") {
  TimelineBuilder builder;
  builder.launch(5);
  const LaunchIndex outside = builder.last_launch();
  builder.range("layer", 10, 50).launch(20);
  const LaunchIndex made = builder.last_launch();
  builder.range("replay", 100, 200).launch(110).kernel(120, 130).of_graph(made, 1);
  builder.kernel(130, 140).of_graph(outside, 2).kernel(140, 150).of_graph(outside, 2);
  builder.kernel(150, 160).of_graph(kNone, 3);
  Timeline timeline = builder.build();
  const bool ring = GENERATE(false, true);
  timeline.processes[0].flight_recorder = ring;
  const std::string text = attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kAuto);
  INFO(text);
  CHECK(has(text, "capture: 1 operation of CUDA graphs on the ranges that captured them"));
  CHECK(has(text,
            "capture: 2 operations of CUDA graphs on the ranges that replay them: their nodes were created outside"));
  CHECK(
      has(text, "capture: 1 operation of CUDA graphs on the ranges that replay them: their nodes were created before"));
  CHECK(has(text, "flight recorder") == ring);
  // Nsight's views give work to those who launched it.
  CHECK_FALSE(
      has(attribution_report(timeline, "cuda_gpu_kern_sum", ReportFormat::kText, Attribution::kAuto), "capture:"));
  timeline.format = InputFormat::kNsight;
  CHECK(has(attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kAuto),
            "1 operation of CUDA graphs on the ranges that replay them: the input does not say"));
}

TEST_CASE("both parents of a graph's work stand in one row", "[report]") {
  TimelineBuilder builder;
  builder.launch(5);
  const LaunchIndex outside = builder.last_launch();
  builder.range("capture", 8, 60).range("layer.0", 10, 30).launch(20);
  const LaunchIndex first = builder.last_launch();
  builder.range("layer.1", 30, 50).launch(40);
  const LaunchIndex second = builder.last_launch();
  builder.range("serve", 90, 1'000);
  for (const std::int64_t time : {100, 300, 500}) {
    builder.range(time == 500 ? "decode" : "prefill", time, time + 50).launch(time + 10);
    builder.kernel(time + 20, time + 30)
        .of_graph(first, 1)
        .kernel(time + 30, time + (time == 500 ? 40 : 60))
        .of_graph(second, 2);
  }
  builder.kernel(900, 905).of_graph(outside, 3).kernel(905, 912).of_graph(kNone, 4);
  builder.launch(700).kernel(710, 720);  // of no graph
  Timeline timeline = builder.build();
  const Attribution attribution = GENERATE(Attribution::kAuto, Attribution::kLaunch, Attribution::kCapture);
  const std::string csv = attribution_report(timeline, "replays", ReportFormat::kCsv, attribution);
  INFO(csv);
  CHECK(has(csv,
            "Captured in,Replayed by,Replays,GPU ops,GPU sum (ns),Share (%),GPU sum avg (ns),GPU estimated (ns),"
            "Captured in id,Replayed by id\n"
            "capture/layer.1,serve/prefill,2,2,60,"));
  CHECK(has(csv, "\ncapture/layer.0,serve/prefill,2,2,20,"));
  CHECK(has(csv, "\ncapture/layer.0,serve/decode,1,1,10,"));
  CHECK(has(csv, "\ncapture/layer.1,serve/decode,1,1,10,"));
  CHECK(has(csv, "\n(outside any range),serve/decode,1,1,5,"));
  CHECK(has(csv, "\n(not known),serve/decode,1,1,7,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
  const std::string each = attribution_report(timeline, "kernels", ReportFormat::kCsv, attribution, true);
  INFO(each);
  const bool moved = attribution != Attribution::kLaunch;
  CHECK(has(each, ",capture/layer.0,serve/prefill,") == moved);
  CHECK(has(each, ",serve/decode,,"));
  TimelineBuilder without;
  without.range("step", 0, 100).launch(20).kernel(30, 130);
  CHECK(has(attribution_report(without.build(), "replays", ReportFormat::kText, attribution), "work of CUDA graphs"));
}

TEST_CASE("counts of graphs with conditional nodes are lower bounds in their cells", "[report]") {
  TimelineBuilder builder;
  builder.range("loop", 10, 30).launch(20);
  const LaunchIndex made = builder.last_launch();
  builder.range("straight", 30, 50).launch(40);
  const LaunchIndex other = builder.last_launch();
  builder.range("replay", 100, 200).launch(110).kernel(120, 130).of_graph(made, 1).kernel(130, 140).of_graph(made, 2);
  builder.kernel(140, 150).of_graph(other, 3).kernel(150, 160).of_graph(other, 4).kernel(160, 170).of_graph(other, 5);
  Timeline timeline = builder.build();
  for (std::size_t row = 0; row < timeline.activities.size(); ++row)
    change_row(timeline.activities, row, [&](ActivityRow& activity) { activity.graph = row < 2 ? 7 : 8; });
  const bool any = GENERATE(true, false);
  if (any) timeline.conditional_graphs = {{ProcessIndex{0}, 7}};
  for (const char* view : {"ranges", "tree", "replays"}) {
    const std::string text = attribution_report(timeline, view, ReportFormat::kText, Attribution::kAuto);
    INFO(text);
    CHECK(has(text, " 2+ ") == any);
    CHECK(has(text, " 3 "));
    CHECK_FALSE(has(text, "3+"));
    CHECK_FALSE(has(text, "Of conditional graphs"));
    const std::string json = attribution_report(timeline, view, ReportFormat::kJson, Attribution::kAuto);
    INFO(json);
    CHECK(has(json, "\"gpu_ops\": 2,"));
    CHECK(has(json, "\"of_conditional_graphs\": 2") == any);
    CHECK(has(json, "\"of_conditional_graphs\": 0") == any);
  }
  CHECK(has(attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kAuto, true), " 2+") == any);
  CHECK(has(attribution_report(timeline, "kernels", ReportFormat::kText, Attribution::kAuto), " 5+ ") == any);
  CHECK(has(attribution_report(timeline, "kernels", ReportFormat::kCsv, Attribution::kAuto), "Of conditional graphs") ==
        any);
}

TEST_CASE("the passes of a captured step stand beside its replays", "[report]") {
  TimelineBuilder builder;
  builder.range("layer", 10, 40).launch(20);
  const LaunchIndex forward = builder.last_launch();
  builder.on_thread(2).node(60, 90, 1, 1, 30).launch(70);
  const LaunchIndex backward = builder.last_launch();
  builder.on_thread(1).range("replay", 300, 400).launch(310);
  builder.kernel(320, 330).of_graph(forward, 1).kernel(330, 370).of_graph(backward, 2);
  const Timeline timeline = builder.build();
  const std::string csv = attribution_report(timeline, "replays", ReportFormat::kCsv, Attribution::kAuto);
  INFO(csv);
  CHECK(has(csv, "\nlayer,replay,1,2,50,100.0,50,0,10,40,0,0,0,1,2\n"));
}

TEST_CASE("an input that cannot say where graphs were captured says so once", "[report]") {
  TimelineBuilder builder;
  builder.range("replay", 100, 200).launch_call("cudaGraphLaunch", 110, 115).kernel(120, 130).kernel(130, 140);
  const Timeline timeline = builder.build();
  const std::string text = attribution_report(timeline, "ranges", ReportFormat::kText, Attribution::kAuto);
  INFO(text);
  CHECK(has(text, "capture: 2 operations of CUDA graphs on the ranges that replay them: "));
  TimelineBuilder without;
  without.range("step", 0, 100).launch(20).kernel(30, 130);
  const Timeline no_graphs = without.build();
  CHECK_FALSE(has(attribution_report(no_graphs, "ranges", ReportFormat::kText, Attribution::kAuto), "capture:"));
  CHECK(has(attribution_report(no_graphs, "ranges", ReportFormat::kText, Attribution::kCapture),
            "capture: the input has no work of CUDA graphs"));
}
