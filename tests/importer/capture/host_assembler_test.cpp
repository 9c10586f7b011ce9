// SPDX-License-Identifier: MIT
#include "importer/capture/host_assembler.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::importer;
using namespace rangefinder::testing;
using detail::ExtraKind;
using detail::make_word;
using detail::Record;
using detail::RecordKind;

namespace {

class KeepingSink final : public AssemblySink {
 public:
  std::vector<std::uint64_t> begun;
  std::vector<AssembledRange> ranges;
  std::vector<AssembledLaunch> launches;
  std::vector<std::string> events;
  std::vector<AssembledMemory> memories;
  std::vector<std::uint64_t> not_resumed;

  void on_begin(const AssembledRange& range) override { begun.push_back(range.key); }
  void on_range(const AssembledRange& range) override { ranges.push_back(range); }
  void on_not_resumed(std::uint64_t range) override { not_resumed.push_back(range); }
  void on_launch(const AssembledLaunch& launch) override { launches.push_back(launch); }
  void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) override {
    event("mark", thread, ticks, name, category);
  }
  void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, const AssembledValue& value) override {
    event("counter", thread, ticks, name, static_cast<std::uint32_t>(value.bits));
  }
  void on_value(std::uint32_t thread, const AssembledValue& value) override {
    event(value.of == AssembledValue::Of::kMark ? "value of mark" : "value of range", thread, value.bits,
          static_cast<std::uint32_t>(value.kind), static_cast<std::uint32_t>(value.range));
  }
  void on_operator(const AssembledOperator& facts) override {
    event("operator", static_cast<std::uint32_t>(facts.parent), facts.range,
          static_cast<std::uint32_t>(facts.sequence + 1), facts.inputs);
  }
  void on_sequence(const AssembledSequence& sequence) override {
    event(sequence.resumed ? "resumed" : "sequence", sequence.thread, sequence.ticks,
          static_cast<std::uint32_t>(sequence.next), sequence.forward_thread);
  }
  void on_node(const AssembledNode& node) override {
    event("node", node.thread, node.begin_ticks, static_cast<std::uint32_t>(node.end_ticks), node.name);
    event("  made", node.thread, static_cast<std::uint64_t>(node.sequence), node.forward_thread, 0);
  }
  void on_memory(const AssembledMemory& memory) override { memories.push_back(memory); }
  void on_step(const AssembledStep& step) override {
    event(step.recorded ? "step" : "end of step", step.thread, step.ticks, step.number, 0);
  }
  void on_step_items(std::uint32_t thread, std::uint64_t items) override {
    event("items of step", thread, items, 0, 0);
  }

  /// By key: keys count in order of begin.
  std::vector<AssembledRange> in_order() const {
    std::vector<AssembledRange> sorted = ranges;
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return sorted;
  }

 private:
  void event(const char* what, std::uint32_t thread, std::uint64_t ticks, std::uint32_t a, std::uint32_t b) {
    events.push_back(std::string(what) + " " + std::to_string(thread) + " " + std::to_string(ticks) + " " +
                     std::to_string(a) + " " + std::to_string(b));
  }
};

Record begin(std::uint64_t ticks, std::uint32_t name, std::uint32_t category = 0) {
  return {ticks, make_word(RecordKind::kBegin, name, category)};
}
Record end(std::uint64_t ticks, std::uint32_t name, std::uint32_t category = 0) {
  return {ticks, make_word(RecordKind::kEnd, name, category)};
}
Record launch(std::uint64_t ticks, std::uint32_t correlation) {
  return {ticks, make_word(RecordKind::kLaunch, correlation, 211)};
}
Record extra(std::uint64_t value, ExtraKind kind = ExtraKind::kUnsigned, std::uint32_t id = 0) {
  return {value, make_word(RecordKind::kExtra, id, static_cast<std::uint32_t>(kind))};
}
Record record(RecordKind kind, std::uint64_t ticks, std::uint32_t id = 0, std::uint32_t aux = 0) {
  return {ticks, make_word(kind, id, aux)};
}

void feed(HostAssembler& assembler, std::uint32_t thread, std::vector<Record> records, std::uint64_t block = 0,
          std::uint32_t first = 0) {
  format::HostEvents events;
  events.run.thread = thread;
  events.run.block_sequence = block;
  events.run.first_record = first;
  events.records = std::move(records);
  assembler.feed(events);
}

/// "name [begin, end) in parent", by name of the parent; flags behind.
std::vector<std::string> lines_of(const KeepingSink& sink) {
  std::vector<std::string> lines;
  const std::vector<AssembledRange> ranges = sink.in_order();
  for (const AssembledRange& range : ranges) {
    std::string line = std::to_string(range.name) + " [" + std::to_string(range.begin_ticks) + ", " +
                       std::to_string(range.end_ticks) + ")";
    if (range.parent != 0) line += " in " + std::to_string(ranges[range.parent - 1].name);
    if (range.start_end) line += " start/end";
    if (range.unfinished) line += " unfinished";
    if (range.ended_elsewhere) line += " elsewhere";
    if (range.resumed) line += " since " + std::to_string(range.instance_begin_ticks);
    if (range.suspended) line += " suspended";
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("ranges nest as they were opened, and arrive children first", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0,
       {begin(10, 1), begin(20, 2), end(30, 2), begin(40, 2), begin(41, 3), end(42, 3), end(50, 2), end(60, 1)});
  CHECK(lines_of(sink) == Lines{"1 [10, 60)", "2 [20, 30) in 1", "2 [40, 50) in 1", "3 [41, 42) in 2"});
  CHECK(sink.ranges.back().name == 1);
  CHECK(sink.in_order()[3].depth == 2);
  assembler.finish(100);
  CHECK(assembler.health().complete());
  CHECK(sink.begun == std::vector<std::uint64_t>{1, 2, 3, 4});
}

TEST_CASE("values, marks, samples and steps belong to what they followed", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 3,
       {record(RecordKind::kStep, 5, 7), extra(4096), record(RecordKind::kStep, 6, 8, 1), begin(10, 1), extra(99),
        record(RecordKind::kMark, 20, 2, 4), extra(1, ExtraKind::kText, 8), record(RecordKind::kCounter, 30, 5)});
  feed(assembler, 3, {extra(6, ExtraKind::kSigned), end(40, 1)});  // the value stands in the next chunk
  CHECK(sink.events == Lines{"step 3 5 7 0", "items of step 3 4096 0 0", "end of step 3 6 8 0",
                             "value of range 3 99 1 1", "mark 3 20 2 4", "value of mark 3 8 4 0", "counter 3 30 5 6"});
  // A value that follows nothing that has one is ignored.
  sink.events.clear();
  feed(assembler, 3, {end(50, 1), extra(1), launch(60, 1), extra(1), extra(1)});
  CHECK(sink.events.empty());
}

