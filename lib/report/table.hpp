// SPDX-License-Identifier: MIT
#pragma once

#include "report/cells.hpp"
#include "report/paths.hpp"
#include "report/texts.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::report {

enum class ColumnType : std::uint8_t {
  kText,
  kInteger,      ///< a count or an id
  kDecimal,      ///< a number with fixed decimals
  kNanoseconds,  ///< a duration
  kTimestamp,    ///< a point in time, in nanoseconds
  kBytes,
  kFlops,     ///< floating-point operations
  kReal,      ///< a number of any size; a cell holds the bits of a double (cell_of_real)
  kPath,      ///< names from the outermost range inwards
  kPathName,  ///< the last name of a path; text for people indents it by its depth
  kNameTree,  ///< likewise, as Nsight indents it
  kIdStack,   ///< ids from the outermost range inwards
};

constexpr bool is_path(ColumnType type) noexcept { return type >= ColumnType::kPath; }
constexpr bool is_text(ColumnType type) noexcept { return type == ColumnType::kText || is_path(type); }

/// Whether text for people shows a column; CSV and JSON have them all.
enum class InText : std::uint8_t {
  kAlways,
  kUnlessEmpty,  ///< not where every row has nothing, or 0
  kNever,
};

/// What texts are, which says how they are shortened (short_names.hpp).
enum class Names : std::uint8_t { kPlain, kKernels };

/// Lower case letters and digits, one underscore for anything between them: "GPU busy" is gpu_busy.
std::string key_of(std::string_view text);

/// A column: what it is called, what its numbers count, and how they are written.
struct Column {
  std::string title;
  std::string unit = {};  ///< "ns", "%", "MB", ...; empty for text and counts
  ColumnType type = ColumnType::kText;
  int places = 0;  ///< decimals; a cell holds the value times 10^places
  InText in_text = InText::kAlways;
  /// On a terminal that is too narrow, text leaves out the columns with the highest numbers first; 0 stays.
  std::uint8_t dispensable = 0;
  /// Title of another column: where that one is not 0, the number here is a lower bound, which text writes as "12+".
  std::string bound_by = {};
  Names names = Names::kPlain;
  /// Its texts are what a row is known by, and what a filter looks at. Of several the first; without any, the first
  /// column.
  bool names_rows = false;

  // What a list of columns says behind a column: columns.time("GPU idle", get).if_any().if_room(4).
  /// Of device activity: text leaves it out where no row has any.
  Column& if_any() {
    in_text = InText::kUnlessEmpty;
    return *this;
  }
  /// What a narrow terminal has no room for; the highest number goes first.
  Column& if_room(std::uint8_t number) {
    dispensable = number;
    return *this;
  }
  /// Text does without it.
  Column& for_programs() {
    in_text = InText::kNever;
    return *this;
  }
  Column& bounded_by(std::string_view other) {
    bound_by = other;
    return *this;
  }
  Column& naming_rows() {
    names_rows = true;
    return *this;
  }

  /// `total_time_ns`: of title and unit. The member in JSON; find_column takes it.
  std::string key() const;
  /// `Total Time (ns)`, as CSV has it.
  std::string header() const;
};

/// A cell of a kReal column; kNull for what is not finite.
std::int64_t cell_of_real(double value) noexcept;
double real_of_cell(std::int64_t cell) noexcept;

