// SPDX-License-Identifier: MIT
// What each version of NCCL tells, and what is recorded of it.
#include "fake_nccl.hpp"
#include "fake_recorder.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using detail::CollectivePhase;
namespace nccl = rangefinder::nccl;

namespace {

NcclTask task_of(NcclFunction function, std::size_t count, int datatype = 7) {
  NcclTask task;
  task.function = function;
  task.count = count;
  task.datatype = datatype;
  return task;
}

/// The only collective that a plugin of this version records of the task, on a communicator of 4 ranks.
RecordedCollective recorded(int version, const NcclTask& task) {
  FakeNccl fake(version);
  FakeRecorder recorder;
  const auto communicator = fake.make("world", 0xABC, 4, 1);
  fake.launch(*communicator, {task});
  fake.progress();
  fake.finalize(*communicator);
  const std::vector<RecordedCollective> all = recorder.collectives();
  REQUIRE(all.size() == 1);
  CHECK(recorder.foreign_notes() == 0);
  return all.front();
}

}  // namespace

TEST_CASE("the plugin exports each version of NCCL's interface", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    FakeNccl fake(version);
    CHECK(fake.plugin().name() == std::string("rangefinder"));
  }
}

TEST_CASE("NCCL is asked for collectives, sends and receives, and for the work below them if the user wants it",
          "[source]") {
  const auto mask_of = [](int version) {
    FakeNccl fake(version);
    const auto communicator = fake.make();
    const int mask = fake.mask();
    fake.finalize(*communicator);
    return static_cast<std::uint64_t>(mask);
  };
  const std::uint64_t host = nccl::kCollective | nccl::kPoint;
  for (const char* value : {static_cast<const char*>(nullptr), "0", "off", "", "yes"}) {
    const Environment variable("RANGEFINDER_NCCL_KERNELS", value);
    for (int version = 1; version <= 5; ++version) CHECK(mask_of(version) == host);
    CHECK(mask_of(6) == (host | nccl::kCopyEngine));
  }
  for (const char* value : {"1", "on"}) {
    const Environment variable("RANGEFINDER_NCCL_KERNELS", value);
    for (const int version : {1, 2}) CHECK(mask_of(version) == (host | nccl::kProxyOperation));
    for (const int version : {3, 4, 5}) CHECK(mask_of(version) == (host | nccl::kKernelChannel));
    CHECK(mask_of(6) == (host | nccl::kKernelChannel | nccl::kCopyEngine));
  }
}

TEST_CASE("an all-reduce is recorded with all that its version tells", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make("data parallel", 0x1234567890ABCDEF, 8, 3);
    NcclTask task = task_of(NcclFunction::kAllReduce, 1000, 6);
    task.algorithm = 5;
    task.protocol = 1;
    task.channels = 12;
    fake.launch(*communicator, {task});
    fake.finalize(*communicator);
    const auto all = recorder.collectives();
    REQUIRE(all.size() == 1);
    const RecordedCollective& found = all.front();
    CHECK(found.kind == CollectiveKind::kAllReduce);
    CHECK(found.source == CollectiveSource::kNccl);
    CHECK(found.name == "AllReduce");
    CHECK(found.dtype == "ncclFloat16");
    CHECK(found.algorithm == "NVLS_TREE");
    CHECK(found.protocol == "LL128");
    CHECK(found.elements_in == 1000);
    CHECK(found.elements_out == 1000);
    CHECK(found.peer == -1);
    CHECK(found.number == 0);
    CHECK(found.channels == (version >= 4 ? 12 : 0));
    CHECK(found.thread == std::this_thread::get_id());
    const RecordedGroup group = recorder.group(found.group);
    CHECK(group.name == "1234567890abcdef");
    CHECK(group.description == "data parallel");
    CHECK(group.size == (version >= 4 ? 8 : 0));
    CHECK(group.rank == 3);
  }
}

