// SPDX-License-Identifier: MIT
// Encoded columns are read back by a plain reader of Parquet's specification, a bit at a time.
#include "exporter/parquet/column_encoder.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rangefinder::parquet {
namespace {

using Encoding = EncodedColumn::Encoding;

/// A test fails where it would read beyond the end.
class PageReader {
 public:
  explicit PageReader(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    REQUIRE(at_ < bytes_.size());
    return bytes_[at_++];
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7Fu} << shift;
      if (next < 0x80) return value;
    }
  }
  std::int64_t zigzag() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::uint64_t little_endian(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << 8 * i;
    return value;
  }
  /// `count` values of that many bits, and what fills up their last byte.
  std::vector<std::uint64_t> bits(std::size_t count, unsigned width) {
    std::vector<std::uint64_t> values(count, 0);
    const std::size_t begin = at_;
    at_ += (count * width + 7) / 8;
    REQUIRE(at_ <= bytes_.size());
    for (std::size_t bit = 0; bit < count * width; ++bit)
      values[bit / width] |= std::uint64_t{bytes_[begin + bit / 8] >> bit % 8 & 1u} << bit % width;
    return values;
  }
  /// Runs and bits, until `count` values are there.
  std::vector<std::uint64_t> hybrid(std::size_t count, unsigned width) {
    std::vector<std::uint64_t> values;
    while (values.size() < count) {
      const std::uint64_t head = varint();
      if ((head & 1) == 0) {
        values.insert(values.end(), head >> 1, little_endian((width + 7) / 8));
        REQUIRE(values.size() <= count);
      } else {
        for (const std::uint64_t value : bits((head >> 1) * 8, width)) values.push_back(value);
        REQUIRE(values.size() < count + 8);
      }
    }
    values.resize(count);  // the last group may be longer
    return values;
  }
  void skip_to(std::size_t at) {
    REQUIRE(at >= at_);
    at_ = at;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_ = 0;
};

std::vector<std::int64_t> differences(PageReader& page, std::size_t count, unsigned bits) {
  const std::size_t block = page.varint(), miniblocks = page.varint();
  REQUIRE(page.varint() == count);
  const auto wrapped = [bits](std::uint64_t value) {
    return bits == 64 ? static_cast<std::int64_t>(value) : std::int64_t{static_cast<std::int32_t>(value)};
  };
  std::vector<std::int64_t> values = {page.zigzag()};
  while (values.size() < count) {
    const std::int64_t least = page.zigzag();
    std::vector<unsigned> widths;
    for (std::size_t i = 0; i < miniblocks; ++i) widths.push_back(page.byte());
    for (const unsigned width : widths) {
      if (values.size() == count) break;
      REQUIRE(width <= bits);
      for (const std::uint64_t above : page.bits(block / miniblocks, width))
        if (values.size() < count)
          values.push_back(
              wrapped(static_cast<std::uint64_t>(values.back()) + static_cast<std::uint64_t>(least) + above));
    }
  }
  return values;
}

template <typename Number>
using Cells = std::vector<std::optional<Number>>;

std::vector<bool> levels(PageReader& page, std::size_t rows, bool nullable) {
  if (!nullable) return std::vector<bool>(rows, true);
  const std::size_t end = page.little_endian(4) + 4;
  const std::vector<std::uint64_t> read = page.hybrid(rows, 1);
  page.skip_to(end);
  return {read.begin(), read.end()};
}

std::vector<std::uint64_t> indices(PageReader& page, std::size_t count) {
  const unsigned width = page.byte();
  return page.hybrid(count, width);
}

template <typename Number>
Cells<Number> read_numbers(const EncodedColumn& column, std::size_t rows, bool nullable) {
  PageReader page(column.page);
  const std::vector<bool> present = levels(page, rows, nullable);
  const auto count = static_cast<std::size_t>(std::count(present.begin(), present.end(), true));
  REQUIRE(column.missing == rows - count);
  std::vector<std::int64_t> values;
  if (column.encoding == Encoding::kDelta) {
    values = differences(page, count, sizeof(Number) * 8);
  } else if (column.encoding == Encoding::kDictionary) {
    std::vector<std::int64_t> dictionary;
    PageReader entries(column.dictionary);
    for (std::size_t i = 0; i < column.dictionary_values; ++i)
      dictionary.push_back(static_cast<Number>(entries.little_endian(sizeof(Number))));
    REQUIRE(entries.at_end());
    for (const std::uint64_t index : indices(page, count)) values.push_back(dictionary.at(index));
  } else {
    REQUIRE(count == 0);
  }
  REQUIRE(page.at_end());
  Cells<Number> cells;
  std::size_t next = 0;
  for (const bool is_present : present)
    cells.push_back(is_present ? std::optional(static_cast<Number>(values[next++])) : std::nullopt);
  return cells;
}

std::vector<std::uint8_t> bits_of(const std::vector<bool>& set) {
  std::vector<std::uint8_t> bits((set.size() + 7) / 8, 0);
  for (std::size_t i = 0; i < set.size(); ++i)
    if (set[i]) bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1u << i % 8);
  return bits;
}

template <typename Number>
void check_numbers(ColumnEncoder& encoder, const Cells<Number>& cells, bool nullable) {
  std::vector<Number> values;
  std::vector<bool> present;
  for (const std::optional<Number>& cell : cells) {
    values.push_back(cell.value_or(Number{77}));
    present.push_back(cell.has_value());
  }
  const std::vector<std::uint8_t> bits = bits_of(present);
  const bool any_missing = std::find(present.begin(), present.end(), false) != present.end();
  const EncodedColumn& column = encoder.numbers(values, {any_missing ? bits.data() : nullptr, nullable});
  REQUIRE(read_numbers<Number>(column, cells.size(), nullable) == cells);
  std::vector<Number> known;
  for (const std::optional<Number>& cell : cells)
    if (cell) known.push_back(*cell);
  REQUIRE(column.has_range == !known.empty());
  if (known.empty()) return;
  REQUIRE(column.least == *std::min_element(known.begin(), known.end()));
  REQUIRE(column.greatest == *std::max_element(known.begin(), known.end()));
}

