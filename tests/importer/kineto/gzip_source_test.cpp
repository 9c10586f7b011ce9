// SPDX-License-Identifier: MIT
#include "importer/kineto/gzip_source.hpp"

#include "trace_text.hpp"

#include <random>

using namespace rangefinder;
using namespace rangefinder::importer::kineto;
using rangefinder::testing::gzip;

namespace {

struct Unpacked {
  std::string text;
  SourceEnd end;
};

Unpacked unpack(std::string_view packed, std::size_t step = 1000) {
  MemorySource memory(base::as_bytes(packed));
  GzipSource source(memory);
  Unpacked out;
  std::vector<char> buffer(step);
  while (const std::size_t count = source.read(buffer)) out.text.append(buffer.data(), count);
  out.end = source.end();
  CHECK(source.read(buffer) == 0);  // the end stays the end
  return out;
}

/// Always the same: what varies are the steps and the cuts.
std::string random_text(std::size_t size) {
  std::mt19937 random(7);
  std::string out(size, ' ');
  for (char& c : out) c = static_cast<char>('a' + random() % 26);
  return out;
}

/// A member with every optional part of the header.
std::string with_all_header_parts(std::string_view text) {
  std::string member = gzip(text);
  std::string header = member.substr(0, 10);
  header[3] = 2 | 4 | 8 | 16;
  header +=
      std::string("\x03\x00xyz", 5) + std::string("name.json\0", 10) + std::string("a comment\0", 10) + "\x12\x34";
  return header + member.substr(10);
}

using Kind = SourceEnd::Kind;

}  // namespace

TEST_CASE("a gzip member is unpacked whatever the step", "[importer]") {
  const std::string text = random_text(300'000);
  const std::string packed = gzip(text);
  for (const std::size_t step : {1u, 777u, 262'144u, 1'000'000u}) {
    const Unpacked out = unpack(packed, step);
    CHECK(out.text == text);
    CHECK(out.end.kind == Kind::kEnd);
    CHECK(out.end.trailing_bytes == 0);
  }
}

TEST_CASE("several members are one text", "[importer]") {
  const Unpacked out = unpack(gzip("{\"trace") + gzip("") + gzip("Events\": []}"));
  CHECK(out.text == "{\"traceEvents\": []}");
  CHECK(out.end.kind == Kind::kEnd);
}

TEST_CASE("zeros behind the last member are padding", "[importer]") {
  const Unpacked out = unpack(gzip("abc") + std::string(100'000, '\0'));
  CHECK(out.text == "abc");
  CHECK(out.end.kind == Kind::kEnd);
  CHECK(out.end.trailing_bytes == 0);
}

TEST_CASE("something else behind the last member is counted", "[importer]") {
  CHECK(unpack(gzip("abc") + "x").end.trailing_bytes == 1);
  CHECK(unpack(gzip("abc") + "xyz").end.trailing_bytes == 3);
  CHECK(unpack(gzip("abc") + std::string(200'000, 'x')).end.trailing_bytes == 200'000);
}

TEST_CASE("every part of a header is understood", "[importer]") {
  const Unpacked out = unpack(with_all_header_parts("abc"));
  CHECK(out.text == "abc");
  CHECK(out.end.kind == Kind::kEnd);
}

TEST_CASE("a wrong checksum or length is found after everything was unpacked", "[importer]") {
  std::string packed = gzip("some text");
  SECTION("checksum") {
    packed[packed.size() - 8] ^= 1;
    const Unpacked out = unpack(packed);
    CHECK(out.text == "some text");
    CHECK(out.end.kind == Kind::kDamaged);
    CHECK(out.end.reason == "the checksum of the unpacked data is wrong");
  }
  SECTION("length") {
    packed[packed.size() - 4] = 100;
    const Unpacked out = unpack(packed);
    CHECK(out.text == "some text");
    CHECK(out.end.kind == Kind::kDamaged);
    CHECK(out.end.reason == "gzip's length says 100 bytes, unpacked were 9");
  }
}

TEST_CASE("headers of no version are refused", "[importer]") {
  std::string packed = gzip("abc");
  SECTION("method") { packed[2] = 7; }
  SECTION("flags") { packed[3] = static_cast<char>(0x80); }
  CHECK(unpack(packed).end.kind == Kind::kDamaged);
}

TEST_CASE("every cut is told and gives a prefix", "[importer][fault]") {
  const std::string text = random_text(3000);
  const std::string packed = with_all_header_parts(text);
  for (std::size_t cut = 2; cut < packed.size(); ++cut) {
    const Unpacked out = unpack(packed.substr(0, cut));
    INFO(cut);
    REQUIRE(out.end.kind == Kind::kCutOff);
    REQUIRE(out.end.reason == "the compressed data end early, at byte " + std::to_string(cut));
    REQUIRE(text.starts_with(out.text));
  }
}

TEST_CASE("every flipped byte is told, or changes nothing", "[importer][fault]") {
  const std::string text = random_text(400);
  const std::string packed = gzip(text);
  for (std::size_t at = 0; at < packed.size(); ++at) {
    std::string flipped = packed;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    const Unpacked out = unpack(flipped);
    INFO(at);
    if (out.end.kind == Kind::kEnd && out.end.trailing_bytes == 0) REQUIRE(out.text == text);
  }
}

TEST_CASE("what unpacks to more than a thousand times its size is refused", "[importer][fault]") {
  const std::string packed = gzip(std::string(200'000'000, ' '), 9);
  const Unpacked out = unpack(packed, 1 << 20);
  CHECK(out.end.kind == Kind::kRefused);
  CHECK(out.end.reason == "unpacks to more than 1000 times its size");
  CHECK(out.text.size() < 80'000'000);
}
