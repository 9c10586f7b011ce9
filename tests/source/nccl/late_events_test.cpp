// SPDX-License-Identifier: MIT
// Calls that come late, twice, or with nothing; and more at once than are kept.
#include "fake_nccl.hpp"
#include "fake_recorder.hpp"
#include "source/nccl/communicators.hpp"
#include "support/catch.hpp"

#include <unistd.h>

#include <cstddef>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using detail::CollectivePhase;
using rangefinder::nccl::kSlots;
using rangefinder::nccl::kSuccess;

namespace {

/// A task of its own event, without the rest of a launch.
void* start(FakeNccl& fake, const NcclCommunicator& communicator, const NcclTask& task = {}) {
  void* handle = nullptr;
  fake.plugin().start_task(communicator, &handle, task, nullptr, nullptr);
  return handle;
}

/// A child of the kind that the version has.
void* start_child(FakeNccl& fake, const NcclCommunicator& communicator, void* parent, int channel = 0) {
  void* handle = nullptr;
  if (fake.version() >= 3)
    fake.plugin().start_kernel_channel(communicator.context, &handle, parent, channel);
  else
    fake.plugin().start_proxy_operation(communicator.context, &handle, parent, channel, ::getpid());
  return handle;
}

std::vector<CollectivePhase> phases_of(const RecordedCollective& collective) {
  std::vector<CollectivePhase> out;
  for (const NotedPhase& noted : collective.phases) out.push_back(noted.phase);
  return out;
}

}  // namespace

TEST_CASE("null handles, contexts and events have no effect", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    FakeNccl fake(version);
    FakeRecorder recorder;
    NcclPluginCalls& plugin = fake.plugin();
    NcclCommunicator failed;  // its init did not go well: NCCL has no context, and goes on
    CHECK(plugin.stop(nullptr) == kSuccess);
    CHECK(plugin.record_state(nullptr) == kSuccess);
    CHECK(plugin.finalize(nullptr) == kSuccess);
    CHECK(plugin.start_nothing(nullptr) == kSuccess);
    CHECK(start(fake, failed) == nullptr);
    CHECK(start_child(fake, failed, nullptr) == nullptr);
    fake.launch(failed, {NcclTask{}});
    fake.progress();
    CHECK(recorder.collectives().empty());
    CHECK(recorder.lost() == 1);  // the mask is still 0: launch() told nothing
    int mask = 0;
    NcclCommunicator communicator;
    CHECK(plugin.init(communicator, nullptr) == kSuccess);
    CHECK(plugin.finalize(communicator.context) == kSuccess);
    CHECK(plugin.init(communicator, &mask) == kSuccess);
    CHECK(plugin.finalize(communicator.context) == kSuccess);
    CHECK(mask != 0);
  }
}

TEST_CASE("handles that are none of the plugin's have no effect", "[source]") {
  FakeNccl fake(4);
  FakeRecorder recorder;
  const auto communicator = fake.make();
  for (std::uintptr_t word = 1; word != 0; word <<= 1) {
    for (const std::uintptr_t low : {0, 1, 2, 3, 4, 15}) {
      void* const handle = reinterpret_cast<void*>(word | low);
      fake.plugin().stop(handle);
      start_child(fake, *communicator, handle);
    }
  }
  fake.finalize(*communicator);
  CHECK(recorder.collectives().empty());
  CHECK(recorder.foreign_notes() == 0);
}

TEST_CASE("children may start and stop before and after their collective returns", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make();
    NcclPluginCalls& plugin = fake.plugin();
    SECTION("all before") {
      void* const task = start(fake, *communicator);
      void* const child = start_child(fake, *communicator, task);
      plugin.stop(child);
      plugin.stop(task);
      CHECK(phases_of(recorder.collectives().front()) ==
            std::vector{CollectivePhase::kStarted, CollectivePhase::kCompleted, CollectivePhase::kReturned});
    }
    SECTION("around") {
      void* const task = start(fake, *communicator);
      void* const child = start_child(fake, *communicator, task);
      plugin.stop(task);
      plugin.stop(child);
      CHECK(phases_of(recorder.collectives().front()) ==
            std::vector{CollectivePhase::kStarted, CollectivePhase::kReturned, CollectivePhase::kCompleted});
    }
    SECTION("long after") {
      void* const task = start(fake, *communicator);
      plugin.stop(task);
      for (std::size_t i = 0; i < kSlots / 2; ++i) plugin.stop(start(fake, *communicator));
      void* const child = start_child(fake, *communicator, task);
      REQUIRE(child != nullptr);
      for (std::size_t i = 0; i < kSlots * 2; ++i) plugin.stop(start(fake, *communicator));  // it is not overtaken
      plugin.stop(child);
      CHECK(phases_of(recorder.collectives().front()) ==
            std::vector{CollectivePhase::kReturned, CollectivePhase::kStarted, CollectivePhase::kCompleted});
    }
    fake.finalize(*communicator);
  }
}