TEST_CASE("an end closes the range of its name and category; one that says whose it is, none inside", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const auto end_of = [](std::uint64_t ticks, std::uint32_t name, std::uint32_t category) {
    return Record{ticks, make_word(RecordKind::kForeignEnd, name, category)};
  };
  // Two domains take turns on thread 0: 1 and 2 are categories of theirs.
  feed(assembler, 0, {begin(10, 7, 1), begin(20, 7, 2), begin(30, 8, 2), end_of(40, 7, 1), extra(0), end(50, 8, 2)});
  feed(assembler, 0, {begin(60, 7, 1), begin(70, 7, 2), end(80, 7, 2), end(90, 7, 1), end(95, 7, 2)});
  assembler.finish(100);
  CHECK(lines_of(sink) ==
        Lines{"7 [10, 40)", "7 [20, 95) in 7", "8 [30, 50) in 7", "7 [60, 90) in 7", "7 [70, 80) in 7"});
  CHECK(assembler.health().unmatched_ends == 0);
}

TEST_CASE("what an operator tells belongs to the range just opened", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const auto facts = [](std::uint64_t sequence, std::uint32_t inputs) {
    return record(RecordKind::kOperator, sequence, inputs);
  };
  feed(assembler, 0, {begin(10, 1), facts(4, 8), begin(20, 2), facts(~std::uint64_t{0}, 9), end(30, 2), begin(40, 3)});
  feed(assembler, 0, {facts(5, 0)});  // in the next chunk
  CHECK(sink.events == Lines{"operator 0 1 5 8", "operator 1 2 0 9", "operator 1 3 6 0"});
  // What does not follow a begin is ignored; a number that is none is no number.
  sink.events.clear();
  feed(assembler, 0, {facts(1, 1), end(50, 3), facts(1, 1), record(RecordKind::kMark, 60, 2, 4), facts(1, 1)});
  feed(assembler, 1, {facts(1, 1), begin(70, 1), facts(std::uint64_t{1} << 63, 3)});
  CHECK(sink.events == Lines{"mark 0 60 2 4", "operator 0 4 0 3"});
  assembler.finish(100);
  CHECK(lines_of(sink) ==
        Lines{"1 [10, 100) unfinished", "2 [20, 30) in 1", "3 [40, 50) in 1", "1 [70, 100) unfinished"});
}

TEST_CASE("an operator may have the number that its thread noted last, if no record is missing since", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  constexpr std::uint32_t kNoted = detail::kHasNotedNumber | 2;
  const Record number = record(RecordKind::kSequence, 41, 0, 9);
  feed(assembler, 0, {begin(10, 1, kNoted), end(11, 1, kNoted), number, begin(12, 1, kNoted), end(13, 1, kNoted)});
  CHECK(sink.events == Lines{"sequence 0 11 41 9", "operator 0 2 42 0"});
  CHECK(sink.ranges[0].category == 2);
  sink.events.clear();
  feed(assembler, 0, {begin(20, 1, kNoted), begin(21, 2), end(22, 2)}, 0, 5);  // the next of the same block
  feed(assembler, 0, {end(23, 1, kNoted), begin(24, 1, kNoted), end(25, 1, kNoted)}, 1);
  CHECK(sink.events == Lines{"operator 0 3 42 0", "operator 0 5 42 0"});
  CHECK(sink.ranges.size() == 5);
  sink.events.clear();
  SECTION("a block is missing") { feed(assembler, 0, {begin(30, 1, kNoted), end(31, 1, kNoted)}, 3); }
  SECTION("the start of a block is missing") { feed(assembler, 0, {begin(30, 1, kNoted), end(31, 1, kNoted)}, 2, 1); }
  SECTION("records within a block are missing") {
    feed(assembler, 0, {begin(30, 1, kNoted), end(31, 1, kNoted)}, 1, 4);
  }
  CHECK(sink.events.empty());
  CHECK(sink.ranges.size() == 6);
}

TEST_CASE("an end may say that one number was taken, if no record is missing since one was noted", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  constexpr std::uint32_t kTook = detail::kTookOneNumber | 2;
  const Record number = record(RecordKind::kSequence, 41, 0, 9);
  feed(assembler, 0,
       {begin(10, 1, 2), end(11, 1, kTook), number, begin(12, 1, 2), begin(13, 2), end(14, 2), end(15, 1, kTook),
        begin(16, 1, 2), end(17, 1, kTook)});
  CHECK(sink.events == Lines{"sequence 0 11 41 9", "sequence 0 14 42 9", "sequence 0 16 43 9"});
  CHECK(sink.ranges.size() == 4);
  sink.events.clear();
  feed(assembler, 0, {begin(30, 1, 2), end(31, 1, kTook)}, 3);  // the blocks between are missing
  CHECK(sink.events.empty());
  CHECK(sink.ranges.size() == 5);
}

