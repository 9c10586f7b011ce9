// SPDX-License-Identifier: MIT
#include "importer/kineto/document.hpp"

#include "trace_text.hpp"

using namespace rangefinder;
using rangefinder::testing::error_of;
using rangefinder::testing::gzip;
using rangefinder::testing::import_text;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::strictly;
using rangefinder::testing::trace_of;

namespace {

constexpr std::string_view kTwoEvents = R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":2,"dur":1})";

// A little of everything.
std::string small_trace() {
  return trace_of(R"({
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 10.5, "dur": 80,
    "args": {"External id": 1, "Input Dims": [[1, 2], []]}
  },
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 3, "args": {"correlation": 5}},
  {"ph": "s", "id": 5, "pid": 1, "tid": 1, "ts": 12, "cat": "ac2g", "name": "ac2g"},
  {"ph": "X", "cat": "kernel", "name": "k\u00e9\"", "pid": 0, "tid": 7, "ts": 20.125, "dur": 9, "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [1, 1, 1]}},
  {"ph": "B", "name": "open", "pid": 1, "tid": 2, "ts": 3},
  {"ph": "C", "name": "memory", "pid": 1, "tid": 1, "ts": 30, "args": {"used": 5}})",
                  R"("deviceProperties": [{"id": 0, "name": "G"}],)", R"(, "distributedInfo": {"rank": 1})");
}

}  // namespace

TEST_CASE("inputs that are no traces say what they are not", "[importer]") {
  CHECK(error_of("") == "trace.json: empty");
  CHECK(error_of("  \n ") == "trace.json at byte 4 of the text (line 2): cut off where JSON should be");
  CHECK(error_of("hello") == "trace.json at byte 0 of the text (line 1): not JSON: expected { or [, found 'h'");
  CHECK(error_of("\x1b[2J") == "trace.json at byte 0 of the text (line 1): not JSON: expected { or [, found '\\x1b'");
  CHECK(error_of("{}") == "trace.json: JSON, but not a trace: it has no traceEvents");
  CHECK(error_of("{\"a\": {\"traceEvents\": []}}") == "trace.json: JSON, but not a trace: it has no traceEvents");
  CHECK(error_of("[1, 2, {\"a\": 3}]") == "trace.json: JSON, but not a trace: an array without events");
  CHECK(error_of("[]") == "trace.json: JSON, but not a trace: an array without events");
  CHECK(error_of("{\"traceEvents\": {}}") ==
        "trace.json at byte 16 of the text (line 1): expected an array of events, found '{'");
  CHECK(error_of("{\"traceEvents\": null}").find("expected an array of events") != std::string::npos);
  CHECK(error_of("{\n \"a\" 1}") == "trace.json at byte 7 of the text (line 2): expected a colon, found '1'");
  CHECK(error_of("{1}").find("expected a member's name in quotes, found '1'") != std::string::npos);
  CHECK(error_of("{\"traceEvents\": [{\"ph\": \"X\"").find("cut off where an event should be") != std::string::npos);
}

TEST_CASE("a file name with control bytes is shown harmlessly", "[importer]") {
  importer::kineto::ImportDetails details;
  const auto timeline = importer::kineto::import_kineto(base::as_bytes("x"), "a\x1b]0;b\n.json", {}, details);
  REQUIRE_FALSE(timeline);
  CHECK(timeline.error().message().find("a\\x1b]0;b\\x0a.json") == 0);
}

TEST_CASE("an empty trace is a trace", "[importer]") {
  const Loaded loaded = load("{\"traceEvents\": []}");
  CHECK(loaded.timeline.ranges.size() == 0);
  CHECK(loaded.timeline.begin_ns == 0);
  CHECK(loaded.timeline.end_ns == 0);
  CHECK(loaded.timeline.health.complete());
  CHECK(loaded.has_note("no events"));
}

