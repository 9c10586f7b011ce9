// SPDX-License-Identifier: MIT
#pragma once

#include "base/file.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace rangefinder::nsight_export {

/// An SQLite file that appears under its name when it is whole. After an error nothing more is written, and `finish`
/// says what it was.
class SqliteOutput {
 public:
  static Result<SqliteOutput> create(const std::string& path, bool replace);

  void execute(const std::string& sql);
  Status finish();
  const Status& status() const noexcept { return status_; }

 private:
  friend class Insert;
  struct Closer {
    void operator()(sqlite3* database) const noexcept;
  };
  SqliteOutput(base::AtomicFile file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status open();
  void check(int code);

  base::AtomicFile file_;
  std::string path_;
  std::unique_ptr<sqlite3, Closer> database_;
  Status status_;
};

/// Adds rows to a table.
///
///   Insert names(output, "StringIds", {"id", "value"});
///   names.row(1, "gemm");
///
/// Values: integers, doubles, texts, std::optional of them, and nullptr; nothing and nullptr are NULL.
class Insert {
 public:
  Insert(SqliteOutput& output, std::string_view table, std::initializer_list<std::string_view> columns);

  template <typename... Values>
  void row(const Values&... values) {
    if (!begin(sizeof...(values))) return;
    int column = 0;
    (bind(++column, values), ...);
    end();
  }

 private:
  struct Closer {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  bool begin(std::size_t values);
  void end();
  void bind(int column, std::int64_t value);
  void bind(int column, std::uint64_t value) { bind(column, static_cast<std::int64_t>(value)); }
  void bind(int column, std::uint32_t value) { bind(column, std::int64_t{value}); }
  void bind(int column, int value) { bind(column, std::int64_t{value}); }
  void bind(int column, double value);
  void bind(int column, std::string_view value);
  void bind(int column, const std::string& value) { bind(column, std::string_view(value)); }
  void bind(int column, const char* value) { bind(column, std::string_view(value)); }
  void bind(int, std::nullptr_t) {}
  template <typename Value>
  void bind(int column, const std::optional<Value>& value) {
    if (value) bind(column, *value);
  }

  SqliteOutput& output_;
  std::size_t columns_;
  std::unique_ptr<sqlite3_stmt, Closer> statement_;
};

}  // namespace rangefinder::nsight_export