TEST_CASE("numbers of nodes come with the record before them, nodes when they end", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0,
       {record(RecordKind::kSequence, 4, 1, 9), begin(10, 1), record(RecordKind::kSequence, 6, 0, 9), end(20, 1),
        launch(25, 1)});
  feed(assembler, 1,
       {record(RecordKind::kNodeBegin, 30, 7, 9), extra(5, ExtraKind::kSigned),
        record(RecordKind::kNodeBegin, 31, 8, 9), record(RecordKind::kNodeEnd, 35, 2),
        record(RecordKind::kNodeEnd, 36, 1'000'000), record(RecordKind::kNodeBegin, 40, 7, 9)});
  CHECK(sink.events == Lines{"resumed 0 0 4 9", "sequence 0 10 6 9", "node 1 31 35 8",
                             "  made 1 18446744073709551615 9 0", "node 1 30 35 7", "  made 1 5 9 0"});
  sink.events.clear();
  assembler.finish(100);
  CHECK(sink.events == Lines{"sequence 0 25 4294967295 9", "node 1 40 100 7", "  made 1 18446744073709551615 9 0"});
}

TEST_CASE("an allocator's event takes the values that follow it, across chunks", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const auto memory = [](std::uint64_t ticks, MemoryAction action, std::uint32_t device) {
    return record(RecordKind::kMemory, ticks, device, static_cast<std::uint32_t>(action));
  };
  SECTION("as many as there are") {
    feed(assembler, 2, {memory(10, MemoryAction::kAllocate, 1), extra(0x1000), extra(512)});
    CHECK(sink.memories.empty());  // more may follow
    feed(assembler, 2, {extra(4096), extra(8192), extra(7), extra(3), extra(99), memory(20, MemoryAction::kFree, ~0u)});
    feed(assembler, 2, {extra(0x2000), begin(30, 1)});
    REQUIRE(sink.memories.size() == 2);
    const AssembledMemory& allocated = sink.memories[0];
    CHECK(allocated.ticks == 10);
    CHECK(allocated.thread == 2);
    CHECK(allocated.action == MemoryAction::kAllocate);
    CHECK(allocated.device == 1);
    CHECK(allocated.address() == 0x1000);
    CHECK(allocated.bytes() == 512);
    CHECK(allocated.allocated() == 4096);
    CHECK(allocated.reserved() == 8192);
    CHECK(allocated.stream() == 7);
    CHECK(allocated.pool() == 3);
    const AssembledMemory& freed = sink.memories[1];
    CHECK(freed.action == MemoryAction::kFree);
    CHECK(freed.device == -1);
    CHECK(freed.address() == 0x2000);
    CHECK(freed.bytes() == 0);
    CHECK(freed.allocated() == -1);
    CHECK(freed.reserved() == -1);
  }
  SECTION("the last one comes when all is read, once") {
    feed(assembler, 0, {memory(10, MemoryAction::kAllocate, 0), extra(1), extra(2)});
    assembler.finish(50);
    assembler.finish(50);
    REQUIRE(sink.memories.size() == 1);
    CHECK(sink.memories[0].bytes() == 2);
  }
  SECTION("what is cut off or from a newer version is nothing") {
    feed(assembler, 0, {memory(10, MemoryAction::kAllocate, 0), begin(11, 1), extra(5), end(12, 1)});
    feed(assembler, 0, {memory(13, static_cast<MemoryAction>(77), 0), extra(5), extra(6), begin(14, 1), end(15, 1)});
    feed(assembler, 0, {memory(16, MemoryAction::kAllocate, 0x7FFFFFFF), extra(5), extra(6)});
    assembler.finish(50);
    CHECK(sink.memories.empty());
    CHECK(sink.events == Lines{"value of range 0 5 1 1"});
  }
}

