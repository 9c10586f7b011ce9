// SPDX-License-Identifier: MIT
#include "format/field_packer.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::format;
using namespace rangefinder::testing;

namespace {

using AllRows = std::tuple<KernelRow, MemcpyRow, MemsetRow, ApiRow, SyncRow, OverheadRow, DeviceRow, ContextRow,
                           StreamRow, ClockRow, WindowRow, HealthRow, ThreadRow, GraphNodeRow, DeviceSampleRow,
                           RangeMetricRow, MetricSampleRow, GraphLaunchRow, AllocationRow, JitRow>;

std::uint64_t load(const void* row, const Field& field) {
  std::uint64_t value = 0;
  std::memcpy(&value, static_cast<const std::byte*>(row) + field.offset, field.bytes);
  return value;
}

template <typename Row>
Row random_row(std::mt19937_64& random) {
  Row row{};
  for (const Field& field : Row::kFields) {
    std::uint64_t value = any_size(random, field.bytes * 8u);
    if (field.is_signed && random() % 2 == 0) value = ~value;
    std::memcpy(reinterpret_cast<std::byte*>(&row) + field.offset, &value, field.bytes);
  }
  return row;
}

template <typename Row>
bool equal(const Row& a, const Row& b) {
  for (const Field& field : Row::kFields) {
    if (load(&a, field) != load(&b, field)) return false;
  }
  return true;
}

template <typename Row>
base::Bytes pack(const std::vector<Row>& rows) {
  base::Compressor compressor;
  ColumnWriter columns(compressor);
  pack_rows<Row>(rows, columns);
  base::Bytes payload;
  columns.finish(payload);
  return payload;
}

template <typename Row>
void check_round_trip(const std::vector<Row>& rows) {
  ColumnReader columns;
  const Result<std::vector<Row>> back = unpack_rows<Row>(pack(rows), static_cast<std::uint32_t>(rows.size()), columns);
  REQUIRE(back.ok());
  REQUIRE(back->size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!equal(rows[i], (*back)[i]))
      FAIL("row " << i << " of " << rows.size() << ", kind " << static_cast<int>(Row::kKind));
  }
}

/// Calls `use.template operator()<Row>()` for every kind of row.
template <typename Use>
void for_each_kind(Use use) {
  [&]<typename... Row>(std::tuple<Row...>*) { (use.template operator()<Row>(), ...); }(static_cast<AllRows*>(nullptr));
}

}  // namespace

TEST_CASE("rows of every kind come back as they were", "[format][property]") {
  std::mt19937_64 random(property_seed("rows"));
  for_each_kind([&]<typename Row>() {
    check_round_trip<Row>({});
    check_round_trip<Row>({Row{}});
    check_round_trip<Row>(std::vector<Row>(1000, Row{}));
    for (int round = 0; round < 60; ++round) {
      std::vector<Row> rows(1 + any_size(random, round % 10 == 0 ? 16 : 8));
      if (rows.size() > kMaxRows) rows.resize(kMaxRows);
      for (Row& row : rows) row = random_row<Row>(random);
      // Like real ones: most rows resemble the one before.
      if (round % 2 == 0) {
        for (std::size_t i = 1; i < rows.size(); ++i) {
          if (random() % 4 != 0) rows[i] = rows[i - 1];
        }
      }
      check_round_trip(rows);
    }
  });
}

TEST_CASE("numbers at their limits come back", "[format]") {
  for_each_kind([]<typename Row>() {
    Row most{}, least{};
    for (const Field& field : Row::kFields) {
      const std::uint64_t ones = field.is_signed ? ~std::uint64_t{0} >> (65 - 8 * field.bytes) : ~std::uint64_t{0};
      const std::uint64_t low = field.is_signed ? std::uint64_t{1} << (8 * field.bytes - 1) : 0;
      std::memcpy(reinterpret_cast<std::byte*>(&most) + field.offset, &ones, field.bytes);
      std::memcpy(reinterpret_cast<std::byte*>(&least) + field.offset, &low, field.bytes);
    }
    check_round_trip<Row>({most, least, most, Row{}, least, most});
  });
}

