// SPDX-License-Identifier: MIT
#include "analysis/launch_queue.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

/// Of the only stream.
LaunchQueueRow queue_of(const Timeline& timeline) {
  const std::vector<LaunchQueueRow> rows = launch_queues(timeline);
  REQUIRE(rows.size() == 1);
  return rows[0];
}

std::string text_of(const QueueLengths& lengths) {
  return "total " + std::to_string(lengths.total_ns) + " empty " + std::to_string(lengths.empty_ns) + " idle " +
         std::to_string(lengths.idle_ns) + " starved " + std::to_string(lengths.starved_ns) + " mean " +
         std::to_string(lengths.mean_hundredths) + " p50 " + std::to_string(lengths.p50) + " p95 " +
         std::to_string(lengths.p95) + " max " + std::to_string(lengths.max);
}

}  // namespace

TEST_CASE("the queue of a stream is what was launched and has not begun", "[analysis]") {
  // Launched at 0, 10 and 20; run from 5 to 105, 105 to 205, 205 to 305.
  TimelineBuilder builder;
  builder.launch(0).kernel(5, 105).launch(10).kernel(105, 205).launch(20).kernel(205, 305);
  const LaunchQueueRow row = queue_of(builder.build());
  // 1 waits from 0 to 5, none to 10, 1 to 20, 2 to 105, 1 to 205, none to 305.
  CHECK(text_of(row.lengths) == "total 305 empty 105 idle 0 starved 0 mean 93 p50 1 p95 2 max 2");
  CHECK(row.waits.launches == 3);
  CHECK(row.waits.on_idle_stream == 1);
  CHECK(row.waits.queue_at_launch_hundredths == 33);  // the last one found one waiting
  CHECK(row.waits.latency_idle.p50 == 5);
  CHECK(row.waits.latency_queued.p50 == 95);
  CHECK(row.waits.latency_queued.p95 == 185);
}

TEST_CASE("a stream starves while nothing waits and nothing runs, unless the host waits for the device", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 20);
  SECTION("the host is busy with something else") {
    builder.launch(100).kernel(110, 120);
    CHECK(text_of(queue_of(builder.build()).lengths) ==
          "total 120 empty 100 idle 80 starved 80 mean 17 p50 0 p95 1 max 1");
  }
  SECTION("the host waits for a part of that time") {
    builder.call("cudaStreamSynchronize", 5, 50).launch(100).kernel(110, 120);
    CHECK(text_of(queue_of(builder.build()).lengths) ==
          "total 120 empty 100 idle 80 starved 50 mean 17 p50 0 p95 1 max 1");
  }
  SECTION("a thread that launches nothing here may wait") {
    builder.on_thread(9).call("cudaStreamSynchronize", 5, 50).on_thread(1).launch(100).kernel(110, 120);
    CHECK(queue_of(builder.build()).lengths.starved_ns == 80);
  }
  SECTION("what counts is the thread that makes the next launch") {
    builder.on_thread(9).launch(60).kernel(61, 65).call("cudaStreamSynchronize", 66, 99).on_thread(1);
    builder.launch(100).kernel(110, 120);
    // Idle from 20 to 60, and from 65 to 100.
    CHECK(queue_of(builder.build()).lengths.starved_ns == 75);
  }
  SECTION("and not what runs on by itself, as work whose launch is not known") {
    builder.without_launch(99).kernel(110, 120).launch(200).kernel(210, 220);
    CHECK(text_of(queue_of(builder.build()).lengths) ==
          "total 220 empty 200 idle 170 starved 80 mean 9 p50 0 p95 1 max 1");
  }
  SECTION("time that was not recorded is not counted") {
    builder.launch(100).kernel(110, 120).window(0, 30).window(90, 200);
    CHECK(text_of(queue_of(builder.build()).lengths) ==
          "total 60 empty 40 idle 20 starved 20 mean 33 p50 0 p95 1 max 1");
  }
}

TEST_CASE("streams have rows, and a device with several a row of all", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).on_stream(7).kernel(10, 100).launch(5).on_stream(8).kernel(20, 50);
  builder.on_device(1).launch(0).kernel(10, 20);
  const Timeline timeline = builder.build();
  const std::vector<LaunchQueueRow> rows = launch_queues(timeline);
  std::string text;
  for (const LaunchQueueRow& row : rows)
    text += std::to_string(timeline.devices[row.device].id) + "/" +
            (row.stream == kNone ? "all" : std::to_string(timeline.streams[row.stream].id)) + " " +
            std::to_string(row.waits.launches) + " max " + std::to_string(row.lengths.max) + "; ";
  CHECK(text == "0/all 2 max 2; 0/7 1 max 1; 0/8 1 max 1; 1/7 1 max 1; ");
  // Each found its own stream idle.
  CHECK(rows[0].waits.on_idle_stream == 2);
}

