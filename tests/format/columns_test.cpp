// SPDX-License-Identifier: MIT
#include "format/columns.hpp"

#include "format/layout.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::format;
using namespace rangefinder::testing;

namespace {

struct Entry {
  std::uint16_t id;
  std::uint8_t packing;
  std::uint32_t stored_bytes;
  std::uint32_t raw_bytes;
};

/// A payload by hand.
base::Bytes payload_of(const std::vector<Entry>& entries, std::size_t bytes, int count = -1) {
  base::Bytes out;
  base::append_value(out, static_cast<std::uint16_t>(count < 0 ? entries.size() : static_cast<std::size_t>(count)));
  base::append_value(out, std::uint16_t{0});
  base::append_value(out, std::uint32_t{0});
  for (const Entry& entry : entries) {
    base::append_value(out, entry.id);
    base::append_value(out, entry.packing);
    base::append_value(out, std::uint8_t{0});
    base::append_value(out, entry.stored_bytes);
    base::append_value(out, entry.raw_bytes);
  }
  out.resize(out.size() + bytes, std::byte{'x'});
  return out;
}

std::string error_of(const base::Bytes& payload) {
  ColumnReader reader;
  const Status status = reader.open(payload);
  return status.ok() ? "" : status.error().message();
}

}  // namespace

TEST_CASE("columns come back, packed or not", "[format]") {
  base::Compressor compressor;
  ColumnWriter writer(compressor);
  const std::string repeats(10'000, 'a');
  writer.add(1, base::as_bytes(repeats));
  writer.add(2, base::as_bytes("short"));
  writer.add(3, base::Bytes(500));  // zeros: left out
  writer.add_plain(4, base::as_bytes(repeats));
  writer.add(5, {});
  base::Bytes payload;
  writer.finish(payload);
  CHECK(payload.size() < repeats.size() + 200);
  ColumnReader reader;
  REQUIRE(reader.open(payload).ok());
  for (int again = 0; again < 2; ++again) {
    CHECK(base::as_text(*reader.column(1, 10'000)) == repeats);
    CHECK(base::as_text(*reader.column(2, 5)) == "short");
    CHECK(reader.column(3, 500)->empty());
    CHECK(base::as_text(*reader.column(4, 10'000)) == repeats);
    CHECK(reader.column(5, 1)->empty());
    CHECK(reader.column(6, 1)->empty());
  }
  CHECK_FALSE(reader.column(1, 9'999).ok());  // more than its rows can be
  base::Bytes empty;
  writer.finish(empty);  // forgot the columns
  CHECK(empty.size() == 8);
  CHECK(error_of(empty).empty());
}

TEST_CASE("a directory that does not fit its chunk is refused", "[format]") {
  CHECK(error_of({}) == "column directory does not fit the chunk");
  CHECK(error_of(payload_of({{1, 0, 10, 10}}, 10)).empty());
  CHECK(error_of(payload_of({{1, 0, 10, 10}}, 9)) == "column directory does not fit the chunk");
  CHECK(error_of(payload_of({{1, 0, 10, 10}}, 11)) == "column directory does not fit the chunk");
  CHECK(error_of(payload_of({{1, 0, 10, 10}}, 0, 65535)) == "column directory does not fit the chunk");
  CHECK(error_of(payload_of({{1, 0, 10, 11}}, 10)) == "column 1 is plain but its sizes differ");
  CHECK(error_of(payload_of({{1, 1, 10, kMaxUnpackedBytes}, {2, 1, 10, 1}}, 20)) == "column 2 claims 1 bytes");
  CHECK(error_of(payload_of({{7, 1, 10, 0xFFFFFFFF}}, 10)) == "column 7 claims 4294967295 bytes");
}

TEST_CASE("a column in a way of packing that is not known is an error of its own", "[format]") {
  ColumnReader reader;
  const base::Bytes payload = payload_of({{1, 2, 10, 20}, {2, 0, 3, 3}}, 13);
  REQUIRE(reader.open(payload).ok());
  CHECK(reader.column(1, 20).error().code() == ErrorCode::kUnsupported);
  CHECK(reader.column(2, 3).ok());
}

TEST_CASE("a packed column that is damaged, or not as long as it says, is an error", "[format][property]") {
  std::mt19937_64 random(property_seed("damaged columns"));
  base::Compressor compressor;
  ColumnWriter writer(compressor);
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(random() % 100);
  writer.add(1, base::as_bytes(text));
  base::Bytes whole;
  writer.finish(whole);
  for (int round = 0; round < 2000; ++round) {
    base::Bytes damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<std::byte>(1 + random() % 255);
    ColumnReader reader;
    if (!reader.open(damaged).ok()) continue;
    for (const std::uint16_t id : {1, 2}) {
      const Result<base::ByteView> column = reader.column(id, 1 << 20);
      if (column.ok()) CHECK(column->size() <= (1u << 20));
    }
  }
}
