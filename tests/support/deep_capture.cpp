// SPDX-License-Identifier: MIT
#include "support/deep_capture.hpp"

#include <rangefinder/types.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace rangefinder::testing {
namespace {

constexpr std::int64_t kStep = 100;  // ns from the begin of a range to that of the next one inside it
constexpr char kInputs[] = "[[64, 64], [64, 64]]\n[\"float\", \"float\"]\n[\"\", \"\"]";

void add_host_work(CaptureBuilder& capture, std::int64_t at, std::uint64_t number) {
  capture.memory(MemoryAction::kAllocate, at + 2, 0, {0x1000 + 0x200 * number, 512, 512 * (number + 1), 1u << 30, 7});
  capture.cpu_count(at + 3, CpuEvent::kInstructions, static_cast<std::int64_t>(1'000 * number));
  capture.numbers(at + 4, 2 * number + 2, 1);
  capture.counter("loss", at + 5, 0.5).mark("here", at + 6);
}

void add_device_work(CaptureBuilder& capture, const std::string& range, std::int64_t at, std::uint64_t number) {
  capture.launch(at + 10).call("cudaLaunchKernel_v7000", at + 9, at + 14).kernel("gemm", at + 20, at + 50);
  capture.launch(at + 16).call("cudaMemcpyAsync_v3020", at + 15, at + 18).memcpy(at + 40, at + 60, 4'096);
  capture.call("cudaStreamSynchronize_v3020", at + 20, at + 70).sync(3, at + 21, at + 65);
  capture.call("cudaMalloc_v3020", at + 71, at + 74).allocation(at + 73, 0x9000 + 0x100 * number, 256);
  capture.launch(at + 75).graph_node(number + 1, at + 76);  // captured here ...
  capture.launch(at + 80).call("cudaGraphLaunch_v10000", at + 79, at + 84);
  capture.kernel("captured", at + 81, at + 90).of_graph(number / 2 + 1);  // ... and replayed further inside
  capture.range_metric(range, at + 1, at + kStep, "dram_read_bytes", 64'000);
  capture.metric_sample("sm_active_ratio", at + 20, at + 60, 0.5);
  format::DeviceSampleRow sample{};
  sample.present = kHasPower | kHasSmClock;
  sample.power_mw = 200'000;
  sample.sm_clock_mhz = 1'500;
  capture.device_sample(at + 30, sample);
}

}  // namespace

CaptureBuilder deep_capture(const DeepShape& shape) {
  CaptureBuilder capture;
  capture.h100().meta("counter_state", "counting").step(0, 0);
  const auto depth = static_cast<std::int64_t>(shape.depth);
  const std::int64_t turn = kStep * (depth + 1);  // where ranges begin to end
  std::uint64_t works = 0;
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::string name = shape.own_names ? "range " + std::to_string(i) : "range";
    capture.range(name, kStep * i + 1, turn + kStep * (depth - i), shape.operators ? "operator" : "");
    if (shape.operators) capture.facts(i, 1, kInputs);
    if (static_cast<std::uint64_t>(i) % std::max<std::size_t>(shape.work_every, 1) != 0) continue;
    add_host_work(capture, kStep * i, works);
    add_device_work(capture, name, kStep * i, works++);
  }
  capture.overhead(1, turn, turn + 10).jit(turn + 20, turn + 40).step(1, turn + kStep * (depth + 1));
  // The backward pass of all that was numbered, on a thread of its own.
  capture.on_thread(2, "backward").on_stream(8);
  for (std::uint64_t number = 0; number < works; ++number) {
    const std::int64_t at = turn + kStep * static_cast<std::int64_t>(number + 1);
    capture.node("MmBackward0", at, at + 50, static_cast<std::int64_t>(2 * (works - number) - 1), 1);
    capture.launch(at + 10).kernel("gemm backward", at + 20, at + 90);
  }
  return capture.chunk_rows(format::kMaxRows / 2);
}

}  // namespace rangefinder::testing
