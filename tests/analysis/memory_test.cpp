// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::analysis;
using namespace rangefinder::testing;

namespace {

constexpr auto kAllocate = MemoryAction::kAllocate;
constexpr auto kFree = MemoryAction::kFree;

/// step [0, 100) holds forward [10, 50) with an operator, and backward [60, 90); another thread frees.
Timeline training_step() {
  TimelineBuilder builder;
  builder.range("step", 0, 100).range("forward", 10, 50).range("backward", 60, 90);
  builder.range("aten::mm", 20, 30).of_kind(RangeKind::kOperator);
  builder.memory(kAllocate, 5, 0x1, 1000);   // step
  builder.memory(kAllocate, 22, 0x2, 400);   // forward, aten::mm
  builder.memory(kAllocate, 25, 0x3, 200);   // forward, aten::mm
  builder.memory(kFree, 28, 0x3, 200);       // forward, aten::mm
  builder.memory(kAllocate, 65, 0x4, 2000);  // backward
  builder.memory(kFree, 80, 0x4, 2000);      // backward
  builder.memory(kFree, 95, 0x1, 1000);      // step
  builder.on_thread(2).memory(kFree, 85, 0x2, 400);
  return builder.build();
}

std::map<std::string, RangeMemory> by_name(const Timeline& timeline, const std::vector<RangeMemory>& rows) {
  std::map<std::string, RangeMemory> named;
  for (const RangeMemory& row : rows) named[std::string(timeline.text(row.name))] = row;
  return named;
}

std::vector<std::string> lines_of(const Timeline& timeline, const std::vector<PeakShare>& shares) {
  std::vector<std::string> lines;
  for (const PeakShare& share : shares)
    lines.push_back(std::string(timeline.text(share.range)) + " " + std::to_string(share.bytes) + " in " +
                    std::to_string(share.blocks));
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("ranges have what was allocated and freed in them, and the peak inside", "[analysis]") {
  const Timeline timeline = training_step();
  const std::vector<PlaceMemory> places = memory_of_places(timeline);
  REQUIRE(places.size() == 1);
  CHECK(places[0].place.device == -1);
  CHECK(places[0].peak_bytes == 3400);
  CHECK(places[0].level.back() == 0);
  CHECK(places[0].all.allocations == 4);

  auto ranges = by_name(timeline, memory_of_ranges(RangeNesting(timeline), places[0], RangeKind::kAnnotation));
  REQUIRE(ranges.size() == 3);
  CHECK(ranges["step"].inclusive.allocated_bytes == 3600);
  CHECK(ranges["step"].inclusive.freed_bytes == 3200);  // the other thread's free is in no range
  CHECK(ranges["step"].inclusive.delta_bytes() == 400);
  CHECK(ranges["step"].exclusive.allocated_bytes == 1000);
  CHECK(ranges["step"].exclusive.freed_bytes == 1000);
  CHECK(ranges["step"].peak_bytes == 3400);
  CHECK(ranges["step"].above_begin == 3400);
  CHECK(ranges["forward"].inclusive.allocations == 2);
  CHECK(ranges["forward"].inclusive.frees == 1);
  CHECK(ranges["forward"].peak_bytes == 1600);
  CHECK(ranges["forward"].above_begin == 600);
  CHECK(ranges["backward"].peak_bytes == 3400);
  CHECK(ranges["backward"].above_begin == 2000);
  CHECK(ranges["backward"].inclusive.delta_bytes() == 0);

  auto operators = by_name(timeline, memory_of_ranges(RangeNesting(timeline), places[0], RangeKind::kOperator));
  REQUIRE(operators.size() == 1);
  CHECK(operators["aten::mm"].inclusive.allocated_bytes == 600);
  CHECK(operators["aten::mm"].above_begin == 600);
}

TEST_CASE("the peak consists of the blocks that were there, by what allocated them", "[analysis]") {
  SECTION("by range and operator") {
    const Timeline timeline = training_step();
    const PeakComposition peak = peak_composition(RangeNesting(timeline), memory_of_places(timeline)[0]);
    CHECK(lines_of(timeline, peak.by_range) == Lines{"backward 2000 in 1", "step 1000 in 1", "forward 400 in 1"});
    CHECK(lines_of(timeline, peak.by_operator) == Lines{" 3000 in 2", "aten::mm 400 in 1"});
    CHECK(peak.earlier_bytes == 0);
  }
  SECTION("what was there before is told apart") {
    TimelineBuilder builder;
    builder.range("step", 0, 100);
    builder.memory(kAllocate, 10, 0x10, 300, 0).in_memory(5300, 8192);
    const Timeline timeline = builder.build();
    const std::vector<PlaceMemory> places = memory_of_places(timeline);
    CHECK(places[0].first_bytes == 5000);
    CHECK(places[0].peak_bytes == 5300);
    CHECK(places[0].peak_reserved == 8192);
    CHECK(places[0].unused_reserved == 8192 - 5300);
    const PeakComposition peak = peak_composition(RangeNesting(timeline), places[0]);
    CHECK(lines_of(timeline, peak.by_range) == Lines{"step 300 in 1"});
    CHECK(peak.earlier_bytes == 5000);
  }
  SECTION("an address that comes again was freed, though nothing says so") {
    TimelineBuilder builder;
    builder.range("a", 0, 10).range("b", 10, 20);
    builder.memory(kAllocate, 5, 0x10, 300).in_memory(300);
    builder.memory(kAllocate, 15, 0x10, 400).in_memory(400);
    const Timeline timeline = builder.build();
    const PeakComposition peak = peak_composition(RangeNesting(timeline), memory_of_places(timeline)[0]);
    CHECK(lines_of(timeline, peak.by_range) == Lines{"b 400 in 1"});
  }
}

TEST_CASE("a peak from before the first event has no event that led to it", "[analysis]") {
  TimelineBuilder builder;
  builder.memory(kFree, 10, 0x1, 100, 0).in_memory(900).memory(kAllocate, 20, 0x2, 50, 0).in_memory(950);
  builder.memory(kAllocate, 30, 0x3, 80, -1).in_memory(80).memory(kFree, 40, 0x3, 80, -1).in_memory(0);
  const Timeline timeline = builder.build();
  const std::vector<PlaceMemory> places = memory_of_places(timeline);
  REQUIRE(places.size() == 2);
  CHECK(places[0].events_to_peak() == 1);
  CHECK(places[1].peak_bytes == 1000);
  CHECK(places[1].events_to_peak() == 0);
  const PeakComposition peak = peak_composition(RangeNesting(timeline), places[1]);
  CHECK(peak.earlier_bytes == 1000);
  CHECK(peak.by_range.empty());
  CHECK(PlaceMemory().events_to_peak() == 0);
}

TEST_CASE("each device and process has a memory of its own", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100);
  builder.memory(MemoryAction::kSegmentAllocate, 10, 0x1000, 2048, 0).in_memory(0, 2048);
  builder.memory(kAllocate, 11, 0x1000, 512, 0).in_memory(512, 2048);
  builder.memory(kAllocate, 12, 0x1200, 256, 0).in_memory(768, 2048, 7);
  builder.memory(MemoryAction::kOutOfMemory, 13, 0, 1 << 30, 0).in_memory(768, 2048);
  builder.memory(kAllocate, 14, 0x1000, 64, 1);
  builder.on_process(9).memory(kAllocate, 15, 0x1000, 32, 0);
  const Timeline timeline = builder.build();
  const std::vector<PlaceMemory> places = memory_of_places(timeline);
  REQUIRE(places.size() == 3);
  CHECK(places[0].place == MemoryPlace{ProcessIndex{0}, 0});
  CHECK(places[0].peak_bytes == 768);
  CHECK(places[0].segments == 1);
  CHECK(places[0].out_of_memory == 1);
  CHECK(places[0].pool_peaks == std::map<std::uint64_t, std::int64_t>{{0, 512}, {7, 256}});
  CHECK(places[1].place == MemoryPlace{ProcessIndex{0}, 1});
  CHECK(places[1].peak_bytes == 64);
  CHECK(places[2].place == MemoryPlace{ProcessIndex{1}, 0});
  CHECK(memory_of_ranges(RangeNesting(timeline), places[2], RangeKind::kAnnotation)
            .empty());  // the range is the other process's
}

TEST_CASE("a leak is growth from the end of a step to the end of the next", "[analysis]") {
  TimelineBuilder builder;
  for (int i = 0; i < 4; ++i) {
    builder.step(i, i * 100, (i + 1) * 100);
    builder.memory(kAllocate, i * 100 + 10, 0x1000 + static_cast<unsigned>(i), 500);
    builder.memory(kAllocate, i * 100 + 20, 0x1, 90);
    builder.memory(kFree, i * 100 + 30, 0x1, 90);
  }
  const Timeline timeline = builder.build();
  const StepMemory steps = memory_of_steps(timeline, memory_of_places(timeline)[0]);
  CHECK(steps.end_bytes == std::vector<std::int64_t>{500, 1000, 1500, 2000});
  CHECK(steps.growth() == 500);
  CHECK(StepMemory{{500}}.growth() == 0);
}

TEST_CASE("instances are rows of their own, and a range inside its like adds nothing", "[analysis]") {
  TimelineBuilder builder;
  builder.range("layer", 0, 100).range("layer", 10, 50);
  builder.memory(kAllocate, 20, 0x1, 8).memory(kAllocate, 60, 0x2, 4);
  const Timeline timeline = builder.build();
  const PlaceMemory place = memory_of_places(timeline)[0];
  const std::vector<RangeMemory> named = memory_of_ranges(RangeNesting(timeline), place, RangeKind::kAnnotation);
  REQUIRE(named.size() == 1);
  CHECK(named[0].count == 2);
  CHECK(named[0].inclusive.allocated_bytes == 12);
  CHECK(named[0].exclusive.allocated_bytes == 12);
  const std::vector<RangeMemory> each = memory_of_ranges(RangeNesting(timeline), place, RangeKind::kAnnotation, true);
  REQUIRE(each.size() == 2);
  CHECK(each[0].inclusive.allocated_bytes == 12);
  CHECK(each[1].inclusive.allocated_bytes == 8);
  CHECK(each[1].first == 1);
}

TEST_CASE("numbers that no program has overflow nothing", "[analysis]") {
  TimelineBuilder builder;
  builder.range("r", 0, 10);
  for (int i = 0; i < 3; ++i)
    builder.memory(kAllocate, i, 0x1, ~std::uint64_t{0}).memory(kFree, i, 0x2, ~std::uint64_t{0});
  const Timeline timeline = builder.build();
  const std::vector<PlaceMemory> places = memory_of_places(timeline);
  CHECK(places[0].all.allocations == 3);
  CHECK(memory_of_ranges(RangeNesting(timeline), places[0], RangeKind::kAnnotation).size() == 1);
  (void)peak_composition(RangeNesting(timeline), places[0]);
}

TEST_CASE("figures of ranges equal those of a slow, obvious count", "[analysis][property]") {
  std::mt19937_64 random(property_seed("memory of ranges"));
  for (int round = 0; round < 200; ++round) {
    TimelineBuilder builder;
    const auto pick = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    // Ranges that nest: halves of halves, some left out.
    for (std::int64_t length = 64, depth = 0; length >= 4; length /= 2, ++depth) {
      for (std::int64_t begin = 0; begin < 64; begin += length)
        if (pick(3) != 0)
          builder.range("r" + std::to_string(begin) + "/" + std::to_string(depth), begin, begin + length);
    }
    const std::int64_t events = 1 + pick(40);
    std::vector<std::int64_t> times;
    for (std::int64_t i = 0; i < events; ++i) times.push_back(pick(70));
    std::sort(times.begin(), times.end());
    for (const std::int64_t time : times)
      builder.memory(pick(2) == 0 ? kAllocate : kFree, time, static_cast<std::uint64_t>(1 + pick(8)),
                     static_cast<std::uint64_t>(pick(100)));
    const Timeline timeline = builder.build();
    const PlaceMemory place = memory_of_places(timeline)[0];
    const AllocatorEventTable& memory = timeline.allocator_events;
    const RangeTable& ranges = timeline.ranges;
    auto found = by_name(timeline, memory_of_ranges(RangeNesting(timeline), place, RangeKind::kAnnotation));
    std::int64_t exclusive = 0;
    std::int64_t outside = 0;
    for (std::size_t row = 0; row < memory.size(); ++row) {
      bool inside = false;
      for (RangeIndex range{0}; range < ranges.size(); ++range)
        inside =
            inside || (memory.time_ns[row] >= ranges.begin_ns[range] && memory.time_ns[row] < ranges.end_ns[range]);
      if (!inside && memory.action[row] == kAllocate) outside += static_cast<std::int64_t>(memory.bytes[row]);
    }
    for (RangeIndex range{0}; range < ranges.size(); ++range) {
      std::int64_t allocated = 0, level = place.first_bytes, begin = level, peak = 0;
      bool began = false;
      for (std::size_t row = 0; row < memory.size(); ++row) {
        const std::int64_t time = memory.time_ns[row];
        if (time >= ranges.end_ns[range]) break;
        if (time >= ranges.begin_ns[range] && !began) began = true, begin = peak = level;
        const auto bytes = static_cast<std::int64_t>(memory.bytes[row]);
        level += memory.action[row] == kAllocate ? bytes : -bytes;
        if (!began) continue;
        peak = std::max(peak, level);
        if (memory.action[row] == kAllocate) allocated += bytes;
      }
      const auto row = found.find(std::string(timeline.text(ranges.name[range])));
      REQUIRE((row != found.end()) == began);
      if (!began) continue;
      CHECK(row->second.inclusive.allocated_bytes == allocated);
      CHECK(row->second.above_begin == peak - begin);
      exclusive += row->second.exclusive.allocated_bytes;
    }
    CHECK(exclusive + outside == place.all.allocated_bytes);
  }
}

TEST_CASE("ranges of each process nest among themselves, in whatever order processes are asked for", "[analysis]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 100).on_process(2).range("other", 5, 95).on_process(1).range("inner", 10, 20);
  builder.range("aten::mm", 12, 14).of_kind(RangeKind::kOperator);
  const Timeline timeline = builder.build();
  const RangeNesting nesting(timeline);
  const auto rows_of = [&](RangeKind kind, std::uint32_t process) {
    const NestedRanges& nested = nesting.of(kind, ProcessIndex(process));
    Lines lines;
    for (std::size_t i = 0; i < nested.order.size(); ++i)
      lines.push_back(
          std::string(timeline.text(timeline.ranges.name[nested.order[i]])) + " in " +
          (nested.parent[i] == kNone ? "none" : std::string(timeline.text(timeline.ranges.name[nested.parent[i]]))));
    return lines;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(rows_of(RangeKind::kAnnotation, 0) == Lines{"outer in none", "inner in outer"});
    CHECK(rows_of(RangeKind::kAnnotation, 1) == Lines{"other in none"});
    CHECK(rows_of(RangeKind::kOperator, 0) == Lines{"aten::mm in none"});
    CHECK(rows_of(RangeKind::kAnnotation, 2).empty());  // there is no such process
  }
}

TEST_CASE("bytes between two times equal those of a slow, obvious count", "[analysis][property]") {
  std::mt19937_64 random(property_seed("memory by time"));
  const auto pick = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int round = 0; round < repeats(200); ++round) {
    TimelineBuilder builder;
    builder.range("r", 0, 1);
    for (std::int64_t events = pick(60); events > 0; --events)
      builder.memory(pick(2) == 0 ? kAllocate : kFree, pick(100), 1, static_cast<std::uint64_t>(pick(1000)),
                     pick(2) == 0 ? -1 : 0);
    const Timeline timeline = builder.build();
    const AllocatorEventTable& memory = timeline.allocator_events;
    MemoryByTime by_time(timeline);
    CHECK(by_time.empty() == memory.empty());
    for (int asked = 0; asked < 50; ++asked) {
      const std::int64_t begin = pick(110) - 5, end = pick(110) - 5;
      AllocatedBytes expected;
      for (std::size_t row = 0; row < memory.size(); ++row) {
        if (memory.time_ns[row] < begin || memory.time_ns[row] > end) continue;
        const auto bytes = static_cast<std::int64_t>(memory.bytes[row]);
        (memory.device[row] < 0 ? expected.host : expected.device) += memory.action[row] == kAllocate ? bytes : -bytes;
      }
      const AllocatedBytes found = by_time.between(begin, end);
      CHECK(found.host == expected.host);
      CHECK(found.device == expected.device);
    }
  }
}
