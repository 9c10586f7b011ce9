// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"
#include "exporter/arrow/batch.hpp"

#include <rangefinder/c/arrow.h>
#include <rangefinder/result.hpp>
#include <rangefinder/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::parquet {

enum class CellKind : std::uint8_t {
  kInt64,
  kInt32,
  kText,  ///< a cell is an id, which the column's texts resolve
  kFlag,  ///< 0 or 1
};

/// What a column is called and holds. A cell of kMissing is null, in a column that may have nulls.
struct Field {
  const char* name;
  CellKind kind = CellKind::kInt64;
  bool nullable = false;
};
inline constexpr std::int64_t kMissing = kNoTime;

/// The text of an id of a column; valid until the next call.
using TextOf = std::function<std::string_view(std::int64_t)>;

/// A Parquet file in the making. Rows are kept until there are enough for a row group, which is sorted and written; so
/// memory does not grow with the file. It gets its name when all of it is there.
class RowFile {
 public:
  struct Options {
    std::vector<Field> fields;
    std::vector<TextOf> texts;   ///< a function for each field of kText, in their order
    std::vector<int> sorted_by;  ///< positions of fields
    /// Columns of int64 behind those, which have one number for all rows of a row group: that of set_constants() when
    /// the group is written. The last row of a file is not written before `finish`.
    std::vector<const char*> constants;
    std::size_t group_rows = std::size_t{1} << 19;
  };
  /// `writer` outlives it. The folder must exist.
  RowFile(const rf_parquet_writer& writer, std::string path, Options options);
  ~RowFile();
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;

  /// A row: a cell for each field. What goes wrong shows in `finish`.
  void add(std::initializer_list<std::int64_t> cells) {
    if (kept_ == options_.group_rows) flush();
    if (cells_ == nullptr) make_room();
    const std::size_t step = stride();  // once: for all the compiler knows, cells are stored over it
    std::int64_t* at = cells_.get() + kept_;
    for (const std::int64_t cell : cells) {
      *at = cell;
      at += step;
    }
    ++kept_;
  }
  void set_constants(std::vector<std::int64_t> values) { constants_ = std::move(values); }
  /// Writes what is left, and closes. Before `take_name`.
  Status finish();
  /// Gives the file its name; `replace`: in the place of another.
  Status take_name(bool replace);

  std::uint64_t rows() const noexcept { return written_ + kept_; }

 private:
  /// Of columns in cells_. They are not a power of two apart: all of a row would compete for the same lines of the
  /// cache.
  std::size_t stride() const noexcept { return options_.group_rows + 24; }
  std::int64_t* cells_of(std::size_t field) const noexcept { return cells_.get() + field * stride(); }
  void make_room();
  void open();
  void flush();
  void put_in_order();
  arrow::Column column_of(std::size_t field);
  arrow::Column text_column(std::size_t field);
  arrow::Column constant_column(std::size_t constant);
  arrow::Buffer validity(arrow::Column& column, const std::int64_t* cells) const;
  void note(std::string_view message);
  bool can_reuse(std::size_t column) const noexcept;
  template <typename T>
  std::shared_ptr<T[]> values_of(std::size_t column);

  const rf_parquet_writer& writer_;
  std::string path_;
  Options options_;
  std::vector<const TextOf*> text_of_;                // by field; null for other kinds
  std::shared_ptr<std::int64_t[]> cells_;             // group_rows of the first field, then those of the next
  std::vector<std::shared_ptr<std::byte[]>> values_;  // of columns that do not point into cells_
  std::size_t values_rows_ = 0;
  std::vector<std::int32_t> place_;  // of text_column, by id
  std::vector<std::int64_t> constants_;
  /// What the memory of a column of one number holds already.
  struct Filled {
    std::int64_t number = 0;
    std::size_t rows = 0;
  };
  std::vector<Filled> filled_;
  std::size_t kept_ = 0;
  std::uint64_t written_ = 0;
  std::optional<base::TemporaryFile> output_;  // until it has its name
  rf_parquet_file* file_ = nullptr;
  bool closed_ = false;
  std::string failure_;
};

}  // namespace rangefinder::parquet