TEST_CASE("a bare array of events is a trace", "[importer]") {
  const std::string events(kTwoEvents);
  CHECK(load("[" + events + "]").timeline.ranges.size() == 2);
  CHECK(load("[" + events + ",]").timeline.ranges.size() == 2);
  SECTION("even unclosed, as its format allows") {
    for (const std::string_view end : {"", "\n", ",", ",\n"}) {
      const Loaded loaded = load("[" + events + std::string(end), strictly());
      CHECK(loaded.timeline.ranges.size() == 2);
      CHECK(loaded.timeline.health.complete());
      CHECK(loaded.has_note("not closed"));
    }
  }
  SECTION("but an event cut in two is damage") {
    const Loaded loaded = load("[" + events.substr(0, events.size() - 5));
    CHECK(loaded.timeline.ranges.size() == 1);
    CHECK_FALSE(loaded.timeline.health.complete());
  }
}

TEST_CASE("a byte order mark and white space around the trace are no matter", "[importer]") {
  CHECK(load("\xEF\xBB\xBF \n" + trace_of(kTwoEvents) + "\n\n ").timeline.ranges.size() == 2);
}

TEST_CASE("positions count every element of traceEvents", "[importer]") {
  const Loaded loaded =
      load(trace_of("null, {\"ph\":\"M\",\"name\":\"process_name\"}, [1], " + std::string(kTwoEvents) + ", {}"));
  CHECK(loaded.timeline.ranges.source_row == std::vector<std::int64_t>{3, 4});
  CHECK(loaded.has_note("2 elements of traceEvents are no objects"));
  CHECK(loaded.has_note("1 events have no phase"));
}

TEST_CASE("a trace that is cut off gives what was whole before, and says so", "[importer]") {
  const std::string text = trace_of(kTwoEvents);
  const std::string cut = text.substr(0, text.find("\"b\"") + 2);
  const Loaded loaded = load(cut);
  CHECK(loaded.timeline.ranges.size() == 1);
  CHECK(loaded.timeline.health.damaged_chunks == 1);
  CHECK(loaded.timeline.health.damaged_bytes == cut.size() - cut.rfind("{\"ph\""));
  CHECK(loaded.has_note(
      "damaged at byte 112 of the text (line 5): cut off where an event should be; 1 events before that"));
  SECTION("strictly it is an error") {
    const auto strict = import_text(cut, strictly());
    REQUIRE_FALSE(strict);
    CHECK(strict.error().code() == ErrorCode::kIncomplete);
    CHECK(
        strict.error().message() ==
        "trace.json at byte 112 of the text (line 5): cut off where an event should be; 1 events before it are whole");
  }
}

TEST_CASE("damage in the middle stops the reading there", "[importer]") {
  const Loaded loaded = load(trace_of(std::string(kTwoEvents) + ",\n{\"ph\" \"X\"},\n" + std::string(kTwoEvents)));
  CHECK(loaded.timeline.ranges.size() == 2);
  CHECK(loaded.has_note("expected a colon, found '\"'; 2 events before that were read"));
  CHECK(loaded.timeline.health.damaged_bytes > 100);
}

TEST_CASE("a missing comma between events is damage", "[importer]") {
  const Loaded loaded = load(trace_of(std::string(kTwoEvents) + std::string(kTwoEvents)));
  CHECK(loaded.timeline.ranges.size() == 2);
  CHECK(loaded.has_note("expected a comma or the end of traceEvents, found '{'"));
}

TEST_CASE("more behind the trace is damage, and counted", "[importer]") {
  const std::string text = trace_of(kTwoEvents);
  const Loaded loaded = load(text + "garbage");
  CHECK(loaded.timeline.ranges.size() == 2);
  CHECK(loaded.timeline.health.damaged_bytes == 7);
  CHECK(loaded.has_note("the trace has ended, but more follows"));
  CHECK(error_of(text + "garbage", strictly()).find("the trace has ended, but more follows") != std::string::npos);
}

TEST_CASE("traceEvents that occur twice are both read", "[importer]") {
  const std::string events(kTwoEvents);
  const Loaded loaded = load("{\"traceEvents\": [" + events + "], \"traceEvents\": [" + events + "]}");
  CHECK(loaded.timeline.ranges.size() == 4);
  CHECK(loaded.timeline.ranges.source_row[loaded.timeline.ranges.size() - 1] == 3);
  CHECK(loaded.has_note("more than once"));
}

