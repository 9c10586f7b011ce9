// SPDX-License-Identifier: MIT
#include "analysis/stream_overlap.hpp"

#include "analysis/random_device_job.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

TEST_CASE("time with no, one, two and three streams of a device busy", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 20).launch(1).kernel(40, 60);
  builder.on_stream(8).launch(2).kernel(15, 45);
  builder.on_stream(9).launch(3).kernel(42, 50).launch(4).kernel(50, 55);
  builder.on_device(1).launch(5).kernel(0, 5);
  const StreamOverlap overlap = stream_overlap(builder.build());
  REQUIRE(overlap.devices.size() == 2);
  const DeviceConcurrency& device = overlap.devices[0];
  CHECK(device.streams == 3);
  CHECK(device.most == 3);
  // 10-15 one, 15-20 two, 20-40 one, 40-42 two, 42-45 three, 45-55 two, 55-60 one.
  CHECK(device.busy_ns == std::array<std::int64_t, 4>{0, 5 + 20 + 5, 5 + 2 + 10, 3});
  CHECK(device.total_ns() == 50);
  REQUIRE(overlap.streams.size() == 4);
  CHECK(overlap.streams[0].busy_ns == 30);
  CHECK(overlap.streams[0].alone_ns == 5 + 5);
  CHECK(overlap.streams[1].alone_ns == 20);
  CHECK(overlap.streams[2].busy_ns == 13);
  CHECK(overlap.streams[2].alone_ns == 0);
  CHECK(overlap.streams[3].alone_ns == 5);
  REQUIRE(overlap.pairs.size() == 3);
  CHECK(overlap.pairs[0].overlap_ns == 13);  // 7 and 9
  CHECK(overlap.pairs[1].overlap_ns == 10);  // 7 and 8
  CHECK(overlap.pairs[2].overlap_ns == 3);   // 8 and 9
}

TEST_CASE("time that was not recorded is no time without streams", "[analysis]") {
  TimelineBuilder builder;
  builder.window(0, 30).window(70, 100);
  builder.launch(0).kernel(10, 20).launch(1).kernel(80, 90);
  const StreamOverlap overlap = stream_overlap(builder.build());
  REQUIRE(overlap.devices.size() == 1);
  CHECK(overlap.devices[0].busy_ns == std::array<std::int64_t, 4>{10 + 10, 20, 0, 0});
}

TEST_CASE("so many streams have no pairs", "[analysis]") {
  TimelineBuilder builder;
  for (int stream = 0; stream < 300; ++stream) builder.on_stream(stream).launch(0).kernel(10, 20);
  const StreamOverlap overlap = stream_overlap(builder.build());
  REQUIRE(overlap.devices.size() == 1);
  CHECK_FALSE(overlap.devices[0].pairs_known);
  CHECK(overlap.devices[0].most == 300);
  CHECK(overlap.devices[0].busy_ns[3] == 10);
  CHECK(overlap.pairs.empty());
  CHECK(overlap.streams.size() == 300);
}

TEST_CASE("concurrency of streams where times are as far apart as a file can claim", "[analysis]") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = -(kLeast + 1);
  TimelineBuilder builder;
  builder.launch(0).kernel(kLeast, kMost).kernel(kMost, kLeast);
  builder.on_stream(8).launch(1).kernel(kLeast, kMost).kernel(5, 5);
  const StreamOverlap overlap = stream_overlap(builder.build());
  REQUIRE(overlap.devices.size() == 1);
  CHECK(overlap.devices[0].busy_ns[2] == overlap.devices[0].total_ns());
  CHECK(overlap.devices[0].total_ns() > 0);
}

TEST_CASE("concurrency of streams is that of a slow loop over every nanosecond", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("concurrency of streams", repeats(150))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = random_device_job(random);
    const ActivityTable& activities = timeline.activities;
    const StreamOverlap overlap = stream_overlap(timeline);
    const std::vector<BreakdownRow> breakdown = rangefinder::breakdown(timeline);
    std::map<std::uint32_t, std::array<std::int64_t, 4>> by_count;
    std::map<std::uint32_t, std::int64_t> busy, alone;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> pairs;
    for (std::int64_t at = 0; at < 600; ++at) {
      std::map<std::uint32_t, std::set<std::uint32_t>> running;  // streams by device
      for (ActivityIndex row{0}; row < activities.size(); ++row)
        if (activities.begin_ns[row] <= at && at < activities.end_ns[row])
          running[timeline.streams[activities.stream[row]].device].insert(activities.stream[row]);
      for (const auto& [device, streams] : running) {
        ++by_count[device][std::min<std::size_t>(streams.size(), 3)];
        for (const std::uint32_t stream : streams) {
          ++busy[stream];
          alone[stream] += streams.size() == 1 ? 1 : 0;
          for (const std::uint32_t other : streams)
            if (stream < other) ++pairs[{stream, other}];
        }
      }
    }
    for (const DeviceConcurrency& device : overlap.devices) {
      for (const std::size_t count : {1u, 2u, 3u}) CHECK(device.busy_ns[count] == by_count[device.device][count]);
      for (const BreakdownRow& row : breakdown)
        if (row.device == device.device) CHECK(device.busy_ns[0] == row.idle_ns);
    }
    for (const StreamConcurrency& stream : overlap.streams) {
      CHECK(stream.busy_ns == busy[stream.stream]);
      CHECK(stream.alone_ns == alone[stream.stream]);
    }
    CHECK(overlap.pairs.size() == pairs.size());
    for (const StreamPair& pair : overlap.pairs) CHECK(pair.overlap_ns == pairs[{pair.first, pair.second}]);
  }
}

TEST_CASE("busy and idle time of real traces are those of the breakdown", "[analysis][data]") {
  if (shared_file("data/kineto").empty()) RANGEFINDER_SKIP("no traces (RANGEFINDER_SHARED)");
  int devices = 0;
  for (const char* trace : {"nccl_a100_rank0of2", "diff_control_a100_rank3of8", "resnet50_workers0_v100",
                            "cudagraph_a100_rank0of16", "event_sync_multistream_a100"}) {
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + std::string(trace) + ".json.gz"));
    REQUIRE(timeline);
    const StreamOverlap overlap = stream_overlap(*timeline);
    for (const BreakdownRow& row : breakdown(*timeline)) {
      for (const DeviceConcurrency& device : overlap.devices) {
        if (device.device != row.device) continue;
        INFO(trace);
        CHECK(device.busy_ns[0] == row.idle_ns);
        CHECK(device.total_ns() == row.total_ns);
        std::printf("%s: device %u, %u streams: %lld of %lld ns with two and more\n", trace,
                    timeline->devices[device.device].id, device.streams,
                    static_cast<long long>(device.busy_ns[2] + device.busy_ns[3]),
                    static_cast<long long>(device.total_ns()));
        ++devices;
      }
    }
  }
  CHECK(devices >= 5);
}
