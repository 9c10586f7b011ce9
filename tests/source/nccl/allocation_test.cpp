// SPDX-License-Identifier: MIT
#include "fake_nccl.hpp"
#include "fake_recorder.hpp"
#include "support/allocation_count.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("events of a collective allocate nothing", "[source]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    recorder.forget(true);
    const auto communicator = fake.make();
    NcclPluginCalls& plugin = fake.plugin();
    const NcclTask task;
    const auto run = [&] {
      void *api = nullptr, *group = nullptr, *event = nullptr, *child = nullptr;
      plugin.start_api(communicator->context, &api, task, nullptr, false);
      plugin.start_group(communicator->context, &group);
      plugin.start_task(*communicator, &event, task, api, group);
      plugin.start_kernel_channel(communicator->context, &child, event, 0);
      plugin.stop(event);
      plugin.stop(child);
      plugin.stop(group);
      return event;
    };
    REQUIRE(run() != nullptr);
    const std::uint64_t before = allocations_of_this_thread();
    for (int i = 0; i < 10000; ++i) run();
    CHECK(allocations_of_this_thread() == before);
    fake.finalize(*communicator);
  }
}
