// SPDX-License-Identifier: MIT
#include "analysis/profiling_cost.hpp"

#include "support/catch.hpp"
#include "support/timeline_builder.hpp"

using namespace rangefinder;
using namespace rangefinder::analysis;
using rangefinder::testing::TimelineBuilder;

TEST_CASE("loading and compiling code is CUDA's, buffers and instrumentation the profiler's", "[analysis]") {
  for (const char* name : {"Buffer Flush", "Instrumentation", "Resource", "Activity Buffer Request", "Overhead",
                           "CUPTI buffer flush", "unknown"})
    CHECK(is_of_profiler(name));
  for (const char* name : {"Lazy Function Loading", "Runtime Triggered Module Loading", "Driver Compiler",
                           "Command Buffer Full", "lazy function loading", "JIT Compile (PTX to cubin)"})
    CHECK_FALSE(is_of_profiler(name));
}

TEST_CASE("the profiler's cost is its time on the program's threads, overlaps once", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 1'000).on_thread(2).call("cudaMalloc", 0, 10).on_thread(9);
  Timeline& timeline = builder.timeline();
  const auto add = [&](const char* name, ThreadIndex thread, std::int64_t begin, std::int64_t end) {
    timeline.overheads.append({.name = timeline.intern(name), .thread = thread, .begin_ns = begin, .end_ns = end});
  };
  CHECK(profiler_ns(timeline) == 0);
  add("Buffer Flush", ThreadIndex{0}, 100, 200);
  add("Instrumentation", ThreadIndex{1}, 150, 250);
  add("Buffer Flush", kNone, 300, 310);
  add("Buffer Flush", ThreadIndex{2}, 400, 900);           // on a thread of the profiler's own
  add("Lazy Function Loading", ThreadIndex{0}, 500, 700);  // also without a profiler
  CHECK(profiler_ns(timeline) == 160);
}

TEST_CASE("what was recorded is the windows, or all of it", "[analysis]") {
  CHECK(recorded_ns(TimelineBuilder().range("step", 100, 1'000).build()) == 900);
  CHECK(recorded_ns(
            TimelineBuilder().range("step", 0, 1'000).window(0, 100).window(50, 200).window(300, 400).build()) == 300);
}
