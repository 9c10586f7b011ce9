// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace rangefinder::report {

/// A cell without a value.
inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

/// The cells of a table, filled row by row. Each column of a block of rows takes as many bytes a cell as its values
/// differ by: a million rows of twenty figures need a quarter of the memory of as many integers.
class Cells {
 public:
  explicit Cells(std::size_t columns) : open_(columns) {}

  void push_back(std::int64_t value) {
    if (next_column_ == 0) add_row();
    open_[next_column_][open_rows_ - 1] = value;
    next_column_ = next_column_ + 1 == open_.size() ? 0 : next_column_ + 1;
  }
  /// A row, each cell of which is set next.
  void add_row() {
    if (open_rows_ == kBlockRows) close_block();
    ++open_rows_;
  }
  void set(std::size_t column, std::int64_t value) noexcept { open_[column][open_rows_ - 1] = value; }
  /// Rows that are filled.
  std::size_t rows() const noexcept { return blocks_.size() * kBlockRows + open_rows_ - (next_column_ != 0 ? 1 : 0); }
  std::int64_t at(std::size_t row, std::size_t column) const noexcept {
    const std::size_t block = row / kBlockRows, row_inside = row % kBlockRows;
    if (block == blocks_.size()) return open_[column][row_inside];
    return packed_[block * open_.size() + column].at(blocks_[block].get(), row_inside);
  }

 private:
  static constexpr std::size_t kBlockRows = 256;

  /// The cells of a column in a block. They are numbers from 0, the distance to `least` and one more, where 0 is kNull;
  /// of 8 bytes they are the values themselves, and of none all of them are `least`.
  struct Packed {
    std::int64_t least;
    std::uint32_t offset;  // of the first byte in the block
    std::uint32_t bytes;   // a cell

    std::int64_t at(const std::byte* block, std::size_t row) const noexcept {
      const std::byte* const cell = block + offset + row * bytes;
      switch (bytes) {
        case 0:
          return least;
        case 1:
          return value(read<std::uint8_t>(cell));
        case 2:
          return value(read<std::uint16_t>(cell));
        case 4:
          return value(read<std::uint32_t>(cell));
        default:
          return read<std::int64_t>(cell);
      }
    }
    template <typename Number>
    static Number read(const std::byte* from) noexcept {
      Number number;
      std::memcpy(&number, from, sizeof number);
      return number;
    }
    std::int64_t value(std::uint64_t number) const noexcept {
      return number == 0 ? kNull : static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + number - 1);
    }
  };

  using Values = std::array<std::int64_t, kBlockRows>;
  static Packed measure(const Values& values, std::uint32_t offset) noexcept;
  static void write(const Packed& packed, const Values& values, std::byte* to) noexcept;
  void close_block();

  std::vector<Values> open_;  // the rows behind the last block, by column
  std::size_t open_rows_ = 0;
  std::size_t next_column_ = 0;  // of the row that push_back fills; 0: it is filled
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Packed> packed_;  // of each block one a column
};

}  // namespace rangefinder::report
