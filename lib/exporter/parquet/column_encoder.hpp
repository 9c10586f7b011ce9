// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rangefinder::parquet {

/// A column of a row group as its pages hold it, before compression. The encodings are those of Parquet's specification
/// (parquet.apache.org/docs/file-format/data-pages/encodings/).
struct EncodedColumn {
  enum class Encoding : std::uint8_t {
    kPlain,
    kDictionary,  ///< RLE_DICTIONARY, and a dictionary page
    kDelta,       ///< DELTA_BINARY_PACKED
  };
  Encoding encoding = Encoding::kPlain;
  std::vector<std::uint8_t> page;  ///< definition levels, where values may be missing, and values
  std::vector<std::uint8_t> dictionary;
  std::size_t dictionary_values = 0;
  std::size_t missing = 0;  ///< values that are null
  /// Of columns of numbers that are not all missing.
  bool has_range = false;
  std::int64_t least = 0, greatest = 0;
};

/// Which rows have a value: bits, the first row's lowest. `bits` null: all of them.
struct Validity {
  const std::uint8_t* bits = nullptr;
  bool nullable = false;
};

/// Encodes the columns of one file; memory is that of the largest one. What a function returns is valid until the next
/// call.
///
/// Cost: measured by benchmarks/fleet.
class ColumnEncoder {
 public:
  /// A dictionary where there are few values, else the differences.
  const EncodedColumn& numbers(std::span<const std::int64_t> values, Validity valid);
  const EncodedColumn& numbers(std::span<const std::int32_t> values, Validity valid);
  /// `indices` are those of `texts`.
  const EncodedColumn& texts(std::span<const std::int32_t> indices, std::span<const std::string_view> texts,
                             Validity valid);
  /// `bits`: the first row's lowest.
  const EncodedColumn& flags(const std::uint8_t* bits, std::size_t rows);

 private:
  template <typename Number>
  const EncodedColumn& encode_numbers(std::span<const Number> values, Validity valid);
  template <typename Number>
  void note_range(std::span<const Number> values) noexcept;
  template <typename Number>
  bool find_dictionary(std::span<const Number> values);
  void begin(std::size_t rows, Validity valid);
  void put_levels(std::size_t rows, Validity valid);
  void put_indices(std::span<const std::uint32_t> indices, std::size_t values);

  EncodedColumn out_;
  std::vector<std::int64_t> present_;  // of values of which some are missing
  std::vector<std::uint32_t> indices_;
};

}  // namespace rangefinder::parquet
