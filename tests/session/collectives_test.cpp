// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/recording.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/range.hpp>

#include <array>
#include <string>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::testing;
using detail::CollectivePhase;

namespace {

constexpr std::array<std::int64_t, 4> kRanks{0, 2, 4, 6};

detail::CollectiveCall all_reduce(std::uint32_t group, std::int64_t number) {
  detail::CollectiveCall call;
  call.kind = CollectiveKind::kAllReduce;
  call.name = "allreduce";
  call.dtype = "BFloat16";
  call.group = group;
  call.number = number;
  call.elements_in = call.elements_out = 1024;
  return call;
}

}  // namespace

TEST_CASE("collectives are read back with their calls, work and waits", "[session]") {
  Recording recording(host_only());
  const std::uint32_t group =
      detail::collective_group({"0", "default_pg\nof the job", kRanks.data(), kRanks.size(), 4, 1});
  std::uint32_t handle = 0;
  {
    ProfileRange range("backward");
    handle = detail::begin_collective(all_reduce(group, 7));
    detail::note_collective(handle, CollectivePhase::kReturned);
  }
  std::thread([&] {
    detail::note_collective(handle, CollectivePhase::kStarted);
    detail::note_collective(handle, CollectivePhase::kCompleted);
  }).join();
  detail::note_collective(handle, CollectivePhase::kWaitBegan);
  detail::note_collective(handle, CollectivePhase::kWaitEnded);
  detail::CollectiveCall exchange;
  exchange.kind = CollectiveKind::kAllToAll;
  exchange.source = CollectiveSource::kNccl;
  exchange.name = "AllToAll";
  exchange.in_splits = "[3, 5]";
  exchange.out_splits = "[1, 7]";
  exchange.algorithm = "RING";
  exchange.protocol = "LL128";
  exchange.channels = 8;
  exchange.peer = 0;
  detail::note_collective(detail::begin_collective(exchange), CollectivePhase::kReturned);
  const std::uint32_t open = detail::begin_collective(all_reduce(group, 8));  // never returns
  REQUIRE(open != 0);
  const Timeline timeline = recording.stop();

  const CollectiveTable& table = timeline.collectives;
  REQUIRE(table.size() == 3);
  CHECK(table.kind[0] == CollectiveKind::kAllReduce);
  CHECK(table.source[0] == CollectiveSource::kC10d);
  CHECK(timeline.text(table.name[0]) == "allreduce");
  CHECK(timeline.text(table.dtype[0]) == "BFloat16");
  CHECK(table.number[0] == 7);
  CHECK(table.elements_in[0] == 1024);
  CHECK(table.elements_out[0] == 1024);
  CHECK(table.peer[0] == -1);
  REQUIRE(timeline.process_groups.size() == 1);
  CHECK(table.group[0] == ProcessGroupIndex(0));
  CHECK(timeline.process_groups[0].name == "0");
  CHECK(timeline.process_groups[0].description == "default_pg\nof the job");
  CHECK(timeline.process_groups[0].ranks == std::vector<std::int64_t>(kRanks.begin(), kRanks.end()));
  CHECK(timeline.process_groups[0].size == 4);
  const std::int64_t times[] = {table.begin_ns[0],     table.end_ns[0],        table.started_ns[0],
                                table.completed_ns[0], table.wait_begin_ns[0], table.wait_end_ns[0]};
  for (std::size_t i = 1; i < std::size(times); ++i) CHECK(times[i - 1] <= times[i]);
  CHECK(times[0] >= timeline.ranges.begin_ns[0]);
  CHECK(times[1] <= timeline.ranges.end_ns[0]);
  CHECK(table.wait_thread[0] == table.thread[0]);

  CHECK(table.source[1] == CollectiveSource::kNccl);
  CHECK(table.group[1] == kNone);
  CHECK(table.number[1] == -1);
  CHECK(table.peer[1] == 0);
  CHECK(timeline.text(table.in_splits[1]) == "[3, 5]");
  CHECK(timeline.text(table.out_splits[1]) == "[1, 7]");
  CHECK(timeline.text(table.algorithm[1]) == "RING");
  CHECK(timeline.text(table.protocol[1]) == "LL128");
  CHECK(table.channels[1] == 8);

  CHECK(table.number[2] == 8);
  CHECK(table.end_ns[2] == kNoTime);
  CHECK(table.completed_ns[2] == kNoTime);
  CHECK(table.wait_thread[2] == kNone);
  CHECK(timeline.health.complete());
}

TEST_CASE("a group that an earlier recording named is known to a later one", "[session]") {
  const std::uint32_t group = detail::collective_group({"communicator 9", "", nullptr, 0, 2, 0});
  for (int i = 0; i < 2; ++i) {
    Recording recording(host_only());
    detail::begin_collective(all_reduce(group, i));
    const Timeline timeline = recording.stop();
    REQUIRE(timeline.collectives.size() == 1);
    REQUIRE(timeline.process_groups.size() == 1);
    CHECK(timeline.process_groups[0].name == "communicator 9");
    CHECK(timeline.process_groups[0].ranks.empty());
  }
}