TEST_CASE("blocks of the host are told by what their own block of records said of sizes and totals", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const auto size = [](std::uint32_t number, std::uint64_t bytes) {
    return record(RecordKind::kHostBlockFact, bytes, 0, number);
  };
  const auto total = [](std::uint64_t bytes) {
    return record(RecordKind::kHostBlockFact, bytes, 0, detail::kHostSizes);
  };
  const auto block = [](std::uint64_t ticks, bool freed, std::uint64_t number, std::uint64_t address) {
    return Record{ticks, static_cast<std::uint64_t>(RecordKind::kHostBlock) |
                             std::uint64_t{freed} << detail::kHostFreedBit | number << detail::kHostSizeShift |
                             address >> detail::kHostAlignmentBits << detail::kHostAddressShift};
  };
  using Row = std::tuple<std::uint64_t, bool, std::uint64_t, std::uint64_t, std::int64_t>;
  const auto rows = [&] {
    std::vector<Row> found;
    for (const AssembledMemory& memory : sink.memories) {
      CHECK(memory.device == -1);
      CHECK(memory.thread == 3);
      CHECK(memory.reserved() == -1);
      CHECK(memory.stream() == 0);
      found.emplace_back(memory.ticks, memory.action == MemoryAction::kFree, memory.address(), memory.bytes(),
                         memory.allocated());
    }
    return found;
  };
  const auto feed_at = [&](std::uint64_t sequence, std::uint32_t first, std::vector<Record> records) {
    format::HostEvents events;
    events.run = {3, 7, sequence, first};
    events.records = std::move(records);
    assembler.feed(events);
  };
  feed_at(0, 0, {size(255, 512), total(1000), begin(9, 1), block(10, false, 255, 0x7FFF'0000'0040)});
  SECTION("across chunks of it") {
    feed_at(0, 4, {block(20, true, 255, 0x40), size(0, 64), block(30, false, 0, 0x80), total(5), end(31, 1)});
    feed_at(0, 9, {block(40, false, 0, 0xC0)});
    CHECK(rows() == std::vector<Row>{{10, false, 0x7FFF'0000'0040, 512, 1512},
                                     {20, true, 0x40, 512, 1000},
                                     {30, false, 0x80, 64, 1064},
                                     {40, false, 0xC0, 64, 69}});
    CHECK(lines_of(sink) == Lines{"1 [9, 31)"});
    CHECK(assembler.health().dropped_memory_events == 0);
  }
  SECTION("not in the next one, nor behind a gap") {
    feed_at(1, 0, {block(20, true, 255, 0x40), size(255, 64), block(30, true, 255, 0x40)});
    feed_at(1, 99, {block(40, false, 255, 0x40)});
    CHECK(rows() == std::vector<Row>{{10, false, 0x7FFF'0000'0040, 512, 1512}, {30, true, 0x40, 64, -1}});
    CHECK(assembler.health().dropped_memory_events == 2);
  }
  SECTION("and damage is no more than unknown") {
    feed_at(0, 4,
            {total(100), block(20, true, 255, 0x40), size(256, 1), size(0xFFFFFF, 1), size(1, ~std::uint64_t{0}),
             total(~std::uint64_t{0}), block(30, false, 1, 0x40), total(1ull << 62), size(1, 1ull << 63),
             block(40, false, 1, 0x40)});
    REQUIRE(sink.memories.size() == 4);
    CHECK(sink.memories[1].allocated() == -1);
    CHECK(sink.memories[3].allocated() == -1);
  }
}

TEST_CASE("a launch knows the ranges that are open", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0,
       {launch(1, 100), begin(10, 1), launch(11, 101), record(RecordKind::kAsyncBegin, 20, 2), extra(555),
        launch(21, 102), begin(30, 3), launch(31, 103), end(40, 3), launch(41, 104), record(RecordKind::kAsyncEnd, 50),
        extra(555), launch(51, 105), end(60, 1), launch(61, 106)});
  std::vector<std::uint64_t> owners;
  for (const AssembledLaunch& l : sink.launches) owners.push_back(l.range);
  CHECK(owners == std::vector<std::uint64_t>{0, 1, 2, 3, 2, 1, 0});
  CHECK(sink.launches[2].correlation == 102);
  CHECK(sink.launches[2].callback == 211);
  feed(assembler, 1, {launch(70, 107)});  // of another thread
  CHECK(sink.launches.back().range == 0);
}

TEST_CASE("a launch is inside a range whose end on another thread was read before", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const std::vector<Record> other{record(RecordKind::kForeignEnd, 50, 2), extra(0), record(RecordKind::kAsyncEnd, 70),
                                  extra(9)};
  const std::vector<Record> more{record(RecordKind::kForeignEnd, 80, 7), extra(5)};  // of a thread without records
  const std::vector<Record> begins{begin(10, 1), record(RecordKind::kAsyncBegin, 20, 3), extra(9), begin(30, 2)};
  const std::vector<Record> rest{launch(40, 100), launch(60, 101), launch(75, 102), end(90, 1)};
  SECTION("before its begin") {
    feed(assembler, 1, other);
    feed(assembler, 0, begins);
    feed(assembler, 1, more);
    feed(assembler, 0, rest);
  }
  SECTION("behind its begin") {
    feed(assembler, 0, begins);
    feed(assembler, 1, other);
    feed(assembler, 1, more);
    feed(assembler, 0, rest);
  }
  assembler.finish(100);
  std::vector<std::uint64_t> owners;
  for (const AssembledLaunch& l : sink.launches) owners.push_back(l.range);
  CHECK(owners == std::vector<std::uint64_t>{3, 2, 1});
  CHECK(lines_of(sink) == Lines{"1 [10, 90)", "3 [20, 70) start/end elsewhere", "2 [30, 50) in 1 elsewhere"});
  CHECK(assembler.health().unmatched_ends == 1);
}

TEST_CASE("ends that were lost close the innermost ranges at the next record", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0,
       {begin(10, 1), begin(20, 2), begin(30, 3), record(RecordKind::kLostEnds, 40, 2), begin(50, 4), end(60, 4),
        end(70, 1), record(RecordKind::kLostEnds, 80, 1'000'000)});
  assembler.finish(100);
  CHECK(lines_of(sink) == Lines{"1 [10, 70)", "2 [20, 40) in 1", "3 [30, 40) in 2", "4 [50, 60) in 1"});
}

