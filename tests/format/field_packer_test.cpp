// SPDX-License-Identifier: MIT
#include "format/field_packer.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::format;
using namespace rangefinder::testing;

namespace {

template <typename Row>
std::uint64_t number_in(const Row& row, const Field& field) {
  const std::byte* const at = reinterpret_cast<const std::byte*>(&row) + field.offset;
  std::uint64_t value = 0;
  std::memcpy(&value, at, field.bytes);
  if (field.bytes == 4 && field.is_signed)
    value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(value)});
  return value;
}

/// A column as docs/reference/capture-format.md describes it.
template <typename Row>
base::Bytes described_column(const std::vector<Row>& rows, const Field& field) {
  base::Bytes out;
  std::uint64_t before = 0;
  for (const Row& row : rows) {
    const std::uint64_t number = number_in(row, field);
    if (field.coding == Coding::kSinceBegin) before = number_in(row, Row::kFields[0]);
    if (field.coding == Coding::kPlain && !field.is_signed)
      base::append_varint(out, number);
    else
      base::append_varint(out, base::zigzag(static_cast<std::int64_t>(number - before)));
    if (field.coding == Coding::kDelta) before = number;
  }
  if (std::all_of(out.begin(), out.end(), [](std::byte byte) { return byte == std::byte{0}; })) out.clear();
  return out;
}

/// Most numbers are the same in all rows, or from some row on.
template <typename Row>
std::vector<Row> rows_of_a_program(std::mt19937_64& random, std::size_t count) {
  std::vector<Row> rows(count, Row{});
  for (const Field& field : Row::kFields) {
    const std::size_t differs_from = random() % 2 == 0 ? count : static_cast<std::size_t>(random() % (count + 1));
    std::uint64_t value = random() % 3 == 0 ? 0 : any_size(random, field.bytes * 8u);
    for (std::size_t i = 0; i < count; ++i) {
      if (i >= differs_from) value = any_size(random, random() % 8 == 0 ? field.bytes * 8u : 16);
      std::memcpy(reinterpret_cast<std::byte*>(&rows[i]) + field.offset, &value, field.bytes);
    }
  }
  return rows;
}

template <typename Row>
void check_columns(FieldPacker& packer, const std::vector<Row>& rows) {
  base::Compressor compressor;
  ColumnWriter columns(compressor);
  packer.finish(columns);
  CHECK(packer.rows() == 0);
  base::Bytes payload;
  columns.finish(payload);
  ColumnReader in;
  REQUIRE(in.open(payload).ok());
  for (const Field& field : Row::kFields) {
    const Result<base::ByteView> column = in.column(field.column, rows.size() * base::kMaxVarintBytes);
    REQUIRE(column.ok());
    const base::Bytes described = described_column(rows, field);
    CAPTURE(field.column, rows.size());
    CHECK(std::equal(column->begin(), column->end(), described.begin(), described.end()));
  }
}

}  // namespace

TEST_CASE("rows that come a few at a time are packed as the format says", "[format][property]") {
  std::mt19937_64 random(property_seed("field packer"));
  const auto check = [&]<typename Row>(Row) {
    FieldPacker packer = FieldPacker::of<Row>();
    for (int round = 0; round < repeats(40); ++round) {
      const std::vector<Row> rows = rows_of_a_program<Row>(random, 1 + random() % (round % 8 == 0 ? 9000 : 300));
      for (std::size_t done = 0; done < rows.size();) {
        const std::size_t part = std::min<std::size_t>(rows.size() - done, random() % 200);
        packer.add(std::span(rows).subspan(done, part));
        done += part;
        CHECK(packer.rows() == done);
      }
      check_columns(packer, rows);
    }
  };
  check(KernelRow{});
  check(ApiRow{});
  check(StreamRow{});
  check(ContextRow{});
  check(AllocationRow{});
  check(ClockRow{});
}

TEST_CASE("what was packed is forgotten when it is given up", "[format]") {
  FieldPacker packer = FieldPacker::of<ContextRow>();
  const std::vector<ContextRow> given_up = {{1, 2, 3}, {4, 5, 6}}, rows = {{7, 7, 7}, {7, 7, 8}};
  packer.add(std::span(given_up));
  packer.clear();
  packer.add(std::span(rows));
  check_columns(packer, rows);
  CHECK(packer.header().rows == 0);
}

TEST_CASE("a chunk tells its earliest begin and its latest end", "[format]") {
  const auto header_of = [](const auto& rows) {
    auto packer = FieldPacker::of<typename std::decay_t<decltype(rows)>::value_type>();
    packer.add(std::span(rows));
    return packer.header();
  };
  const ChunkHeader spans = header_of(std::vector<OverheadRow>{{50, 60, 0, 0, 0}, {-3, 7, 0, 0, 0}, {4, 90, 0, 0, 0}});
  CHECK(spans.kind == static_cast<std::uint16_t>(ChunkKind::kOverheads));
  CHECK(spans.rows == 3);
  CHECK(static_cast<std::int64_t>(spans.first) == -3);
  CHECK(spans.last == 90);
  ClockRow early{}, late{};
  early.ticks = 5;
  late.ticks = 8;
  const ChunkHeader points = header_of(std::vector<ClockRow>{late, early});
  CHECK(points.first == 5);
  CHECK(points.last == 8);
  const ChunkHeader windows = header_of(std::vector<WindowRow>{{10, 0, 1}, {30, 20, 2}});
  CHECK(windows.first == 10);
  CHECK(windows.last == 20);
  const ChunkHeader none = header_of(std::vector<StreamRow>{{10, 20, 1, 2}});
  CHECK(none.first == 0);
  CHECK(none.last == 0);
}
