// SPDX-License-Identifier: MIT
#include "support/golden.hpp"

#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/version.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// The version is of no interest, and changes.
std::string without_version(std::string text) {
  const std::string needle = "\"version\": \"" + std::string(version()) + "\"";
  const std::size_t at = text.find(needle);
  REQUIRE(at != std::string::npos);
  return text.replace(at, needle.size(), "\"version\": \"VERSION\"");
}

}  // namespace

TEST_CASE("the export of a capture is what it was", "[exporter][golden]") {
  const Exported trace = Exported::of(CaptureBuilder()
                                          .h100()
                                          .meta("program", "train")
                                          .meta("host", "node1")
                                          .meta("rank", "0")
                                          .meta("world_size", "2")
                                          .step(0, 0)
                                          .step(1, 10'000)
                                          .payload(std::uint64_t{32})
                                          .range("step", 0, 9'500)
                                          .range("forward", 500, 4'000, "compute")
                                          .payload(std::uint64_t{32})
                                          .launch(1'000)
                                          .call("cudaLaunchKernel_v7000", 990, 1'400)
                                          .kernel("ampere_sgemm_128x64_nn", 2'000, 4'500)
                                          .launch(2'000)
                                          .call("cudaLaunchKernel_v7000", 1'990, 2'400)
                                          .kernel("void relu<float>(float*)", 4'600, 5'001)
                                          .range("save", 5'000, 9'000)
                                          .on_stream(13)
                                          .launch(5'500)
                                          .call("cudaMemcpyAsync_v3020", 5'490, 5'900)
                                          .memcpy(6'000, 8'000, 65'536, 2)
                                          .correlation(40)
                                          .call("cudaStreamSynchronize_v3020", 6'000, 8'200)
                                          .sync(3, 6'010, 8'190)
                                          .mark("epoch", 9'100)
                                          .counter("loss", 9'200, 0.693)
                                          .on_thread(2, "loader")
                                          .start_end("prefetch", 100, 7'000)
                                          .range("decode", 200, 900)
                                          .health(1, 2));
  require_sound(trace);
  require_golden("exporter/capture.json", without_version(trace.text));
}

TEST_CASE("the export of an imported trace is what it was", "[exporter][golden]") {
  const ScratchFolder folder;
  write_file(folder.file("in.json"), R"({
  "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "numSms": 108}],
  "distributedInfo": {"backend":"nccl","rank":1,"world_size":2}, "with_stack": 1, "baseTimeNanoseconds": 1700000000000000000,
  "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 10, "tid": 11, "ts": 100.000, "dur": 500.500, "args": {"External id": 1, "Record function id": 0}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 11, "ts": 110.001, "dur": 50, "args": {"External id": 2, "Input Dims": [[8, 8], [8, 8]]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 120, "dur": 10, "args": {"External id": 2, "cbid": 211, "correlation": 77}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 200.250, "dur": 99.750, "args": {"External id": 2, "device": 0, "context": 1, "stream": 7, "correlation": 77, "grid": [1, 2, 3]}},
  {"ph": "s", "id": 77, "pid": 10, "tid": 11, "ts": 120, "cat": "ac2g", "name": "ac2g"},
  {"ph": "f", "id": 77, "pid": 0, "tid": 7, "ts": 200.250, "cat": "ac2g", "name": "ac2g", "bp": "e"},
  {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 10, "tid": 11, "ts": 130, "args": {"Bytes": 1024, "Device Id": 0}},
  {"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": 0, "args": {"name": "python"}}
  ], "traceName": "t.json"})");
  const Exported trace = Exported::of_file(folder.file("in.json"));
  require_sound(trace);
  require_golden("exporter/imported.json", without_version(trace.text));
}