TEST_CASE("a range that was suspended goes on as another one, which knows when it began", "[importer]") {
  constexpr std::uint32_t kSuspended = detail::kSuspended, kResumed = detail::kResumed;
  KeepingSink sink;
  HostAssembler assembler(sink);
  SECTION("in turns, with what is inside") {
    feed(assembler, 0,
         {begin(10, 1),
          extra(7),
          begin(11, 2),
          end(12, 2, kSuspended),
          end(13, 1, kSuspended),
          begin(14, 1),
          end(15, 1, kSuspended),
          begin(20, 1, kResumed),
          extra(13),
          launch(21, 9),
          begin(22, 2, kResumed),
          extra(12),
          end(23, 2),
          end(24, 1, kSuspended),
          begin(30, 1, kResumed),
          extra(15),
          end(31, 1),
          begin(40, 1, kResumed),
          extra(24),
          end(41, 1)});
    assembler.finish(100);
    CHECK(lines_of(sink) == Lines{"1 [10, 13) suspended", "2 [11, 12) in 1 suspended", "1 [14, 15) suspended",
                                  "1 [20, 24) since 10 suspended", "2 [22, 23) in 1 since 11", "1 [30, 31) since 14",
                                  "1 [40, 41) since 10"});
    CHECK(sink.launches.at(0).range == 4);
    CHECK(sink.events == Lines{"value of range 0 7 1 1"});
    CHECK(sink.not_resumed.empty());
  }
  SECTION("at the same time, the one that was suspended last first") {
    feed(assembler, 0,
         {begin(10, 1), begin(11, 1), end(12, 1, kSuspended), end(12, 1, kSuspended), begin(20, 1, kResumed), extra(12),
          end(21, 1), begin(22, 1, kResumed), extra(12), end(23, 1)});
    assembler.finish(100);
    CHECK(lines_of(sink) ==
          Lines{"1 [10, 12) suspended", "1 [11, 12) in 1 suspended", "1 [20, 21) since 10", "1 [22, 23) since 11"});
  }
  SECTION("where that is lost, since it was suspended at the earliest") {
    feed(assembler, 0,
         {begin(20, 1, kResumed), extra(13), end(21, 1), begin(30, 1, kResumed), extra(0), end(31, 1),
          begin(40, 1, kResumed), extra(99), end(41, 1), begin(50, 1, kResumed), end(51, 1)});
    assembler.finish(100);
    CHECK(lines_of(sink) ==
          Lines{"1 [20, 21) since 13", "1 [30, 31) since 30", "1 [40, 41) since 40", "1 [50, 51) since 50"});
    CHECK(sink.events.empty());
  }
  SECTION("on another thread, whose records are read first") {
    feed(assembler, 1,
         {begin(20, 1, kResumed), extra(12), begin(21, 2), end(22, 2), end(24, 1, kSuspended),  //
          begin(30, 1, kResumed), extra(24), end(31, 1, kSuspended), begin(40, 1, kResumed), extra(31)});
    CHECK(sink.ranges.size() == 1);  // what is inside; the others wait
    feed(assembler, 0, {begin(10, 1), end(12, 1, kSuspended)});
    CHECK(sink.ranges.size() == 4);
    feed(assembler, 1, {end(41, 1)});
    assembler.finish(100);
    CHECK(lines_of(sink) == Lines{"1 [20, 24) since 10 suspended", "2 [21, 22) in 1", "1 [30, 31) since 10 suspended",
                                  "1 [40, 41) since 10", "1 [10, 12) suspended"});
    CHECK(sink.not_resumed.empty());
    CHECK(assembler.health().unfinished_ranges == 0);
  }
  SECTION("on another thread, whose records are read first, at the same time") {
    feed(assembler, 1, {begin(20, 1, kResumed), extra(12), end(21, 1), begin(22, 1, kResumed), extra(12), end(23, 1)});
    feed(assembler, 0, {begin(10, 1), begin(11, 1), end(12, 1, kSuspended), end(12, 1, kSuspended)});
    assembler.finish(100);
    CHECK(lines_of(sink) ==
          Lines{"1 [20, 21) since 10", "1 [22, 23) since 11", "1 [10, 12) suspended", "1 [11, 12) in 1 suspended"});
  }
  SECTION("of more that wait than are kept, the first count as lost") {
    constexpr std::uint64_t kMany = 70'000;
    std::vector<Record> first, second;
    for (std::uint64_t i = 1; i <= kMany; ++i) {
      const std::array records{begin(1'000'000 + 2 * i, 1, kResumed), extra(2 * i), end(1'000'001 + 2 * i, 1)};
      second.insert(second.end(), records.begin(), records.end());
      first.insert(first.end(), {begin(2 * i - 1, 1), end(2 * i, 1, kSuspended)});
    }
    feed(assembler, 1, std::move(second));
    CHECK(sink.ranges.size() == kMany - 65'536);
    feed(assembler, 0, std::move(first));
    assembler.finish(10'000'000);
    CHECK(sink.ranges.size() == 2 * kMany);
    CHECK(sink.not_resumed.size() == kMany - 65'536);
    const std::vector<AssembledRange> ranges = sink.in_order();
    CHECK(ranges.front().instance_begin_ticks == 2);
    CHECK(ranges[kMany - 1].instance_begin_ticks == 2 * kMany - 1);
  }
  SECTION("never") {
    feed(assembler, 0, {begin(10, 1), end(12, 1, kSuspended), begin(13, 1), end(14, 1)});
    assembler.finish(100);
    CHECK(lines_of(sink) == Lines{"1 [10, 12) suspended", "1 [13, 14)"});
    CHECK(sink.not_resumed == std::vector<std::uint64_t>{1});
    CHECK(assembler.health().unfinished_ranges == 1);
  }
}

TEST_CASE("an end without a begin is counted, a begin without an end is unfinished", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0, {end(5, 9), begin(10, 1), begin(20, 2), end(30, 7), begin(35, 3), end(40, 1), end(50, 2)});
  assembler.finish(100);
  CHECK(lines_of(sink) == Lines{"1 [10, 40)", "2 [20, 40) in 1 unfinished", "3 [35, 40) in 2 unfinished"});
  CHECK(assembler.health().unmatched_ends == 3);
  CHECK(assembler.health().unfinished_ranges == 2);
}

TEST_CASE("what is open at the end ends there", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0, {begin(10, 1), record(RecordKind::kAsyncBegin, 20, 2), extra(1)});
  feed(assembler, 1, {begin(300, 3)});
  assembler.finish(100);
  CHECK(lines_of(sink) ==
        Lines{"1 [10, 100) unfinished", "2 [20, 100) start/end unfinished", "3 [300, 300) unfinished"});
}