TEST_CASE("elements in and out are those of this rank", "[source]") {
  struct Expected {
    NcclFunction function;
    CollectiveKind kind;
    std::int64_t in, out;  // of 4 ranks, with a count of 10
    int peer;
  };
  const std::vector<Expected> cases = {{NcclFunction::kAllReduce, CollectiveKind::kAllReduce, 10, 10, -1},
                                       {NcclFunction::kReduceScatter, CollectiveKind::kReduceScatter, 40, 10, -1},
                                       {NcclFunction::kReduce, CollectiveKind::kReduce, 10, 10, 2},
                                       {NcclFunction::kSend, CollectiveKind::kSend, 10, 10, 2},
                                       {NcclFunction::kReceive, CollectiveKind::kReceive, 10, 10, 2},
                                       {NcclFunction::kAllToAll, CollectiveKind::kAllToAll, 40, 40, -1},
                                       {NcclFunction::kScatter, CollectiveKind::kScatter, 40, 10, 2},
                                       {NcclFunction::kGather, CollectiveKind::kGather, 10, 40, 2}};
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    for (const Expected& expected : cases) {
      if (version == 1 && expected.function > NcclFunction::kReceive) continue;  // came with 2.28
      INFO("version " << version << ", " << nccl_function_name(expected.function));
      NcclTask task = task_of(expected.function, 10);
      task.root = 2;
      const RecordedCollective found = recorded(version, task);
      const auto scaled = [&](std::int64_t elements) { return version < 4 && elements == 40 ? -1 : elements; };
      CHECK(found.kind == expected.kind);
      CHECK(found.name == nccl_function_name(expected.function));
      CHECK(found.elements_in == scaled(expected.in));
      CHECK(found.elements_out == scaled(expected.out));
      CHECK(found.peer == expected.peer);
      CHECK(found.dtype == "ncclFloat32");
      CHECK((found.number == -1) == task.is_point());
    }
  }
}

TEST_CASE("all-gather and broadcast have the program's datatype where NCCL tells of the call, else bytes", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    const RecordedCollective gathered = recorded(version, task_of(NcclFunction::kAllGather, 10, 8));
    const RecordedCollective sent = recorded(version, task_of(NcclFunction::kBroadcast, 10, 9));
    CHECK(gathered.dtype == (version >= 5 ? "ncclFloat64" : "ncclInt8"));
    CHECK(gathered.elements_in == (version >= 5 ? 10 : 80));
    CHECK(gathered.elements_out == (version >= 5 ? 40 : version == 4 ? 320 : -1));
    CHECK(sent.dtype == (version >= 5 ? "ncclBfloat16" : "ncclInt8"));
    CHECK(sent.elements_in == (version >= 5 ? 10 : 20));
    CHECK(sent.peer == 0);
    // NCCL has no name for ncclUint8.
    const RecordedCollective bytes = recorded(version, task_of(NcclFunction::kAllGather, 10, 1));
    CHECK(bytes.dtype == "ncclInt8");
    CHECK(bytes.elements_in == 10);
  }
}

TEST_CASE("what NCCL has no name for is left empty", "[source]") {
  for (int version = 2; version <= FakeNccl::kNewest; ++version)
    CHECK(recorded(version, task_of(NcclFunction::kAllReduce, 10, 1)).dtype.empty());
  CHECK(recorded(1, task_of(NcclFunction::kAllReduce, 10, 1)).dtype == "ncclUint8");
}

TEST_CASE("a collective returns on its thread, starts with its first child and is done with its last", "[source]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make();
    NcclTask task;
    task.channels = 3;
    task.uses_network = true;
    fake.launch(*communicator, {task});
    std::thread::id progress;
    std::thread([&] {
      progress = std::this_thread::get_id();
      fake.progress();
    }).join();
    fake.finalize(*communicator);
    const auto all = recorder.collectives();
    REQUIRE(all.size() == 1);
    const std::vector<NotedPhase>& phases = all.front().phases;
    REQUIRE(phases.size() == 3);
    CHECK(phases[0].phase == CollectivePhase::kReturned);
    CHECK(phases[0].thread == std::this_thread::get_id());
    CHECK(phases[1].phase == CollectivePhase::kStarted);
    CHECK(phases[1].thread == progress);
    CHECK(phases[2].phase == CollectivePhase::kCompleted);
    CHECK(phases[2].thread == progress);
  }
}