TEST_CASE("gzip is read like plain text", "[importer]") {
  const std::string text = small_trace();
  const Loaded plain = load(text);
  for (const std::string& packed : {gzip(text), gzip(text.substr(0, 100)) + gzip(text.substr(100)), gzip(text, 0)}) {
    const Loaded loaded = load(packed);
    CHECK(loaded.timeline.ranges.begin_ns == plain.timeline.ranges.begin_ns);
    CHECK(loaded.timeline.activities.end_ns == plain.timeline.activities.end_ns);
    CHECK(loaded.timeline.health.complete());
  }
}

TEST_CASE("gzip that is cut off gives what was whole before", "[importer]") {
  std::string events(kTwoEvents);
  for (int i = 0; i < 2000; ++i)
    events += ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op" + std::to_string(i * 7919) +
              "\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1}";
  const std::string packed = gzip(trace_of(events));
  const std::string cut = packed.substr(0, packed.size() / 2);
  const Loaded loaded = load(cut);
  CHECK(loaded.timeline.ranges.size() > 100);
  CHECK(loaded.timeline.ranges.size() < 2002);
  CHECK(loaded.timeline.health.damaged_chunks == 1);
  CHECK(loaded.has_note("the compressed data end early, at byte " + std::to_string(cut.size())));
  CHECK(error_of(cut, strictly()).find("the compressed data end early") != std::string::npos);
}

TEST_CASE("gzip whose length or checksum lies keeps its events, and says so", "[importer]") {
  std::string packed = gzip(small_trace());
  SECTION("length") { packed[packed.size() - 1] = 0x7F; }
  SECTION("checksum") { packed[packed.size() - 5] ^= 1; }
  SECTION("something behind it") { packed += "more"; }
  const Loaded loaded = load(packed);
  CHECK(loaded.timeline.activities.size() == 1);
  CHECK(loaded.timeline.health.damaged_chunks == 1);
  CHECK_FALSE(import_text(packed, strictly()));
}

TEST_CASE("gzip of something else is not a trace", "[importer]") {
  CHECK(error_of(gzip("hello")).find("not JSON") != std::string::npos);
  CHECK(error_of(gzip("")).find("cut off where JSON should be") != std::string::npos);
  CHECK(error_of("\x1f\x8b") == "trace.json at byte 0 of the text (line 1): the compressed data end early, at byte 2");
  CHECK(error_of("\x1f\x8b\x08\x80" + std::string(40, 'x')).find("gzip header") != std::string::npos);
}

TEST_CASE("nesting past 256 is refused, wherever it is", "[importer][fault]") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  const auto event_with = [&](std::size_t levels) {
    return R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":)" + nested(levels) + "}}";
  };
  CHECK(load(trace_of(event_with(252))).timeline.ranges.size() == 1);
  CHECK(error_of(trace_of(std::string(kTwoEvents) + "," + event_with(253))).find("nested deeper than 256") !=
        std::string::npos);
  CHECK(error_of("{\"x\": " + nested(256) + "}").find("nested deeper than 256") != std::string::npos);
  CHECK(error_of(std::string(1'000'000, '[')).find("nested deeper than 256") != std::string::npos);
  CHECK(error_of("{\"traceEvents\": " + nested(1000) + "}").find("nested deeper than 256") != std::string::npos);
}

TEST_CASE("a single value past 64 MiB is refused", "[importer][fault]") {
  const std::string text =
      trace_of(std::string(kTwoEvents) + ",{\"ph\":\"X\",\"name\":\"" + std::string(std::size_t{130} << 20, 'x'));
  CHECK(error_of(text).find("one value is longer than 64 MiB") != std::string::npos);
}