TEST_CASE("a launch of a CUDA graph waits once, until the first of its work begins", "[analysis]") {
  TimelineBuilder builder;
  builder.launch(0).kernel(10, 20).of_graph(kNone, 1).kernel(20, 30).of_graph(kNone, 2).kernel(30, 40);
  const LaunchQueueRow row = queue_of(builder.of_graph(kNone, 3).build());
  CHECK(row.waits.launches == 1);
  CHECK(row.lengths.max == 1);
  CHECK(row.lengths.empty_ns == 30);
  CHECK(row.waits.kernels == 0);
}

TEST_CASE("kernels are compared with the calls that launched them", "[analysis]") {
  TimelineBuilder builder;
  builder.launch_call("cudaLaunchKernel", 0, 8).kernel(10, 15);      // shorter
  builder.launch_call("cudaLaunchKernel", 20, 24).kernel(30, 60);    // longer
  builder.launch_call("cudaMemcpyAsync", 70, 90).memcpy(90, 91, 8);  // no kernel
  builder.launch(100).kernel(110, 111);                              // the call is not known
  const LaunchWaits waits = queue_of(builder.build()).waits;
  CHECK(waits.launches == 4);
  CHECK(waits.kernels == 2);
  CHECK(waits.shorter_than_call == 1);
  CHECK(waits.kernel_ns == 35);
  CHECK(waits.call_ns == 12);
}

TEST_CASE("work whose launch is not known runs, but waits in no queue", "[analysis]") {
  TimelineBuilder builder;
  builder.without_launch(99).kernel(0, 50).launch(10).kernel(50, 60);
  const LaunchQueueRow row = queue_of(builder.build());
  CHECK(text_of(row.lengths) == "total 60 empty 20 idle 0 starved 0 mean 67 p50 1 p95 1 max 1");
  CHECK(row.waits.launches == 1);
  CHECK(row.waits.on_idle_stream == 0);  // the early kernel ran
  TimelineBuilder orphans;
  CHECK(launch_queues(orphans.without_launch(99).kernel(0, 50).build()).empty());
}

TEST_CASE("work that seems to begin before its launch waits for nothing", "[analysis]") {
  const LaunchQueueRow row = queue_of(TimelineBuilder().launch(20).kernel(10, 30).build());
  CHECK(row.lengths.max == 0);
  CHECK(row.waits.latency_queued.p50 == 0);
}

TEST_CASE("ranges have the launches of the work that they own", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 100).launch(1).kernel(10, 200).launch(2).kernel(200, 300);
  builder.range("b", 3, 50).launch(4).kernel(300, 310);
  builder.launch(400).kernel(420, 430).without_launch(99).kernel(500, 501);
  const Timeline timeline = builder.build();
  std::string text;
  for (const RangeLaunches& row : launches_of_ranges(timeline, project(timeline, {})))
    text += (row.unowned ? "(none)" : std::string(timeline.text(row.range))) + " " +
            std::to_string(row.waits.launches) + " idle " + std::to_string(row.waits.on_idle_stream) + " queue " +
            std::to_string(row.waits.queue_at_launch_hundredths) + "; ";
  CHECK(text == "a 2 idle 1 queue 50; (none) 1 idle 1 queue 0; b 1 idle 0 queue 200; ");
}

TEST_CASE("queues at the ends of all numbers make no overflow", "[analysis]") {
  constexpr std::int64_t kEnd = INT64_MAX, kBegin = INT64_MIN + 1;
  TimelineBuilder builder;
  builder.launch(kBegin).kernel(kEnd, kEnd).launch(kEnd).kernel(kBegin, kEnd).launch(0).kernel(kEnd, kBegin);
  builder.launch_call("cudaLaunchKernel", kBegin, kEnd).kernel(kBegin, kEnd).window(kBegin, kEnd);
  const LaunchQueueRow row = queue_of(builder.build());
  CHECK(row.lengths.total_ns > 0);
  CHECK(row.lengths.empty_ns <= row.lengths.total_ns);
}

