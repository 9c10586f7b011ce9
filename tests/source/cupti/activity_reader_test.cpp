// SPDX-License-Identifier: MIT
#include "source/cupti/activity_reader.hpp"

#include "cupti_fixture.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

namespace rangefinder::source::testing {
namespace {

using cupti::ActivityReader;
using cupti::RawRecord;
using cupti::RecordSizes;

decltype(&::cuptiActivityGetNextRecord) parser(const std::string& name) {
  return name == "real" ? real_cupti()->cuptiActivityGetNextRecord : fake_api().cuptiActivityGetNextRecord;
}

struct alignas(8) Aligned {
  std::uint8_t bytes[8192] = {};
};

}  // namespace

TEST_CASE("the size of a record is what the library's own parser steps over", "[source]") {
  fakecupti_reset();
  const std::string which = GENERATE(from_range(parsers()));
  CAPTURE(which);
  RecordSizes sizes(parser(which));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == sizeof(CUpti_ActivityKernel10));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_MEMCPY) == sizeof(CUpti_ActivityMemcpy6));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_MEMCPY2) == sizeof(CUpti_ActivityMemcpyPtoP4));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_MEMSET) == sizeof(CUpti_ActivityMemset4));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_RUNTIME) == sizeof(CUpti_ActivityAPI));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_DEVICE) == sizeof(CUpti_ActivityDevice5));
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) == sizeof(CUpti_ActivitySynchronization2));
  CHECK(sizes.bytes(0) == 0);
  CHECK(sizes.bytes(200) == 0);
  CHECK(sizes.bytes(0x7fffffff) == 0);
  CHECK(sizes.bytes(CUPTI_ACTIVITY_KIND_STREAM) == 24);  // asked before and after others
}

TEST_CASE("reading stops at the end, at damage, and never past the valid bytes", "[source][property]") {
  fakecupti_reset();
  const std::string which = GENERATE(from_range(parsers()));
  const std::uint64_t seed = GENERATE(from_range(property_seeds("activity reader", 50)));
  INFO("RANGEFINDER_SEED=" << seed);
  CAPTURE(which);
  std::mt19937_64 random(seed);
  RecordSizes sizes(parser(which));
  auto buffer = std::make_unique<Aligned>();
  const std::uint32_t kinds[] = {1, 2, 4, 5, 8, 9, 10, 17, 22, 37, 38};
  std::size_t used = 0;
  std::vector<std::uint32_t> written;
  while (used < 6000) {
    const std::uint32_t kind = kinds[random() % std::size(kinds)];
    std::memcpy(buffer->bytes + used, &kind, sizeof kind);
    used += sizes.bytes(kind);
    written.push_back(kind);
  }
  SECTION("whole") {
    ActivityReader reader(parser(which), sizes, buffer->bytes, used);
    std::vector<std::uint32_t> read;
    for (RawRecord record; reader.next(record);) read.push_back(record.kind);
    CHECK(read == written);
    CHECK_FALSE(reader.truncated());
  }
  SECTION("cut anywhere: a prefix, and said so unless the cut is between records") {
    const std::size_t cut = random() % used;
    std::size_t whole = 0;
    std::size_t records = 0;
    while (whole + sizes.bytes(written[records]) <= cut) whole += sizes.bytes(written[records++]);
    ActivityReader reader(parser(which), sizes, buffer->bytes, cut);
    std::size_t read = 0;
    for (RawRecord record; reader.next(record);) {
      REQUIRE(record.kind == written[read]);
      ++read;
    }
    CHECK(read == records);
    CHECK(reader.truncated() == (cut != whole));
  }
  SECTION("any bytes at all") {
    for (std::size_t i = 0; i < used; ++i) {
      if (random() % 4 == 0) buffer->bytes[i] = static_cast<std::uint8_t>(random());
    }
    ActivityReader reader(parser(which), sizes, buffer->bytes, used);
    for (RawRecord record; reader.next(record);) {
      REQUIRE(record.data >= buffer->bytes);
      REQUIRE(record.data + record.bytes <= buffer->bytes + used);
    }
  }
}

