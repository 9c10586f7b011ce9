// SPDX-License-Identifier: MIT
#include "projection/streaming.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::projection;

namespace {

struct Log : ProjectionSink {
  std::vector<ProjectedRange> ranges;
  std::string order;
  void on_projected(const ProjectedRange& range) override {
    ranges.push_back(range);
    order += std::to_string(range.range.key) + " ";
  }
  const ProjectedRange& of(std::uint64_t key) const {
    for (const ProjectedRange& range : ranges)
      if (range.range.key == key) return range;
    throw std::out_of_range("range not given out");
  }
};

StreamingRange range(std::uint64_t key, std::uint64_t parent, std::int64_t begin, std::int64_t end) {
  StreamingRange range;
  range.key = key;
  range.parent = parent;
  range.begin_ns = begin;
  range.end_ns = end;
  return range;
}
StreamingRange start_end(std::uint64_t key, std::int64_t begin, std::int64_t end) {
  StreamingRange result = range(key, 0, begin, end);
  result.start_end = true;
  return result;
}
StreamingLaunch launch(std::uint64_t correlation, std::int64_t time, std::uint64_t key, std::uint32_t activities = 1) {
  StreamingLaunch launch;
  launch.correlation = correlation;
  launch.time_ns = time;
  launch.range = key;
  launch.activities = activities;
  return launch;
}
StreamingActivity kernel(std::uint64_t correlation, std::int64_t begin, std::int64_t end, Place place = {0, 0}) {
  return {correlation, place, begin, end, 0};
}

}  // namespace

TEST_CASE("a range is given out when it has ended and its work has arrived", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.launch(launch(1, 5, 1));
  projector.end_range(range(1, 0, 0, 10));
  CHECK(log.order == "");
  projector.activity(kernel(1, 20, 30));
  CHECK(log.order == "1 ");
  CHECK(log.of(1).resolved);
  CHECK(log.of(1).inclusive.total.gpu_busy_ns == 10);
  projector.finish();
  CHECK(log.order == "1 ");
}

TEST_CASE("a range without work is given out when it ends", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.begin_range(range(1, 0, 0, 0));
  CHECK(log.order == "");
  projector.end_range(range(1, 0, 0, 10));
  CHECK(log.order == "1 ");
  CHECK(log.of(1).inclusive.streams.empty());
}

TEST_CASE("children come before their parents and are part of them", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.launch(launch(1, 5, 2));
  projector.end_range(range(2, 1, 3, 8));
  projector.launch(launch(2, 9, 1));
  projector.activity(kernel(2, 40, 50, {0, 1}));
  projector.end_range(range(1, 0, 0, 10));
  CHECK(log.order == "");
  projector.activity(kernel(1, 45, 60));
  CHECK(log.order == "2 1 ");
  const StreamingFigures& inclusive = log.of(1).inclusive;
  CHECK(inclusive.total.gpu_ops == 2);
  CHECK(inclusive.total.gpu_busy_ns == 20);
  CHECK(inclusive.streams.size() == 2);
  CHECK(log.of(1).exclusive.total.gpu_ops == 1);
}

TEST_CASE("activities may come before their launch, several of a kind", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.activity(kernel(7, 20, 30));
  projector.activity(kernel(7, 30, 40));
  projector.activity(kernel(8, 40, 50));
  CHECK(projector.held().activities == 3);
  projector.launch(launch(7, 5, 1, 2));
  projector.end_range(range(1, 0, 0, 10));
  CHECK(log.of(1).inclusive.total.gpu_ops == 2);
  projector.finish();
  CHECK(projector.account().owned.gpu_ops == 2);
  CHECK(projector.account().unknown.gpu_ops == 1);
}

