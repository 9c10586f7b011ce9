// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::format {

/// Packs the rows of a chunk as they come, a few at a time and while they are in the cache: what waits for the end of
/// the chunk is a few bytes a row. A field that has one value in all rows, as most have, has a negligible cost.
/// One thread at a time.
class FieldPacker {
 public:
  /// `fields` outlive the packer; the first one is the begin that kSinceBegin is about.
  FieldPacker(ChunkKind kind, std::span<const Field> fields, std::size_t row_bytes);
  template <typename Row>
  static FieldPacker of() {
    return {Row::kKind, Row::kFields, sizeof(Row)};
  }

  /// Where there is no memory for rows it throws std::bad_alloc; those before them are taken.
  void add(const void* rows, std::size_t count);
  template <typename Row>
  void add(std::span<const Row> rows) {
    add(rows.data(), rows.size());
  }
  std::size_t rows() const noexcept { return rows_; }
  std::span<const Field> fields() const noexcept { return fields_; }
  std::size_t row_bytes() const noexcept { return row_bytes_; }
  /// Kind, number and times of the rows: from the earliest begin to the latest end of rows that have them, or a time.
  ChunkHeader header() const noexcept;

  /// Appends the columns and forgets the rows.
  void finish(ColumnWriter& out);
  void clear() noexcept;

 private:
  struct Column {
    base::Bytes bytes;  // room; what is packed takes `used` of it
    std::size_t used = 0;
    std::uint64_t previous = 0;  // of kDelta
    bool varies = false;         // else all rows have what the first one has, and nothing is packed
  };
  void add_block(const std::byte* rows, std::size_t count);
  void make_room(Column& column, std::size_t varints);
  void begin_varying(const Field& field, Column& column) noexcept;
  void pack(const Field& field, Column& column, const std::byte* rows, std::size_t count) noexcept;
  void note_times(const std::byte* rows, std::size_t count) noexcept;

  ChunkKind kind_;
  std::span<const Field> fields_;
  std::size_t row_bytes_;
  std::size_t end_field_;  // which tells the latest end; fields_.size(): rows have no times
  std::vector<Column> columns_;
  base::Bytes first_;    // row
  base::Bytes differs_;  // bits in which any row differs from it
  base::Bytes equal_;    // room for a column of one value
  std::size_t rows_ = 0;
  std::int64_t earliest_ = 0, latest_ = 0;
};

template <typename Row>
void pack_rows(std::span<const Row> rows, ColumnWriter& out) {
  FieldPacker packer = FieldPacker::of<Row>();
  packer.add(rows);
  packer.finish(out);
}

}  // namespace rangefinder::format
