// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"

#include "base/checksum.hpp"
#include "base/compress.hpp"
#include "base/intervals.hpp"
#include "base/string_pool.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::base;
using namespace rangefinder::testing;

TEST_CASE("zigzag keeps small magnitudes small", "[base]") {
  CHECK(zigzag(0) == 0);
  CHECK(zigzag(-1) == 1);
  CHECK(zigzag(1) == 2);
  CHECK(zigzag(-2) == 3);
  CHECK(zigzag(std::numeric_limits<std::int64_t>::max()) == ~std::uint64_t{0} - 1);
  CHECK(zigzag(std::numeric_limits<std::int64_t>::min()) == ~std::uint64_t{0});
}

TEST_CASE("numbers come back from bytes", "[base][property]") {
  std::mt19937_64 random(property_seed("varints"));
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> numbers(any_size(random, 8));
    Bytes bytes;
    for (std::uint64_t& number : numbers) {
      number = any_size(random);
      const std::size_t before = bytes.size();
      append_varint(bytes, number);
      CHECK(bytes.size() - before == (number == 0 ? 1 : (64 - static_cast<unsigned>(__builtin_clzll(number)) + 6) / 7));
      std::byte short_one[kMaxVarintBytes];
      std::byte* const end = put_short_varint(short_one, number);
      CHECK(std::equal(short_one, end, bytes.begin() + static_cast<std::ptrdiff_t>(before), bytes.end()));
      CHECK(unzigzag(zigzag(static_cast<std::int64_t>(number))) == static_cast<std::int64_t>(number));
    }
    ByteReader reader(bytes);
    for (const std::uint64_t number : numbers) CHECK(reader.varint() == number);
    CHECK(reader.ok());
    CHECK(reader.left() == 0);
    CHECK(reader.varint() == 0);
    CHECK_FALSE(reader.ok());
    // Cut anywhere: no further than the end, and zeros from there on.
    if (bytes.empty()) continue;
    ByteReader cut(ByteView(bytes).first(random() % bytes.size()));
    for (std::size_t i = 0; i <= numbers.size(); ++i) (void)cut.varint();
    CHECK(cut.left() == 0);
    CHECK_FALSE(cut.ok());
  }
}

TEST_CASE("an overlong varint is an error", "[base]") {
  const Bytes ten_bytes(9, std::byte{0xFF});
  Bytes most = ten_bytes, too_much = ten_bytes, endless(20, std::byte{0x80});
  most.push_back(std::byte{1});
  too_much.push_back(std::byte{2});
  ByteReader first(most), second(too_much), third(endless);
  CHECK(first.varint() == ~std::uint64_t{0});
  CHECK(first.ok());
  CHECK(second.varint() == 0);
  CHECK_FALSE(second.ok());
  CHECK(third.varint() == 0);
  CHECK_FALSE(third.ok());
}

TEST_CASE("a reader does not run past its end", "[base]") {
  Bytes bytes;
  append_value(bytes, std::uint32_t{0x01020304});
  append_value(bytes, std::int16_t{-2});
  CHECK(bytes[0] == std::byte{4});  // little-endian
  ByteReader reader(bytes);
  CHECK(reader.value<std::uint32_t>() == 0x01020304);
  CHECK(reader.value<std::int16_t>() == -2);
  CHECK(reader.ok());
  CHECK(reader.bytes(0).empty());
  CHECK(reader.ok());
  CHECK(reader.value<std::uint8_t>() == 0);
  CHECK_FALSE(reader.ok());
  ByteReader other(bytes);
  CHECK(other.bytes(7).empty());
  CHECK_FALSE(other.ok());
  CHECK(other.left() == 0);
}

TEST_CASE("a checksum is that of XXH3, for ever", "[base]") {
  CHECK(checksum({}) == 0x2D06800538D394C2u);  // of nothing, as its authors publish it
  CHECK(checksum(as_bytes("a")) != checksum(as_bytes("b")));
}