TEST_CASE("a launch of an unknown number of activities waits until it is settled", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.launch(launch(1, 5, 1, 0));
  projector.end_range(range(1, 0, 0, 10));
  projector.activity(kernel(1, 20, 30));
  projector.activity(kernel(1, 30, 40));
  CHECK(log.order == "");
  SECTION("settled up to its time: still waits") {
    projector.settle(5);
    CHECK(log.order == "");
  }
  SECTION("settled past its time") {
    projector.settle(6);
    CHECK(log.of(1).inclusive.total.gpu_ops == 2);
    CHECK(log.of(1).resolved);
    CHECK(projector.counts().abandoned_launches == 0);
  }
  projector.finish();
  CHECK(log.order == "1 ");
}

TEST_CASE("more activities than announced are counted while the launch is remembered", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.launch(launch(1, 5, 1));
  projector.launch(launch(2, 6, 1));
  projector.activity(kernel(1, 20, 30));
  projector.activity(kernel(1, 30, 40));
  projector.activity(kernel(2, 40, 50));
  projector.end_range(range(1, 0, 0, 10));
  CHECK(log.of(1).inclusive.total.gpu_ops == 3);
  projector.activity(kernel(2, 50, 60));
  projector.finish();
  CHECK(projector.counts().late_activities == 1);
  CHECK(projector.account().owned.gpu_ops == 4);
}

TEST_CASE("start/end ranges that were announced count by thread and time", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.begin_range(range(1, 0, 0, 0));
  projector.begin_range(start_end(2, 1, 0));
  StreamingLaunch in_request = launch(1, 5, 2);
  in_request.scoped = 1;
  projector.launch(in_request);
  StreamingLaunch elsewhere = launch(2, 6, 0);
  elsewhere.thread = 9;
  projector.launch(elsewhere);
  projector.begin_range(range(3, 1, 7, 0));
  projector.launch(launch(3, 8, 3));
  projector.end_range(range(3, 1, 7, 9));
  projector.end_range(range(1, 0, 0, 10));
  projector.launch(launch(4, 12, 2));
  projector.end_range(start_end(2, 1, 20));
  for (std::uint64_t id = 1; id <= 4; ++id)
    projector.activity(kernel(id, 100 + 10 * static_cast<std::int64_t>(id), 105 + 10 * static_cast<std::int64_t>(id)));
  projector.finish();
  CHECK(log.of(2).inclusive.total.gpu_ops == 3);
  CHECK(log.of(2).exclusive.total.gpu_ops == 2);
  CHECK(log.of(1).inclusive.total.gpu_ops == 2);
  CHECK(log.of(1).exclusive.total.gpu_ops == 0);
  CHECK(projector.account().outside.gpu_ops == 1);
}

TEST_CASE("what never ends is given out at the end, and says so", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.begin_range(range(1, 0, 0, 0));
  projector.launch(launch(1, 5, 2));
  projector.end_range(range(3, 2, 6, 7));
  projector.activity(kernel(1, 20, 30));
  CHECK(log.order == "3 ");
  projector.finish();
  CHECK(log.order == "3 2 1 ");
  CHECK(log.of(1).never_ended);
  CHECK(log.of(2).never_ended);
  CHECK(log.of(2).inclusive.total.gpu_ops == 1);
}

TEST_CASE("a range that ended on another thread waits for unannounced children", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  StreamingRange outer = range(1, 0, 0, 10);
  outer.ended_elsewhere = true;
  projector.end_range(outer);
  CHECK(log.order == "");
  projector.launch(launch(1, 5, 2));
  projector.activity(kernel(1, 20, 30));
  projector.end_range(range(2, 1, 3, 20));
  projector.finish();
  CHECK(log.order == "2 1 ");
  CHECK(log.of(1).inclusive.total.gpu_ops == 1);
}

