// SPDX-License-Identifier: MIT
#include "query/asked.hpp"

#include <chrono>
#include <cstdint>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("a question that never ends is ended", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  QueryLimits limits;
  limits.timeout_ms = 50;
  for (const char* sql : {
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
           "SELECT count(*) FROM activities a, activities b, activities c, activities d, activities e, activities f, "
           "activities g, activities h, activities i, activities j, activities k, activities l",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
       }) {
    const auto begin = std::chrono::steady_clock::now();
    const Error error = refusal_of(database, sql, limits);
    CHECK(error.code() == ErrorCode::kTimeout);
    CHECK(has(error.message(), "50 ms"));
    CHECK(std::chrono::steady_clock::now() - begin <
          std::chrono::seconds(30));  // not: 50 ms, on a machine that is busy
  }
  CHECK(answer_to(database, "SELECT count(*) FROM ranges") == "4\n");
}

// Each function below takes milliseconds to seconds for a text of 64 KiB where SQLite's own limits hold.
TEST_CASE("functions that take long do not keep a question from its end", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  QueryLimits limits;
  limits.timeout_ms = 50;
  const std::string as = "printf('%.*c', 65000, 'a')", bs = "printf('%.*c', 32000, 'a') || 'b'";
  for (const std::string& call :
       {"instr(" + as + ", " + bs + ")", "replace(" + as + ", " + bs + ", 'c')",
        as + " LIKE '%" + std::string(240, 'a') + "b'", as + " GLOB '*" + std::string(240, 'a') + "b'",
        "trim(" + as + ", 'b' || " + bs + ")"}) {
    const auto begin = std::chrono::steady_clock::now();
    const Error error = refusal_of(
        database,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(" + call + " || i) FROM n", limits);
    CHECK(error.code() == ErrorCode::kTimeout);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
  }
}

TEST_CASE("a question has so many calls of functions and no more", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  std::string sum = "abs(1)";
  for (int i = 1; i < 100; ++i) sum += " + abs(1)";
  CHECK(answer_to(database, "SELECT " + sum + ", " + sum) == "100|100\n");
  CHECK(has(refusal_of(database, "SELECT " + sum + ", " + sum + ", abs(1)").message(), "more than 200 calls"));
  CHECK(answer_to(database, "SELECT abs(1)") == "1\n");
}

TEST_CASE("trim takes characters as SQLite does", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(answer_to(database, "SELECT rtrim('layer.12', '0123456789'), ltrim('xxyax', 'yx'), trim('xaxbx', 'x')") ==
        "layer.|ax|axb\n");
  CHECK(answer_to(database, "SELECT trim('äöaäöaöä', 'öä'), rtrim('aä', 'ö'), trim('xx', 'x'), trim('x', '')") ==
        "aäöa|aä||x\n");
  CHECK(answer_to(database, "SELECT trim(NULL, 'x'), trim('x', NULL), trim(1.5, '5'), trim('  a ')") ==
        "NULL|NULL|1.|a\n");
}

TEST_CASE("a question that takes too much memory is ended", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  QueryLimits limits;
  limits.max_memory_bytes = 8 << 20;
  limits.max_rows = 0;
  for (const char* sql : {
           // Of sorting, of grouping, of the result.
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000) "
           "SELECT i FROM n ORDER BY hex(i), i",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000) "
           "SELECT count(DISTINCT i) FROM n",
           "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000) SELECT i FROM n",
       }) {
    CHECK(refusal_of(database, sql, limits).code() == ErrorCode::kTooLarge);
  }
  CHECK(answer_to(database, "SELECT count(*) FROM ranges") == "4\n");
}

TEST_CASE("a text does not grow past 64 KiB", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(refusal_of(database, "SELECT replace(hex(zeroblob(30000)), '0', 'xxxx')").code() == ErrorCode::kTooLarge);
  CHECK(refusal_of(database, "SELECT zeroblob(2000000000)").code() == ErrorCode::kTooLarge);
}

TEST_CASE("a result has no more rows than it may, and says that there were more", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  QueryLimits limits;
  limits.max_rows = 3;
  const QueryResult cut = ask(database, "SELECT id FROM ranges", limits);
  CHECK(cut.rows.size() == 3);
  CHECK(cut.truncated);
  limits.max_rows = 4;
  const QueryResult whole = ask(database, "SELECT id FROM ranges", limits);
  CHECK(whole.rows.size() == 4);
  CHECK_FALSE(whole.truncated);
}
