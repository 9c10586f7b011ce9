// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::html {

/// The blocks of a page, packed as they are added.
class Blocks {
 public:
  /// Its number.
  std::size_t add(std::string_view bytes);

  std::size_t size() const noexcept { return blocks_.size(); }
  /// What the element of a block holds: base64.
  const std::string& text(std::size_t block) const noexcept { return blocks_[block].text; }
  /// The member `blocks` of the index.
  std::string json() const;
  /// Of all of them as they stand in the file.
  std::uint64_t text_bytes() const noexcept;

 private:
  struct Block {
    std::string text;
    std::size_t bytes;
    bool packed;
  };
  std::vector<Block> blocks_;
};

/// A table of the page, filled column by column or row by row.
///
///   TableData table;
///   const std::size_t name = table.add("name", "varint");
///   table.varint(name, 7);
///   table.next_row();
///   index += table.json(blocks);
class TableData {
 public:
  /// A column; `type` is one of README.md.
  std::size_t add(std::string name, const char* type);

  void u8(std::size_t column, std::uint8_t value) { columns_[column].bytes += static_cast<char>(value); }
  void varint(std::size_t column, std::uint64_t value);
  void varint(std::size_t column, std::int64_t value) {
    varint(column, static_cast<std::uint64_t>(value < 0 ? 0 : value));
  }
  void zigzag(std::size_t column, std::int64_t value);
  /// The value itself; its difference to the one before is what is written.
  void delta(std::size_t column, std::int64_t value);
  void f64(std::size_t column, double value);
  void next_row() noexcept { ++rows_; }

  std::size_t rows() const noexcept { return rows_; }
  /// Puts it into a block, and gives its descriptor.
  std::string json(Blocks& blocks) const;

 private:
  struct Column {
    std::string name;
    const char* type;
    std::string bytes;
    std::int64_t last = 0;
  };
  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

}  // namespace rangefinder::html
