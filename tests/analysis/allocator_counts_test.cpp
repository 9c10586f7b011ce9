// SPDX-License-Identifier: MIT
#include "analysis/allocator_counts.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

#include <cstdint>
#include <limits>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

TEST_CASE("counters of one thread that follow each other are one count", "[analysis]") {
  TimelineBuilder builder;
  builder.step(3, 0, 50);
  builder.counter("cuda:0 allocated bytes", 10, 600).counter("cuda:1 allocated bytes", 11, 9);
  builder.counter("cuda:0 inactive split bytes", 12, 250);
  builder.counter("cuda:0 allocated bytes", 60, 700).counter("cuda:0 segments", 61, 2);
  builder.on_thread(2).counter("cuda:0 allocated bytes", 11, 650).counter("cuda:0 inactive split bytes", 13, 300);
  builder.on_process(5).counter("cuda:0 reserved bytes", 20, 4096);
  const std::vector<CountedDevice> devices = counted_devices(builder.build());
  REQUIRE(devices.size() == 3);
  CHECK(devices[0].place == MemoryPlace{ProcessIndex{0}, 0});
  CHECK(devices[1].place == MemoryPlace{ProcessIndex{0}, 1});
  CHECK(devices[2].place == MemoryPlace{ProcessIndex{1}, 0});
  const std::vector<AllocatorCount>& counts = devices[0].counts;
  REQUIRE(counts.size() == 3);
  CHECK(counts[0].time_ns == 10);
  CHECK(counts[0].allocated_bytes == 600);
  CHECK(counts[0].inactive_split_bytes == 250);
  CHECK(counts[0].step == 3);
  CHECK(counts[1].allocated_bytes == 650);
  CHECK(counts[1].inactive_split_bytes == 300);
  CHECK(counts[2].allocated_bytes == 700);
  CHECK(counts[2].segments == 2);
  CHECK_FALSE(counts[2].inactive_split_bytes);
  CHECK_FALSE(counts[2].step);
  CHECK(devices[0].most_split() == 1);
  CHECK(devices[2].counts[0].reserved_bytes == 4096);
  CHECK_FALSE(devices[2].counts[0].step);  // of the other process
}

TEST_CASE("counters that only look like an allocator's are none", "[analysis]") {
  TimelineBuilder builder;
  for (const char* name : {"cuda:0", "cuda:0 ", "cuda: reserved bytes", "cuda:x reserved bytes", "cuda:-1 segments",
                           "cuda:99999999999 segments", "cuda:0 segments of mine", "xcuda:0 segments", "host segments"})
    builder.counter(name, 10, 1);
  const Timeline without = builder.build();
  REQUIRE(without.counters.size() == 9);
  CHECK_FALSE(has_allocator_counts(without));
  CHECK(counted_devices(without).empty());
  builder = TimelineBuilder();
  builder.counter("cuda:0 segments", 10, std::numeric_limits<std::int64_t>::min()).counter("cuda:0 segments", 20, 4);
  const std::vector<CountedDevice> devices = counted_devices(builder.build());
  REQUIRE(devices.size() == 1);
  REQUIRE(devices[0].counts.size() == 2);
  CHECK_FALSE(devices[0].counts[0].segments);
  CHECK(devices[0].counts[1].segments == 4);
}