TEST_CASE("the parent of the begin holds, whatever the end says", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.begin_range(range(1, 0, 0, 0));
  projector.begin_range(range(2, 1, 1, 0));
  projector.begin_range(range(3, 2, 2, 0));
  projector.launch(launch(1, 3, 3));
  CHECK(projector.pending_launches() == 1);
  StreamingRange middle = range(2, 1, 1, 5);
  middle.ended_elsewhere = true;
  projector.end_range(middle);
  projector.end_range(range(3, 1, 2, 6));
  projector.end_range(range(1, 0, 0, 10));
  projector.activity(kernel(1, 20, 30));
  CHECK(log.order == "3 2 1 ");
  CHECK(projector.pending_launches() == 0);
  CHECK(log.of(2).inclusive.total.gpu_ops == 1);
  CHECK(log.of(1).inclusive.total.gpu_ops == 1);
}

TEST_CASE("a correlation id that comes again belongs to the later launch", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.launch(launch(1, 5, 1));
  projector.end_range(range(1, 0, 0, 10));
  projector.launch(launch(1, 15, 2));
  CHECK(log.order == "1 ");
  CHECK_FALSE(log.of(1).resolved);
  projector.activity(kernel(1, 20, 30));
  projector.end_range(range(2, 0, 11, 20));
  CHECK(log.of(2).inclusive.total.gpu_ops == 1);
  CHECK(projector.counts().abandoned_launches == 1);
}

TEST_CASE("work launched before the recording is told from work that got lost", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.call(98, 1);
  projector.launch(launch(100, 5, 0));
  for (const std::uint64_t id : {97, 99, 101, 0}) projector.activity(kernel(id, 50, 60));
  projector.activity(kernel(100, 60, 70));
  projector.finish();
  CHECK(projector.account().before.gpu_ops == 1);
  CHECK(projector.account().unknown.gpu_ops == 3);
  CHECK(projector.account().outside.gpu_ops == 1);
}

TEST_CASE("windows may become known on the way", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.window({0, 10});
  projector.launch(launch(10, 5, 0));
  projector.window({0, 20});
  projector.window({100, 120});
  projector.launch(launch(30, 105, 0));
  projector.activity(kernel(20, 104, 110));
  projector.activity(kernel(40, 118, 119));
  projector.finish();
  CHECK(projector.account().before.gpu_ops == 1);
  CHECK(projector.account().unknown.gpu_ops == 1);
}

TEST_CASE("memory does not grow behind a range that waits forever", "[projection]") {
  Log log;
  StreamingProjector projector(log);
  projector.launch(launch(1, 1, 1, 0));
  projector.end_range(range(1, 0, 0, 2));
  for (std::uint64_t step = 2; step < 100000; ++step) {
    const auto time = static_cast<std::int64_t>(step * 10);
    projector.launch(launch(step, time, step));
    projector.activity(kernel(step, time + 3, time + 5));
    projector.end_range(range(step, 0, time - 1, time + 1));
  }
  CHECK(log.ranges.size() == 99998);
  CHECK(projector.held().ranges == 1);
  CHECK(projector.held().activities == 0);
  CHECK(projector.held().launches <= StreamingOptions().max_remembered_launches + 1);
  projector.finish();
  CHECK(log.ranges.size() == 99999);
}

TEST_CASE("more waiting ranges than allowed: the oldest goes, what comes later is counted", "[projection]") {
  Log log;
  StreamingOptions options;
  options.max_waiting_ranges = 1;
  StreamingProjector projector(log, options);
  projector.launch(launch(1, 1, 1));
  projector.end_range(range(1, 0, 0, 2));
  projector.launch(launch(2, 5, 2));
  projector.end_range(range(2, 0, 4, 6));
  CHECK(log.order == "1 ");
  CHECK_FALSE(log.of(1).resolved);
  projector.activity(kernel(1, 10, 20));
  projector.activity(kernel(2, 20, 30));
  projector.finish();
  CHECK(log.order == "1 2 ");
  CHECK(projector.counts().evicted_ranges == 1);
  CHECK(projector.counts().late_activities == 1);
  CHECK(projector.account().owned.gpu_ops == 2);
}