TEST_CASE("what is compressed comes back, and what does not shrink is left alone", "[base][property]") {
  std::mt19937_64 random(property_seed("compression"));
  Compressor compressor;
  Decompressor decompressor;
  for (int round = 0; round < 100; ++round) {
    Bytes raw(any_size(random, 16));
    const std::uint64_t kinds = 1 + any_size(random, 8);
    for (std::byte& byte : raw) byte = static_cast<std::byte>(random() % kinds);
    Bytes packed(3, std::byte{'x'});
    const std::size_t size = compressor.append_compressed(
        packed, raw, 1, round % 2 == 0 ? Compressor::Matches::kAny : Compressor::Matches::kLong);
    REQUIRE(packed.size() == 3 + size);
    if (size == 0) continue;
    CHECK(size < raw.size());
    Bytes out(raw.size());
    const ByteView frame(packed.data() + 3, size);
    REQUIRE(decompressor.decompress(frame, out).ok());
    CHECK(out == raw);
    Bytes shorter(raw.size() - 1), longer(raw.size() + 1);
    CHECK_FALSE(decompressor.decompress(frame, shorter).ok());
    CHECK_FALSE(decompressor.decompress(frame, longer).ok());
    CHECK_FALSE(decompressor.decompress(frame.first(size - 1), out).ok());
  }
}

TEST_CASE("a text has one number, whatever comes in between", "[base][property]") {
  std::mt19937_64 random(property_seed("string pool"));
  StringPool pool;
  CHECK(pool.size() == 1);
  CHECK(pool.intern("") == 0);
  std::map<std::string, std::uint32_t> known{{"", 0}};
  std::vector<std::string> by_id{""};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = std::to_string(random() % 5'000);
    if (random() % 100 == 0) text.resize(any_size(random, 17), 'x');
    if (random() % 10 == 0) text.push_back('\0');
    const std::uint32_t before = pool.find(text);
    const auto [found, added] = known.try_emplace(text, static_cast<std::uint32_t>(by_id.size()));
    if (added) by_id.push_back(text);
    CHECK(before == (added ? StringPool::kAbsent : found->second));
    REQUIRE(pool.intern(text) == found->second);
  }
  REQUIRE(pool.size() == by_id.size());
  std::uint64_t bytes = 0;
  for (std::uint32_t id = 0; id < by_id.size(); ++id) {
    if (pool.text(id) != by_id[id]) FAIL("text " << id);
    bytes += by_id[id].size();
  }
  CHECK(pool.memory_bytes() > bytes + by_id.size() * 24);
  CHECK(pool.memory_bytes() <= bytes + by_id.size() * 40 + 4096);
  CHECK(pool.text(pool.size()).empty());
  StringPool moved = std::move(pool);
  CHECK(moved.text(1) == by_id[1]);
}

TEST_CASE("the union of intervals counts every nanosecond once", "[base][property]") {
  CHECK(union_length({}) == 0);
  std::mt19937_64 random(property_seed("union"));
  for (int round = 0; round < 1000; ++round) {
    std::vector<Interval> intervals(random() % 12);
    std::vector<bool> covered(64);
    for (Interval& interval : intervals) {
      interval.begin = static_cast<std::int64_t>(random() % 60);
      interval.end =
          interval.begin + static_cast<std::int64_t>(random() % (64 - static_cast<std::uint64_t>(interval.begin)));
      for (std::int64_t at = interval.begin; at < interval.end; ++at) covered[static_cast<std::size_t>(at)] = true;
      interval.begin -= 30;
      interval.end -= 30;
    }
    const auto slow = std::count(covered.begin(), covered.end(), true);
    CHECK(sort_and_union_length(intervals) == slow);
    CHECK(union_length(intervals) == slow);
  }
}

TEST_CASE("bytes that are equal but for the first few become a frame of a few bytes", "[base]") {
  const std::size_t size = GENERATE(1024, 1025, 65'536 + 255, 65'536 + 256, 131'072 + 10, 400'000);
  const std::size_t others = GENERATE(0, 1, 9, 10);
  CAPTURE(size, others);
  Bytes raw(size, std::byte{7});
  std::fill_n(raw.begin(), others, std::byte{9});
  Bytes packed(3, std::byte{'x'});
  const std::size_t frame = Compressor::append_run(packed, raw);
  REQUIRE(packed.size() == 3 + frame);
  CHECK(frame >= 11);
  CHECK(frame <= 11 + 2 + 3 + others + 4 * (size / 131'072));
  Decompressor decompressor;
  Bytes out(size);
  REQUIRE(decompressor.decompress(ByteView(packed).subspan(3), out).ok());
  CHECK(out == raw);
}

TEST_CASE("other bytes are left to the compressor", "[base]") {
  Bytes packed;
  CHECK(Compressor::append_run(packed, Bytes(1023)) == 0);
  Bytes raw(2000, std::byte{7});
  raw.back() = std::byte{8};
  CHECK(Compressor::append_run(packed, raw) == 0);
  raw.back() = std::byte{7};
  raw[10] = std::byte{8};
  CHECK(Compressor::append_run(packed, raw) == 0);
  CHECK(packed.empty());
}