/// Rows under columns. Numbers are integers, scaled where a column has decimals; texts are stored once each, paths as
/// what they add to the path around them. Views fill one through the list of their columns (columns.hpp); without a
/// list it is filled from left to right, a row after the other. A timeline whose names are in it has to outlive it.
///
///   Table table{{{"Name"}, {"Total", "ns", ColumnType::kNanoseconds}}};
///   table.text("forward").number(1200);
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  Table& text(std::string_view value) { return number(cell_of(value)); }
  Table& number(std::int64_t value);
  Table& null() { return number(kNull); }
  Table& path(Paths::Node node) { return number(node); }

  /// A row, each cell of which is set next.
  void add_row() { cells_.add_row(); }
  void set(std::size_t column, std::int64_t cell) noexcept { cells_.set(column, cell); }
  /// What stands for a text in a row.
  std::int64_t cell_of(std::string_view text) { return texts_.add(text); }
  std::int64_t cell_of(const Timeline& timeline, StringId name) { return texts_.add(timeline, name); }

  /// Cells of columns that are paths, or a part of one, are nodes of `paths()`.
  Paths& paths() noexcept { return paths_; }
  const Paths& paths() const noexcept { return paths_; }

  const std::vector<Column>& columns() const noexcept { return chosen_.empty() ? columns_ : chosen_columns_; }
  std::size_t name_column() const noexcept { return name_column_; }
  std::size_t row_count() const noexcept { return ordered_ ? order_.size() : cells_.rows(); }

  /// From here on these columns alone are there, in this order, numbered anew, and text shows them all.
  void choose(std::vector<std::size_t> columns);

  bool is_null(std::size_t row, std::size_t column) const noexcept { return cell(row, column) == kNull; }
  std::int64_t number_at(std::size_t row, std::size_t column) const noexcept { return cell(row, column); }
  /// Of a column of texts; empty for nothing, and for a path that is too long to be written whole. Valid until `buffer`
  /// or the table changes.
  std::string_view text_at(std::size_t row, std::size_t column, std::string& buffer) const;
  std::string text_at(std::size_t row, std::size_t column) const {
    std::string buffer;
    return std::string(text_at(row, column, buffer));
  }
  /// For people: of a path that is too long the innermost names.
  std::string_view readable_text_at(std::size_t row, std::size_t column, std::string& buffer) const;
  /// Of a column of paths that is not null.
  Paths::Node path_at(std::size_t row, std::size_t column) const noexcept {
    return static_cast<Paths::Node>(cell(row, column));
  }

  /// A count that is a lower bound: see Column::bound_by.
  bool is_lower_bound(std::size_t row, std::size_t column) const noexcept;

  /// Shows these rows (positions among those shown now) in this order.
  void select(const std::vector<std::uint32_t>& rows);

  /// Says below the table what its rows do not.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  const std::vector<std::string>& notes() const noexcept { return notes_; }

  /// What people read in place of the rows, where a table is no good for it; empty: the rows. Gone once columns are
  /// chosen.
  void set_prose(std::string text) { prose_ = std::move(text); }
  const std::string& prose() const noexcept { return prose_; }

  /// What text shows points in time from.
  void set_time_origin(std::int64_t ns) noexcept { time_origin_ns_ = ns; }
  std::int64_t time_origin_ns() const noexcept { return time_origin_ns_; }

  /// How many rows a filter or a limit left out, for the reader to know.
  std::size_t hidden_rows() const noexcept { return left_out_rows_ + cells_.rows() - row_count(); }
  /// Of these, the filter's.
  std::size_t filtered_rows() const noexcept { return filtered_rows_; }
  void set_filtered_rows(std::size_t rows) noexcept { filtered_rows_ = rows; }
  /// Rows that were left out before they were in the table, and how many of them the filter did.
  void set_left_out(std::size_t rows, std::size_t filtered) noexcept {
    left_out_rows_ = rows;
    filtered_rows_ = filtered;
  }

 private:
  std::int64_t cell(std::size_t row, std::size_t column) const noexcept {
    return stored_cell(row, chosen_.empty() ? column : chosen_[column]);
  }
  std::int64_t stored_cell(std::size_t row, std::size_t column) const noexcept {
    return cells_.at(ordered_ ? order_[row] : row, column);
  }

  std::vector<Column> columns_;
  std::vector<std::size_t> chosen_;  // empty: all
  std::vector<Column> chosen_columns_;
  std::size_t name_column_ = 0;
  Cells cells_;  // texts as their ids
  Texts texts_;
  Paths paths_;
  std::vector<std::string> notes_;
  std::string prose_;
  std::size_t left_out_rows_ = 0;
  std::size_t filtered_rows_ = 0;
  std::int64_t time_origin_ns_ = 0;
  bool ordered_ = false;
  std::vector<std::uint32_t> order_;
};

/// The keys of columns, with a number behind those that occur twice.
std::vector<std::string> unique_keys(const std::vector<Column>& columns);

/// The value with its decimals and nothing else: "12.5", "-3".
std::string plain_number(std::int64_t value, int places);
void append_plain_number(std::string& out, std::int64_t value, int places);
/// Writes it to where it ends at `end`, at most kMaxDigits bytes, and says where it begins.
char* write_plain_number(char* end, std::int64_t value, int places) noexcept;
inline constexpr std::size_t kMaxDigits = 32;
/// A cell of a column of numbers, exactly.
void append_exact(std::string& out, const Column& column, std::int64_t cell);

}  // namespace rangefinder::report