TEST_CASE("queues are those that a slow look at every nanosecond finds", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("launch queues", repeats(120))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    TimelineBuilder builder;
    struct Work {
      std::int64_t launch_ns, begin_ns, end_ns;
    };
    std::vector<Work> works;
    std::int64_t begin_ns = 0;
    for (int i = 0; i < 12; ++i) {
      Work work{};
      work.launch_ns = static_cast<std::int64_t>(below(random, 200));
      begin_ns = static_cast<std::int64_t>(below(random, 60)) + work.launch_ns;
      work.begin_ns = begin_ns;
      work.end_ns = begin_ns + static_cast<std::int64_t>(below(random, 25));
      works.push_back(work);
      builder.launch(work.launch_ns).kernel(work.begin_ns, work.end_ns);
    }
    const auto wait_ns = static_cast<std::int64_t>(below(random, 200));
    builder.call("cudaDeviceSynchronize", wait_ns, wait_ns + 40);
    const LaunchQueueRow row = queue_of(builder.build());

    std::int64_t first = works[0].launch_ns, last = 0;
    for (const Work& work : works) {
      first = std::min(first, work.launch_ns);
      last = std::max(last, work.end_ns);
    }
    QueueLengths slow;
    std::vector<std::uint64_t> lengths;
    std::int64_t sum = 0;
    for (std::int64_t now = first; now < last; ++now) {
      std::uint64_t waiting = 0, running = 0;
      for (const Work& work : works) {
        waiting += work.launch_ns <= now && now < work.begin_ns ? 1 : 0;
        running += work.begin_ns <= now && now < work.end_ns ? 1 : 0;
      }
      lengths.push_back(waiting);
      sum += static_cast<std::int64_t>(waiting);
      ++slow.total_ns;
      slow.empty_ns += waiting == 0 ? 1 : 0;
      const bool idle = waiting == 0 && running == 0;
      slow.idle_ns += idle ? 1 : 0;
      slow.starved_ns += idle && (now < wait_ns || now >= wait_ns + 40) ? 1 : 0;
    }
    std::sort(lengths.begin(), lengths.end());
    slow.mean_hundredths = (sum * 200 + slow.total_ns) / (slow.total_ns * 2);
    slow.p50 = lengths[(lengths.size() * 50 + 99) / 100 - 1];
    slow.p95 = lengths[(lengths.size() * 95 + 99) / 100 - 1];
    slow.max = lengths.back();
    CHECK(text_of(row.lengths) == text_of(slow));

    std::uint64_t on_idle = 0;
    for (std::size_t i = 0; i < works.size(); ++i) {
      bool idle = true;
      for (std::size_t j = 0; j < works.size(); ++j) {
        const Work &work = works[j], &launched = works[i];
        const bool before = work.launch_ns != launched.launch_ns ? work.launch_ns < launched.launch_ns
                            : work.begin_ns != launched.begin_ns ? work.begin_ns < launched.begin_ns
                                                                 : j < i;
        if (before && launched.launch_ns < std::max(work.begin_ns, work.end_ns)) idle = false;
      }
      on_idle += idle ? 1 : 0;
    }
    CHECK(row.waits.on_idle_stream == on_idle);
    CHECK(row.waits.launches == works.size());
  }
}

TEST_CASE("streams of real traces starve for no longer than they are idle", "[analysis][data]") {
  if (shared_file("data/kineto").empty()) RANGEFINDER_SKIP("no real traces (RANGEFINDER_SHARED)");
  int rows = 0;
  for (const std::string trace : {"resnet50_workers0_v100", "nccl_a100_rank0of2", "cudagraph_a100_rank0of16",
                                  "mi300_gaunernst_bert-small-uncased", "event_sync_multistream_a100"}) {
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + trace + ".json.gz"));
    REQUIRE(timeline);
    for (const LaunchQueueRow& row : launch_queues(*timeline)) {
      CAPTURE(trace, row.stream);
      ++rows;
      CHECK(row.lengths.starved_ns <= row.lengths.idle_ns);
      CHECK(row.lengths.idle_ns <= row.lengths.empty_ns);
      CHECK(row.lengths.empty_ns <= row.lengths.total_ns);
      CHECK(row.lengths.p50 <= row.lengths.p95);
      CHECK(row.lengths.p95 <= row.lengths.max);
      CHECK(row.waits.on_idle_stream <= row.waits.launches);
    }
  }
  CHECK(rows > 5);
}