TEST_CASE("columns are numbered once a kind, and every field of a row has one", "[format]") {
  for_each_kind([]<typename Row>() {
    std::set<std::uint16_t> columns;
    std::size_t bytes = 0;
    for (const Field& field : Row::kFields) {
      CHECK(field.column != 0);
      CHECK(columns.insert(field.column).second);
      CHECK((field.bytes == 4 || field.bytes == 8));
      bytes += field.bytes;
    }
    CHECK(bytes <= sizeof(Row));
    CHECK(sizeof(Row) - bytes <= 8);  // nothing but padding is left out
  });
}

TEST_CASE("rows damaged anywhere are other rows or an error", "[format][property]") {
  std::mt19937_64 random(property_seed("damaged rows"));
  for_each_kind([&]<typename Row>() {
    std::vector<Row> rows(50);
    for (Row& row : rows) row = random_row<Row>(random);
    const base::Bytes whole = pack(rows);
    ColumnReader columns;
    for (int round = 0; round < 300; ++round) {
      base::Bytes damaged = whole;
      for (std::uint64_t n = 1 + random() % 3; n > 0; --n)
        damaged[random() % damaged.size()] ^= static_cast<std::byte>(1 + random() % 255);
      if (round % 3 == 0) damaged.resize(random() % damaged.size());
      const auto count = round % 5 == 0 ? static_cast<std::uint32_t>(any_size(random, 32)) : 50u;
      const Result<std::vector<Row>> back = unpack_rows<Row>(damaged, count, columns);
      if (back.ok())
        CHECK(back->size() == count);
      else
        CHECK_FALSE(back.error().message().empty());
    }
  });
}

TEST_CASE("columns that a reader does not know are passed over, those that are missing read as zeros", "[format]") {
  base::Compressor compressor;
  ColumnWriter columns(compressor);
  const ThreadRow row{3, 1234, 5};
  pack_rows<ThreadRow>({&row, 1}, columns);
  columns.add_plain(99, base::as_bytes("of the future"));
  base::Bytes payload;
  columns.finish(payload);
  ColumnReader in;
  Result<std::vector<ThreadRow>> back = unpack_rows<ThreadRow>(payload, 1, in);
  REQUIRE(back.ok());
  CHECK(equal((*back)[0], row));
  // An older writer's rows lack what came later.
  back = unpack_rows<ThreadRow>(pack(std::vector<ContextRow>{{3, 1234, 0}}), 1, in);
  REQUIRE(back.ok());
  CHECK(equal((*back)[0], ThreadRow{3, 1234, 0}));
}

TEST_CASE("a kSinceBegin column that is missing equals the begin", "[format]") {
  const OverheadRow row{100, 100, 1, 2, 3};
  check_round_trip<OverheadRow>({row, row, row});
}

TEST_CASE("texts come back as they were", "[format][property]") {
  std::mt19937_64 random(property_seed("texts"));
  base::Compressor compressor;
  ColumnReader in;
  for (int round = 0; round < 100; ++round) {
    std::vector<TextRow> rows(any_size(random, 9));
    for (TextRow& row : rows) {
      row.id = static_cast<std::uint32_t>(any_size(random, 32));
      row.key.resize(any_size(random, 6));
      row.text.resize(any_size(random, 10));
      for (char& c : row.key) c = static_cast<char>(random());
      for (char& c : row.text) c = static_cast<char>(random());
    }
    ColumnWriter columns(compressor);
    pack_text(rows, columns);
    base::Bytes payload;
    columns.finish(payload);
    const Result<std::vector<TextRow>> back = unpack_text(payload, static_cast<std::uint32_t>(rows.size()), in);
    REQUIRE(back.ok());
    bool same = back->size() == rows.size();
    for (std::size_t i = 0; same && i < rows.size(); ++i)
      same = rows[i].id == (*back)[i].id && rows[i].key == (*back)[i].key && rows[i].text == (*back)[i].text;
    CHECK(same);
    if (payload.empty()) continue;
    payload[random() % payload.size()] ^= static_cast<std::byte>(1 + random() % 255);
    (void)unpack_text(payload, static_cast<std::uint32_t>(rows.size()), in);
    (void)unpack_text(payload, static_cast<std::uint32_t>(any_size(random, 32)), in);
  }
}