TEST_CASE("channels that run one after the other: done with the last where their number is known", "[source]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (int version = 3; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make();
    NcclTask task;
    task.channels = 3;
    const std::vector<void*> handles = fake.launch(*communicator, {task});
    for (int channel = 0; channel < 3; ++channel) {
      CHECK(recorder.collectives().front().count(CollectivePhase::kCompleted) == (version >= 4 ? 0 : channel));
      void* handle = nullptr;
      fake.plugin().start_kernel_channel(communicator->context, &handle, handles.front(), channel);
      REQUIRE(handle != nullptr);
      fake.plugin().stop(handle);
    }
    CHECK(recorder.collectives().front().count(CollectivePhase::kStarted) == 1);
    CHECK(recorder.collectives().front().count(CollectivePhase::kCompleted) == (version >= 4 ? 1 : 3));
    fake.finalize(*communicator);
  }
}

TEST_CASE("without network there is no sign of the end in the first two versions", "[source]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (const int version : {1, 2}) {
    const RecordedCollective found = recorded(version, NcclTask{});
    REQUIRE(found.phases.size() == 1);
    CHECK(found.phases.front().phase == CollectivePhase::kReturned);
  }
}

TEST_CASE("without kernel channels, nothing is told of the device's work", "[source]") {
  NcclTask task;
  task.uses_network = true;
  task.channels = 2;
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    const RecordedCollective found = recorded(version, task);
    REQUIRE(found.phases.size() == 1);
    CHECK(found.phases.front().phase == CollectivePhase::kReturned);
    CHECK(found.channels == (version >= 4 ? 2 : 0));
  }
}

TEST_CASE("collectives by copy engines are recorded from version 6 on", "[source]") {
  FakeNccl fake(6);
  FakeRecorder recorder;
  const auto communicator = fake.make("", 5, 4, 2);
  NcclTask task = task_of(NcclFunction::kAllGather, 10, 7);
  task.by_copy_engines = true;
  fake.launch(*communicator, {task, task_of(NcclFunction::kAllReduce, 3)});
  fake.progress();
  fake.finalize(*communicator);
  const auto all = recorder.collectives();
  REQUIRE(all.size() == 2);
  const RecordedCollective& found = all[1];  // NCCL launches it after the kernel
  CHECK(found.kind == CollectiveKind::kAllGather);
  CHECK(found.algorithm == "COPY_ENGINE");
  CHECK(found.protocol == "UC");
  CHECK(found.elements_in == 10);
  CHECK(found.elements_out == 40);
  CHECK(found.number == 1);
  CHECK(found.channels == 0);
  REQUIRE(found.phases.size() == 1);  // NCCL does not tell when they are done
  CHECK(found.phases.front().phase == CollectivePhase::kReturned);
}

TEST_CASE("collectives are numbered within their communicator, whatever their functions", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto first = fake.make("first", 1);
    const auto second = fake.make("second", 2);
    fake.launch(*first, {task_of(NcclFunction::kAllReduce, 1), task_of(NcclFunction::kAllGather, 1)});
    fake.launch(*first, {task_of(NcclFunction::kSend, 1)});
    fake.launch(*second, {task_of(NcclFunction::kReduceScatter, 1)});
    fake.launch(*first, {task_of(NcclFunction::kAllReduce, 1)});
    std::vector<std::int64_t> numbers;
    for (const RecordedCollective& found : recorder.collectives()) numbers.push_back(found.number);
    CHECK(numbers == std::vector<std::int64_t>{0, 1, -1, 0, 2});
    const auto all = recorder.collectives();
    CHECK(all[0].group == all[4].group);
    CHECK(all[0].group != all[3].group);
    fake.finalize(*first);
    fake.finalize(*second);
  }
}

