// SPDX-License-Identifier: MIT
#include "analysis/idle_times.hpp"

#include "analysis/random_device_job.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/shared_data.hpp"
#include "support/timeline_builder.hpp"

#include <rangefinder/analysis/breakdown.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

std::vector<IdleTime> idle_of(const Timeline& timeline, IdleOf of = IdleOf::kDevices,
                              std::int64_t usual_gap_ns = 30'000) {
  IdleTimesOptions options;
  options.of = of;
  options.usual_gap_ns = usual_gap_ns;
  return idle_times(timeline, project(timeline, {}), StepRules(), options);
}

/// Idle time for one cause in ranges of one name.
std::int64_t idle_ns(const Timeline& timeline, const std::vector<IdleTime>& rows, IdleCause cause,
                     const std::string& range) {
  std::int64_t sum = 0;
  for (const IdleTime& row : rows)
    if (row.cause == cause && timeline.text(row.range) == range) sum += row.idle_ns;
  return sum;
}

std::int64_t all_of(const std::vector<IdleTime>& rows, std::optional<IdleCause> cause = {}) {
  std::int64_t sum = 0;
  for (const IdleTime& row : rows)
    if (!cause || row.cause == *cause) sum += row.idle_ns;
  return sum;
}

}  // namespace

TEST_CASE("an idle device waits for what the host did meanwhile, range by range", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1000).launch(5).kernel(10, 100);
  builder.range("data", 150, 300).range("forward", 300, 500).launch(400).kernel(420, 500);
  const Timeline timeline = builder.build();
  const std::vector<IdleTime> rows = idle_of(timeline);
  // 100-150 in the step, 150-300 for data, 300-400 in forward until the launch, and 20 until it began.
  CHECK(idle_ns(timeline, rows, IdleCause::kHostLate, "step") == 50);
  CHECK(idle_ns(timeline, rows, IdleCause::kInput, "data") == 150);
  CHECK(idle_ns(timeline, rows, IdleCause::kHostLate, "forward") == 100);
  CHECK(idle_ns(timeline, rows, IdleCause::kLaunchLatency, "forward") == 20);
  CHECK(all_of(rows) == 320);
  CHECK(rows.front().cause == IdleCause::kInput);
  CHECK(rows.front().gaps == 1);
}

TEST_CASE("a host that waits for the device is not late by itself", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1000).launch(5).kernel(10, 100);
  builder.call("cudaStreamSynchronize", 20, 160).launch(200).kernel(210, 300);
  const Timeline timeline = builder.build();
  const std::vector<IdleTime> rows = idle_of(timeline);
  CHECK(idle_ns(timeline, rows, IdleCause::kSynchronisation, "step") == 60);
  CHECK(idle_ns(timeline, rows, IdleCause::kHostLate, "step") == 40);
  CHECK(idle_ns(timeline, rows, IdleCause::kLaunchLatency, "step") == 10);
  for (const IdleTime& row : rows)
    CHECK(row.wait == (row.cause == IdleCause::kSynchronisation ? std::optional(WaitReason::kStream) : std::nullopt));
}

TEST_CASE("what was launched in time is launch latency, or another reason where the gap is long", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1000).launch(1).kernel(10, 100).launch(2).kernel(105, 200).launch(3).kernel(900, 950);
  builder.without_launch(9999).kernel(960, 970);
  const Timeline timeline = builder.build();
  const std::vector<IdleTime> rows = idle_of(timeline, IdleOf::kDevices, 20);
  CHECK(idle_ns(timeline, rows, IdleCause::kLaunchLatency, "step") == 5);
  CHECK(idle_ns(timeline, rows, IdleCause::kOther, "step") == 700);
  CHECK(idle_ns(timeline, rows, IdleCause::kOther, "") == 10);  // who launched it is not known
}

TEST_CASE("the engine's thread is in the range of the thread that waits for it", "[analysis]") {
  TimelineBuilder builder;
  builder.range("backward", 100, 900);
  builder.on_thread(9).engine().node(200, 300, 2, 1, 50).node(500, 600, 1, 1, 40);
  builder.launch(210).kernel(220, 230).launch(550).kernel(560, 570);
  const Timeline timeline = builder.build();
  const std::vector<IdleTime> rows = idle_of(timeline);
  // 230-300 in the first node, 300-500 between the two, and 500-550 in the second one.
  CHECK(idle_ns(timeline, rows, IdleCause::kHostLate, "backward") == 320);
  CHECK(idle_ns(timeline, rows, IdleCause::kLaunchLatency, "backward") == 10);
  CHECK(all_of(rows) == 330);
}

