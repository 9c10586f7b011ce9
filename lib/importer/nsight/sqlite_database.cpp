// SPDX-License-Identifier: MIT
#include "importer/nsight/sqlite_database.hpp"

#include "base/file.hpp"
#include "base/sqlite_safety.hpp"
#include "base/text.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>

namespace rangefinder::importer::nsight {
namespace {

// Texts of 1 MiB are read; what is past this is no name.
constexpr int kLongestValue = 16 << 20;
// A progress callback this often costs nothing measurable.
constexpr int kStepsPerCallback = 1000;
// Reading a row takes about two steps a column, and each column takes a byte of the row at least.
constexpr std::uint64_t kStepsPerByte = 16;
constexpr std::uint64_t kFreeSteps = 50'000'000;
// A schema has some hundred tables; more than this is made to be slow.
constexpr std::size_t kMaxTables = 4096;
constexpr std::size_t kHeaderBytes = 100;

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

// A path as the inside of a file: URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7F || c == '%' || c == '?' || c == '#') {
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    } else {
      uri += c;
    }
  }
  // Immutable: nothing is locked, and no journal beside the file is looked at, let alone rolled back into it.
  return uri + "?mode=ro&immutable=1";
}

Error not_readable(const std::string& reason) { return Error(ErrorCode::kUnreadable, reason); }

}  // namespace

void StatementCloser::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
void Database::Closer::operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }

bool TableSchema::has(std::string_view column) const noexcept {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::string quoted(std::string_view identifier) {
  std::string out = "\"";
  for (const char c : identifier) {
    out += c;
    if (c == '"') out += c;
  }
  return out += '"';
}

Result<Database> Database::open(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return base::system_error("open", path, errno);
  if (!S_ISREG(info.st_mode)) return not_readable("open " + path + ": not a plain file");
  Database database;
  database.file_bytes_ = static_cast<std::uint64_t>(info.st_size);
  sqlite3* handle = nullptr;
  // SQLite would open a file that we may not read as an unspecific error.
  Result<base::Fd> readable = base::open_for_reading(path);
  if (!readable) return std::move(readable).error();
  std::byte header[kHeaderBytes];
  const Result<std::size_t> read = base::read_at(*readable, header, 0, path);
  if (!read) return read.error();
  Status whole = database.check_length(base::ByteView(header).first(*read));
  if (!whole.ok()) return std::move(whole).error().with_context(path);
  const int code = sqlite3_open_v2(uri_of(path).c_str(), &handle,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  database.handle_.reset(handle);
  if (code != SQLITE_OK) return not_readable("open " + path + ": " + sqlite3_errstr(code));
  Status status = database.harden();
  if (status.ok()) status = database.read_schema();
  if (!status.ok()) return std::move(status).error().with_context(path);
  return database;
}

Result<Database> Database::open_image(base::ByteView image) {
  Database database;
  database.file_bytes_ = image.size();
  Status whole = database.check_length(image.first(std::min(kHeaderBytes, image.size())));
  if (!whole.ok()) return std::move(whole).error();
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database.handle_.reset(handle);
  if (code == SQLITE_OK) {
    // Read-only: SQLite never writes to these bytes.
    auto* bytes = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(image.data()));
    code = sqlite3_deserialize(handle, "main", bytes, static_cast<sqlite3_int64>(image.size()),
                               static_cast<sqlite3_int64>(image.size()), SQLITE_DESERIALIZE_READONLY);
  }
  if (code != SQLITE_OK) return not_readable(std::string("not a database: ") + sqlite3_errstr(code));
  Status status = database.harden();
  if (status.ok()) status = database.read_schema();
  if (!status.ok()) return std::move(status).error();
  return database;
}

bool looks_like_sqlite(base::ByteView first_bytes) noexcept {
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  return base::as_text(first_bytes).starts_with(kMagic);
}

// SQLite would say "malformed" of a file that was copied in part.
Status Database::check_length(base::ByteView header) const {
  if (header.empty()) return not_readable("the file is empty");
  if (!looks_like_sqlite(header)) return not_readable("not an SQLite database");
  if (header.size() < kHeaderBytes) return not_readable("cut off within its header");
  const auto big_endian = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<std::uint64_t>(header[at + i]);
    return value;
  };
  const std::uint64_t stored = big_endian(16, 2);
  const std::uint64_t page = stored == 1 ? 65536 : stored;
  const std::uint64_t expected = page * big_endian(28, 4);
  // The count is valid when the version that wrote it is the file's last.
  const bool count_is_valid = big_endian(24, 4) == big_endian(92, 4);
  if (count_is_valid && expected > file_bytes_)
    return not_readable("cut off: " + base::with_thousands(file_bytes_) + " of " + base::with_thousands(expected) +
                        " bytes are there; copy or export it again");
  return {};
}

