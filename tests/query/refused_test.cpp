// SPDX-License-Identifier: MIT
#include "query/asked.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// Nothing was written: no row, no table, no file.
void check_untouched(QueryDatabase& database, const ScratchFolder& folder) {
  CHECK(folder.entries() == 0);
  CHECK(answer_to(database, "SELECT total_changes(), (SELECT count(*) FROM sqlite_schema)") == "0|0\n");
  CHECK(answer_to(database, "SELECT count(*) FROM ranges") == "4\n");  // it answers on
}

}  // namespace

TEST_CASE("what is no reading is refused", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  const ScratchFolder folder;
  const std::string file = folder.file("out.db");
  const std::vector<std::string> statements{
      "CREATE TABLE t(a)",
      "CREATE TEMP TABLE t(a)",
      "CREATE TEMP VIEW v AS SELECT 1",
      "CREATE VIRTUAL TABLE t USING ranges",
      "INSERT INTO ranges(name) VALUES('x')",
      "WITH x AS (SELECT 1) INSERT INTO ranges(name) SELECT 'x'",
      "REPLACE INTO activities(id) VALUES(1)",
      "DELETE FROM view_kernels RETURNING *",
      "ALTER TABLE ranges RENAME TO r",
      "CREATE TRIGGER t AFTER INSERT ON ranges BEGIN SELECT 1; END",
      "CREATE INDEX i ON ranges(name)",
      "UPDATE ranges SET name = 'x'",
      "DELETE FROM activities",
      "DROP TABLE ranges",
      "INSERT INTO sqlite_schema VALUES('table','t','t',0,'')",
      "UPDATE sqlite_schema SET sql = 'x'",
      "DELETE FROM sqlite_schema",
      "PRAGMA writable_schema = 1",
      "PRAGMA temp_store_directory = '/tmp'",
      "PRAGMA hard_heap_limit = 0",
      "PRAGMA trusted_schema = 1",
      "BEGIN",
      "COMMIT",
      "SAVEPOINT s",
      "RELEASE s",
      "ANALYZE",
      "REINDEX",
      "VACUUM",
      "SELECT load_extension('x.so')",
      "ATTACH '" + file + "' AS other",
      "ATTACH ':memory:' AS other",
      "VACUUM INTO '" + file + "'",
      "DETACH main",
  };
  for (const std::string& sql : statements) {
    for (const char* before : {"", "/* SELECT */ ", "-- SELECT\n", ";", "SELECT 1; "})
      CHECK(refusal_of(database, before + sql).code() == ErrorCode::kInvalidArgument);
    static_cast<void>(database.run("EXPLAIN " + sql));  // may be answered, since it runs nothing
  }
  check_untouched(database, folder);
}

TEST_CASE("settings are neither changed nor told", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  const ScratchFolder folder;
  for (const std::string name : {"application_id",       "auto_vacuum",     "cache_size",
                                 "cache_spill",          "compile_options", "data_store_directory",
                                 "database_list",        "encoding",        "foreign_key_check",
                                 "function_list",        "hard_heap_limit", "incremental_vacuum",
                                 "integrity_check",      "journal_mode",    "journal_size_limit",
                                 "locking_mode",         "max_page_count",  "mmap_size",
                                 "module_list",          "optimize",        "page_size",
                                 "pragma_list",          "query_only",      "recursive_triggers",
                                 "schema_version",       "secure_delete",   "shrink_memory",
                                 "soft_heap_limit",      "synchronous",     "temp_store",
                                 "temp_store_directory", "threads",         "trusted_schema",
                                 "user_version",         "wal_checkpoint",  "writable_schema"})
    for (const std::string& sql : {"PRAGMA " + name, "PRAGMA " + name + " = 1", "PRAGMA main." + name + "(1)",
                                   "SELECT * FROM pragma_" + name, "EXPLAIN PRAGMA " + name})
      CHECK(refusal_of(database, sql).code() == ErrorCode::kInvalidArgument);
  check_untouched(database, folder);
}

TEST_CASE("random statements of words that write change nothing", "[query][property]") {
  const std::uint64_t seed = property_seed("query refusals");
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  QueryDatabase database = database_of(two_asked_steps());
  const ScratchFolder folder;
  const std::string file = "'" + folder.file("out.db") + "'";
  const std::string words[] = {"SELECT",
                               "INSERT INTO",
                               "REPLACE INTO",
                               "UPDATE",
                               "DELETE FROM",
                               "ATTACH",
                               "DETACH",
                               "VACUUM",
                               "INTO",
                               "PRAGMA",
                               "CREATE",
                               "DROP",
                               "ALTER TABLE",
                               "TEMP",
                               "TABLE",
                               "VIEW",
                               "INDEX",
                               "TRIGGER",
                               "VIRTUAL TABLE",
                               "USING",
                               "AS",
                               "SET",
                               "VALUES",
                               "FROM",
                               "WHERE",
                               "RETURNING",
                               "WITH x AS",
                               "EXPLAIN",
                               "UNION ALL",
                               "BEGIN",
                               "COMMIT",
                               "SAVEPOINT",
                               "(",
                               ")",
                               "(SELECT 1)",
                               "(1)",
                               "=",
                               ",",
                               ";",
                               "*",
                               "1",
                               "x",
                               "name",
                               "ranges",
                               "view_ranges",
                               "main",
                               "temp",
                               "sqlite_schema",
                               "sqlite_temp_schema",
                               "load_extension('x')",
                               "writefile(" + file + ", 'x')",
                               "json_each('[1]')",
                               "journal_mode",
                               "temp_store_directory",
                               "pragma_table_info('ranges')",
                               "dbstat",
                               file};
  QueryLimits limits;
  limits.timeout_ms = 100;
  for (int i = 0; i < 5'000; ++i) {
    std::string sql;
    for (std::size_t left = 2 + random() % 7; left > 0; --left) sql += words[random() % std::size(words)] + " ";
    CAPTURE(sql);
    const Result<QueryResult> result = database.run(sql, limits);
    const bool expected = result.ok() || result.error().code() == ErrorCode::kInvalidArgument ||
                          result.error().code() == ErrorCode::kTimeout;
    CHECK(expected);
  }
  check_untouched(database, folder);
}

TEST_CASE("no function reaches a file", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  const ScratchFolder folder;
  const std::string file = folder.file("out.txt");
  for (const std::string& sql :
       {"SELECT writefile('" + file + "', 'x')", std::string("SELECT readfile('/etc/hostname')"),
        std::string("SELECT * FROM fsdir('/')"), std::string("SELECT * FROM zipfile('/tmp/a.zip')"),
        std::string("SELECT edit('x')"), std::string("SELECT fts3_tokenizer('simple')")}) {
    CHECK(refusal_of(database, sql).code() == ErrorCode::kInvalidArgument);
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("what tells about tables is allowed", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  const std::string columns = answer_to(database, "PRAGMA table_info(marks)");
  CHECK(has(columns, "|time_ns|INTEGER|"));
  CHECK(has(answer_to(database, "SELECT name FROM pragma_table_info('view_ranges')"), "gpu_busy_ns"));
  CHECK(
      has(answer_to(database, "SELECT name FROM table_columns WHERE table_name = 'marks' AND unit = 'ns'"), "time_ns"));
}