TEST_CASE("a stream is idle while others of its device are not", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1000).launch(1).kernel(10, 100).launch(300).kernel(310, 400);
  builder.on_stream(8).launch(2).kernel(50, 350);
  const Timeline timeline = builder.build();
  CHECK(idle_of(timeline).empty());
  const std::vector<IdleTime> rows = idle_of(timeline, IdleOf::kStreams);
  CHECK(idle_ns(timeline, rows, IdleCause::kHostLate, "step") == 200);
  CHECK(idle_ns(timeline, rows, IdleCause::kLaunchLatency, "step") == 10);
  CHECK(timeline.streams[rows.front().stream].id == 7);
}

TEST_CASE("reasons and ranges divide the idle time of the breakdown without remainder", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("idle times", repeats(200))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = random_device_job(random);
    BreakdownOptions options;
    options.usual_gap_ns = 6;
    const std::vector<IdleTime> rows = idle_of(timeline, IdleOf::kDevices, options.usual_gap_ns);
    IdleReasons expected;
    std::int64_t idle = 0;
    for (const BreakdownRow& row : breakdown(timeline, options)) {
      if (row.device == kNone) continue;
      idle += row.idle_ns;
      expected.host_wait_ns += row.idle.host_wait_ns;
      expected.kernel_wait_ns += row.idle.kernel_wait_ns;
      expected.sync_wait_ns += row.idle.sync_wait_ns;
      expected.other_ns += row.idle.other_ns;
    }
    CHECK(all_of(rows) == idle);
    CHECK(all_of(rows, IdleCause::kEvent) == expected.sync_wait_ns);
    CHECK(all_of(rows, IdleCause::kOther) == expected.other_ns);
    CHECK(all_of(rows, IdleCause::kLaunchLatency) >= expected.kernel_wait_ns);
    for (const IdleTime& row : rows) {
      CHECK(row.longest_ns <= row.idle_ns);
      CHECK(row.longest_ns * static_cast<std::int64_t>(row.gaps) >= row.idle_ns);
    }
  }
}

TEST_CASE("idle time of streams is the time between their operations", "[analysis][property]") {
  for (const std::uint64_t seed : property_seeds("idle times of streams", repeats(100))) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const Timeline timeline = random_device_job(random);
    const ActivityTable& activities = timeline.activities;
    std::map<std::uint32_t, std::int64_t> first, last, idle, found;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const std::uint32_t stream = activities.stream[row];
      first.try_emplace(stream, activities.begin_ns[row]);
      first[stream] = std::min(first[stream], activities.begin_ns[row]);
      last[stream] = std::max(last[stream], activities.end_ns[row]);
    }
    for (const auto& [stream, begin] : first) {
      for (std::int64_t at = begin; at < last[stream]; ++at) {
        bool busy = false, recorded = timeline.windows.empty();
        for (ActivityIndex row{0}; row < activities.size(); ++row)
          busy = busy ||
                 (activities.stream[row] == stream && activities.begin_ns[row] <= at && at < activities.end_ns[row]);
        for (const Window& window : timeline.windows)
          recorded = recorded || (window.begin_ns <= at && at < window.end_ns);
        idle[stream] += !busy && recorded ? 1 : 0;
      }
    }
    for (const IdleTime& row : idle_of(timeline, IdleOf::kStreams)) found[row.stream] += row.idle_ns;
    for (const auto& [stream, time] : idle) CHECK(found[stream] == time);
  }
}

TEST_CASE("idle time of real traces is that of the breakdown", "[analysis][data]") {
  if (shared_file("data/kineto").empty()) RANGEFINDER_SKIP("no traces (RANGEFINDER_SHARED)");
  for (const char* trace : {"nccl_a100_rank0of2", "diff_control_a100_rank3of8", "resnet50_workers0_v100",
                            "cudagraph_a100_rank0of16", "h100_Qwen_Qwen1.5-0.5B-Chat"}) {
    const Result<Timeline> timeline = load_timeline(shared_file("data/kineto/" + std::string(trace) + ".json.gz"));
    REQUIRE(timeline);
    INFO(trace);
    std::int64_t idle = 0, other = 0;
    for (const BreakdownRow& row : breakdown(*timeline)) {
      idle += row.device == kNone ? 0 : row.idle_ns;
      other += row.device == kNone ? 0 : row.idle.other_ns;
    }
    const std::vector<IdleTime> rows = idle_of(*timeline);
    CHECK(all_of(rows) == idle);
    CHECK(all_of(rows, IdleCause::kOther) == other);
  }
}