TEST_CASE("long names are read whole", "[importer]") {
  for (const std::size_t size : {60'000u, 70'000u, 300'000u, 1'048'576u, 5'000'000u}) {
    const std::string name(size, 'n');
    const Loaded loaded = load(trace_of(std::string(kTwoEvents) + R"(,{"ph":"X","cat":"cpu_op","name":")" + name +
                                        R"(","pid":1,"tid":1,"ts":1,"dur":1},)" + std::string(kTwoEvents)));
    REQUIRE(loaded.timeline.ranges.size() == 5);
    CHECK(loaded.text(loaded.timeline.ranges.name[2]) == name);
  }
}

TEST_CASE("text past the limit is refused while it is read", "[importer][fault]") {
  LoadOptions options;
  options.max_unpacked_bytes = 1'000'000;
  const std::string text = trace_of(kTwoEvents) + std::string(5'000'000, ' ');
  CHECK(error_of(text, options).find("larger than the limit of 1000000 bytes") != std::string::npos);
  CHECK(error_of(gzip(text), options).find("larger than the limit of 1000000 bytes") != std::string::npos);
  options.max_unpacked_bytes = 0;
  CHECK(import_text(text, options));
}

TEST_CASE("a gzip bomb is refused before it has unpacked much", "[importer][fault]") {
  const std::string bomb = gzip("{\"traceEvents\": [" + std::string(300'000'000, ' '), 9);
  CHECK(error_of(bomb).find("unpacks to more than 1000 times its size") != std::string::npos);
}

TEST_CASE("progress comes to the size of the file", "[importer]") {
  struct Seen {
    std::uint64_t calls = 0, done = 0, total = 0;
  } seen;
  LoadOptions options;
  options.progress_user = &seen;
  options.progress = [](void* user, std::uint64_t done, std::uint64_t total) {
    auto& out = *static_cast<Seen*>(user);
    CHECK(done >= out.done);
    ++out.calls;
    out.done = done;
    out.total = total;
  };
  const std::string text = trace_of(kTwoEvents) + std::string(2'000'000, ' ');
  load(text, options);
  CHECK(seen.calls >= 7);
  CHECK(seen.done == text.size());
  CHECK(seen.total == text.size());
}

TEST_CASE("a trace cut at every byte gives a prefix or an error", "[importer][fault]") {
  const std::string text = small_trace();
  const Loaded whole = load(text);
  std::size_t before = 0;
  for (std::size_t cut = 0; cut < text.size() - 3; ++cut) {
    INFO(cut);
    const auto timeline = import_text(text.substr(0, cut));
    REQUIRE_FALSE(import_text(text.substr(0, cut), strictly()));
    if (!timeline) {
      REQUIRE(before == 0);
      REQUIRE_FALSE(timeline.error().message().empty());
      continue;
    }
    const std::size_t events = timeline->ranges.size() + timeline->calls.size() + timeline->activities.size();
    REQUIRE(events >= before);
    REQUIRE(timeline->health.damaged_chunks == 1);
    REQUIRE(std::equal(timeline->activities.end_ns.begin(), timeline->activities.end_ns.end(),
                       whole.timeline.activities.end_ns.begin()));
    before = events;
  }
  CHECK(before == 4);
}

TEST_CASE("gzip cut at every byte gives a prefix or an error", "[importer][fault]") {
  const std::string packed = gzip(small_trace());
  for (std::size_t cut = 0; cut < packed.size(); ++cut) {
    INFO(cut);
    const auto timeline = import_text(packed.substr(0, cut));
    if (timeline) REQUIRE(timeline->health.damaged_chunks == 1);
    REQUIRE_FALSE(import_text(packed.substr(0, cut), strictly()));
  }
}

TEST_CASE("no changed byte harms the reader", "[importer][fault]") {
  const std::string text = small_trace();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char c : {'\0', '"', '\\', '{', '}', '[', ']', ',', '9', '-', 'e', '\xFF'}) {
      std::string changed = text;
      changed[at] = c;
      const auto timeline = import_text(changed, testing::keeping_arguments());
      if (timeline) continue;
      REQUIRE(timeline.error().message().starts_with("trace.json"));
      REQUIRE(timeline.error().message().find('\n') == std::string::npos);
    }
  }
}