TEST_CASE("an end on another thread is found before or after its begin", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const std::vector<Record> owner{begin(10, 1), begin(20, 2), begin(60, 3), end(70, 3), end(80, 1)};
  const std::vector<Record> other{begin(30, 5), record(RecordKind::kForeignEnd, 50, 2), extra(0), end(55, 5)};
  bool owner_first = false;
  SECTION("after") {
    owner_first = true;
    feed(assembler, 0, owner);
    feed(assembler, 1, other);
  }
  SECTION("before") {
    feed(assembler, 1, other);
    feed(assembler, 0, owner);
  }
  SECTION("in between") {
    owner_first = true;
    feed(assembler, 0, {owner[0], owner[1]});
    feed(assembler, 1, other);
    feed(assembler, 0, {owner[2], owner[3], owner[4]});
  }
  assembler.finish(100);
  const auto lines = lines_of(sink);
  CHECK(lines.size() == 4);
  CHECK(std::count(lines.begin(), lines.end(), "2 [20, 50) in 1 elsewhere") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "1 [10, 80)") == 1);
  CHECK(std::count(lines.begin(), lines.end(), "5 [30, 55)") == 1);
  CHECK((lines.front() == "1 [10, 80)") == owner_first);
  CHECK(assembler.health().unmatched_ends == 0);
  CHECK(assembler.health().unfinished_ranges == 0);
}

TEST_CASE("of nested ranges of one name, ends on another thread mean the inner one first", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  const std::vector<Record> owner{begin(10, 1), begin(20, 2), begin(30, 2), begin(40, 2), end(80, 1)};
  const std::vector<Record> other{record(RecordKind::kForeignEnd, 50, 2), extra(0),
                                  record(RecordKind::kForeignEnd, 60, 2), extra(0),
                                  record(RecordKind::kForeignEnd, 70, 2), extra(0)};
  SECTION("read after the range around them has ended") {
    feed(assembler, 0, owner);
    feed(assembler, 1, other);
  }
  SECTION("read before they begin") {
    feed(assembler, 1, other);
    feed(assembler, 0, owner);
  }
  assembler.finish(100);
  Lines lines = lines_of(sink);
  std::sort(lines.begin(), lines.end());
  CHECK(lines ==
        Lines{"1 [10, 80)", "2 [20, 70) in 1 elsewhere", "2 [30, 60) in 2 elsewhere", "2 [40, 50) in 2 elsewhere"});
  CHECK(assembler.health().unmatched_ends == 0);
  CHECK(assembler.health().unfinished_ranges == 0);
}

TEST_CASE("start/end ranges overlap, end anywhere, and have handles of their own", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 1, {record(RecordKind::kAsyncEnd, 45), extra(2)});  // read before its begin
  feed(assembler, 0,
       {record(RecordKind::kAsyncBegin, 10, 1), extra(1), begin(15, 9), record(RecordKind::kAsyncBegin, 20, 2),
        extra(2), end(25, 9), record(RecordKind::kAsyncEnd, 30), extra(1)});
  feed(assembler, 1, {record(RecordKind::kAsyncEnd, 60), extra(77)});  // of nothing
  feed(assembler, 0,
       {record(RecordKind::kAsyncBegin, 70, 3), extra(5), record(RecordKind::kAsyncBegin, 80, 4), extra(5),
        record(RecordKind::kAsyncEnd, 90), extra(5)});
  assembler.finish(100);
  CHECK(lines_of(sink) == Lines{"1 [10, 30) start/end", "9 [15, 25)", "2 [20, 45) start/end elsewhere",
                                "3 [70, 80) start/end unfinished", "4 [80, 90) start/end"});
  CHECK(assembler.health().unmatched_ends == 1);
}

TEST_CASE("a start/end range may have a value, also where its end was read before", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 1, {record(RecordKind::kAsyncEnd, 50), extra(9)});
  feed(assembler, 0, {record(RecordKind::kAsyncBegin, 10, 1), extra(9), extra(3, ExtraKind::kSigned)});
  CHECK(sink.events == Lines{"value of range 0 3 2 1"});
  // One of two without a value, and no third value for either.
  sink.events.clear();
  feed(assembler, 0, {record(RecordKind::kAsyncBegin, 60, 2), extra(10)});
  CHECK(lines_of(sink) == Lines{"1 [10, 50) start/end elsewhere"});
  feed(assembler, 0, {extra(4), extra(5), record(RecordKind::kAsyncBegin, 70, 3), extra(11), launch(80, 1), extra(6)});
  CHECK(sink.events == Lines{"value of range 0 4 1 2"});
  assembler.finish(100);
  CHECK(lines_of(sink).size() == 3);
}

TEST_CASE("numbers that no recorder gives out take no memory", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  feed(assembler, 0xFFFFFFFF, {begin(1, 1), end(2, 1)});
  feed(assembler, 0,
       {record(RecordKind::kForeignEnd, 1, 1), extra(0xFFFFFFFF), record(RecordKind::kForeignEnd, 1, 1),
        extra(~std::uint64_t{0})});
  feed(assembler, 0, {record(static_cast<RecordKind>(77), 1, 1), record(RecordKind::kNone, 2)});
  assembler.finish(3);
  CHECK(sink.ranges.empty());
  CHECK(assembler.health().unmatched_ends == 4);
}

