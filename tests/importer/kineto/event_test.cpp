// SPDX-License-Identifier: MIT
#include "importer/kineto/event.hpp"

#include "support/seed.hpp"
#include "trace_text.hpp"

#include <random>

using namespace rangefinder::importer::kineto;
using rangefinder::testing::PaddedText;

namespace {

struct Read {
  explicit Read(std::string_view text)
      : padded(text), cursor(padded.cursor()), scan(EventReader().read(cursor, event)) {}
  PaddedText padded;
  Event event;
  Cursor cursor;
  Scan scan;
};

// As torch 2.11 writes it.
constexpr std::string_view kKernel = R"json({
    "ph": "X", "cat": "kernel", "name": "gemm<float>(int, \"x\")", "pid": 0, "tid": 7,
    "ts": 4458676983543.183, "dur": 41.407,
    "args": {
      "External id": 12353, "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": 57541,
      "registers per thread": 48,
      "shared memory": 1024,
      "blocks per SM": inf,
      "warps per SM": 0.037037037,
      "grid": [50, 2, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %": 0, "graph id": 3, "graph node id": 77
    }
  })json";

}  // namespace

TEST_CASE("an event is read with its arguments", "[importer]") {
  const Read read(kKernel);
  REQUIRE(read.scan == Scan::kOk);
  const Event& event = read.event;
  CHECK(event.phase == 'X');
  CHECK(event.category.bytes == "kernel");
  CHECK(event.name.bytes == R"json(gemm<float>(int, \"x\"))json");
  CHECK(event.name.escaped);
  CHECK(event.process.number == 0);
  CHECK(event.thread.number == 7);
  CHECK(event.time.ns == 4458676983543183);
  CHECK(event.duration.ns == 41407);
  CHECK(event.json == kKernel);
  CHECK(event.members.substr(0, 21) == "\"External id\": 12353,");
  CHECK(event.members.substr(event.members.size() - 19) == "\"graph node id\": 77");
  const EventArguments& arguments = event.arguments;
  CHECK(arguments.external_id == 12353);
  CHECK(arguments.correlation == 57541);
  CHECK(arguments.device == 0);
  CHECK(arguments.context == 1);
  CHECK(arguments.stream == 7);
  CHECK(arguments.registers == 48);
  CHECK(arguments.shared_memory == 1024);
  CHECK(arguments.grid[0] == 50);
  CHECK(arguments.grid[1] == 2);
  CHECK(arguments.block[0] == 128);
  CHECK(arguments.graph == 3);
  CHECK(arguments.graph_node == 77);
  CHECK_FALSE(arguments.has(EventArguments::kBytes));
}

TEST_CASE("members may come in any order, twice, or with other types", "[importer]") {
  SECTION("order") {
    const Read read(
        R"json({"args":{"correlation":5},"dur":"2.5","ts":"10","tid":"9","pid":"8","name":"n","cat":"c","ph":"X"})json");
    REQUIRE(read.scan == Scan::kOk);
    CHECK(read.event.arguments.correlation == 5);
    CHECK(read.event.time.ns == 10'000);
    CHECK(read.event.duration.ns == 2500);
    CHECK(read.event.process.is_number());
    CHECK(read.event.process.number == 8);
    CHECK(read.event.thread.number == 9);
  }
  SECTION("words as ids") {
    const Read read(R"json({"ph":"X","pid":"Spans","tid":"stream 7","ts":1,"dur":1})json");
    REQUIRE(read.scan == Scan::kOk);
    CHECK(read.event.process.form == TrackId::Form::kText);
    CHECK(read.event.process.text.bytes == "Spans");
    CHECK(read.event.thread.text.bytes == "stream 7");
  }
  SECTION("wrong types") {
    const Read read(R"json({"ph":3,"cat":null,"name":["x"],"pid":{},"tid":1.5,"ts":null,"dur":NaN,"args":[1]})json");
    REQUIRE(read.scan == Scan::kOk);
    CHECK(read.event.phase == 0);
    CHECK(read.event.name.bytes.empty());
    CHECK(read.event.process.form == TrackId::Form::kAbsent);
    CHECK(read.event.thread.form == TrackId::Form::kAbsent);
    CHECK(read.event.time.state == EventTime::State::kAbsent);
    CHECK(read.event.duration.state == EventTime::State::kUnusable);
    CHECK(read.event.members.empty());
  }
  SECTION("nothing") {
    const Read read("{}");
    REQUIRE(read.scan == Scan::kOk);
    CHECK(read.event.phase == 0);
  }
  SECTION("empty arguments") {
    const Read read(R"json({"ph":"X","args":{ }})json");
    REQUIRE(read.scan == Scan::kOk);
    CHECK(read.event.members.empty());
  }
}

TEST_CASE("the newer spelling of the external id wins", "[importer]") {
  CHECK(Read(R"json({"args":{"external id":1}})json").event.arguments.external_id == 1);
  CHECK(Read(R"json({"args":{"external id":1,"External id":2}})json").event.arguments.external_id == 2);
  CHECK(Read(R"json({"args":{"External id":2,"external id":1}})json").event.arguments.external_id == 2);
}

TEST_CASE("keys that begin like known ones are not taken for them", "[importer]") {
  const Read read(
      R"json({"phase":"X","tsx":1,"args":{"External idx":1,"correlations":2,"graph idx":3,"finishedX":"false",
                     "toDevices":4,"streams":5,"shared memory pool":6,"externaL id":7}})json");
  REQUIRE(read.scan == Scan::kOk);
  CHECK(read.event.phase == 0);
  CHECK(read.event.time.state == EventTime::State::kAbsent);
  CHECK(read.event.arguments.present == 0);
}