/// Columns as recordings have them, and as they do not.
template <typename Number>
Number next_number(std::mt19937_64& random, int kind, Number last) {
  using Unsigned = std::make_unsigned_t<Number>;
  switch (kind) {
    case 0:  // anything
      return static_cast<Number>(random());
    case 1:  // a few, mixed
      return static_cast<Number>(random() % 3);
    case 2:  // a few, in runs
      return random() % 40 == 0 ? static_cast<Number>(random() % 7) : last;
    case 3:  // rising
      return static_cast<Number>(static_cast<Unsigned>(last) + static_cast<Unsigned>(random() % 5'000));
    case 4:  // the ends
      return random() % 2 == 0 ? std::numeric_limits<Number>::min() : std::numeric_limits<Number>::max();
    default:  // any width
      return static_cast<Number>(random() >> random() % 64);
  }
}

template <typename Number>
void check_random_numbers(ColumnEncoder& encoder, std::mt19937_64& random) {
  const int kind = static_cast<int>(random() % 6);
  const std::size_t rows = random() % 4 == 0 ? random() % 3'000 : random() % 300;
  const std::uint64_t missing_of_8 = random() % 3 == 0 ? random() % 9 : 0;
  Cells<Number> cells;
  Number last = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    last = next_number(random, kind, last);
    cells.push_back(random() % 8 < missing_of_8 ? std::nullopt : std::optional(last));
  }
  INFO("kind " << kind << ", rows " << rows << ", missing " << missing_of_8);
  check_numbers(encoder, cells, missing_of_8 != 0 || random() % 2 == 0);
}

TEST_CASE("encoded numbers are what a reader of the specification finds", "[exporter][parquet][property]") {
  std::mt19937_64 random(testing::property_seed("columns of Parquet"));
  ColumnEncoder encoder;  // one for all, as a file has
  for (int round = 0; round < testing::repeats(400); ++round) {
    check_random_numbers<std::int64_t>(encoder, random);
    check_random_numbers<std::int32_t>(encoder, random);
  }
}

TEST_CASE("blocks of differences end anywhere", "[exporter][parquet]") {
  ColumnEncoder encoder;
  for (std::size_t rows = 0; rows < 300; ++rows) {
    Cells<std::int64_t> cells;
    for (std::size_t row = 0; row < rows; ++row) cells.emplace_back(static_cast<std::int64_t>(row * row * 1'000'003));
    INFO("rows " << rows);
    check_numbers(encoder, cells, false);
  }
}

TEST_CASE("up to 256 numbers are a dictionary", "[exporter][parquet]") {
  ColumnEncoder encoder;
  for (const std::int64_t distinct : {1, 2, 255, 256, 257}) {
    std::vector<std::int64_t> values;
    for (std::int64_t row = 0; row < 2'000; ++row) values.push_back(row * 7'919 % distinct * 1'000'000'007);
    const EncodedColumn& column = encoder.numbers(values, {});
    INFO("distinct " << distinct);
    CHECK((column.encoding == Encoding::kDictionary) == (distinct <= 256));
    CHECK(read_numbers<std::int64_t>(column, values.size(), false) ==
          Cells<std::int64_t>(values.begin(), values.end()));
  }
}

TEST_CASE("a column of one number takes a few bytes", "[exporter][parquet]") {
  const std::vector<std::int64_t> values(1'000'000, 42);
  ColumnEncoder encoder;
  const EncodedColumn& column = encoder.numbers(values, {nullptr, true});
  CHECK(column.page.size() + column.dictionary.size() < 32);
}

TEST_CASE("encoded texts are what a reader of the specification finds", "[exporter][parquet][property]") {
  std::mt19937_64 random(testing::property_seed("texts of Parquet"));
  ColumnEncoder encoder;
  for (int round = 0; round < testing::repeats(200); ++round) {
    std::vector<std::string> texts;
    for (std::size_t i = 0, count = random() % 600 + 1; i < count; ++i)
      texts.push_back(std::string(random() % 5, 'x') + std::to_string(i));
    std::vector<std::int32_t> rows(random() % 2'000);
    std::vector<bool> present;
    for (std::int32_t& row : rows) {
      row = static_cast<std::int32_t>(random() % texts.size());
      present.push_back(round % 2 == 0 || random() % 5 != 0);
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const std::vector<std::uint8_t> bits = bits_of(present);
    const EncodedColumn& column = encoder.texts(rows, views, {round % 2 == 0 ? nullptr : bits.data(), true});

    PageReader page(column.page);
    REQUIRE(levels(page, rows.size(), true) == present);
    if (column.missing == rows.size()) continue;
    PageReader dictionary(column.dictionary);
    REQUIRE(column.dictionary_values == texts.size());
    for (const std::string& text : texts) {
      REQUIRE(dictionary.little_endian(4) == text.size());
      for (const char letter : text) REQUIRE(dictionary.byte() == static_cast<std::uint8_t>(letter));
    }
    REQUIRE(dictionary.at_end());
    const std::vector<std::uint64_t> found = indices(page, rows.size() - column.missing);
    std::size_t next = 0;
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (present[row]) REQUIRE(found[next++] == static_cast<std::uint64_t>(rows[row]));
  }
}

}  // namespace
}  // namespace rangefinder::parquet
