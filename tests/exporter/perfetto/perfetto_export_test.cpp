// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "exporter/perfetto/perfetto_trace.hpp"
#include "exporter/perfetto/rows.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/long_capture.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

// A Perfetto trace has what a Chrome export of the same input has, under the same names.
using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

using FoundSlice = PerfettoTrace::Slice;

/// Two launches, a copy, a wait, marks, counters, memory, a second thread: what a small program leaves.
CaptureBuilder perfetto_program() {
  CaptureBuilder capture;
  capture.h100().meta("program", "train").meta("host", "node1").step(0, 0).step(1, 10'000).payload(std::uint64_t{32});
  capture.range("step", 0, 9'500).range("forward", 500, 4'000, "compute").payload(std::uint64_t{32});
  capture.launch(1'000).call("cudaLaunchKernel", 990, 1'400).kernel("gemm", 2'000, 4'500);
  capture.last_kernel().registers_per_thread = 96;
  capture.launch(2'000).call("cudaLaunchKernel", 1'990, 2'400).kernel("relu", 4'600, 5'001);
  capture.range("save", 5'000, 9'000).on_stream(13).launch(5'500).call("cudaMemcpyAsync", 5'490, 5'900);
  capture.memcpy(6'000, 8'000, 65'536, 2).correlation(40).call("cudaStreamSynchronize", 6'000, 8'200);
  capture.sync(3, 6'010, 8'190)
      .mark("epoch", 9'100)
      .counter("loss", 9'200, 0.5)
      .counter("batch", 9'300, std::int64_t{7});
  capture.memory(MemoryAction::kAllocate, 9'350, 0, {0x8000, 64, 64, 128});
  return capture.on_thread(2, "loader").start_end("prefetch", 100, 7'000).range("decode", 200, 900);
}

using SliceKey = std::tuple<std::int64_t, std::int64_t, std::string, std::string>;  // begin, length, category, name

/// Categories of render stages are not in the trace: a kernel, a copy and a set are told apart by their names. Ranges
/// have none.
std::string kind_of_slice(const std::string& category) {
  if (category == "user_annotation") return "";
  return category == "gpu_memcpy" || category == "gpu_memset" || category == "kernel" ? "activity" : category;
}

std::vector<SliceKey> slice_keys(const Exported& trace) {
  std::vector<SliceKey> out;
  for (const TraceEvent& event : trace.events)
    if (event.phase == "X")
      out.emplace_back(event.time_ns, event.duration_ns, kind_of_slice(event.category), event.name);
  std::sort(out.begin(), out.end());
  for (std::size_t i = out.size(); i-- > 0;) std::get<0>(out[i]) -= std::get<0>(out[0]);
  return out;
}

std::vector<SliceKey> slice_keys(const PerfettoTrace& trace) {
  std::vector<SliceKey> out;
  for (const FoundSlice& slice : trace.slices)
    out.emplace_back(slice.begin_ns, slice.end_ns - slice.begin_ns,
                     slice.is_stage ? "activity" : kind_of_slice(slice.category), slice.name);
  std::sort(out.begin(), out.end());
  for (std::size_t i = out.size(); i-- > 0;) std::get<0>(out[i]) -= std::get<0>(out[0]);
  return out;
}

PerfettoTrace trace_of(const CaptureBuilder& capture, PerfettoGpu gpu) {
  PerfettoExportOptions options;
  options.gpu = gpu;
  return PerfettoTrace::of(capture, options);
}

}  // namespace

TEST_CASE("a Perfetto trace has the slices of a Chrome export", "[exporter][perfetto]") {
  const std::vector<SliceKey> wanted = slice_keys(Exported::of(perfetto_program()));
  REQUIRE(wanted.size() > 12);
  for (const PerfettoGpu gpu : {PerfettoGpu::kStages, PerfettoGpu::kLinkedStages, PerfettoGpu::kSlices}) {
    const PerfettoTrace trace = trace_of(perfetto_program(), gpu);
    CHECK(slice_keys(trace) == wanted);
    CHECK(trace.report.slices == wanted.size());
    CHECK(trace.report.trace_bytes == trace.bytes.size());
  }
}

TEST_CASE("a loaded timeline gives the same Perfetto slices as its capture", "[exporter][perfetto]") {
  const ScratchFolder folder;
  perfetto_program().write(folder.file("x.rfcap"));
  const Result<Timeline> timeline = load_timeline(folder.file("x.rfcap"));
  REQUIRE(timeline.ok());
  CHECK(slice_keys(PerfettoTrace::of(*timeline)) == slice_keys(PerfettoTrace::of(perfetto_program())));
}

TEST_CASE("times of a Perfetto trace are those of the recording", "[exporter][perfetto]") {
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program());
  CHECK(trace.one("decode").begin_ns == CaptureBuilder::at(200));
  CHECK(trace.one("decode").end_ns == CaptureBuilder::at(900));
  CHECK(trace.realtime_ns - trace.monotonic_ns == CaptureBuilder::kRealtimeOffset);
}

TEST_CASE("kernels are render stages with their launch", "[exporter][perfetto]") {
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program());
  const FoundSlice gemm = trace.one("gemm");
  REQUIRE(gemm.is_stage);
  CHECK(gemm.row == "GPU 0 / stream 7");
  CHECK(gemm.begin_ns == CaptureBuilder::at(2'000));
  CHECK(gemm.end_ns == CaptureBuilder::at(4'500));
  CHECK(gemm.context == 1);
  CHECK(gemm.submission != 0);
  CHECK(gemm.submission != trace.one("relu").submission);
  CHECK(gemm.event_id != trace.one("relu").event_id);
  const std::uint64_t blocks = gemm.grid[0] * gemm.grid[1] * gemm.grid[2];
  const std::uint64_t threads = gemm.block[0] * gemm.block[1] * gemm.block[2];
  CHECK(gemm.launch.at("grid_size") == static_cast<double>(blocks));
  CHECK(gemm.launch.at("workgroup_size") == static_cast<double>(threads));
  CHECK(gemm.launch.at("thread_count") == static_cast<double>(blocks * threads));
  CHECK(gemm.launch.at("registers_per_thread") == 96);
  CHECK(gemm.launch.count("shared_mem_dynamic") == 0);  // sizes of 0 are not in it
  CHECK(gemm.description.find("96 registers per thread") != std::string::npos);
  CHECK(gemm.arguments.count("grid") == 0);  // said once
  CHECK(trace.gpus.size() == 1);
  CHECK(trace.all("kernel").empty());
}

TEST_CASE("copies are render stages with their bytes", "[exporter][perfetto]") {
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program());
  const auto copy = std::find_if(trace.slices.begin(), trace.slices.end(),
                                 [](const FoundSlice& slice) { return slice.arguments.count("bytes") == 1; });
  REQUIRE(copy != trace.slices.end());
  CHECK(copy->is_stage);
  CHECK(copy->row == "GPU 0 / stream 13");
  CHECK(copy->arguments.at("bytes") == "65536");
  CHECK(copy->launch.empty());
}

TEST_CASE("linked stages refer to their calls, and to one kernel for launches that are alike", "[exporter][perfetto]") {
  CaptureBuilder capture;
  capture.h100().range("step", 0, 9'000);
  for (const std::int64_t begin : {1'000, 3'000, 5'000})
    capture.launch(begin).call("cudaLaunchKernel", begin - 10, begin + 300).kernel("gemm", begin + 500, begin + 900);
  const PerfettoTrace trace = trace_of(capture, PerfettoGpu::kLinkedStages);
  std::map<std::uint64_t, int> calls, kernels;
  std::map<std::uint64_t, int> kinds;
  for (const FoundSlice& slice : trace.slices) {
    if (slice.category == "cuda_runtime") ++calls[slice.submitted];
    if (!slice.is_stage) continue;
    ++kernels[slice.event_id];
    ++kinds[slice.kernel_iid];
    CHECK(slice.launch.empty());
  }
  CHECK(calls.size() == 3);
  CHECK(calls == kernels);
  REQUIRE(kinds.size() == 1);
  CHECK(kinds.begin()->first != 0);
}

TEST_CASE("only kernels that are slices have arrows of the basic schema", "[exporter][perfetto]") {
  CHECK(trace_of(perfetto_program(), PerfettoGpu::kStages).arrows.empty());
  const PerfettoTrace trace = trace_of(perfetto_program(), PerfettoGpu::kSlices);
  const auto ends = [&](char phase) {
    return std::count_if(trace.arrows.begin(), trace.arrows.end(), [&](const auto& end) { return end.phase == phase; });
  };
  CHECK(ends('s') == 3);
  CHECK(ends('f') == 3);
  const std::vector<FoundSlice> kernels = trace.all("kernel");
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].row == "GPU 0 (NVIDIA H100 80GB HBM3) / stream 7");
  CHECK(kernels[0].arguments.count("grid") == 1);
}

TEST_CASE("rows stand under their processes and devices", "[exporter][perfetto]") {
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program());
  CHECK(trace.one("decode").row == "train / loader");
  CHECK(trace.one("prefetch").row == "train / loader start/end ranges");
  const std::vector<FoundSlice> projected = trace.all("gpu_user_annotation");
  REQUIRE(projected.size() == 4);  // "step" is on both streams
  CHECK(projected[0].row == "GPU 0 (NVIDIA H100 80GB HBM3) / stream 7");
  CHECK(projected[0].arguments.at("gpu_ops") == "2");
}

TEST_CASE("annotations have the arguments of ranges and calls", "[exporter][perfetto]") {
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program());
  const std::vector<FoundSlice> ranges = trace.all("");
  const auto forward =
      std::find_if(ranges.begin(), ranges.end(), [](const FoundSlice& slice) { return slice.name == "forward"; });
  REQUIRE(forward != ranges.end());
  CHECK(forward->arguments.at("category") == "compute");
  CHECK(forward->arguments.at("payload") == "32");
  CHECK(forward->arguments.count("External id") == 0);  // calls are inside of their ranges
  for (const FoundSlice& call : trace.all("cuda_runtime")) CHECK(call.arguments.count("correlation") == 1);
}

TEST_CASE("marks and counters are in a Perfetto trace", "[exporter][perfetto]") {
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program());
  std::map<std::string, double> values;
  for (const PerfettoTrace::Sample& sample : trace.samples) values[sample.name] = sample.value;
  CHECK(values.at("loss") == 0.5);
  CHECK(values.at("batch") == 7);
  CHECK(values.at("allocated bytes, cuda:0") == 64);
  const auto has = [&](const std::string& name) {
    return std::any_of(trace.instants.begin(), trace.instants.end(),
                       [&](const FoundSlice& s) { return s.name == name; });
  };
  CHECK(has("epoch"));
  CHECK(has("[memory]"));
  CHECK(has("rangefinder: recording complete"));
}

TEST_CASE("shapes of operators are arguments, and are stored once", "[exporter][perfetto]") {
  const std::string shapes =
      GENERATE(std::string("[[2, 3], [3, 4]]"), "[[" + std::string(3'000, '2') + ", 3], [3, 4]]");
  const auto trace_with = [&](std::int64_t operators) {
    CaptureBuilder capture;
    for (std::int64_t i = 0; i < operators; ++i)
      capture.range("aten::mm", i * 1'000, i * 1'000 + 900, "operator")
          .facts(12, 1, shapes + "\n[\"float\", \"float\"]\n[]");
    return PerfettoTrace::of(capture);
  };
  const PerfettoTrace trace = trace_with(50);
  REQUIRE(trace.slices.size() == 50);
  for (const FoundSlice& mm : trace.slices) {
    REQUIRE(mm.arguments.at("Input Dims") == shapes);
    REQUIRE(mm.arguments.at("Sequence number") == "12");
  }
  CHECK(trace.bytes.size() - trace_with(10).bytes.size() < 40 * 60);
}

TEST_CASE("what was lost stands in a Perfetto trace", "[exporter][perfetto]") {
  CaptureBuilder capture;
  capture.range("step", 0, 100);
  CHECK(PerfettoTrace::of(capture).attributes.at("rangefinder.health") == "recording complete");
  capture.unfinished();
  const PerfettoTrace cut = PerfettoTrace::of(capture);
  CHECK(cut.attributes.count("rangefinder.note.1") == 1);
}

TEST_CASE("a Perfetto trace can be read up to where it is cut off", "[exporter][perfetto][property]") {
  const PerfettoTrace whole = PerfettoTrace::of(perfetto_program());
  std::size_t most = 0;
  for (std::size_t size = 0; size < whole.bytes.size(); size += 7) {
    const PerfettoTrace cut = PerfettoTrace::parse(std::string_view(whole.bytes).substr(0, size), true);
    REQUIRE(cut.slices.size() <= whole.slices.size());
    most = std::max(most, cut.slices.size());
    for (const FoundSlice& slice : cut.slices) REQUIRE_FALSE(slice.name.empty());
  }
  CHECK(most == whole.slices.size());
}

TEST_CASE("slices that meet in one nanosecond keep their lengths in Perfetto", "[exporter][perfetto]") {
  // "inner" is held back until "outer" is written, because both begin together; "next" begins as it ends.
  CaptureBuilder capture;
  capture.range("outer", 100, 200).range("inner", 100, 150).range("next", 150, 200).range("last", 200, 200);
  // Calls come late: ranges that began after them are written already.
  capture.call("cudaEventRecord", 210, 250).range("around", 210, 300).range("after", 250, 260);
  const PerfettoTrace trace = PerfettoTrace::of(capture);
  CHECK(slice_keys(trace) == slice_keys(Exported::of(capture)));
  for (const auto& [name, length] : std::map<std::string, std::int64_t>{{"outer", 100},
                                                                        {"inner", 50},
                                                                        {"next", 50},
                                                                        {"last", 0},
                                                                        {"cudaEventRecord", 40},
                                                                        {"around", 90},
                                                                        {"after", 10}}) {
    INFO(name);
    CHECK(trace.one(name).end_ns - trace.one(name).begin_ns == length);
  }
}

TEST_CASE("slices that begin as others end keep their lengths in Perfetto", "[exporter][perfetto]") {
  CaptureBuilder capture;
  capture.h100();
  for (std::int64_t i = 0; i < 300; ++i) {
    const std::int64_t begin = i * 1'000;
    capture.range(i % 2 == 0 ? "even" : "odd", begin, begin + 1'000).launch(begin + 20);
    capture.call("cudaLaunchKernel", begin + 10, begin + 500);
    capture.kernel(i % 3 == 0 ? "gemm" : "relu", 2'000 + begin, 3'000 + begin);
  }
  const std::vector<SliceKey> wanted = slice_keys(Exported::of(capture));
  REQUIRE(wanted.size() == 4 * 300);
  for (const PerfettoGpu gpu : {PerfettoGpu::kStages, PerfettoGpu::kLinkedStages, PerfettoGpu::kSlices})
    CHECK(slice_keys(trace_of(capture, gpu)) == wanted);
}

TEST_CASE("ranges inside of each other take few bytes in Perfetto", "[exporter][perfetto]") {
  CaptureBuilder capture;
  constexpr std::int64_t kSteps = 2'000;
  constexpr std::int64_t kLayers = 7;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::int64_t begin = step * 92'000;
    capture.range("step", begin, begin + 90'000);
    for (std::int64_t layer = 0; layer < kLayers; ++layer)
      capture.range("layer", begin + 1'000 + layer * 12'000, begin + 12'000 + layer * 12'000);
  }
  const PerfettoTrace trace = PerfettoTrace::of(capture);
  REQUIRE(trace.slices.size() == (kLayers + 1) * kSteps);
  CHECK(trace.bytes.size() <= 25 * trace.slices.size());
  CHECK(slice_keys(trace) == slice_keys(Exported::of(capture)));
}

TEST_CASE("names of any bytes are UTF-8 in a Perfetto trace", "[exporter][perfetto]") {
  CaptureBuilder capture;
  capture.on_thread(3, "worker \xFF").range("bad \xC3 name", 0, 100).payload("\x80text").range("</script>\"\\", 10, 20);
  const PerfettoTrace trace = PerfettoTrace::of(capture);
  const FoundSlice bad = trace.one("bad \xEF\xBF\xBD name");
  CHECK(bad.row.ends_with("worker \xEF\xBF\xBD"));
  CHECK(bad.arguments.at("payload") == "\xEF\xBF\xBDtext");
  CHECK(trace.one("</script>\"\\").end_ns == CaptureBuilder::at(20));
}

TEST_CASE("the same capture gives the same Perfetto trace", "[exporter][perfetto]") {
  CHECK(PerfettoTrace::of(perfetto_program()).bytes == PerfettoTrace::of(perfetto_program()).bytes);
}

TEST_CASE("a Perfetto export can leave out calls, counters and ranges on devices", "[exporter][perfetto]") {
  PerfettoExportOptions options;
  options.api_calls = options.counters = options.inclusive_ranges = options.exclusive_ranges = false;
  const PerfettoTrace trace = PerfettoTrace::of(perfetto_program(), options);
  CHECK(trace.all("cuda_runtime").empty());
  CHECK(trace.all("gpu_user_annotation").empty());
  CHECK(trace.samples.empty());
  CHECK(trace.one("gemm").arguments.count("External id") == 1);  // no call says it
}

TEST_CASE("a Perfetto file is replaced only on request", "[exporter][perfetto]") {
  const ScratchFolder folder;
  perfetto_program().write(folder.file("x.rfcap"));
  PerfettoExportOptions options;
  REQUIRE(export_perfetto_trace(folder.file("x.rfcap"), folder.file("x.pftrace.gz")).ok());
  const std::string packed = read_file(folder.file("x.pftrace.gz"));
  CHECK(packed.substr(0, 2) == "\x1F\x8B");
  const Status again = export_perfetto_trace(folder.file("x.rfcap"), folder.file("x.pftrace.gz"), options);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code() == ErrorCode::kExists);
  options.replace = true;
  CHECK(export_perfetto_trace(folder.file("x.rfcap"), folder.file("x.pftrace.gz"), options).ok());
}

TEST_CASE("a long capture is exported in windows of time, with all of its slices", "[exporter][perfetto]") {
  const ScratchFolder folder;
  write_long_capture(folder.file("x.rfcap"), 40'000);
  PerfettoExportOptions options;
  PerfettoExportReport report;
  for (const PerfettoGpu gpu : {PerfettoGpu::kLinkedStages, PerfettoGpu::kSlices}) {
    options.gpu = gpu;
    options.replace = true;
    REQUIRE(export_perfetto_trace(folder.file("x.rfcap"), folder.file("x.pftrace"), options, &report).ok());
    const PerfettoTrace trace = PerfettoTrace::parse(read_file(folder.file("x.pftrace")));
    CHECK(trace.slices.size() == 4 * 40'000);  // range, call, kernel, range on the device
    std::map<std::string, std::int64_t> sums;
    for (const FoundSlice& slice : trace.slices) sums[slice.name] += slice.end_ns - slice.begin_ns;
    CHECK(sums.at("gemm") == 4'500 * std::int64_t{40'000});
    CHECK(sums.at("layer 3") == (900 + 4'500) * std::int64_t{2'500});
  }
}

TEST_CASE("a row knows which slices readers would pair wrongly", "[exporter][perfetto]") {
  perfetto::RecentBegins begins;
  CHECK(begins.take(100, 200));
  CHECK_FALSE(begins.take(100, 300));  // around, and behind
  CHECK_FALSE(begins.take(50, 100));   // ends as the other begins
  CHECK(begins.take(100, 150));        // inside, and behind
  CHECK_FALSE(begins.take(100, 200));
  CHECK(begins.take(50, 300));
  CHECK(begins.take(100, 100));
  CHECK(begins.take(400, 400));
  CHECK(begins.take(350, 400));
  CHECK(begins.take(400, 500));
  CHECK_FALSE(begins.take(360, 400));
  for (std::int64_t time = 1'000; time < 1'000'000; time += 100) REQUIRE(begins.take(time, time + 10));
  for (std::int64_t time = 500'000; time < 1'000'000; time += 100) REQUIRE_FALSE(begins.take(time - 50, time));
}

TEST_CASE("an end's number has a begin's before it where numbers are taken for times",
          "[exporter][perfetto][property]") {
  const std::uint32_t seed = GENERATE_COPY(take(20, random(1, 1'000'000'000)));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto number = [&] { return random() >> (random() % 64); };
  perfetto::NumberOrder order;
  std::vector<std::tuple<std::uint64_t, std::size_t, int>> ends;  // a number, when it was taken, and what it opens
  for (std::size_t i = 0; i < 3'000; ++i) {
    const std::uint64_t begin = number(), end = i % 3 == 0 ? begin + random() % 3 : number();
    const bool is_in_order = begin <= end;
    const bool taken = order.take(begin, end);
    if (is_in_order) REQUIRE(taken);
    if (!taken) continue;
    ends.emplace_back(begin, 2 * i, 1);
    ends.emplace_back(end, 2 * i + 1, -1);
  }
  std::sort(ends.begin(), ends.end());
  std::int64_t open = 0;
  for (const auto& [value, when, opens] : ends) {
    open += opens;
    REQUIRE(open >= 0);
  }
}

TEST_CASE("a begin's number may be above its end's where others are open", "[exporter][perfetto]") {
  perfetto::NumberOrder order;
  CHECK_FALSE(order.take(500, 400));
  CHECK(order.take(100, 5'000));
  CHECK(order.take(500, 400));
  CHECK_FALSE(order.take(500, 400));
}
