// SPDX-License-Identifier: MIT
// From NCCL's calls to the timeline of the capture: with a session of the program, and under `rangefinder record`.
#include "fake_nccl.hpp"
#include "source/nccl/communicators.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline load(const std::string& path) {
  Result<Timeline> timeline = load_timeline(path);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

/// Names of the ranges that were open when the collective was called, outermost first.
std::string ranges_around(const Timeline& timeline, const CollectiveRow& row) {
  std::string out;
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) {
    const RangeRow range = timeline.ranges.row(i);
    if (range.thread == row.thread && range.begin_ns <= row.begin_ns && row.begin_ns < range.end_ns)
      out += (out.empty() ? "" : "/") + std::string(timeline.text(range.name));
  }
  return out;
}

/// An all-reduce of 1000 floats on 4 ranks, with two channels over a network.
void check_all_reduce(const Timeline& timeline, std::size_t i, int version, const std::string& ranges, bool is_over) {
  const CollectiveRow row = timeline.collectives.row(i);
  CHECK(row.kind == CollectiveKind::kAllReduce);
  CHECK(row.source == CollectiveSource::kNccl);
  CHECK(timeline.text(row.name) == "AllReduce");
  CHECK(row.number == static_cast<std::int64_t>(i));
  CHECK(row.elements_in == 1000);
  CHECK(row.elements_out == 1000);
  CHECK(timeline.text(row.dtype) == "ncclFloat32");
  CHECK(timeline.text(row.algorithm) == "RING");
  CHECK(timeline.text(row.protocol) == "LL");
  CHECK(row.channels == (version >= 4 ? 2 : 0));
  REQUIRE(row.group != kNone);
  const ProcessGroupInfo& group = timeline.process_groups[row.group];
  CHECK(group.source == CollectiveSource::kNccl);
  CHECK(group.name == "0000000000c0ffee");
  CHECK(group.description == "world");
  CHECK(group.size == (version >= 4 ? 4 : 0));
  CHECK(ranges_around(timeline, row) == ranges);
  CHECK(row.begin_ns <= row.end_ns);
  CHECK((row.started_ns != kNoTime) == is_over);
  CHECK((row.completed_ns != kNoTime) == is_over);
  if (is_over) CHECK((row.begin_ns <= row.started_ns && row.started_ns <= row.completed_ns));
}

}  // namespace

TEST_CASE("collectives of NCCL are in the capture, in the range that launched them", "[source]") {
  const bool wants_kernels = GENERATE(false, true);
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", wants_kernels ? "on" : nullptr);
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version << ", kernels " << wants_kernels);
    const ScratchFolder folder;
    FakeNccl nccl(version);
    const auto communicator = nccl.make("world", 0xC0FFEE, 4, 1);  // before the session, as programs do
    NcclTask task;
    task.count = 1000;
    task.channels = 2;
    task.uses_network = true;
    SessionOptions options;
    options.output = folder.file("a.rfcap");
    options.cuda = false;
    options.nvtx = false;
    Session session(options);
    REQUIRE(session.status().ok());
    {
      const ProfileRange step("step");
      {
        const ProfileRange backward("backward");
        nccl.launch(*communicator, {task, task});
      }
      std::thread([&] { nccl.progress(); }).join();
    }
    nccl.launch(*communicator, {task});
    REQUIRE(session.stop().ok());
    nccl.launch(*communicator, {task});  // in no recording
    nccl.progress();
    nccl.finalize(*communicator);
    const Timeline timeline = load(options.output);
    REQUIRE(timeline.collectives.size() == 3);
    check_all_reduce(timeline, 0, version, "step/backward", wants_kernels);
    check_all_reduce(timeline, 1, version, "step/backward", wants_kernels);
    check_all_reduce(timeline, 2, version, "", false);
    CHECK(timeline.health.dropped_collectives == 0);
  }
}

