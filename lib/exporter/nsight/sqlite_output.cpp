// SPDX-License-Identifier: MIT
#include "exporter/nsight/sqlite_output.hpp"

#include "base/text.hpp"

#include <sqlite3.h>

#include <utility>

namespace rangefinder::nsight_export {

void SqliteOutput::Closer::operator()(sqlite3* database) const noexcept { ::sqlite3_close_v2(database); }
void Insert::Closer::operator()(sqlite3_stmt* statement) const noexcept { ::sqlite3_finalize(statement); }

Result<SqliteOutput> SqliteOutput::create(const std::string& path, bool replace) {
  Result<base::AtomicFile> file = base::AtomicFile::create(path, replace);
  if (!file) return std::move(file).error();
  SqliteOutput output(std::move(*file), path);
  if (Status status = output.open(); !status.ok()) return std::move(status).error();
  return output;
}

Status SqliteOutput::open() {
  // The file has no name of its own yet; SQLite follows this one to it. It is ours alone, so that no locks are needed.
  const std::string name = "/proc/self/fd/" + std::to_string(file_.fd().get());
  sqlite3* database = nullptr;
  const int code = ::sqlite3_open_v2(name.c_str(), &database, SQLITE_OPEN_READWRITE, "unix-none");
  database_.reset(database);
  check(code);
  // A half-written file is thrown away, so that SQLite needs no journal.
  for (const char* pragma : {"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA temp_store = MEMORY",
                             "PRAGMA cache_size = -16384", "BEGIN"})
    execute(pragma);
  return status_;
}

void SqliteOutput::check(int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW || !status_.ok()) return;
  const char* const reason = database_ ? ::sqlite3_errmsg(database_.get()) : ::sqlite3_errstr(code);
  const bool of_memory = (code & 0xFF) == SQLITE_NOMEM;
  status_ = Error(of_memory ? ErrorCode::kTooLarge : ErrorCode::kIo, "write " + path_ + ": SQLite: " + reason);
}

void SqliteOutput::execute(const std::string& sql) {
  if (status_.ok()) check(::sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

Status SqliteOutput::finish() {
  execute("COMMIT");
  database_.reset();
  return status_.ok() ? file_.commit() : status_;
}

Insert::Insert(SqliteOutput& output, std::string_view table, std::initializer_list<std::string_view> columns)
    : output_(output), columns_(columns.size()) {
  std::string names, places;
  for (const std::string_view column : columns) {
    names.append(names.empty() ? "\"" : ",\"").append(column).append("\"");
    places.append(places.empty() ? "?" : ",?");
  }
  if (!output_.status_.ok()) return;
  const std::string sql = "INSERT INTO " + std::string(table) + " (" + names + ") VALUES (" + places + ")";
  sqlite3_stmt* statement = nullptr;
  output_.check(::sqlite3_prepare_v2(output_.database_.get(), sql.c_str(), -1, &statement, nullptr));
  statement_.reset(statement);
}

bool Insert::begin(std::size_t values) {
  if (!output_.status_.ok()) return false;
  if (values != columns_) {
    output_.status_ = Error(ErrorCode::kInternal, "write " + output_.path_ + ": a row has another number of columns");
    return false;
  }
  ::sqlite3_reset(statement_.get());
  ::sqlite3_clear_bindings(statement_.get());
  return true;
}

void Insert::end() { output_.check(::sqlite3_step(statement_.get())); }

void Insert::bind(int column, std::int64_t value) {
  output_.check(::sqlite3_bind_int64(statement_.get(), column, value));
}

void Insert::bind(int column, double value) { output_.check(::sqlite3_bind_double(statement_.get(), column, value)); }

void Insert::bind(int column, std::string_view value) {
  // Readers decode it: SQLite itself would keep bytes that are not UTF-8, and end a text at its first zero in many
  // functions. The row is written before the text goes.
  const std::string clean = base::printable(value);
  output_.check(
      ::sqlite3_bind_text(statement_.get(), column, clean.data(), static_cast<int>(clean.size()), SQLITE_TRANSIENT));
}

}  // namespace rangefinder::nsight_export
