// SPDX-License-Identifier: MIT
#include "analysis/pass_split.hpp"
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/projection.hpp>

#include <map>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Two layers on the main thread, and their backward pass on the engine's.
CaptureBuilder training() {
  CaptureBuilder capture;
  capture.h100().on_thread(10, "main");
  capture.range("forward", 100, 400).range("small", 110, 200).range("large", 210, 300);
  capture.numbers(90, 5, 1, true).numbers(199, 6, 1).numbers(299, 8, 1);
  capture.launch(120).call("cudaLaunchKernel", 120, 125).kernel("forward", 1'000, 1'010);
  capture.launch(220).call("cudaLaunchKernel", 220, 225).kernel("forward", 1'010, 1'030);
  capture.range("backward", 500, 900);
  capture.on_thread(11, "pt_autograd_0");
  capture.node("LargeBackward0", 600, 650, 7, 1).node("SmallBackward0", 680, 700, 5, 1);
  capture.node("torch::autograd::AccumulateGrad", 720, 740, -1, 0).node("OldBackward0", 750, 760, 3, 1);
  capture.launch(610).call("cudaLaunchKernel", 610, 615).kernel("backward", 1'100, 1'200);
  capture.launch(660).call("cudaLaunchKernel", 660, 665).kernel("sum", 1'200, 1'240);  // between two nodes
  capture.launch(690).call("cudaLaunchKernel", 690, 695).kernel("backward", 1'300, 1'350);
  capture.launch(730).call("cudaLaunchKernel", 730, 735).kernel("accumulate", 1'400, 1'407);
  capture.launch(755).call("cudaLaunchKernel", 755, 757).kernel("backward", 1'500, 1'503);
  return capture;
}

struct Passes {
  std::map<std::string, analysis::PassTimes> of_range;
  analysis::PassTimes all{};
  bool operator==(const Passes&) const = default;
};

/// By attribution `forward`; start/end times of an import end later than ours by nothing.
Passes passes_of(const Timeline& timeline) {
  const Projection projection = project(timeline, {});
  Passes out;
  out.all = analysis::pass_times_of_all(timeline, projection);
  const analysis::RangePassTimes times = analysis::pass_times_of_ranges(timeline, projection);
  for (RangeIndex range{0}; range < timeline.ranges.size() && !times.empty(); ++range) {
    if (timeline.ranges.kind[range] != RangeKind::kAnnotation) continue;
    for (std::size_t pass = 0; pass < kPasses; ++pass)
      out.of_range[std::string(timeline.text(timeline.ranges.name[range]))][pass] += times[range][pass];
  }
  return out;
}

ChromeExportOptions by(Attribution attribution) {
  ChromeExportOptions options;
  options.attribution = attribution;
  return options;
}

}  // namespace

TEST_CASE("nodes of autograd are slices of their thread", "[exporter]") {
  for (const Attribution attribution : {Attribution::kLaunch, Attribution::kForward}) {
    const ScratchFolder folder;
    training().write(folder.file("a.rfcap"));
    const Exported trace = Exported::of_file(folder.file("a.rfcap"), by(attribution));
    require_sound(trace);
    const TraceEvent node = trace.one("cpu_op", "LargeBackward0");
    CHECK(node.row.ends_with("pt_autograd_0"));
    CHECK(node["Sequence number"].text() == "7");
    CHECK(node["Fwd thread id"].text() == "10");
    CHECK(trace.one("cpu_op", "OldBackward0")["Fwd thread id"].text() == "0");
    CHECK_FALSE(trace.one("cpu_op", "torch::autograd::AccumulateGrad").has("Sequence number"));
    std::map<std::string, int> arrows;
    for (const Exported::Arrow& arrow : trace.arrows()) ++arrows[arrow.category];
    CHECK(arrows == std::map<std::string, int>{{"ac2g", 7}, {"fwdbwd", 2}});
    for (const Exported::Arrow& arrow : trace.arrows()) {
      if (arrow.category != "fwdbwd" || arrow.to_ns != node.time_ns) continue;
      const TraceEvent layer = trace.one("user_annotation", "large");
      CHECK(arrow.from_row == layer.row);
      CHECK(arrow.from_ns >= layer.time_ns);
      CHECK(arrow.from_ns < layer.time_ns + layer.duration_ns);
    }
  }
}

