// SPDX-License-Identifier: MIT
#include "importer/nsight/table_scan.hpp"

#include "base/text.hpp"

#include <sqlite3.h>

#include <limits>

namespace rangefinder::importer::nsight {
namespace {
constexpr std::uint64_t kRowsPerProgress = 1 << 16;
// Nsight's times are nanoseconds since boot or since the capture began: far below this, and sums of them fit.
constexpr std::int64_t kLatestTime = std::int64_t{1} << 61;
// A double holds every integer up to here.
constexpr double kExactDouble = 9007199254740992.0;
}  // namespace

bool valid_time(std::int64_t time) noexcept { return time > -kLatestTime && time < kLatestTime; }
bool valid_interval(std::int64_t begin, std::int64_t end) noexcept {
  return valid_time(begin) && valid_time(end) && begin <= end;
}

TableScan::TableScan(ImportContext& context, const char* table, std::span<const WantedColumn> columns)
    : context_(context), table_(table) {
  const TableSchema* schema = context.database.table(table);
  if (schema == nullptr) {
    const std::string_view other = context.database.not_a_table(table);
    if (!other.empty()) context.note(table_ + " is a " + std::string(other) + ", not a table: not read");
    return;
  }
  std::string missing;
  const std::string sql = selection(*schema, columns, missing);
  if (!missing.empty()) {
    context.note(table_ + " has no column " + missing + ": not read");
    return;
  }
  const std::string damage = context.database.structural_damage(*schema);
  if (!damage.empty()) context.damaged(table_ + ": " + damage + "; what can be read of it is used");
  Result<Statement> statement = context.database.prepare(sql);
  if (!statement) {
    context.damaged(table_ + " cannot be read: " + statement.error().message());
    return;
  }
  statement_ = std::move(*statement);
}

std::string TableScan::selection(const TableSchema& schema, std::span<const WantedColumn> columns,
                                 std::string& missing) {
  has_rowid_ = schema.has_rowid;
  std::string sql = has_rowid_ ? "SELECT rowid" : "SELECT 0";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const WantedColumn& column = columns[i];
    sql += ", ";
    if (!schema.has(column.name)) {
      sql += "NULL";
      if (column.how == WantedColumn::How::kRequired && missing.empty()) missing = column.name;
      continue;
    }
    present_ |= std::uint64_t{1} << i;
    sql += quoted(column.name);
    if (column.how == WantedColumn::How::kPresence) sql += " IS NOT NULL";
  }
  // In the order of the table itself: an index of the file may say anything.
  return sql + " FROM " + quoted(schema.name) + " NOT INDEXED";
}

TableScan::~TableScan() {
  context_.count_rows(rows_ % kRowsPerProgress);
  if (rejected_ != 0)
    context_.note(table_ + ": " + base::with_thousands(rejected_) + (rejected_ == 1 ? " row" : " rows") +
                  " set aside; row " + std::to_string(first_rejected_) + ": " + first_reason_);
  if (mistyped_ != 0)
    context_.note(
        table_ + ": " + base::with_thousands(mistyped_) +
        (mistyped_ == 1 ? " value of the wrong type, read as absent" : " values of the wrong type, read as absent"));
}

void TableScan::stop(const std::string& why) {
  context_.damaged(table_ + ": damaged after " + base::with_thousands(rows_) + " rows (" + why +
                   "); those before are used");
  statement_.reset();
}

bool TableScan::next() {
  if (statement_ == nullptr || !context_.memory_status().ok()) return false;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_DONE) {
    statement_.reset();
    return false;
  }
  if (code != SQLITE_ROW) {
    stop(context_.database.last_error());
    return false;
  }
  // In a sound file rows take room. A tree whose pages point at each other goes on for ever.
  if (++rows_ > context_.database.row_bound() || text_bytes_ > 2 * context_.database.file_bytes()) {
    --rows_;
    stop("it claims more than the file has room for");
    return false;
  }
  if (rows_ % kRowsPerProgress != 0) return true;
  context_.count_rows(kRowsPerProgress);
  if (context_.within_bound()) return true;
  statement_.reset();
  return false;
}

std::int64_t TableScan::row_id() const noexcept {
  return has_rowid_ ? sqlite3_column_int64(statement_.get(), 0) : static_cast<std::int64_t>(rows_);
}

std::optional<std::int64_t> TableScan::integer(int column) {
  sqlite3_stmt* const row = statement_.get();
  switch (sqlite3_column_type(row, column + 1)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(row, column + 1);
    case SQLITE_NULL:
      return std::nullopt;
    case SQLITE_FLOAT: {
      // Tables that passed through a data frame hold whole numbers as doubles.
      const double value = sqlite3_column_double(row, column + 1);
      if (value >= -kExactDouble && value <= kExactDouble &&
          value == static_cast<double>(static_cast<std::int64_t>(value)))
        return static_cast<std::int64_t>(value);
      break;
    }
    default:
      break;
  }
  ++mistyped_;
  return std::nullopt;
}

std::uint32_t TableScan::u32_or(int column, std::uint32_t otherwise) {
  const std::optional<std::int64_t> value = integer(column);
  if (!value) return otherwise;
  if (*value < 0) return 0;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(*value, std::numeric_limits<std::uint32_t>::max()));
}

std::optional<double> TableScan::real(int column) {
  const int type = sqlite3_column_type(statement_.get(), column + 1);
  if (type == SQLITE_NULL) return std::nullopt;
  if (type == SQLITE_FLOAT || type == SQLITE_INTEGER) return sqlite3_column_double(statement_.get(), column + 1);
  ++mistyped_;
  return std::nullopt;
}

std::optional<std::string_view> TableScan::text(int column) {
  sqlite3_stmt* const row = statement_.get();
  if (sqlite3_column_type(row, column + 1) == SQLITE_NULL) return std::nullopt;
  const auto* text = sqlite3_column_type(row, column + 1) == SQLITE_BLOB
                         ? static_cast<const char*>(sqlite3_column_blob(row, column + 1))
                         : reinterpret_cast<const char*>(sqlite3_column_text(row, column + 1));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column + 1));
  text_bytes_ += size;
  return text == nullptr ? std::string_view{} : std::string_view(text, size);
}

void TableScan::reject(const char* why) {
  if (rejected_++ != 0) return;
  first_rejected_ = row_id();
  first_reason_ = why;
}

}  // namespace rangefinder::importer::nsight
