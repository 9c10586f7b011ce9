// SPDX-License-Identifier: MIT
#include "query/database.hpp"

#include "base/text.hpp"
#include "query/tables.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::query {
namespace {

constexpr std::string_view kOnlyReads =
    "query: refused: a query is one SELECT (or EXPLAIN) that reads the tables; it writes, attaches, loads and sets "
    "nothing";

/// "; did you mean activities?" of "no such table: activites".
std::string suggestion(std::string_view message) {
  const auto rest = [&](std::string_view before) {
    return message.starts_with(before) ? message.substr(before.size()) : std::string_view();
  };
  std::vector<std::string_view> candidates;
  std::string_view wanted = rest("no such table: ");
  if (!wanted.empty()) {
    for (const Table* table : tables()) candidates.push_back(table->name);
    for (const ViewName& view : view_names()) candidates.push_back(view.table);
  } else if (wanted = rest("no such column: "); !wanted.empty()) {
    wanted = wanted.substr(wanted.rfind('.') + 1);  // npos + 1 is 0
    for (const Table* table : tables())
      for (const Column& column : table->columns) candidates.push_back(column.name);
  }
  const std::string_view nearest = wanted.empty() ? std::string_view() : base::nearest(wanted, candidates);
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest) + "?";
}

std::string hexadecimal(const void* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = "X'";
  for (std::size_t i = 0; i < size; ++i) {
    const unsigned byte = static_cast<const unsigned char*>(bytes)[i];
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out += '\'';
}

QueryValue value_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return text == nullptr ? std::string()
                             : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const void* bytes = sqlite3_column_blob(statement, column);
      return hexadecimal(bytes,
                         bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    default:
      return std::monostate();
  }
}

std::uint64_t bytes_of(const QueryValue& value) noexcept {
  const auto* text = std::get_if<std::string>(&value);
  return sizeof value + (text != nullptr ? text->capacity() : 0);
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(Timeline timeline, const ProjectionOptions& projection) {
  std::unique_ptr<Database> database(new Database(std::move(timeline), projection));
  if (Status status = database->connect(); !status.ok()) return std::move(status).error();
  return database;
}

Status Database::connect() {
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(":memory:", &connection,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK) return Error(ErrorCode::kInternal, std::string("query: ") + sqlite3_errstr(code));
  for (const Table* table : tables()) {
    if (register_table(connection, tables_.emplace_back(model_, *table)) != SQLITE_OK)
      return Error(ErrorCode::kInternal, "query: SQLite does not take the table " + std::string(table->name));
  }
  for (const ViewName& name : view_names()) {
    if (register_view(connection, views_.emplace_back(model_, name)) != SQLITE_OK)
      return Error(ErrorCode::kInternal, "query: SQLite does not take the table " + name.table);
  }
  return harden(connection);
}

Error Database::failure(int code, const Guard& guard) const {
  if (guard.verdict() != Guard::Verdict::kGoOn) return guard.error();
  const std::string message = base::printable(sqlite3_errmsg(connection_.get()));
  if (message.ends_with(" may not be modified")) return Error(ErrorCode::kInvalidArgument, std::string(kOnlyReads));
  switch (code & 0xFF) {
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Error(ErrorCode::kInvalidArgument, std::string(kOnlyReads));
    case SQLITE_NOMEM:
      return Error(ErrorCode::kTooLarge, "query: out of memory; filter or group more");
    case SQLITE_TOOBIG:
      return Error(ErrorCode::kTooLarge, "query: a text or a row grew longer than 64 KiB");
    case SQLITE_INTERNAL:
    case SQLITE_MISUSE:
      return Error(ErrorCode::kInternal, "query: " + message);
    default:
      return Error(ErrorCode::kInvalidArgument, "query: " + message + suggestion(message));
  }
}

Result<Database::Statement> Database::prepare(std::string_view sql, const Guard& guard) const {
  constexpr std::size_t kLongestSql = 1 << 20;
  if (sql.size() > kLongestSql)
    return Error(ErrorCode::kInvalidArgument,
                 "query: longer than 1 MiB: " + base::with_thousands(sql.size()) + " bytes");
  Statement first;
  const char* at = sql.data();
  const char* const end = sql.data() + sql.size();
  while (at != end) {
    sqlite3_stmt* raw = nullptr;
    const char* tail = end;
    const int code = sqlite3_prepare_v2(connection_.get(), at, static_cast<int>(end - at), &raw, &tail);
    Statement statement(raw);
    if (code != SQLITE_OK) return failure(code, guard);
    if (statement && first)
      return Error(ErrorCode::kInvalidArgument, "query: more than one statement; ask one question at a time");
    if (statement) first = std::move(statement);
    if (tail == at) break;  // a zero byte
    at = tail;
  }
  if (!first) return Error(ErrorCode::kInvalidArgument, "query: no statement; write SELECT ...");
  if (sqlite3_stmt_readonly(first.get()) == 0 || sqlite3_column_count(first.get()) == 0)
    return Error(ErrorCode::kInvalidArgument, std::string(kOnlyReads));
  return first;
}

Status Database::read_rows(sqlite3_stmt* statement, const QueryLimits& limits, Guard& guard,
                           QueryResult& result) const {
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) {
    const char* name = sqlite3_column_name(statement, i);
    result.columns.emplace_back(name == nullptr ? "" : name);
  }
  std::uint64_t bytes = 0;
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (limits.max_rows != 0 && result.rows.size() == limits.max_rows) {
      result.truncated = true;
      return {};
    }
    std::vector<QueryValue>& row = result.rows.emplace_back();
    row.reserve(static_cast<std::size_t>(columns));
    bytes += sizeof(std::vector<QueryValue>);
    for (int i = 0; i < columns; ++i) bytes += bytes_of(row.emplace_back(value_of(statement, i)));
    if (guard.check(bytes) != Guard::Verdict::kGoOn) return guard.error();
  }
  if (code != SQLITE_DONE) return failure(code, guard);
  return {};
}

Result<QueryResult> Database::run(std::string_view sql, const QueryLimits& limits) {
  Guard guard(connection_.get(), limits);
  Result<Statement> statement = prepare(sql, guard);
  if (!statement) return statement.error();
  QueryResult result;
  if (Status status = read_rows(statement->get(), limits, guard, result); !status.ok())
    return std::move(status).error();
  return result;
}

}  // namespace rangefinder::query