TEST_CASE("a stack of very many ranges is taken down in good time", "[importer]") {
  KeepingSink sink;
  HostAssembler assembler(sink);
  constexpr std::uint32_t kDeep = 50'000;
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < kDeep; ++i) records.push_back(begin(i, i));
  SECTION("innermost first") {
    for (std::uint32_t i = kDeep; i-- > 0;) records.push_back(end(kDeep + kDeep - i, i));
    feed(assembler, 0, records);
    assembler.finish(10 * kDeep);
    CHECK(assembler.health().unfinished_ranges == 0);
  }
  SECTION("ends of names that are not open") {
    for (std::uint32_t i = 0; i < kDeep; ++i) records.push_back(end(kDeep + i, kDeep + i));
    feed(assembler, 0, records);
    assembler.finish(10 * kDeep);
    CHECK(assembler.health().unmatched_ends == kDeep);
  }
  CHECK(sink.ranges.size() == kDeep);
}

// ---- against what really happened ------------------------------------------------------------------------------

namespace {

/// What threads do, with every end known; and the records that it leaves.
class World {
 public:
  struct Range {
    std::uint32_t name, category, thread, end_thread;
    std::uint64_t begin, end;
    bool start_end, unfinished;
    std::size_t parent;  // position + 1
    auto key() const { return std::tie(begin, end, name, category, thread, end_thread, start_end, unfinished); }
    friend bool operator<(const Range& a, const Range& b) { return a.key() < b.key(); }
    friend bool operator==(const Range& a, const Range& b) { return a.key() == b.key(); }
  };

  World(std::uint64_t seed, bool foreign_ends) : random_(seed), foreign_ends_(foreign_ends) {}

  void play(int actions) {
    for (int i = 0; i < actions; ++i) act(static_cast<std::uint32_t>(random_() % kThreads));
    for (Range& range : ranges_) {
      if (range.end == 0) range.end = now_ + 1, range.unfinished = true;
    }
  }
  /// In pieces, those of one thread in their order.
  std::vector<format::HostEvents> chunks() {
    std::vector<format::HostEvents> out;
    std::size_t taken[kThreads] = {};
    for (;;) {
      std::vector<std::uint32_t> left;
      for (std::uint32_t t = 0; t < kThreads; ++t) {
        if (taken[t] < records_[t].size()) left.push_back(t);
      }
      if (left.empty()) return out;
      const std::uint32_t t = left[random_() % left.size()];
      const std::size_t count = std::min<std::size_t>(1 + random_() % 20, records_[t].size() - taken[t]);
      format::HostEvents events;
      events.run.thread = t;
      events.records.assign(records_[t].begin() + static_cast<std::ptrdiff_t>(taken[t]),
                            records_[t].begin() + static_cast<std::ptrdiff_t>(taken[t] + count));
      taken[t] += count;
      out.push_back(std::move(events));
    }
  }
  const std::vector<Range>& ranges() const { return ranges_; }
  std::uint64_t end_ticks() const { return now_ + 1; }

 private:
  static constexpr std::uint32_t kThreads = 4;

