// SPDX-License-Identifier: MIT
#include "query/asked.hpp"

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("tables hold the rows of the timeline, with ids from 1", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(answer_to(database, "SELECT id, name, begin_ns, end_ns FROM ranges WHERE name = 'forward'") ==
        "2|forward|1100|4000\n4|forward|11100|14000\n");
  CHECK(answer_to(database, "SELECT count(*), sum(duration_ns) FROM activities") == "7|3700\n");
  CHECK(
      answer_to(database, "SELECT kind, name, moved_bytes, copy_kind FROM activities WHERE kind = 'memcpy' LIMIT 1") ==
      "memcpy|memcpy|4096|Host-to-Device\n");
  CHECK(answer_to(database, "SELECT number, duration_ns, items FROM steps") == "0|9000|32\n1|9000|32\n");
}

TEST_CASE("ranges have their device time and their place among the others", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(answer_to(database,
                  "SELECT path, parent_id, depth, gpu_ops, gpu_sum_ns, gpu_busy_ns, gpu_self_ops, moved_bytes "
                  "FROM ranges WHERE id <= 2") == "step|NULL|0|3|1600|1300|1|4096\nstep/forward|1|1|2|1500|1200|2|0\n");
}

TEST_CASE("a range inside of one of its name is recursive", "[query]") {
  TimelineBuilder builder;
  builder.range("f", 0, 100).range("g", 10, 90).range("f", 20, 80).launch(30).kernel(40, 45).range("f", 200, 300);
  QueryDatabase database = database_of(builder.build());
  CHECK(answer_to(database, "SELECT name, begin_ns, gpu_sum_ns, recursive FROM ranges ORDER BY begin_ns") ==
        "f|0|5|0\ng|10|5|0\nf|20|5|1\nf|200|0|0\n");
  CHECK(answer_to(database, "SELECT sum(gpu_sum_ns) FILTER (WHERE NOT recursive) FROM ranges WHERE name = 'f'") ==
        answer_to(database, "SELECT gpu_sum_ns FROM view_ranges WHERE range = 'f'"));
}

TEST_CASE("an activity without an owner says why", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(answer_to(database, "SELECT range_id, launch_id, owner FROM activities WHERE name = 'stray'") ==
        "NULL|NULL|unknown\n");
  CHECK(answer_to(database, "SELECT part, gpu_ops FROM account") ==
        "owned|6\noutside|0\nbefore|0\nunknown|1\ntotal|7\n");
}

TEST_CASE("columns tell a value from nothing", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  const QueryResult result = ask(database, "SELECT 1, 1.5, 'x', NULL, X'00FF', host IS NULL FROM processes");
  REQUIRE(result.rows.size() == 1);
  const std::vector<QueryValue>& row = result.rows.front();
  CHECK(std::get<std::int64_t>(row[0]) == 1);
  CHECK(std::get<double>(row[1]) == 1.5);
  CHECK(std::get<std::string>(row[2]) == "x");
  CHECK(std::holds_alternative<std::monostate>(row[3]));
  CHECK(std::get<std::string>(row[4]) == "X'00FF'");
  CHECK(std::get<std::int64_t>(row[5]) == 1);
}

TEST_CASE("attribution is that of the database", "[query]") {
  TimelineBuilder builder;
  builder.range("capture_it", 0, 100).launch(10);
  const LaunchIndex captured = builder.last_launch();
  builder.range("replay_it", 200, 300).launch(210).kernel(220, 230).of_graph(captured);
  const Timeline timeline = builder.build();
  for (const auto& [attribution, owner] :
       {std::pair{Attribution::kLaunch, "replay_it\n"}, {Attribution::kCapture, "capture_it\n"}}) {
    Result<QueryDatabase> database = QueryDatabase::of(timeline, {attribution});
    REQUIRE(database.ok());
    CHECK(answer_to(*database, "SELECT r.name FROM activities a JOIN ranges r ON r.id = a.range_id") == owner);
  }
}

TEST_CASE("a wrong question names what may be meant", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(has(refusal_of(database, "SELECT * FROM activites").message(), "did you mean activities?"));
  CHECK(has(refusal_of(database, "SELECT a.duration FROM activities a").message(), "no such column: a.duration"));
  CHECK(has(refusal_of(database, "SELECT begn_ns FROM ranges").message(), "did you mean begin_ns?"));
  CHECK(has(refusal_of(database, "SELEC 1").message(), "syntax error"));
  CHECK(refusal_of(database, "SELEC 1").code() == ErrorCode::kInvalidArgument);
}

TEST_CASE("a question is one statement", "[query]") {
  QueryDatabase database = database_of(two_asked_steps());
  CHECK(answer_to(database, "SELECT 1; -- the end") == "1\n");
  CHECK(has(refusal_of(database, "SELECT 1; SELECT 2").message(), "more than one statement"));
  CHECK(has(refusal_of(database, "").message(), "no statement"));
  CHECK(has(refusal_of(database, "-- nothing").message(), "no statement"));
}

TEST_CASE("a database that was moved answers", "[query]") {
  QueryDatabase first = database_of(two_asked_steps());
  CHECK(answer_to(first, "SELECT count(*) FROM ranges") == "4\n");
  QueryDatabase second = std::move(first);
  CHECK(answer_to(second, "SELECT count(*) FROM ranges") == "4\n");
  CHECK(second.timeline().ranges.size() == 4);
}

TEST_CASE("an empty timeline has all tables, and no rows", "[query]") {
  QueryDatabase database = database_of(Timeline());
  for (const QueryTableInfo& table : query_schema()) {
    const QueryResult result = ask(database, "SELECT * FROM " + std::string(table.name));
    if (table.columns.empty()) continue;
    REQUIRE(result.columns.size() == table.columns.size());
    for (std::size_t i = 0; i < result.columns.size(); ++i) CHECK(result.columns[i] == table.columns[i].name);
  }
}

TEST_CASE("names that are hostile come as they are", "[query]") {
  TimelineBuilder builder;
  const std::string name = std::string("a\0b\xFF", 4) + "'; DROP TABLE ranges; --";
  builder.range(name, 0, 10);
  QueryDatabase database = database_of(builder.build());
  const QueryResult result = ask(database, "SELECT name FROM ranges");
  REQUIRE(result.rows.size() == 1);
  CHECK(std::get<std::string>(result.rows[0][0]) == name);
}