TEST_CASE("events that stop twice are noted once", "[source]") {
  FakeNccl fake(4);
  FakeRecorder recorder;
  const auto communicator = fake.make();
  void* const task = start(fake, *communicator);
  void* const child = start_child(fake, *communicator, task);
  for (int i = 0; i < 3; ++i) fake.plugin().stop(task);
  for (int i = 0; i < 3; ++i) fake.plugin().stop(child);
  CHECK(recorder.collectives().front().phases.size() == 3);
  fake.finalize(*communicator);
}

TEST_CASE("after finalize, events of the communicator have no effect", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    auto communicator = fake.make("first");
    void* const open = start(fake, *communicator);
    void* const running = start_child(fake, *communicator, open);
    void* const returned = start(fake, *communicator);
    fake.plugin().stop(returned);
    fake.finalize(*communicator);
    fake.finalize(*communicator);  // once too often
    CHECK(start(fake, *communicator) == nullptr);
    const auto late = [&] {
      fake.plugin().stop(running);
      fake.plugin().stop(open);
      CHECK(start_child(fake, *communicator, open) == nullptr);
      CHECK(start_child(fake, *communicator, returned) == nullptr);
    };
    late();
    const auto next = fake.make("second");  // with the memory of the first
    CHECK(next->context == communicator->context);
    void* const task = start(fake, *next);
    REQUIRE(task != nullptr);
    late();
    const auto all = recorder.collectives();
    REQUIRE(all.size() == 3);
    CHECK(phases_of(all[0]) == std::vector{CollectivePhase::kStarted});
    CHECK(phases_of(all[1]) == std::vector{CollectivePhase::kReturned});
    CHECK(all[2].phases.empty());
    CHECK(all[2].number == 0);
    fake.plugin().stop(task);
    fake.finalize(*next);
  }
}

TEST_CASE("proxy work for another process is not taken for work of this one", "[source]") {
  for (const int version : {1, 2}) {
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make();
    void* const task = start(fake, *communicator);
    void* child = task;
    fake.plugin().start_proxy_operation(communicator->context, &child, task, 0, ::getpid() + 1);
    CHECK(child == nullptr);
    fake.plugin().stop(task);
    CHECK(phases_of(recorder.collectives().front()) == std::vector{CollectivePhase::kReturned});
    fake.finalize(*communicator);
  }
}

TEST_CASE("more collectives in flight than are kept are recorded without their end, and counted", "[source]") {
  for (const int version : {1, 4, 6}) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make();
    std::vector<void*> handles;
    for (std::size_t i = 0; i < kSlots; ++i) {
      handles.push_back(start(fake, *communicator));
      REQUIRE(handles.back() != nullptr);
    }
    constexpr std::size_t kMore = 100;
    for (std::size_t i = 0; i < kMore; ++i) CHECK(start(fake, *communicator) == nullptr);
    for (void* const handle : handles) CHECK(fake.plugin().stop(handle) == kSuccess);
    CHECK(start(fake, *communicator) != nullptr);
    fake.finalize(*communicator);
    const auto all = recorder.collectives();
    REQUIRE(all.size() == kSlots + kMore + 1);
    for (std::size_t i = 0; i < kSlots + kMore; ++i)  // and not as if they hung
      REQUIRE(phases_of(all[i]) == std::vector{CollectivePhase::kReturned});
    CHECK(recorder.lost() == kMore);
  }
}

TEST_CASE("a handle whose place another collective has is recognised", "[source]") {
  FakeNccl fake(4);
  FakeRecorder recorder;
  const auto communicator = fake.make();
  void* const old = start(fake, *communicator);
  fake.plugin().stop(old);
  for (std::size_t i = 0; i < kSlots; ++i) fake.plugin().stop(start(fake, *communicator));
  CHECK(start_child(fake, *communicator, old) == nullptr);
  fake.plugin().stop(old);
  fake.finalize(*communicator);
  for (const RecordedCollective& found : recorder.collectives())
    REQUIRE(phases_of(found) == std::vector{CollectivePhase::kReturned});
}