TEST_CASE("arguments of another type than their column's are not there", "[importer]") {
  const Read read(
      R"json({"args":{"stream":"0x0","correlation":null,"device":"3","bytes":1.5,"context":2.0,"grid":"[1,1,1]",
                     "block":[1,2],"registers per thread":[4],"graph id":true}})json");
  REQUIRE(read.scan == Scan::kOk);
  using F = EventArguments;
  CHECK(read.event.arguments.present == (F::kDevice | F::kContext | F::kBlock));
  CHECK(read.event.arguments.device == 3);
  CHECK(read.event.arguments.context == 2);
  CHECK(read.event.arguments.block[1] == 2);
  CHECK(read.event.arguments.block[2] == 0);
}

TEST_CASE("old ROCm traces write a bare N/A", "[importer]") {
  const Read read(R"json({"ph":"X","args":{"bytes":4,"memory bandwidth (GB/s)": N/A, "correlation":6}})json");
  REQUIRE(read.scan == Scan::kOk);
  CHECK(read.event.arguments.bytes == 4);
  CHECK(read.event.arguments.correlation == 6);
}

TEST_CASE("an unfinished range says so", "[importer]") {
  using F = EventArguments;
  CHECK(Read(R"json({"args":{"finished":"false"}})json").event.arguments.has(F::kUnfinished));
  CHECK(Read(R"json({"args":{"finished":false}})json").event.arguments.has(F::kUnfinished));
  CHECK_FALSE(Read(R"json({"args":{"finished":"true"}})json").event.arguments.has(F::kUnfinished));
}

TEST_CASE("what is not JSON is an offence at its place", "[importer]") {
  const auto offence = [](std::string_view text) {
    const Read read(text);
    CHECK(read.scan == Scan::kBad);
    return read.cursor.at - read.padded.cursor().at;
  };
  CHECK(offence(R"json({"ph" "X"})json") == 6);
  CHECK(offence(R"json({"ph":})json") == 6);
  CHECK(offence(R"json({"ph":"X" "ts":1})json") == 10);
  CHECK(offence(R"json({ph:"X"})json") == 1);
  CHECK(offence(R"json({"args":{"a":1,2}})json") == 15);
  CHECK(offence("{\"ts\":1\x01}") == 7);
}

TEST_CASE("every cut of an event asks for more and reads nothing past the padding", "[importer][fault]") {
  for (std::size_t cut = 1; cut < kKernel.size(); ++cut) {
    const Read read(kKernel.substr(0, cut));
    INFO(cut);
    CHECK(read.scan == Scan::kMore);
  }
}

TEST_CASE("no byte in an event's place harms the reader", "[importer][fault]") {
  for (std::size_t at = 1; at < kKernel.size(); ++at) {
    for (const char c : {'\0', '"', '\\', '{', '}', '[', ']', ',', ':', '9', '-', '\xFF'}) {
      std::string text(kKernel);
      text[at] = c;
      const Read read(text);
      CHECK(static_cast<int>(read.scan) <= static_cast<int>(Scan::kTooDeep));
      if (read.scan == Scan::kOk) CHECK(read.event.json.size() <= text.size());
    }
  }
}

