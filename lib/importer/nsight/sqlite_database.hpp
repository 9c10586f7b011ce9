// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace rangefinder::importer::nsight {

/// True for the first 16 bytes of any SQLite database; whether it is Nsight's, import_nsight tells.
bool looks_like_sqlite(base::ByteView first_bytes) noexcept;

struct StatementCloser {
  void operator()(sqlite3_stmt* statement) const noexcept;
};
using Statement = std::unique_ptr<sqlite3_stmt, StatementCloser>;

/// A plain table of the file and its stored columns.
struct TableSchema {
  std::string name;
  std::vector<std::string> columns;
  bool has_rowid = true;
  bool has_computed = false;  ///< columns that an expression of the file computes; they are not in `columns`

  bool has(std::string_view column) const noexcept;
};

/// One SQLite file, opened so that it can neither write, nor run code of its own, nor make us work without end:
/// read-only and immutable, defensive, schema untrusted; views, triggers and extensions off; text, row and statement
/// sizes bounded; a count of virtual-machine steps that ends a statement which does more than the file's size explains.
/// Views, virtual tables and generated columns do not exist as far as this class tells.
class Database {
 public:
  static Result<Database> open(const std::string& path);
  /// The same from the bytes of a file, which must outlive the database.
  static Result<Database> open_image(base::ByteView image);

  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  /// Null when there is no such plain table.
  const TableSchema* table(std::string_view name) const;
  /// What stands under that name instead of a plain table ("view", "virtual table"); empty when nothing does.
  std::string_view not_a_table(std::string_view name) const;

  /// What `PRAGMA quick_check` finds about the structure of one table; empty when it is sound.
  std::string structural_damage(const TableSchema& table) const;

  Result<Statement> prepare(const std::string& sql) const;
  std::string last_error() const;
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  /// More rows than this cannot be in one table of the file: what claims to be, is a loop in a damaged tree.
  std::uint64_t row_bound() const noexcept { return file_bytes_ / kLeastRowBytes + 1; }
  /// A first guess of a table's rows, for progress: its greatest rowid, within the bound above.
  std::uint64_t estimated_rows(const TableSchema& table) const;
  /// Allows the next statement its steps.
  void renew_step_budget() const noexcept;

 private:
  struct Closer {
    void operator()(sqlite3* handle) const noexcept;
  };
  struct StepBudget {
    std::uint64_t limit = 0;
    std::uint64_t used = 0;
  };
  // A cell and its pointer take at least this much of a page.
  static constexpr std::uint64_t kLeastRowBytes = 4;

  Database() = default;
  Status check_length(base::ByteView header) const;
  Status harden();
  Status read_schema();
  Result<TableSchema> columns_of(std::string table) const;

  std::unique_ptr<sqlite3, Closer> handle_;
  std::unique_ptr<StepBudget> steps_;  // its address is SQLite's
  std::uint64_t file_bytes_ = 0;
  std::unordered_map<std::string, TableSchema> tables_;
  std::unordered_map<std::string, std::string> others_;
};

/// `"name"`, for use in a statement.
std::string quoted(std::string_view identifier);

}  // namespace rangefinder::importer::nsight