TEST_CASE("what was read is zeros, but for the record that the parser looks at", "[source]") {
  fakecupti_reset();
  const std::string which = GENERATE(from_range(parsers()));
  RecordSizes sizes(parser(which));
  auto buffer = std::make_unique<Aligned>();
  const std::uint32_t kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  const std::size_t bytes = sizes.bytes(kind), used = sizeof buffer->bytes / bytes * bytes;
  std::memset(buffer->bytes, 0xEE, used);
  for (std::size_t at = 0; at < used; at += bytes) std::memcpy(buffer->bytes + at, &kind, sizeof kind);
  ActivityReader reader(parser(which), sizes, buffer->bytes, used);
  CHECK(reader.zeroed() == 0);
  std::size_t records = 0;
  for (RawRecord record; reader.next(record); ++records) CHECK(record.data[bytes - 1] == 0xEE);
  CHECK(records == used / bytes);
  CHECK(reader.zeroed() > 4000);
  const std::span<const std::uint8_t> read(buffer->bytes, used), zeros = read.first(reader.zeroed());
  CHECK(std::all_of(zeros.begin(), zeros.end(), [](std::uint8_t byte) { return byte == 0; }));
  CHECK(read.back() == 0xEE);
}

TEST_CASE("of a record that is shorter than its struct the rest is zeros", "[source]") {
  alignas(8) std::uint8_t bytes[sizeof(CUpti_ActivityStream)];
  std::memset(bytes, 0x11, sizeof bytes);
  CUpti_ActivityStream copy;
  const RawRecord whole{CUPTI_ACTIVITY_KIND_STREAM, bytes, sizeof bytes};
  CHECK(static_cast<const void*>(&whole.as(copy)) == bytes);
  const RawRecord cut{CUPTI_ACTIVITY_KIND_STREAM, bytes, 8};
  const CUpti_ActivityStream& filled_up = cut.as(copy);
  CHECK(filled_up.contextId == 0x11111111u);
  CHECK(filled_up.streamId == 0);
  CHECK(static_cast<std::uint32_t>(filled_up.flag) == 0);
}

TEST_CASE("an empty buffer holds nothing", "[source]") {
  fakecupti_reset();
  RecordSizes sizes(parser("double"));
  auto buffer = std::make_unique<Aligned>();
  ActivityReader reader(parser("double"), sizes, buffer->bytes, 0);
  RawRecord record;
  CHECK_FALSE(reader.next(record));
  CHECK_FALSE(reader.truncated());
}

TEST_CASE("zeros behind the last record are padding, not damage", "[source]") {
  fakecupti_reset();
  const std::string which = GENERATE(from_range(parsers()));
  RecordSizes sizes(parser(which));
  auto buffer = std::make_unique<Aligned>();
  const std::uint32_t kind = CUPTI_ACTIVITY_KIND_STREAM;
  std::memcpy(buffer->bytes, &kind, sizeof kind);
  ActivityReader reader(parser(which), sizes, buffer->bytes, 24 + 3);
  RawRecord record;
  CHECK(reader.next(record));
  CHECK_FALSE(reader.next(record));
  CHECK_FALSE(reader.truncated());
}

TEST_CASE("a parser that answers nonsense is not followed", "[source][fault]") {
  static std::uint8_t elsewhere[4096];
  const auto lying = +[](std::uint8_t*, std::size_t, CUpti_Activity** record) -> CUptiResult {
    *record = reinterpret_cast<CUpti_Activity*>(elsewhere);
    return CUPTI_SUCCESS;
  };
  RecordSizes sizes(fake_api().cuptiActivityGetNextRecord);
  auto buffer = std::make_unique<Aligned>();
  const std::uint32_t kind = CUPTI_ACTIVITY_KIND_STREAM;
  std::memcpy(elsewhere, &kind, sizeof kind);
  ActivityReader reader(lying, sizes, buffer->bytes, 4096);
  RawRecord record;
  CHECK_FALSE(reader.next(record));
}

}  // namespace rangefinder::source::testing