TEST_CASE("collectives of a CUDA graph have no number, where NCCL says that they are captured", "[source]") {
  struct Expected {
    bool wants_kernels, uses_network;
    std::size_t told;  // of the captured one, replayed twice
  };
  for (const Expected& expected : {Expected{false, false, 1}, Expected{false, true, 2}, Expected{true, false, 2}}) {
    const Environment kernels("RANGEFINDER_NCCL_KERNELS", expected.wants_kernels ? "on" : "off");
    for (int version = 3; version <= FakeNccl::kNewest; ++version) {
      INFO("version " << version << ", " << expected.wants_kernels << expected.uses_network);
      FakeNccl fake(version);
      FakeRecorder recorder;
      const auto communicator = fake.make();
      fake.launch(*communicator, {task_of(NcclFunction::kAllReduce, 1)});
      NcclTask task = task_of(NcclFunction::kAllGather, 1);
      task.uses_network = expected.uses_network;
      const FakeNccl::Captured graph = fake.capture(*communicator, {task});
      for (int i = 0; i < 2; ++i) std::thread([&] { fake.replay(graph); }).join();
      fake.launch(*communicator, {task_of(NcclFunction::kReduceScatter, 1)});
      fake.progress();
      fake.finalize(*communicator);
      const auto all = recorder.collectives();
      REQUIRE(all.size() == 2 + expected.told);
      for (std::size_t i = 1; i <= expected.told; ++i) {
        CHECK(all[i].kind == CollectiveKind::kAllGather);
        CHECK(all[i].number == (version >= 5 ? -1 : static_cast<std::int64_t>(i)));
        CHECK((all[i].thread == std::this_thread::get_id()) == (expected.told == 1));
        CHECK(all[i].dtype == (version >= 5 ? "ncclFloat32" : "ncclInt8"));
        CHECK(all[i].count(CollectivePhase::kCompleted) == (expected.wants_kernels ? 1 : 0));
      }
      CHECK(all.back().number == static_cast<std::int64_t>(version >= 5 ? 1 : 1 + expected.told));
    }
  }
}

TEST_CASE("while nothing is recorded NCCL gets no handles, and numbers go on", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    FakeNccl fake(version);
    const auto communicator = fake.make();
    for (void* handle : fake.launch(*communicator, {NcclTask{}, NcclTask{}})) CHECK(handle == nullptr);
    fake.progress();
    FakeRecorder recorder;
    const auto handles = fake.launch(*communicator, {NcclTask{}});
    CHECK(handles.front() != nullptr);
    CHECK(recorder.collectives().front().number == 2);
    recorder.pause(true);
    CHECK(fake.launch(*communicator, {NcclTask{}}).front() == nullptr);
    fake.progress();  // of what was recorded before
    fake.finalize(*communicator);
    CHECK(recorder.collectives().size() == 1);
  }
}

TEST_CASE("a later NCCL that plays an early version tells no name of the communicator", "[source]") {
  for (const int version : {1, 2, 3}) {
    FakeNccl fake(version);
    FakeRecorder recorder;
    const auto communicator = fake.make("", 0);
    fake.launch(*communicator, {NcclTask{}});
    CHECK(recorder.collectives().front().group == 0);
    fake.finalize(*communicator);
  }
}

TEST_CASE("the plugin can be unloaded, and loaded again", "[source]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  void* first = nullptr;
  for (int round = 0; round < 3; ++round) {
    FakeNccl fake(4);
    FakeRecorder recorder;
    const auto communicator = fake.make();
    if (round == 0) first = communicator->context;
    CHECK(communicator->context == first);  // its memory is used again
    fake.launch(*communicator, {NcclTask{}});
    fake.progress();
    fake.finalize(*communicator);
    CHECK(recorder.collectives().front().count(CollectivePhase::kCompleted) == 1);
  }
}