  void act(std::uint32_t t) {
    now_ += 1 + random_() % 10;
    auto& open = open_[t];
    auto& records = records_[t];
    const auto name =
        foreign_ends_ ? static_cast<std::uint32_t>(ranges_.size() + 1) : static_cast<std::uint32_t>(1 + random_() % 5);
    const auto category = static_cast<std::uint32_t>(random_() % 3);
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
        records.push_back(begin(now_, name, category));
        ranges_.push_back({name, category, t, t, now_, 0, false, false, open.empty() ? 0 : open.back() + 1});
        open.push_back(ranges_.size() - 1);
        return;
      case 3:
      case 4:
        if (open.empty()) return;
        records.push_back(end(now_, ranges_[open.back()].name, ranges_[open.back()].category));
        ranges_[open.back()].end = now_;
        open.pop_back();
        return;
      case 5:
        records.push_back({now_, make_word(RecordKind::kAsyncBegin, name, category)});
        records.push_back(extra(ranges_.size() + 1'000));
        start_end_.push_back(ranges_.size());
        ranges_.push_back({name, category, t, t, now_, 0, true, false, 0});
        return;
      case 6: {
        if (start_end_.empty()) return;
        const std::size_t which = random_() % start_end_.size();
        const std::size_t range = start_end_[which];
        start_end_.erase(start_end_.begin() + static_cast<std::ptrdiff_t>(which));
        records.push_back(record(RecordKind::kAsyncEnd, now_));
        records.push_back(extra(range + 1'000));
        ranges_[range].end = now_;
        ranges_[range].end_thread = t;
        return;
      }
      default: {
        const auto owner = static_cast<std::uint32_t>(random_() % kThreads);
        if (!foreign_ends_ || owner == t || open_[owner].empty()) return;
        const std::size_t which = random_() % open_[owner].size();
        const std::size_t range = open_[owner][which];
        open_[owner].erase(open_[owner].begin() + static_cast<std::ptrdiff_t>(which));
        records.push_back(record(RecordKind::kForeignEnd, now_, ranges_[range].name, ranges_[range].category));
        records.push_back(extra(owner));
        ranges_[range].end = now_;
        ranges_[range].end_thread = t;
      }
    }
  }

  std::mt19937_64 random_;
  bool foreign_ends_;
  std::uint64_t now_ = 100;
  std::vector<Range> ranges_;
  std::vector<std::size_t> open_[kThreads];
  std::vector<std::size_t> start_end_;
  std::vector<Record> records_[kThreads];
};

}  // namespace

TEST_CASE("the records of several threads give back what they did, in whatever order they are read",
          "[importer][property]") {
  const std::uint64_t seed = property_seed("host assembler");
  for (std::uint64_t round = 0; round < 600; ++round) {
    const bool foreign = round % 2 == 0;
    World world(seed + round, foreign);
    world.play(static_cast<int>(1 + (seed + round) % 400));
    KeepingSink sink;
    HostAssembler assembler(sink);
    for (const format::HostEvents& events : world.chunks()) assembler.feed(events);
    assembler.finish(world.end_ticks());
    std::vector<World::Range> have, want = world.ranges();
    for (const AssembledRange& range : sink.ranges) {
      // A range whose own thread closed what is around it before the foreign end was read ends there, unfinished: only
      // one that nothing ended at all may.
      have.push_back({range.name, range.category, range.thread, range.end_thread, range.begin_ticks, range.end_ticks,
                      range.start_end, range.unfinished, 0});
    }
    INFO("round " << round << " of RANGEFINDER_SEED=" << seed);
    std::sort(have.begin(), have.end());
    std::sort(want.begin(), want.end());
    const bool same = have == want;
    CHECK(same);
    CHECK(assembler.health().unmatched_ends == 0);
    if (foreign) continue;
    // Without foreign ends, the range around each is known, too.
    std::map<std::uint64_t, std::uint64_t> begin_of_key;
    for (const AssembledRange& range : sink.ranges) begin_of_key[range.key] = range.begin_ticks;
    std::map<std::uint64_t, std::uint64_t> parent_of_begin;
    for (const World::Range& range : world.ranges())
      parent_of_begin[range.begin] = range.parent != 0 ? world.ranges()[range.parent - 1].begin : 0;
    std::uint64_t wrong = 0;
    for (const AssembledRange& range : sink.ranges)
      wrong += (range.parent != 0 ? begin_of_key[range.parent] : 0) == parent_of_begin[range.begin_ticks] ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("any records at all give every range once", "[importer][property]") {
  std::mt19937_64 random(property_seed("any records"));
  for (int round = 0; round < 500; ++round) {
    KeepingSink sink;
    HostAssembler assembler(sink);
    std::uint64_t begins = 0;
    for (std::uint64_t chunk = random() % 20; chunk > 0; --chunk) {
      std::vector<Record> records(any_size(random, 9));
      for (Record& r : records) {
        const auto kind = static_cast<RecordKind>(random() % 14);
        const auto id = static_cast<std::uint32_t>(random() % 8 == 0 ? any_size(random, 32) : random() % 6);
        r = {random() % 4 == 0 ? any_size(random) : random() % 100,
             make_word(kind, id,
                       static_cast<std::uint32_t>(random() % 6 | (random() % 4 == 0 ? detail::kSuspended : 0)))};
        begins += kind == RecordKind::kBegin ? 1 : 0;
      }
      feed(assembler, static_cast<std::uint32_t>(random() % 3), std::move(records));
    }
    assembler.finish(random() % 200);
    std::set<std::uint64_t> keys;
    std::uint64_t scoped = 0, wrong = 0;
    for (const AssembledRange& range : sink.ranges) {
      keys.insert(range.key);
      scoped += range.start_end ? 0 : 1;
      wrong += range.end_ticks >= range.begin_ticks && range.parent < range.key && range.under < range.key ? 0 : 1;
    }
    CHECK(wrong == 0);
    CHECK(scoped == begins);
    CHECK(keys.size() == sink.ranges.size());
    CHECK(keys.size() == sink.begun.size());
    CHECK((keys.empty() || *keys.rbegin() == keys.size()));
  }
}

namespace {

/// One thread's scoped ranges the slow, obvious way.
struct SlowStack {
  struct Open {
    std::uint64_t begin;
    std::uint32_t name;
  };
  std::vector<Open> open;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, bool>> done;  // begin, end, name, unfinished
  std::uint64_t unmatched = 0;

  void on(const Record& record) {
    const std::uint32_t name = detail::word_id(record.word);
    switch (detail::word_kind(record.word)) {
      case RecordKind::kBegin:
        open.push_back({record.ticks, name});
        return;
      case RecordKind::kLostEnds:
        for (std::uint32_t i = 0; i < name && !open.empty(); ++i) close(record.ticks, false);
        return;
      case RecordKind::kEnd: {
        const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Open& o) { return o.name == name; });
        if (found == open.rend()) {
          ++unmatched;
          return;
        }
        const std::size_t keep = static_cast<std::size_t>(open.rend() - found) - 1;
        while (open.size() > keep + 1) close(record.ticks, true);
        return close(record.ticks, false);
      }
      default:
        return;
    }
  }
  void close(std::uint64_t ticks, bool unfinished) {
    done.emplace_back(open.back().begin, std::max(ticks, open.back().begin), open.back().name, unfinished);
    open.pop_back();
  }
};

}  // namespace

TEST_CASE("begins and ends in any order are matched as the slow obvious way does", "[importer][property]") {
  std::mt19937_64 random(property_seed("begins and ends"));
  for (int round = 0; round < 500; ++round) {
    const auto names = static_cast<std::uint32_t>(1 + random() % 8);
    std::vector<Record> records(any_size(random, 8));
    SlowStack slow;
    std::uint64_t now = 0;
    for (Record& r : records) {
      now += random() % 5;
      const auto name = static_cast<std::uint32_t>(random() % names);
      r = random() % 40 == 0  ? record(RecordKind::kLostEnds, now, static_cast<std::uint32_t>(random() % 4))
          : random() % 2 == 0 ? begin(now, name)
                              : end(now, name);
      slow.on(r);
    }
    while (!slow.open.empty()) slow.close(now + 1, true);
    KeepingSink sink;
    HostAssembler assembler(sink);
    feed(assembler, 0, records);
    assembler.finish(now + 1);
    decltype(slow.done) have;
    for (const AssembledRange& range : sink.ranges)
      have.emplace_back(range.begin_ticks, range.end_ticks, range.name, range.unfinished);
    std::sort(have.begin(), have.end());
    std::sort(slow.done.begin(), slow.done.end());
    const bool same = have == slow.done;
    CHECK(same);
    CHECK(assembler.health().unmatched_ends == slow.unmatched);
  }
}
