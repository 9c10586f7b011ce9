// SPDX-License-Identifier: MIT
//
// What is written for an operator: one record at each end where its number is the one that the thread noted.
#include "buffer/name_table.hpp"
#include "buffer/recorder_fixture.hpp"

#include <rangefinder/detail/operators.hpp>
#include <rangefinder/range.hpp>

#include <cstdint>
#include <cstring>
#include <string>

using namespace rangefinder;
using namespace rangefinder::buffer;
using namespace rangefinder::buffer::testing;

namespace {

class Operator {
 public:
  explicit Operator(const char* name, std::int64_t sequence = -1, std::uint64_t forward_thread = 0,
                    std::uint32_t inputs = 0)
      : token_(forward_thread == 0 && inputs == 0
                   ? detail::begin_operator(name, sequence, word_)
                   : detail::begin_operator(name, sequence, forward_thread, inputs, word_)) {}
  ~Operator() { detail::end(token_, word_); }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

 private:
  std::uint64_t word_ = 0;
  std::uint64_t token_;
};

Texts drained_operators(BareRecording& recording) {
  KeepingSink sink;
  recording->drain(sink, true);
  REQUIRE(sink.records.size() == 1);
  for (const detail::Record& record : sink.records.begin()->second) {
    const detail::RecordKind kind = detail::word_kind(record.word);
    if (kind == detail::RecordKind::kBegin || kind == detail::RecordKind::kEnd)
      CHECK(detail::word_category(record.word) == Category::operators().id());
  }
  return texts_of(sink.records.begin()->second);
}

}  // namespace

TEST_CASE("an operator's number stands in its begin where the thread has noted it", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  { const Operator first("first", 0); }  // attaches
  {
    const Operator outer("outer", 0);
    { const Operator inner("inner", 0); }
    Numbers::take();
    { const Operator after("after", 1); }  // there is something to note
    { const Operator again("again", 1); }
    { const Operator other("other", 7); }  // whatever that number is, it is not the thread's
    { const Operator none("none"); }       // numbers nothing
  }
  { const Operator node("node", 0, 3); }
  CHECK(drained_operators(recording) == Texts{"number 0, unknown before",
                                              "begin first",
                                              "operator 0 of 0",
                                              "end first",
                                              "begin outer with number",
                                              "begin inner with number",
                                              "end inner",
                                              "number 1",
                                              "begin after",
                                              "operator 1 of 0",
                                              "end after",
                                              "begin again with number",
                                              "end again",
                                              "begin other",
                                              "operator 7 of 0",
                                              "end other",
                                              "begin none",
                                              "end none",
                                              "end outer",
                                              "begin node",
                                              "operator 0 of 3",
                                              "end node"});
}

TEST_CASE("numbers that were taken in an operator stand before its end", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  { const Operator first("first", 0); }
  {
    const Operator makes("makes", 0);
    Numbers::take();
  }
  {
    const Operator makes("makes", 1);
    Numbers::take();
    Numbers::take();
  }
  CHECK(drained_operators(recording) == Texts{"number 0, unknown before", "begin first", "operator 0 of 0", "end first",
                                              "begin makes with number", "end makes after one number",
                                              "begin makes with number", "number 3", "end makes"});
}

TEST_CASE("without numbers, operators tell what they are told", "[buffer]") {
  BareRecording recording;
  for (int i = 0; i < 2; ++i) {
    { const Operator none("none"); }
    { const Operator numbered("numbered", 0); }
    { const Operator node("node", 2, 5); }
  }
  Texts expected;
  for (int i = 0; i < 2; ++i) {
    for (const char* text : {"begin none", "end none", "begin numbered", "operator 0 of 0", "end numbered",
                             "begin node", "operator 2 of 5", "end node"})
      expected.emplace_back(text);
  }
  CHECK(drained_operators(recording) == expected);
}

TEST_CASE("begin and facts, number and end are both there or neither, where blocks end", "[buffer]") {
  const Numbers numbers;
  BareRecording recording;
  constexpr std::int64_t kOperators = 20'000;  // several blocks
  std::int64_t number = 0;
  for (std::int64_t i = 0; i < kOperators; ++i) {
    const Operator outer("outer", number);
    { const Operator node("node", i, 3); }
    if (i % 3 == 0) Numbers::take(), ++number;
  }
  KeepingSink sink;
  recording->drain(sink, true);
  std::int64_t noted = -1, nodes = 0, with_number = 0, told = 0, wrong = 0;
  for (const detail::Record& record : sink.records.begin()->second) {
    const auto value = static_cast<std::int64_t>(record.ticks);
    switch (detail::word_kind(record.word)) {
      case detail::RecordKind::kSequence:
        wrong += value == noted + 1 || value == noted ? 0 : 1;  // each block of records tells it anew
        noted = value;
        break;
      case detail::RecordKind::kEnd:
        noted += (detail::word_aux(record.word) & detail::kTookOneNumber) != 0 ? 1 : 0;
        break;
      case detail::RecordKind::kBegin:
        with_number += (detail::word_aux(record.word) & detail::kHasNotedNumber) != 0 ? 1 : 0;
        break;
      case detail::RecordKind::kOperator:
        if (detail::word_aux(record.word) == 3) wrong += value == nodes++ ? 0 : 1;
        ++told;
        break;
      default:
        break;
    }
  }
  CHECK(wrong == 0);
  CHECK(noted == number);
  CHECK(nodes == kOperators);
  CHECK(with_number + told == 2 * kOperators);
  CHECK(with_number > kOperators * 9 / 10);
}

TEST_CASE("an operator is told by its text, whatever stood at its address before", "[buffer]") {
  BareRecording recording;
  char name[32];
  for (const char* text : {"aten::add", "aten::add", "aten::add_", "aten::ad", "aten::mul", "", "aten::add"}) {
    std::strcpy(name, text);
    const Operator at_one_address(name);
  }
  const std::string elsewhere = "aten::mul";
  { const Operator at_another(elsewhere.c_str()); }
  CHECK(drained_operators(recording) == Texts{"begin aten::add", "end aten::add", "begin aten::add", "end aten::add",
                                              "begin aten::add_", "end aten::add_", "begin aten::ad", "end aten::ad",
                                              "begin aten::mul", "end aten::mul", "begin ", "end ", "begin aten::add",
                                              "end aten::add", "begin aten::mul", "end aten::mul"});
}

TEST_CASE("an operator whose name is cut is cut each time", "[buffer]") {
  BareRecording recording;
  const std::string name(NameTable::kMaxNameBytes + 1, 'n');
  for (int i = 0; i < 3; ++i) const Operator of_long_name(name.c_str());
  const std::string cut(NameTable::kMaxNameBytes, 'n');
  CHECK(drained_operators(recording) ==
        Texts{"begin " + cut, "end " + cut, "begin " + cut, "end " + cut, "begin " + cut, "end " + cut});
}
