// SPDX-License-Identifier: MIT
#pragma once

#include "query/cell.hpp"
#include "query/sqlite_value.hpp"

#include <rangefinder/result.hpp>

#include <sqlite3.h>

#include <string>

namespace rangefinder::query {

/// The callbacks of a virtual table over a Source. A cursor of SQLite has a `Rows`, which finds rows and walks them:
///
///   class Rows {
///     using Source = ...;
///     static Result<std::string> columns(Source&);      // as they stand in CREATE TABLE
///     static void plan(Source&, sqlite3_index_info&);   // of xBestIndex
///     explicit Rows(Source&);
///     void find(int plan, sqlite3_value** arguments);   // of xFilter
///     bool at_end() const noexcept;
///     void next() noexcept;
///     std::int64_t id() const noexcept;                 // of the row
///     Cell cell(int column) const;
///   };
///
/// Without xCreate a table is eponymous: it is there under the name of its module, and no statement makes another.
/// Without xUpdate it cannot be written.
template <typename Rows>
class ReadOnlyModule {
 public:
  using Source = typename Rows::Source;

  /// Gives SQLite's result code. `source` outlives the connection.
  static int add(sqlite3* connection, const std::string& name, Source& source) {
    static constexpr sqlite3_module kModule = [] {
      sqlite3_module module{};
      module.xConnect = connect;
      module.xBestIndex = choose_plan;
      module.xDisconnect = disconnect;
      module.xOpen = open;
      module.xClose = close;
      module.xFilter = filter;
      module.xNext = next;
      module.xEof = is_at_end;
      module.xColumn = column;
      module.xRowid = row_id;
      return module;
    }();
    return sqlite3_create_module_v2(connection, name.c_str(), &kModule, &source, nullptr);
  }

 private:
  struct Table : sqlite3_vtab {
    explicit Table(Source& of) : sqlite3_vtab{}, source(of) {}
    Source& source;
  };
  struct Cursor : sqlite3_vtab_cursor {
    explicit Cursor(Source& source) : sqlite3_vtab_cursor{}, rows(source) {}
    Rows rows;
  };
  static Source& source_of(sqlite3_vtab* table) noexcept { return static_cast<Table*>(table)->source; }
  static Rows& rows_of(sqlite3_vtab_cursor* cursor) noexcept { return static_cast<Cursor*>(cursor)->rows; }

  static int connect(sqlite3* connection, void* raw, int, const char* const*, sqlite3_vtab** table, char** error) {
    return without_exceptions([&] {
      auto& source = *static_cast<Source*>(raw);
      const Result<std::string> columns = Rows::columns(source);
      if (!columns) {
        *error = freed_by_sqlite(columns.error().message());
        return SQLITE_ERROR;
      }
      const int code = sqlite3_declare_vtab(connection, ("CREATE TABLE x(" + *columns + ")").c_str());
      if (code == SQLITE_OK) *table = new Table(source);
      return code;
    });
  }
  static int disconnect(sqlite3_vtab* table) {
    delete static_cast<Table*>(table);
    return SQLITE_OK;
  }
  static int choose_plan(sqlite3_vtab* table, sqlite3_index_info* info) {
    return without_exceptions([&] {
      Rows::plan(source_of(table), *info);
      return SQLITE_OK;
    });
  }
  static int open(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
    return without_exceptions([&] {
      *cursor = new Cursor(source_of(table));
      return SQLITE_OK;
    });
  }
  static int close(sqlite3_vtab_cursor* cursor) {
    delete static_cast<Cursor*>(cursor);
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor* cursor, int plan, const char*, int, sqlite3_value** arguments) {
    return without_exceptions([&] {
      rows_of(cursor).find(plan, arguments);
      return SQLITE_OK;
    });
  }
  static int next(sqlite3_vtab_cursor* cursor) {
    rows_of(cursor).next();
    return SQLITE_OK;
  }
  static int is_at_end(sqlite3_vtab_cursor* cursor) { return rows_of(cursor).at_end() ? 1 : 0; }
  static int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
    *id = rows_of(cursor).id();
    return SQLITE_OK;
  }
  static int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) {
    return without_exceptions([&] {
      set_result(context, rows_of(cursor).cell(number));
      return SQLITE_OK;
    });
  }
};

}  // namespace rangefinder::query
