// SPDX-License-Identifier: MIT
//
// A CUPTI before 12.9 crashes when it is refused a buffer, and gets one from the heap when all are out. That is not
// tested here: buffer_pool_test.cpp has it.
#include "cupti_fixture.hpp"
#include "session/dependencies.hpp"
#include "support/allocation_count.hpp"

#include <rangefinder/range.hpp>

namespace rangefinder::source::testing {
namespace {

constexpr std::uint64_t kLaunches = 20'000;  // over several blocks of records, and several of CUPTI's buffers

/// While it lives, what our callbacks allocate on the thread that they run on is counted.
class Watch {
 public:
  Watch() {
    fakecupti_watch_allocations(+[] { return rangefinder::testing::allocations_of_this_thread(); });
  }
  ~Watch() { fakecupti_watch_allocations(nullptr); }
};

/// What `body` does in a session on the double, with the sources that sessions have.
template <typename Body>
Timeline recorded(Body&& body) {
  const DeviceProcess process;
  SessionOptions options;
  options.memory_bytes = std::uint64_t{16} << 20;  // buffers of 1 MiB, for some 4,000 launches each
  Recording recording(options, session::make_dependencies(options));
  REQUIRE(recording->device().full);
  body();
  Timeline timeline = recording.stop();
  CHECK(timeline.health.complete());
  return timeline;
}

void work_of_all_kinds() {
  const ProfileRange range("work");
  const FakeKernel launched = kernel("k");
  fakecupti_launch("cuLaunchKernel", &launched);
  fakecupti_launch_nested("cudaLaunchKernel_v7000", "cuLaunchKernel", true, &launched);
  const FakeCopy copy;
  fakecupti_copy("cudaMemcpyAsync_v3020", &copy);
  const FakeSet set;
  fakecupti_set("cudaMemsetAsync_v3020", &set);
  fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
}

}  // namespace

TEST_CASE("a recording allocates nothing on the thread that launches", "[source]") {
  std::uint64_t outside = 0;
  const Timeline timeline = recorded([&] {
    const auto launch = [](std::uint64_t times) {
      const ProfileRange range("launches");
      fakecupti_tell_calls("cuLaunchKernel", times);
    };
    launch(1);  // a thread's first record sets it up
    const std::uint64_t before = rangefinder::testing::allocations_of_this_thread();
    launch(kLaunches);
    outside = rangefinder::testing::allocations_of_this_thread() - before;
  });
  CHECK(outside == 0);
  CHECK(timeline.launches.size() == kLaunches + 1);
}

TEST_CASE("nor do the callbacks that hand out and take buffers", "[source]") {
  const Timeline timeline = recorded([] {
    work_of_all_kinds();
    const Watch watch;
    for (std::uint64_t i = 0; i < kLaunches / 5; ++i) work_of_all_kinds();
    CHECK(fakecupti_callbacks(kFakeApiCallback) >= kLaunches);
    CHECK(fakecupti_allocations(kFakeApiCallback) == 0);
    CHECK(fakecupti_callbacks(kFakeBufferRequested) > 2);
    CHECK(fakecupti_allocations(kFakeBufferRequested) == 0);
    CHECK(fakecupti_callbacks(kFakeBufferCompleted) > 2);
    CHECK(fakecupti_allocations(kFakeBufferCompleted) == 0);
  });
  CHECK(timeline.activities.size() >= kLaunches / 5 * 4);
}

TEST_CASE("graphs cost memory where they are made, not where they are launched", "[source]") {
  const Timeline timeline = recorded([] {
    work_of_all_kinds();
    FakeGraph* const graph = fakecupti_graph_create();
    FakeGraphExec* exec = nullptr;
    {
      const Watch watch;
      const ProfileRange range("capture");
      const FakeKernel captured = kernel("k");
      for (int i = 0; i < 100; ++i) fakecupti_graph_capture("cudaLaunchKernel_v7000", graph, &captured);
      exec = fakecupti_graph_instantiate(graph);
      CHECK(fakecupti_allocations(kFakeApiCallback) == 0);
      CHECK(fakecupti_callbacks(kFakeResourceCallback) ==
            302);  // a graph and an executable one, beside their nodes  // created, and created and cloned
      CHECK(fakecupti_allocations(kFakeResourceCallback) > 0);
    }
    const Watch watch;
    for (std::uint64_t i = 0; i < kLaunches / 100; ++i) {
      const ProfileRange range("replay");
      fakecupti_graph_launch("cudaGraphLaunch_v10000", exec, 7);
    }
    CHECK(fakecupti_callbacks(kFakeApiCallback) == kLaunches / 100 * 2);
    CHECK(fakecupti_callbacks(kFakeBufferRequested) > 2);
    for (const FakeCallback callback :
         {kFakeApiCallback, kFakeResourceCallback, kFakeBufferRequested, kFakeBufferCompleted})
      CHECK(fakecupti_allocations(callback) == 0);
  });
  CHECK(timeline.activities.size() >= kLaunches);
}

}  // namespace rangefinder::source::testing
