// SPDX-License-Identifier: MIT
//
// Records what tests/data/captures holds of simulated devices; its README has the commands.
//
//   record_captures graph|rank CAPTURE
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <fake_cupti.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace {

using rangefinder::ProfileRange;

constexpr const char* kLaunch = "cudaLaunchKernel_v7000";
constexpr std::uint32_t kWholeContext = 0xFFFFFFFFu;

FakeKernel kernel(const char* name, std::uint64_t duration_us) {
  FakeKernel made;
  made.name = name;
  made.duration_ns = duration_us * 1000;
  made.grid[0] = 264;
  made.block[0] = 256;
  made.registers = 64;
  return made;
}

void launch(const char* name, std::uint64_t duration_us, std::uint32_t stream = 7) {
  FakeKernel made = kernel(name, duration_us);
  made.stream = stream;
  fakecupti_launch(kLaunch, &made);
}

void copy_batch(std::uint64_t bytes) {
  const ProfileRange range{"data"};
  FakeCopy copy;
  copy.bytes = bytes;
  copy.duration_ns = bytes / 25;
  copy.stream = 13;
  fakecupti_copy("cudaMemcpyAsync_v3020", &copy);
}

void wait() {
  const ProfileRange range{"wait"};
  fakecupti_synchronize("cudaDeviceSynchronize_v3020", 1, kWholeContext);
}

/// Two layers, a memset and a loop, each captured in a range of its own.
FakeGraphExec* capture_graph() {
  const ProfileRange range{"capture"};
  FakeGraph* graph = fakecupti_graph_create();
  fakecupti_call_on_stream("cudaStreamBeginCapture_v10000", graph, 0);
  for (const char* layer : {"layer.0", "layer.1"}) {
    const ProfileRange inner{std::string_view(layer)};
    const FakeKernel gemm = kernel("_Z4gemmIfEvPKT_S2_PS0_i", 40);  // void gemm<float>(float const*, ..., int)
    const FakeKernel gelu = kernel("_Z4geluPfi", 10);
    fakecupti_graph_capture(kLaunch, graph, &gemm);
    fakecupti_graph_capture(kLaunch, graph, &gelu);
  }
  {
    const ProfileRange inner{"zero"};
    FakeSet set;
    set.bytes = 1 << 16;
    set.duration_ns = 2000;
    fakecupti_graph_capture_set("cudaMemsetAsync_v3020", graph, &set, false);
  }
  fakecupti_call_on_stream("cudaStreamEndCapture_v10000", graph, 0);
  FakeGraphExec* exec = fakecupti_graph_instantiate(graph);
  fakecupti_graph_destroy(graph, nullptr);
  return exec;
}

void run_graph(rangefinder::Session& session) {
  FakeGraphExec* exec = capture_graph();
  for (int step = 0; step < 4; ++step) {
    const ProfileRange range{"step"};
    copy_batch(1 << 20);
    {
      const ProfileRange replay{"replay"};
      fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    }
    launch("_Z4normPKfPfi", 5);
    wait();
    session.step(32);
  }
}

void run_rank(rangefinder::Session& session) {
  const char* const rank = std::getenv("RANK");
  const bool slow = rank != nullptr && std::string_view(rank) == "1";
  for (int step = 0; step < 10; ++step) {
    const ProfileRange range{"step"};
    copy_batch(4 << 20);
    {
      const ProfileRange forward{"forward"};
      launch("_Z4gemmIfEvPKT_S2_PS0_i", slow ? 140 : 100);
    }
    std::thread([] {
      const ProfileRange backward{"backward"};
      launch("_Z9gemm_gradIfEvPKT_S2_PS0_i", 200);
      launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 60, 21);
    }).join();
    wait();
    session.step(8);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what != "graph" && what != "rank") return std::fprintf(stderr, "usage: record_captures graph|rank CAPTURE\n"), 2;
  fakecupti_add_stream(1, 13, 0);
  fakecupti_add_stream(1, 21, 0);
  rangefinder::SessionOptions options;
  options.output = argv[2];
  options.nvtx = false;
  options.memory_bytes = std::uint64_t{256} << 20;  // a buffer for each thread of a step
  rangefinder::Session session(options);
  what == "graph" ? run_graph(session) : run_rank(session);
  const rangefinder::DeviceState device = session.device();
  if (const rangefinder::Status status = session.stop(); !status.ok())
    return std::fprintf(stderr, "%s\n", std::string(status.error().message()).c_str()), 1;
  if (!device.full) return std::fprintf(stderr, "no device: %s\n", device.reason.c_str()), 1;
  return 0;
}