Status Database::harden() {
  sqlite3* const db = handle_.get();
  sqlite3_extended_result_codes(db, 1);
  if (const int option = base::refused_safety_option(db); option != 0)
    return Error(ErrorCode::kInternal, "SQLite does not take its safety option " + std::to_string(option));
  for (const auto& [limit, value] : {std::pair{SQLITE_LIMIT_LENGTH, kLongestValue},
                                     {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                                     {SQLITE_LIMIT_COLUMN, 2000},
                                     {SQLITE_LIMIT_EXPR_DEPTH, 50},
                                     {SQLITE_LIMIT_COMPOUND_SELECT, 2},
                                     {SQLITE_LIMIT_VDBE_OP, 25'000},
                                     {SQLITE_LIMIT_FUNCTION_ARG, 8},
                                     {SQLITE_LIMIT_ATTACHED, 0},
                                     {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
                                     {SQLITE_LIMIT_VARIABLE_NUMBER, 10},
                                     {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                     {SQLITE_LIMIT_WORKER_THREADS, 0}})
    sqlite3_limit(db, limit, value);
  steps_ = std::make_unique<StepBudget>();
  steps_->limit = kFreeSteps + file_bytes_ * kStepsPerByte;
  sqlite3_progress_handler(
      db, kStepsPerCallback,
      [](void* user) -> int {
        auto* budget = static_cast<StepBudget*>(user);
        budget->used += kStepsPerCallback;
        return budget->used > budget->limit ? 1 : 0;
      },
      steps_.get());
  for (const char* pragma :
       {"PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA ignore_check_constraints=ON"})
    sqlite3_exec(db, pragma, nullptr, nullptr, nullptr);
  return {};
}

void Database::renew_step_budget() const noexcept { steps_->used = 0; }

std::string Database::last_error() const { return base::printable(sqlite3_errmsg(handle_.get())); }

Result<Statement> Database::prepare(const std::string& sql) const {
  renew_step_budget();
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    sqlite3_finalize(statement);
    return not_readable(last_error());
  }
  return Statement(statement);
}

Status Database::read_schema() {
  Result<Statement> list =
      prepare("SELECT name, type, sql, rootpage FROM sqlite_schema WHERE type IN ('table', 'view')");
  if (!list) return std::move(list).error();
  std::vector<std::string> plain;
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(list->get())) == SQLITE_ROW) {
    std::string name = text_of(list->get(), 0);
    const bool is_table = text_of(list->get(), 1) == "table";
    if (plain.size() + others_.size() == kMaxTables)
      return not_readable("more than " + std::to_string(kMaxTables) + " tables");
    if (is_table && sqlite3_column_int64(list->get(), 3) > 0) {
      plain.push_back(std::move(name));
    } else {
      others_.emplace(std::move(name), is_table ? "virtual table" : "view");
    }
  }
  if (code != SQLITE_DONE) return not_readable("not a readable SQLite database: " + last_error());
  for (std::string& name : plain) {
    Result<TableSchema> schema = columns_of(name);
    if (schema) tables_.emplace(std::move(name), std::move(*schema));
  }
  return {};
}

Result<TableSchema> Database::columns_of(std::string table) const {
  Result<Statement> list = prepare("PRAGMA table_xinfo(" + quoted(table) + ")");
  if (!list) return std::move(list).error();
  TableSchema schema;
  while (sqlite3_step(list->get()) == SQLITE_ROW) {
    // The last column of the answer is 0 for what is stored.
    if (sqlite3_column_int(list->get(), 6) == 0)
      schema.columns.push_back(text_of(list->get(), 1));
    else
      schema.has_computed = true;
  }
  schema.has_rowid = prepare("SELECT rowid FROM " + quoted(table)).ok();
  schema.name = std::move(table);
  return schema;
}

const TableSchema* Database::table(std::string_view name) const {
  const auto found = tables_.find(std::string(name));
  return found == tables_.end() ? nullptr : &found->second;
}

std::string_view Database::not_a_table(std::string_view name) const {
  const auto found = others_.find(std::string(name));
  return found == others_.end() ? std::string_view{} : found->second;
}

std::string Database::structural_damage(const TableSchema& table) const {
  // The check would run the expressions.
  if (table.has_computed) return "has computed columns; not checked, and they are not read";
  Result<Statement> check = prepare("PRAGMA quick_check(" + quoted(table.name) + ")");
  if (!check) return check.error().message();
  int code = SQLITE_DONE;
  while ((code = sqlite3_step(check->get())) == SQLITE_ROW) {
    const std::string finding = text_of(check->get(), 0);
    // Broken promises of the schema about values are not damage: every value is looked at when it is read.
    const bool about_values = finding.starts_with("NULL value in") || finding.starts_with("CHECK constraint") ||
                              finding.starts_with("NUMERIC value in") || finding.starts_with("TEXT value in") ||
                              finding.starts_with("non-") || finding.find(" index ") != std::string::npos;
    if (finding != "ok" && !about_values) {
      const std::size_t line = finding.find_last_not_of('\n');
      const std::size_t start = finding.rfind('\n', line) + 1;
      return base::printable(std::string_view(finding).substr(start, line - start + 1));
    }
  }
  return code == SQLITE_DONE ? std::string() : last_error();
}

std::uint64_t Database::estimated_rows(const TableSchema& table) const {
  if (!table.has_rowid) return 0;
  Result<Statement> greatest = prepare("SELECT max(rowid) FROM " + quoted(table.name));
  if (!greatest || sqlite3_step(greatest->get()) != SQLITE_ROW) return 0;
  const std::int64_t rows = sqlite3_column_int64(greatest->get(), 0);
  return rows <= 0 ? 0 : std::min(static_cast<std::uint64_t>(rows), row_bound());
}

}  // namespace rangefinder::importer::nsight