namespace {

/// Events that look alike and do not: members, white space, values and order vary at random.
std::string random_event(std::mt19937_64& random) {
  const auto any_of = [&](std::initializer_list<const char*> choices) {
    return std::string(choices.begin()[random() % choices.size()]);
  };
  const auto space = [&] { return any_of({"", "", " ", " ", "\n    ", "\n", "\t "}); };
  const auto value = [&] {
    return any_of({"1",
                   "25286",
                   "1428625731896.179",
                   "-3",
                   "\"7\"",
                   "\"stream 7\"",
                   "1e3",
                   "0.0005",
                   "\"\"",
                   "null",
                   "NaN",
                   "N/A",
                   "[1, 2, 3]",
                   "[]",
                   "{}",
                   "{\"a\": [\"}\"]}",
                   "\"a\\\"b\"",
                   "\"false\"",
                   "\"X\"",
                   "\"kernel\"",
                   "\"cpu_op\"",
                   "\"a name that is longer than any layout that is remembered as a whole\""});
  };
  const auto members = [&](std::initializer_list<const char*> keys, bool nested, auto&& self) -> std::string {
    std::string out = "{";
    bool first = true;
    for (const char* key : keys) {
      if (random() % 4 == 0) continue;
      out += (first ? "" : space() + ",") + space() + '"' + key + '"' + space() + ":" + space();
      const bool object = nested && std::string_view(key) == "args" && random() % 8 != 0;
      out +=
          object
              ? self({"External id", "external id", "correlation", "stream", "grid", "name", "finished", "Call stack"},
                     false, self)
              : value();
      first = false;
    }
    return out + (random() % 20 == 0 && !first ? "," : "") + space() + "}";
  };
  return members({"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "cat"}, true, members);
}

void check_alike(const Event& a, const Event& b) {
  REQUIRE(a.phase == b.phase);
  REQUIRE(a.category.bytes == b.category.bytes);
  REQUIRE(a.category.escaped == b.category.escaped);
  REQUIRE(a.name.bytes == b.name.bytes);
  REQUIRE(a.process.form == b.process.form);
  REQUIRE(a.thread.form == b.thread.form);
  if (a.process.is_number()) REQUIRE(a.process.number == b.process.number);
  REQUIRE(a.time.state == b.time.state);
  if (a.time.usable()) REQUIRE(a.time.ns == b.time.ns);
  REQUIRE(a.duration.state == b.duration.state);
  REQUIRE(a.json == b.json);
  REQUIRE(a.members == b.members);
  REQUIRE(a.arguments_at == b.arguments_at);
  REQUIRE(a.arguments.present == b.arguments.present);
  using F = EventArguments;
  if (a.arguments.has(F::kExternalId)) REQUIRE(a.arguments.external_id == b.arguments.external_id);
  if (a.arguments.has(F::kCorrelation)) REQUIRE(a.arguments.correlation == b.arguments.correlation);
  if (a.arguments.has(F::kStream)) REQUIRE(a.arguments.stream == b.arguments.stream);
  if (a.arguments.has(F::kGrid)) REQUIRE(a.arguments.grid[2] == b.arguments.grid[2]);
  if (a.arguments.has(F::kName)) REQUIRE(a.arguments.name.bytes == b.arguments.name.bytes);
}

}  // namespace

TEST_CASE("a reader that has seen many events reads the next as a new one does", "[importer][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("event reader"));
  for (int round = 0; round < 40; ++round) {
    EventReader experienced;
    std::vector<std::string> seen;
    for (int i = 0; i < 400; ++i) {
      // Some of them again, so that what was remembered is used, and some of them cut or damaged.
      std::string text = seen.empty() || random() % 2 == 0 ? random_event(random) : seen[random() % seen.size()];
      seen.push_back(text);
      if (random() % 8 == 0) text.resize(1 + random() % text.size());
      if (random() % 8 == 0) text[random() % text.size()] = "\0\"{}[],: 1x"[random() % 12];
      INFO(text);
      const PaddedText padded(text);
      Cursor ours = padded.cursor();
      Cursor theirs = padded.cursor();
      Event event;
      Event other;
      const Scan scan = EventReader().read(theirs, other);
      REQUIRE(static_cast<int>(experienced.read(ours, event)) == static_cast<int>(scan));
      REQUIRE(ours.at == theirs.at);
      if (scan == Scan::kOk) check_alike(event, other);
    }
  }
}

TEST_CASE("layouts that begin alike are told apart", "[importer]") {
  EventReader reader;
  for (const std::string_view text :
       {R"json({"args":1,"ts":5})json", R"json({"args":{"correlation":5},"ts":5})json",
        R"json({"args":[{}],"ts": 5})json", R"json({"args": {"correlation": 5}, "ts":  5})json",
        R"json({"args":  {"correlation":  5},"ts":5})json", R"json({"ph":"X","ts":5})json",
        R"json({"ph":"XY","ts":5})json", R"json({"ph":"X\"","ts":5})json", R"json({"ph":"B" ,"ts":5})json",
        R"json({"ph":X,"ts":5})json", R"json({"cat":"ab","ts":5})json", R"json({"cat":"a","ts":5})json",
        R"json({"cat":"abc","ts":5})json", R"json({"cat":"","ts":5})json"}) {
    for (int round = 0; round < 2; ++round) {
      INFO(text);
      const PaddedText padded(text);
      Cursor cursor = padded.cursor();
      Event event;
      REQUIRE(reader.read(cursor, event) == Scan::kOk);
      Event expected;
      cursor = padded.cursor();
      REQUIRE(EventReader().read(cursor, expected) == Scan::kOk);
      check_alike(event, expected);
      REQUIRE(event.time.ns == 5000);
    }
  }
}

TEST_CASE("the number at the end of a text is found", "[importer]") {
  std::int64_t number = 0;
  CHECK(trailing_number("stream 7", number));
  CHECK(number == 7);
  CHECK(trailing_number("25738", number));
  CHECK(number == 25738);
  CHECK_FALSE(trailing_number("stream", number));
  CHECK_FALSE(trailing_number("", number));
  CHECK_FALSE(trailing_number("99999999999999999999", number));
}