TEST_CASE("a collective that c10d records, and NCCL's plugin too, is one row", "[source]") {
  const Environment kernels("RANGEFINDER_NCCL_KERNELS", "on");
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    const ScratchFolder folder;
    FakeNccl nccl(version);
    const auto communicator = nccl.make("world", 0xC0FFEE, 4, 1);
    SessionOptions options;
    options.output = folder.file("a.rfcap");
    options.cuda = false;
    options.nvtx = false;
    Session session(options);
    REQUIRE(session.status().ok());
    detail::CollectiveCall call;
    call.kind = CollectiveKind::kAllReduce;
    call.source = CollectiveSource::kC10d;
    call.name = "allreduce_";
    call.dtype = "Float";
    call.number = 41;
    call.elements_in = call.elements_out = 1000;
    detail::CollectiveGroup group;
    group.name = "0";
    group.size = 4;
    call.group = detail::collective_group(group);
    NcclTask task;
    task.count = 1000;
    task.channels = 2;
    task.uses_network = true;
    const std::uint32_t handle = detail::begin_collective(call);
    nccl.launch(*communicator, {task});
    detail::note_collective(handle, detail::CollectivePhase::kReturned);
    nccl.progress();
    nccl.launch(*communicator, {task});  // of the program itself
    REQUIRE(session.stop().ok());
    nccl.finalize(*communicator);
    const Timeline timeline = load(options.output);
    REQUIRE(timeline.collectives.size() == 2);
    const CollectiveRow row = timeline.collectives.row(0);
    CHECK(row.source == CollectiveSource::kC10d);
    CHECK(timeline.process_groups[row.group].name == "0");
    CHECK(row.number == 41);
    CHECK(timeline.text(row.algorithm) == "RING");
    CHECK(timeline.text(row.protocol) == "LL");
    CHECK(row.channels == (version >= 4 ? 2 : 0));
    CHECK(row.started_ns != kNoTime);
    CHECK(row.completed_ns != kNoTime);
    CHECK(timeline.collectives.source[1] == CollectiveSource::kNccl);
  }
}

TEST_CASE("what is more than NCCL's plugin keeps is counted as lost", "[source]") {
  const ScratchFolder folder;
  FakeNccl nccl(4);
  const auto communicator = nccl.make();
  SessionOptions options;
  options.output = folder.file("a.rfcap");
  options.cuda = false;
  options.nvtx = false;
  Session session(options);
  REQUIRE(session.status().ok());
  constexpr std::size_t kMore = 3;
  for (std::size_t i = 0; i < nccl::kSlots + kMore; ++i) {
    void* handle = nullptr;  // never stopped
    nccl.plugin().start_task(*communicator, &handle, NcclTask{}, nullptr, nullptr);
    CHECK((handle != nullptr) == (i < nccl::kSlots));
  }
  REQUIRE(session.stop().ok());
  nccl.finalize(*communicator);
  const Timeline timeline = load(options.output);
  CHECK(timeline.collectives.size() == nccl::kSlots + kMore);
  CHECK(timeline.health.dropped_collectives == kMore);
}

#if defined(RANGEFINDER_COMMAND)
TEST_CASE("a program that knows nothing of rangefinder is recorded with its collectives", "[source]") {
  for (int version = 1; version <= FakeNccl::kNewest; ++version) {
    INFO("version " << version);
    const ScratchFolder folder;
    const std::string capture = folder.file("a.rfcap");
    const std::string command = "env -u NCCL_PROFILER_PLUGIN RANGEFINDER_NCCL_KERNELS=on " RANGEFINDER_COMMAND
                                " record -q -o " +
                                capture + " -- " RANGEFINDER_NCCL_PROGRAM " " + std::to_string(version);
    REQUIRE(std::system(command.c_str()) == 0);
    const Timeline timeline = load(capture);
    REQUIRE(timeline.collectives.size() == 3);
    check_all_reduce(timeline, 0, version, "step/backward", true);
    check_all_reduce(timeline, 1, version, "step/backward", true);
    check_all_reduce(timeline, 2, version, "", false);
  }
}
#endif
