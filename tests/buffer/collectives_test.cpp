// SPDX-License-Identifier: MIT
#include "buffer/recorder_fixture.hpp"
#include "support/manual_clock.hpp"

#include <rangefinder/detail/collectives.hpp>

#include <array>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::buffer;
using namespace rangefinder::buffer::testing;
using detail::CollectiveCall;
using detail::CollectivePhase;
using detail::Record;
using detail::RecordKind;
using detail::word_kind;
using rangefinder::testing::ManualClock;

namespace {

std::vector<Record> records_in(BareRecording& recording) {
  KeepingSink sink;
  recording->drain(sink, true);
  return sink.records.empty() ? std::vector<Record>() : sink.records.begin()->second;
}

std::string name_in(const Record& record) { return std::string(names().text(detail::word_id(record.word))); }

}  // namespace

TEST_CASE("a collective's call and phases are records of the threads that tell them", "[buffer]") {
  CollectiveCall call;
  call.kind = CollectiveKind::kAllGather;
  call.name = "_allgather_base";
  call.dtype = "Float";
  CHECK(detail::begin_collective(call) == 0);  // nothing records
  const std::array<std::int64_t, 4> ranks{0, 1, 2, 3};
  call.group = detail::collective_group({"0", "default_pg", ranks.data(), ranks.size(), 4, 2});
  REQUIRE(call.group != 0);
  ManualClock clock(100);
  BareRecording recording(&clock);
  SECTION("with all that is known") {
    call.number = 7;
    call.elements_in = 10;
    call.elements_out = 40;
    const std::uint32_t handle = detail::begin_collective(call);
    REQUIRE(handle != 0);
    detail::note_collective(handle, CollectivePhase::kReturned);
    detail::note_collective(0, CollectivePhase::kCompleted);
    const std::vector<Record> records = records_in(recording);
    REQUIRE(records.size() == 8);
    CHECK(word_kind(records[0].word) == RecordKind::kCollective);
    CHECK(detail::word_aux(records[0].word) == (static_cast<std::uint32_t>(CollectiveKind::kAllGather) |
                                                static_cast<std::uint32_t>(CollectiveSource::kC10d) << 8));
    CHECK(name_in(records[0]) == "0\nFloat\n\n\n_allgather_base\n");
    CHECK(records[0].ticks == 100);
    CHECK(records[1].ticks == handle);
    CHECK(name_in(records[2]) == "4\n2\n0-3\n0\ndefault_pg");
    CHECK(records[3].ticks == 7);
    CHECK(records[4].ticks == 10);
    CHECK(records[5].ticks == 40);
    CHECK(word_kind(records[6].word) == RecordKind::kCollectivePhase);
    CHECK(detail::word_aux(records[6].word) == static_cast<std::uint32_t>(CollectivePhase::kReturned));
    CHECK(records[7].ticks == handle);
  }
  SECTION("what is not known and stands last is left out") {
    call.group = 0;
    call.peer = -1;
    detail::begin_collective(call);
    CHECK(records_in(recording).size() == 2);
  }
  SECTION("what is not known and stands before something known is there") {
    call.group = 0;
    call.peer = -1;
    call.out_splits = "[3, 5]";
    detail::begin_collective(call);
    CHECK(records_in(recording).size() == 9);
  }
  SECTION("handles differ, also on other threads") {
    const std::uint32_t first = detail::begin_collective(call), second = detail::begin_collective(call);
    CHECK(first != second);
  }
  SECTION("dropped whole, and counted") {
    constexpr int kMany = 100'000;  // 64 bytes each, in 4 MiB that are not drained
    int written = 0;
    for (int i = 0; i < kMany; ++i) written += detail::begin_collective(call) != 0 ? 1 : 0;
    CHECK(written > 1000);
    CHECK(written < kMany);
    CHECK(recording->health().dropped_collectives == static_cast<std::uint64_t>(kMany - written));
    std::size_t calls = 0, values = 0;
    for (const Record& record : records_in(recording))
      ++(word_kind(record.word) == RecordKind::kCollective ? calls : values);
    CHECK(calls == static_cast<std::size_t>(written));
    CHECK(values == 2 * calls);
  }
}

TEST_CASE("ranks at equal distances take little room", "[buffer]") {
  const auto ranks_of = [](const std::vector<std::int64_t>& ranks) {
    const std::uint32_t id = detail::collective_group({"g", "", ranks.data(), ranks.size(), 0, -1});
    const std::string text(names().text(id));
    const std::size_t begin = text.find('\n', text.find('\n') + 1) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK(ranks_of({0, 1, 2, 3, 4, 5, 6, 7}) == "0-7");
  CHECK(ranks_of({3}) == "3");
  CHECK(ranks_of({3, 9}) == "3 9");
  CHECK(ranks_of({0, 8, 16, 24, 5, 1}) == "0-24/8 5 1");
  CHECK(ranks_of({7, 6, 5}) == "7 6 5");
  CHECK(ranks_of({}).empty());
}
