// SPDX-License-Identifier: MIT
#include "make_jobs.hpp"
#include "support/capture_builder.hpp"

#include <rangefinder/detail/collectives.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// Writes the captures that the pages name: what their commands are run on, and what the tables come from that they
// show.
namespace {

namespace detail = rangefinder::detail;
using rangefinder::MemoryAction;
using rangefinder::testing::CaptureBuilder;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;

constexpr char kGemm[] =
    "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_nn_align8>"
    "(cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_nn_align8::Params)";

/// What sensors say of the device while a training step runs.
void read_sensors(CaptureBuilder& capture, std::int64_t time_ns) {
  rangefinder::format::DeviceSampleRow row{};
  row.present = rangefinder::kHasUtilisation | rangefinder::kHasSmClock | rangefinder::kHasPower;
  row.gpu_utilisation_percent = 90;
  row.sm_clock_mhz = 1755;
  row.power_mw = 400'000;
  capture.device_sample(time_ns, row);
}

/// An operator, and the memory that it allocates for its output.
void add_operator(CaptureBuilder& capture, std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t address) {
  capture.range("aten::mm", begin_ns, end_ns, "operator")
      .facts(-1, 0, "[[4096, 4096], [4096, 4096]]\n[\"float\", \"float\"]\n[\"\", \"\"]");
  capture.memory(MemoryAction::kAllocate, begin_ns + kUs, 0, {address, 64 << 20, 64 << 20, 256 << 20, 7});
  capture.memory(MemoryAction::kFree, end_ns - kUs, 0, {address, 64 << 20, 0, 256 << 20, 7});
}

/// A step of a training loop that begins at `t`.
void add_step(CaptureBuilder& capture, std::int64_t t) {
  const auto launch = [&](std::int64_t at, std::int64_t ns, const char* function) {
    capture.launch(t + at).call(function, t + at - kUs, t + at - kUs + ns);
  };
  capture.on_thread(1).on_stream(13).range("step", t, t + 15 * kMs).range("data", t + 10 * kUs, t + 400 * kUs);
  launch(20 * kUs, 10 * kUs, "cudaMemcpyAsync_v3020");
  capture.memcpy(t + 40 * kUs, t + 380 * kUs, 8 << 20);
  capture.on_stream(7).range("forward", t + 500 * kUs, t + 3 * kMs);
  capture.range("layer.0", t + 600 * kUs, t + 1'500 * kUs);
  add_operator(capture, t + 650 * kUs, t + 1'400 * kUs, 0x1000);
  launch(700 * kUs, 6 * kUs, "cudaLaunchKernel_v7000");
  capture.kernel(kGemm, t + 800 * kUs, t + 4'100 * kUs);
  capture.range_metric("layer.0", t + 600 * kUs, t + 4'100 * kUs, "gpu_time_ns", 3.5e6);
  capture.range_metric("layer.0", t + 600 * kUs, t + 4'100 * kUs, "dram_read_bytes", 4.2e9);
  capture.range_metric("layer.0", t + 600 * kUs, t + 4'100 * kUs, "flop_fp32", 2e11);
  capture.range("layer.1", t + 1'600 * kUs, t + 2'900 * kUs);
  add_operator(capture, t + 1'650 * kUs, t + 2'800 * kUs, 0x2000);
  launch(1'700 * kUs, 5 * kUs, "cudaLaunchKernel_v7000");
  capture.kernel(kGemm, t + 4'150 * kUs, t + 7'000 * kUs);
  launch(2'000 * kUs, 4 * kUs, "cudaLaunchKernel_v7000");
  capture.kernel("void relu<float>(float*, int)", t + 7'010 * kUs, t + 7'020 * kUs);
  capture.range("wait", t + 3'100 * kUs, t + 14 * kMs);
  capture.launch(t + 3'200 * kUs, 0).call("cudaStreamSynchronize_v3020", t + 3'200 * kUs, t + 13'900 * kUs);
  capture.sync(3, t + 3'201 * kUs, t + 13'899 * kUs);
  launch(16 * kMs, 3 * kUs, "cudaMemsetAsync_v3020");  // outside of any range
  capture.memset(t + 16'010 * kUs, t + 16'012 * kUs, 4096);
}

CaptureBuilder training(const char* rank) {
  CaptureBuilder capture;
  capture.h100().meta("program", "train").meta("rank", rank).meta("world_size", "2").meta("nvml_state", "full");
  capture.correlation(900).on_stream(7).kernel("early", 0, 500 * kUs).correlation(1);  // of a launch before
  capture.window(900 * kUs, 41 * kMs).step(0, kMs);
  capture.launch(950 * kUs, 0).call("cudaMalloc_v3020", 950 * kUs, 990 * kUs).allocation(980 * kUs, 0x9000, 1 << 30);
  capture.jit(901 * kUs, 940 * kUs).overhead(1, 941 * kUs, 949 * kUs);
  capture.memory(MemoryAction::kSegmentAllocate, 955 * kUs, 0, {0x1000, 256 << 20, 0, 256 << 20, 7});
  for (std::int64_t time = 0; time <= 40 * kMs; time += 5 * kMs) {
    read_sensors(capture, time);
    capture.metric_sample("sm_active_ratio", time, time + 5 * kMs, 0.8);
  }
  for (std::uint32_t step = 0; step < 2; ++step) {
    add_step(capture, kMs + step * 20 * kMs);
    for (const auto& [name, bytes] :
         {std::pair{"reserved", 256 << 20}, {"allocated", 64 << 20}, {"inactive split", 32 << 20}})
      capture.counter("cuda:0 " + std::string(name) + " bytes", kMs + step * 20 * kMs + 17 * kMs, std::int64_t{bytes});
    capture.step(step + 1, kMs + step * 20 * kMs + 18 * kMs).payload(std::uint64_t{4096});
  }
  return capture;
}

/// An all-reduce of c10d.
detail::CollectiveCall all_reduce(std::int64_t number, std::int64_t elements) {
  detail::CollectiveCall call;
  call.kind = rangefinder::CollectiveKind::kAllReduce;
  call.name = "allreduce";
  call.number = number;
  call.elements_in = call.elements_out = elements;
  call.dtype = "Float";
  return call;
}

/// A rank of a job that reduces two buckets of gradients a step: the first while the device computes. Rank 1 comes late
/// to the second.
CaptureBuilder data_parallel(int rank) {
  CaptureBuilder capture = training(std::to_string(rank).c_str());
  const auto reduce = [&](std::int64_t number, std::int64_t elements, std::int64_t at, std::int64_t end) {
    capture.collective(all_reduce(number, elements), "0", 2, at).launch(at + 10 * kUs);
    capture.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 40 * kUs, end);
    capture.phase(detail::CollectivePhase::kReturned, at + 60 * kUs);
  };
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::int64_t t = kMs + step * 20 * kMs, late = rank * 100 * kUs;
    capture.on_thread(2, "autograd").on_stream(20).range("backward", t + 4 * kMs, t + 9 * kMs);
    reduce(2 * step, 4 << 20, t + 5 * kMs + late, t + 6 * kMs);
    capture.range("layer.0", t + 6'500 * kUs, t + 8'200 * kUs + 7 * late);
    reduce(2 * step + 1, 1 << 20, t + 7'100 * kUs + 7 * late, t + 8'300 * kUs);
  }
  return capture;
}

/// A rank of a job on CPUs that was killed: after three steps rank 2 reads a batch, and the others wait for it.
CaptureBuilder hung(int rank) {
  CaptureBuilder capture;
  capture.meta("program", "train").meta("rank", std::to_string(rank)).meta("world_size", "4").unfinished();
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t t = step * 10 * kMs + rank * 20 * kUs;
    const bool is_last = step == 3;
    const auto range = [&](const char* name, std::int64_t begin, std::int64_t end) {
      is_last ? capture.open_range(name, t + begin) : capture.range(name, t + begin, t + end);
    };
    capture.step(static_cast<std::uint32_t>(step), t);
    range("step", kUs, 9 * kMs);
    if (is_last && rank == 2) {
      capture.open_range("read_batch", t + 2 * kUs).on_thread(2, "reader");
      for (std::int64_t minute = 0; minute < 10; ++minute)
        capture.range("retry", t + kMs + minute * 60'000 * kMs, t + (minute + 1) * 60'000 * kMs);
      break;
    }
    capture.range("read_batch", t + 2 * kUs, t + kMs);
    range("backward", 2 * kMs, 8 * kMs);
    capture.collective(all_reduce(step, 1 << 20), "0", 4, t + 3 * kMs);
    capture.phase(detail::CollectivePhase::kReturned, t + 3 * kMs + 5 * kUs);
    capture.phase(detail::CollectivePhase::kWaitBegan, t + 4 * kMs);
    if (is_last) continue;
    capture.phase(detail::CollectivePhase::kStarted, t + 4 * kMs + kUs);
    capture.phase(detail::CollectivePhase::kCompleted, t + 5 * kMs);
    capture.phase(detail::CollectivePhase::kWaitEnded, t + 5 * kMs + kUs);
  }
  return capture;
}

/// Captures a model as a graph of that name. The first node is `first`; each layer makes two, the head one.
void capture_graph(CaptureBuilder& capture, std::int64_t t, const std::string& name, std::uint64_t first) {
  capture.range(name, t, t + 100 * kUs);
  const auto node = [&](std::int64_t at) { capture.launch(t + at).graph_node(first++, t + at + kUs); };
  for (const std::int64_t layer : {0, 1}) {
    capture.range("layer." + std::to_string(layer), t + (10 + 30 * layer) * kUs, t + (30 + 30 * layer) * kUs);
    node((15 + 30 * layer) * kUs);
    node((20 + 30 * layer) * kUs);
  }
  capture.range("head", t + 70 * kUs, t + 90 * kUs);
  node(80 * kUs);
}

/// Replays such a graph, in a range of that name, of so many tokens; its kernels last as long as `ns`, a layer's first
/// one twice that.
void replay(CaptureBuilder& capture, std::int64_t t, const char* name, std::uint64_t first, std::int64_t ns,
            std::uint64_t tokens) {
  capture.range(name, t, t + 60 * kUs)
      .payload(tokens)
      .launch(t + 10 * kUs)
      .call("cudaGraphLaunch_v10000", t + 9 * kUs, t + 40 * kUs);
  std::int64_t at = t + 50 * kUs;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::int64_t lasts = i % 2 == 0 && i != 4 ? 2 * ns : ns;
    capture.kernel(i == 4 ? "gemv" : "gemm", at, at + lasts).of_graph(first + i, first == 1 ? 1 : 2);
    at += lasts + kUs;
  }
}

/// A server that replays two graphs which it captured long before: eight sequences to prefill, one to decode. From some
/// replay on the second is recorded as a whole.
CaptureBuilder serving() {
  CaptureBuilder capture;
  capture.h100().meta("program", "server").window(10 * kMs, 40 * kMs);
  capture_graph(capture, kMs, "graph.8", 1);
  capture_graph(capture, 2 * kMs, "graph.1", 11);
  capture.launch(3 * kMs).graph_node(21, 3 * kMs + kUs);  // in no range
  capture.range("serve", 11 * kMs, 39 * kMs);
  for (std::int64_t i = 0; i < 5; ++i) {
    replay(capture, 12 * kMs + i * kMs, "prefill", 1, 64 * kUs, i % 2 == 0 ? 512 : 2048);
  }
  for (std::int64_t i = 0; i < 35; ++i) replay(capture, 18 * kMs + i * 500 * kUs, "decode", 11, 8 * kUs + i * 10, 1);
  capture.kernel("copy", 17 * kMs, 17 * kMs + 5 * kUs).of_graph(21, 2);
  capture.kernel("copy", 17 * kMs + 6 * kUs, 17 * kMs + 11 * kUs).of_graph(99, 2);  // its creation is unknown
  const std::int64_t whole = 18 * kMs + 35 * 500 * kUs;
  capture.range("decode", whole, whole + 60 * kUs).launch(whole + 10 * kUs);
  capture.graph_launch(whole + 50 * kUs, whole + 110 * kUs, 2);
  return capture;
}

void write_all(const std::string& folder) {
  const auto file = [&](const char* name) { return folder + "/" + name; };
  training("0").write(file("train.rfcap"));
  for (const char* name : {"job-0.rfcap", "train.41.rfcap"}) training("0").unfinished().write(file(name));
  serving().write(file("server.rfcap"));
  std::filesystem::create_directory(file("run"));
  data_parallel(0).write(file("run/node-0-4711.rfcap"));
  data_parallel(1).write(file("run/node-1-4712.rfcap"));
  const auto job = [&](const char* name, std::vector<CaptureBuilder> ranks) {
    std::filesystem::create_directory(file(name));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      ranks[rank].write(file(name) + "/node-" + std::to_string(rank) + "-" + std::to_string(4711 + rank) + ".rfcap");
  };
  job("hung", {hung(0), hung(1), hung(2), hung(3)});
  job("slow", docs_test::job_with_slow_rank());
  job("stages", docs_test::pipeline_job());
  job("before", docs_test::runs_of_training(false));
  job("after", docs_test::runs_of_training(true));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "docs_test_inputs FOLDER\n"), 2;
  try {
    write_all(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "docs_test_inputs: %s\n", error.what());
    return 1;
  }
}
