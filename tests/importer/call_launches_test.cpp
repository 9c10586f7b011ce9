// SPDX-License-Identifier: MIT
#include "timeline/call_launches.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_columns.hpp"

#include <algorithm>
#include <map>
#include <random>

using namespace rangefinder;
using rangefinder::testing::numbers_of;
using timeline::CorrelationScope;
using timeline::make_launches_of_calls;

namespace {

void add_call(Timeline& timeline, std::uint64_t correlation, std::int64_t begin_ns, std::uint32_t thread = 0) {
  CallTable& calls = timeline.calls;
  calls.append(
      {.thread = ThreadIndex(thread), .begin_ns = begin_ns, .end_ns = begin_ns + 1, .correlation = correlation});
}

void add_activity(Timeline& timeline, std::uint64_t correlation) {
  timeline.activities.append({.correlation = correlation});
}

Timeline with_threads() {
  Timeline timeline;
  timeline.processes.resize(2);
  timeline.threads.resize(3);
  timeline.threads[2].process = ProcessIndex{1};
  return timeline;
}

}  // namespace

TEST_CASE("an activity's launch is the call with its correlation id", "[importer]") {
  Timeline timeline = with_threads();
  add_call(timeline, 8, 200, 2);
  add_call(timeline, 7, 100, 1);
  add_call(timeline, 9, 50);  // launched nothing
  add_activity(timeline, 7);
  add_activity(timeline, 8);
  add_activity(timeline, 8);
  make_launches_of_calls(timeline, CorrelationScope::kFile);
  REQUIRE(timeline.launches.size() == 2);
  CHECK(timeline.launches.time_ns == std::vector<std::int64_t>{100, 200});
  CHECK(numbers_of(timeline.launches.thread) == std::vector<std::uint32_t>{1, 2});
  CHECK(timeline.launches.process == std::vector{ProcessIndex{0}, ProcessIndex{1}});
  CHECK(numbers_of(timeline.launches.call) == std::vector<std::uint32_t>{1, 0});
  CHECK(timeline.launches.source[0] == LaunchSource::kCall);
  CHECK(timeline.launches.range[0] == kNone);
  CHECK(numbers_of(timeline.activities.launch) == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE("of two calls with one correlation id the earlier encloses the other", "[importer]") {
  Timeline timeline = with_threads();
  add_call(timeline, 7, 110);
  add_call(timeline, 7, 100);
  add_call(timeline, 7, 100, 1);
  add_activity(timeline, 7);
  make_launches_of_calls(timeline, CorrelationScope::kFile);
  REQUIRE(timeline.launches.size() == 1);
  CHECK(timeline.launches.call[0] == 1);
}

TEST_CASE("correlation 0 and unknown ones launch nothing", "[importer]") {
  Timeline timeline = with_threads();
  add_call(timeline, 0, 100);
  add_call(timeline, 5, 100);
  add_activity(timeline, 0);
  add_activity(timeline, 6);
  make_launches_of_calls(timeline, CorrelationScope::kFile);
  CHECK(timeline.launches.size() == 0);
  CHECK(numbers_of(timeline.activities.launch) == std::vector<std::uint32_t>{kNone, kNone});
}

TEST_CASE("random joins agree with a map", "[importer][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("joins"));
  for (int round = 0; round < 50; ++round) {
    Timeline timeline = with_threads();
    const std::uint64_t ids = 1 + random() % 300;
    const std::uint64_t stride = random() | 1;
    std::map<std::uint64_t, std::int64_t> earliest;
    for (std::size_t i = random() % 500; i > 0; --i) {
      const std::uint64_t correlation = random() % ids * stride;
      const auto time = static_cast<std::int64_t>(random() % 1000);
      add_call(timeline, correlation, time);
      const auto [at, added] = earliest.try_emplace(correlation, time);
      if (!added) at->second = std::min(at->second, time);
    }
    for (std::size_t i = random() % 500; i > 0; --i) add_activity(timeline, random() % ids * stride);
    make_launches_of_calls(timeline, CorrelationScope::kFile);
    CHECK(std::is_sorted(timeline.launches.time_ns.begin(), timeline.launches.time_ns.end()));
    for (std::size_t i = 0; i < timeline.activities.size(); ++i) {
      const std::uint64_t correlation = timeline.activities.correlation[i];
      const auto expected = earliest.find(correlation);
      const std::uint32_t launch = timeline.activities.launch[i];
      REQUIRE((launch != kNone) == (correlation != 0 && expected != earliest.end()));
      if (launch == kNone) continue;
      REQUIRE(timeline.launches.correlation[launch] == correlation);
      REQUIRE(timeline.launches.time_ns[launch] == expected->second);
    }
  }
}
