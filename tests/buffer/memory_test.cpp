// SPDX-License-Identifier: MIT
#include "buffer/recorder_fixture.hpp"
#include "buffer/thread_log.hpp"
#include "support/manual_clock.hpp"

#include <rangefinder/detail/memory.hpp>
#include <rangefinder/range.hpp>

#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::buffer;
using namespace rangefinder::buffer::testing;
using detail::Record;
using detail::RecordKind;
using detail::word_kind;
using rangefinder::testing::ManualClock;

TEST_CASE("an allocator's event has the values that are known, and is counted where it is dropped", "[buffer]") {
  using detail::memory_event;
  using detail::MemoryEvent;
  ManualClock clock(100);
  memory_event({MemoryAction::kAllocate, 0, 0x1000, 512});  // nothing records
  BareRecording recording(&clock);
  SECTION("in order, without unknown ones behind the last") {
    memory_event({MemoryAction::kAllocate, -1, 0x1000, 512});
    memory_event({MemoryAction::kFree, 1, 0x2000, 64, 4096, -1, 0, 9});
    memory_event({MemoryAction::kOutOfMemory, 0, 0, 1 << 20});
    KeepingSink sink;
    recording->drain(sink, true);
    REQUIRE(sink.records.size() == 1);
    const std::vector<Record>& records = sink.records.begin()->second;
    const std::string value = "value of kind 1";
    CHECK(texts_of(records) == Texts{"memory 0 of -1", value, value, "memory 1 of 1", value, value, value, value, value,
                                     value, "memory 6 of 0", value, value});
    CHECK(records[0].ticks == 100);
    CHECK(records[1].ticks == 0x1000);
    CHECK(records[2].ticks == 512);
    CHECK(records[6].ticks == 4096);
    CHECK(records[7].ticks == ~std::uint64_t{0});
    CHECK(records[9].ticks == 9);
    CHECK(recording->health().dropped_memory_events == 0);
  }
  SECTION("dropped whole") {
    constexpr int kMany = 200'000;  // 48 bytes each, in 4 MiB that are not drained
    for (int i = 1; i <= kMany; ++i) memory_event({MemoryAction::kAllocate, -1, 16u * i, 512});
    KeepingSink sink;
    recording->drain(sink, true);
    std::uint64_t events = 0, values = 0;
    for (const auto& [thread, records] : sink.records) {
      for (const Record& record : records) ++(word_kind(record.word) == RecordKind::kMemory ? events : values);
    }
    CHECK(events > 1000);
    CHECK(values == 2 * events);
    CHECK(recording->health().dropped_memory_events == kMany - events);
  }
}

TEST_CASE("a block of the host takes one record where the rest is known, in each block of records", "[buffer]") {
  using detail::host_block;
  constexpr bool kAllocated = false, kFreed = true;
  ManualClock slow(100);
  const bool inlined = GENERATE(true, false);
  BareRecording recording(inlined ? nullptr : &slow);
  const auto records = [&] {
    KeepingSink sink;
    recording->drain(sink, true);
    REQUIRE(sink.records.size() == 1);
    return sink.records.begin()->second;
  };
  SECTION("a size is said once, a total where other threads have been") {
    host_block(kAllocated, 0x1000, 512, 512);
    host_block(kAllocated, 0x7FFF'0000'0040, 512, 1024);
    host_block(kFreed, 0x1000, 512, 512);
    host_block(kAllocated, 0x1000, 64, 576);
    host_block(kFreed, 0x1000, 64, 9512);  // others have allocated 9000
    host_block(kFreed, 0x7FFF'0000'0040, 512, 9000);
    const std::vector<Record> found = records();
    CHECK(texts_of(found) == Texts{"host size 512", "host total 0", "host block allocated", "host block allocated",
                                   "host block freed", "host size 64", "host block allocated", "host total 9576",
                                   "host block freed", "host block freed"});
    CHECK(found[3].word >> detail::kHostAddressShift << detail::kHostAlignmentBits == 0x7FFF'0000'0040);
    if (!inlined) CHECK(found[2].ticks == 100);
  }
  SECTION("what does not fit is an event like any other") {
    host_block(kAllocated, 0x1001, 512, 512);
    host_block(kAllocated, std::uint64_t{1} << 60, 512, 512);
    host_block(kAllocated, 0x1000, 0, 0);
    std::size_t events = 0;
    for (const Record& record : records()) events += word_kind(record.word) == RecordKind::kMemory ? 1 : 0;
    CHECK(events == 3);
  }
  SECTION("again in the next block of records, until there is none, whole and counted") {
    constexpr std::int64_t kMany = 400'000;
    for (std::int64_t i = 1; i <= kMany; ++i) host_block(kAllocated, static_cast<std::uint64_t>(64 * i), 64, 64 * i);
    std::int64_t events = 0, sizes = 0, totals = 0;
    for (const Record& record : records()) {
      const bool is_block = word_kind(record.word) == RecordKind::kHostBlock;
      const bool is_total = !is_block && detail::word_aux(record.word) == detail::kHostSizes;
      ++(is_block ? events : is_total ? totals : sizes);
      // Nothing was dropped in between: each total is that of all blocks before.
      if (is_total) CHECK(record.ticks == 64 * static_cast<std::uint64_t>(events));
    }
    CHECK(events > 100'000);
    CHECK(events < kMany);
    CHECK(totals > 10);
    CHECK(totals < 200);
    CHECK(sizes == totals);
    CHECK(recording->health().dropped_memory_events == static_cast<std::uint64_t>(kMany - events));
  }
}

TEST_CASE("what a component does at steps is in the step that ends, and counted where it could not be told",
          "[buffer]") {
  using detail::set_step_hook;
  struct Unset {
    ~Unset() { set_step_hook(nullptr); }
  } unset;
  int calls = 0;
  static int* called;
  called = &calls;
  set_step_hook([]() noexcept {
    counter("at step", ++*called);
    return *called != 2;
  });
  before_step();  // nothing records
  CHECK(calls == 0);
  BareRecording recording;
  for (std::uint32_t step = 1; step <= 3; ++step) {
    before_step();
    note_step(step);
  }
  set_step_hook(nullptr);
  before_step();
  CHECK(calls == 3);
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 1);
  const std::string counted = "counter at step", value = "value of kind 2";
  CHECK(texts_of(sink.records.begin()->second) ==
        Texts{counted, value, "step 1", counted, value, "step 2", counted, value, "step 3"});
  CHECK(recording->health().dropped_events == 1);
}