TEST_CASE("a node that was recorded as an operator too is one slice", "[exporter]") {
  CaptureBuilder capture = training();
  capture.range("LargeBackward0", 602, 655, "operator").facts(7, 1);  // LibTorch tells the operator of its end last
  capture.range("SmallBackward0", 660, 670, "operator");              // before its namesake: another one
  const ScratchFolder folder;
  capture.write(folder.file("a.rfcap"));
  for (const Attribution attribution : {Attribution::kLaunch, Attribution::kForward}) {
    const Exported trace = Exported::of_file(folder.file("a.rfcap"), by(attribution));
    require_sound(trace);
    CHECK(trace.all("cpu_op", "SmallBackward0").size() == 2);
    const TraceEvent node = trace.one("cpu_op", "LargeBackward0");
    CHECK(node.time_ns - trace.one("user_annotation", "backward").time_ns == 102);
    CHECK(node.has("External id"));
    int arrows = 0;
    for (const Exported::Arrow& arrow : trace.arrows())
      arrows += arrow.category == "fwdbwd" && arrow.to_ns == node.time_ns ? 1 : 0;
    CHECK(arrows == 1);
  }
}

TEST_CASE("by forward the device rows of a layer tell forward from backward", "[exporter]") {
  const ScratchFolder folder;
  training().write(folder.file("a.rfcap"));
  const Exported trace = Exported::of_file(folder.file("a.rfcap"), by(Attribution::kForward));
  std::size_t rows = 0;
  for (const TraceEvent& event : trace.all("gpu_user_annotation", "large")) {
    ++rows;
    CHECK(event["gpu_sum_ns"].text() == "160");
    CHECK(event["gpu_forward_ns"].text() == "20");
    CHECK(event["gpu_backward_ns"].text() == "140");
    CHECK_FALSE(event.has("gpu_recompute_ns"));
  }
  CHECK(rows == 1);
  const Exported launch = Exported::of_file(folder.file("a.rfcap"), by(Attribution::kLaunch));
  REQUIRE_FALSE(launch.all("gpu_user_annotation", "large").empty());
  for (const TraceEvent& event : launch.all("gpu_user_annotation", "large")) {
    CHECK(event["gpu_sum_ns"].text() == "20");
    CHECK_FALSE(event.has("gpu_forward_ns"));
  }
}

TEST_CASE("an export that comes back has the same forward attribution", "[exporter]") {
  const ScratchFolder folder;
  training().write(folder.file("a.rfcap"));
  const Result<Timeline> original = load_timeline(folder.file("a.rfcap"));
  REQUIRE(original);
  const Passes want = passes_of(*original);
  REQUIRE(want.of_range.at("large")[static_cast<std::size_t>(Pass::kBackward)] == 140);
  REQUIRE(want.of_range.at("small")[static_cast<std::size_t>(Pass::kBackward)] == 50);
  REQUIRE(want.all[static_cast<std::size_t>(Pass::kAccumulation)] == 7);
  REQUIRE(want.all[static_cast<std::size_t>(Pass::kUnmatched)] == 3);
  for (const Attribution attribution : {Attribution::kLaunch, Attribution::kForward}) {
    ChromeExportOptions options = by(attribution);
    options.replace = true;
    REQUIRE(export_chrome_trace(folder.file("a.rfcap"), folder.file("a.json"), options).ok());
    const Result<Timeline> back = load_timeline(folder.file("a.json"));
    REQUIRE(back);
    CHECK(passes_of(*back) == want);
    // And once more, through an export of the import.
    REQUIRE(export_chrome_trace(folder.file("a.json"), folder.file("b.json"), options).ok());
    const Result<Timeline> again = load_timeline(folder.file("b.json"));
    REQUIRE(again);
    CHECK(passes_of(*again) == want);
  }
}
