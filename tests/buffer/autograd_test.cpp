// SPDX-License-Identifier: MIT
//
// Numbers of autograd's nodes at ranges that are recorded inline; tests/session has those of the slow path.
#include "base/health_numbers.hpp"
#include "buffer/recorder_fixture.hpp"

#include <rangefinder/range.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::buffer;
using namespace rangefinder::buffer::testing;

namespace {

Texts drained(BareRecording& recording) {
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 1);
  return texts_of(sink.records.begin()->second);
}

}  // namespace

TEST_CASE("a number is written where one was taken since the last record, and nowhere else", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  {
    const ProfileRange outer{"outer"};
    { const ProfileRange none{"none"}; }
    Numbers::take();
    {
      const std::string text = "run-time";
      const ProfileRange named{std::string_view(text)};
      { const ProfileRange none{std::string_view(text)}; }
      Numbers::take();
      Numbers::take();
    }
    static const RangeName kept{"kept"};
    const ProfileRange none{kept};
  }
  Numbers::take();
  { const ProfileRange last{"last", 1}; }
  CHECK(drained(recording) == Texts{"number 0, unknown before", "begin outer", "begin none", "end none", "number 1",
                                    "begin run-time", "begin run-time", "end run-time", "number 3", "end run-time",
                                    "begin kept", "end kept", "end outer", "number 4", "begin last",
                                    "value of kind " + std::to_string(static_cast<int>(detail::ExtraKind::kSigned)),
                                    "end last"});
}

TEST_CASE("ranges that are open when numbers become known or unknown still end", "[buffer]") {
  const Numbers numbers(false);
  BareRecording recording;
  {
    const ProfileRange before{"before"};
    Numbers::take();
    Numbers::tell();
    {
      const ProfileRange inside{"inside"};
      detail::set_autograd_hooks(nullptr);
      Numbers::take();
    }
    const ProfileRange after{"after"};
  }
  CHECK(drained(recording) == Texts{"begin before", "number 1, unknown before", "begin inside", "end inside",
                                    "begin after", "end after", "end before"});
}

TEST_CASE("what was numbered in a pause is unknown, what is numbered after it is not", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  std::uint64_t next = 0;
  Texts expected{"number 0, unknown before", "begin before", "end before"};
  { const ProfileRange before{"before"}; }
  recording->set_recording(false);
  SECTION("some were taken") {
    Numbers::take();
    next = 1;
  }
  SECTION("none were taken") {}
  SECTION("none were taken, and a range passed") { const ProfileRange off{"off"}; }
  recording->set_recording(true);
  {
    const ProfileRange again{"again"};
    Numbers::take();
  }
  for (const std::string& text : {"number " + std::to_string(next) + ", unknown before", std::string("begin again"),
                                  std::string("end again after one number")})
    expected.push_back(text);
  CHECK(drained(recording) == expected);
}

TEST_CASE("a range that is open in a pause closes there, and its numbers are unknown", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  {
    const ProfileRange open{"open"};
    recording->set_recording(false);
    Numbers::take();
  }
  recording->set_recording(true);
  { const ProfileRange again{"again"}; }
  CHECK(drained(recording) == Texts{"number 0, unknown before", "begin open", "end open", "number 1, unknown before",
                                    "begin again", "end again"});
}

TEST_CASE("each recording and each thread has numbers of its own", "[buffer]") {
  const Numbers numbers;
  for (int i = 0; i < 2; ++i) {
    BareRecording recording;
    { const ProfileRange range{"range"}; }
    CHECK(drained(recording) == Texts{"number 0, unknown before", "begin range", "end range"});
  }
  BareRecording recording;
  { const ProfileRange range{"mine"}; }
  std::thread other([] {
    Numbers::take();
    const ProfileRange range{"theirs"};
  });
  other.join();
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 2);
  CHECK(texts_of(sink.records[0]) == Texts{"number 0, unknown before", "begin mine", "end mine"});
  CHECK(texts_of(sink.records[1]) == Texts{"number 1, unknown before", "begin theirs", "end theirs"});
}

TEST_CASE("a range that opened while nodes were numbered may end on another thread", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  { const ProfileRange attached{"attached"}; }
  auto storage = std::make_unique<std::byte[]>(sizeof(ProfileRange));
  auto* const range = ::new (static_cast<void*>(storage.get())) ProfileRange("moved");
  std::thread other([range] { range->~ProfileRange(); });
  other.join();
  CHECK(recording->health().foreign_ends == 1);
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 2);
  REQUIRE(sink.records[1].size() == 2);
  CHECK(detail::word_kind(sink.records[1][0].word) == detail::RecordKind::kForeignEnd);
  CHECK(sink.records[1][1].ticks == 0);  // the index of the thread that opened it
}

TEST_CASE("no number is lost where blocks end, inline", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  constexpr std::uint64_t kRanges = 20'000;  // several blocks
  for (std::uint64_t i = 0; i < kRanges; ++i) {
    const ProfileRange outer{"outer"};
    if (i % 3 == 0) Numbers::take();
    const ProfileRange inner{"inner"};
    if (i % 5 == 0) Numbers::take();
  }
  KeepingSink sink;
  recording->drain(sink, true);
  std::uint64_t number = 0, ranges = 0, wrong = 0, told_again = 0;
  for (const detail::Record& record : sink.records.begin()->second) {
    const detail::RecordKind kind = detail::word_kind(record.word);
    if (kind == detail::RecordKind::kSequence) {
      // The first of each block tells the number that is known by then once more.
      wrong += record.ticks == number + (ranges == 0 ? 0 : 1) || record.ticks == number ? 0 : 1;
      told_again += record.ticks == number ? 1 : 0;
      number = record.ticks;
    }
    if (kind == detail::RecordKind::kEnd && (detail::word_aux(record.word) & detail::kTookOneNumber) != 0) ++number;
    ranges += kind == detail::RecordKind::kBegin ? 1 : 0;
  }
  CHECK(ranges == 2 * kRanges);
  CHECK(number == (kRanges + 2) / 3 + (kRanges + 4) / 5);
  CHECK(wrong == 0);
  CHECK(told_again > 5);
  CHECK(told_again < 50);
}
