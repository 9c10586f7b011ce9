// SPDX-License-Identifier: MIT
#include "query/asked.hpp"
#include "query/tables.hpp"
#include "support/seed.hpp"

#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

std::string plan_of(QueryDatabase& database, const std::string& sql) {
  return answer_to(database, "EXPLAIN QUERY PLAN " + sql);
}

Timeline many_activities(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
  };
  TimelineBuilder builder;
  for (int i = 0; i < 300; ++i) {
    builder.on_process(1 + below(2)).on_thread(10 + below(3)).on_device(static_cast<std::uint32_t>(below(2)));
    builder.on_stream(7 + below(3));
    const std::int64_t begin = below(10'000);
    builder.range("r" + std::to_string(below(5)), begin, begin + below(500));
    builder.launch(begin).kernel(begin + below(50), begin + 50 + below(50), "k" + std::to_string(below(4)));
  }
  return builder.build();
}

}  // namespace

TEST_CASE("joins on ids and times use an index", "[query]") {
  QueryDatabase database = database_of(many_activities(1));
  SECTION("by id") {
    const std::string plan =
        plan_of(database, "SELECT count(*) FROM activities a JOIN launches l ON l.id = a.launch_id");
    CHECK(has(plan, "a VIRTUAL TABLE INDEX 0:"));
    CHECK(has(plan, "l VIRTUAL TABLE INDEX 1:"));
  }
  SECTION("by the id of another table") {
    const std::string plan =
        plan_of(database, "SELECT count(*) FROM ranges r CROSS JOIN activities a ON a.range_id = r.id");
    CHECK(has(plan, "a VIRTUAL TABLE INDEX "));
    CHECK_FALSE(has(plan, "a VIRTUAL TABLE INDEX 0:"));
  }
  SECTION("by place and time") {
    const std::string plan = plan_of(database,
                                     "SELECT count(*) FROM ranges r CROSS JOIN ranges c ON c.thread_id = r.thread_id "
                                     "AND c.begin_ns >= r.begin_ns AND c.begin_ns < r.end_ns");
    CHECK_FALSE(has(plan, "c VIRTUAL TABLE INDEX 0:"));
  }
}

TEST_CASE("an index gives what reading all rows gives", "[query][property]") {
  const std::uint64_t seed = property_seed("query look-ups");
  CAPTURE(seed);
  QueryDatabase database = database_of(many_activities(seed));
  // A unary plus hides a column from indexes.
  for (const char* condition : {"? stream_id = 2",
                                "? stream_id = 2 AND ? begin_ns > 3000",
                                "? device_id = 1 AND ? begin_ns BETWEEN 100 AND 5000",
                                "? process_id = 2 AND ? begin_ns < 700",
                                "? begin_ns >= 9000",
                                "? begin_ns < 0",
                                "? id = 17",
                                "? id = 0",
                                "? id = 301",
                                "? id = 17.0",
                                "? id = 17.5",
                                "? id = NULL",
                                "? id = 'x'",
                                "? id IN (3, 1, 900)",
                                "? launch_id = 12",
                                "? launch_id IN (5, 6, NULL)",
                                "? begin_ns > 4999.5 AND ? begin_ns <= 5600.5",
                                "? begin_ns > 'x'",
                                "? begin_ns < 'x'",
                                "? begin_ns > NULL",
                                "? begin_ns > -1e300",
                                "? begin_ns < 1e300",
                                "? correlation = 40",
                                "? range_id = 20",
                                "? rowid = 9",
                                "? stream_id = 9223372036854775807",
                                "? begin_ns > 9223372036854775807",
                                "? begin_ns >= -9223372036854775808"}) {
    std::string by_index = condition, by_scan = condition;
    for (std::size_t at = 0; (at = by_index.find("? ")) != std::string::npos;) by_index.erase(at, 2);
    for (std::size_t at = 0; (at = by_scan.find("? ")) != std::string::npos;) by_scan.replace(at, 2, "+");
    const std::string all = "SELECT id, begin_ns FROM activities WHERE ";
    CAPTURE(condition);
    CHECK(answer_to(database, all + by_index + " ORDER BY id") == answer_to(database, all + by_scan + " ORDER BY id"));
    CHECK(answer_to(database, all + by_index + " ORDER BY begin_ns, id") ==
          answer_to(database, all + by_scan + " ORDER BY begin_ns, id"));
    CHECK(answer_to(database, "SELECT count(*) FROM activities WHERE " + by_index) ==
          answer_to(database, "SELECT count(*) FROM activities WHERE " + by_scan));
  }
}

TEST_CASE("a text that is a number finds the row of that id", "[query]") {
  QueryDatabase database = database_of(many_activities(2));
  CHECK(answer_to(database, "SELECT id FROM activities WHERE id = '17'") == "17\n");
}

TEST_CASE("joins by index give what joins by scan give", "[query][property]") {
  const std::uint64_t seed = property_seed("query joins");
  CAPTURE(seed);
  QueryDatabase database = database_of(many_activities(seed));
  const auto both = [&](const std::string& by_index, const std::string& by_scan) {
    CHECK(answer_to(database, by_index) == answer_to(database, by_scan));
  };
  both(
      "SELECT r.name, sum(a.duration_ns) FROM ranges r JOIN activities a ON a.range_id = r.id GROUP BY 1 ORDER BY 1",
      "SELECT r.name, sum(a.duration_ns) FROM ranges r JOIN activities a ON +a.range_id = +r.id GROUP BY 1 ORDER BY 1");
  both(
      "SELECT r.id, count(*) FROM ranges r JOIN ranges i ON i.thread_id = r.thread_id AND i.begin_ns > r.begin_ns "
      "AND i.begin_ns < r.end_ns GROUP BY 1 ORDER BY 1",
      "SELECT r.id, count(*) FROM ranges r JOIN ranges i ON +i.thread_id = +r.thread_id AND +i.begin_ns > +r.begin_ns "
      "AND +i.begin_ns < +r.end_ns GROUP BY 1 ORDER BY 1");
}

TEST_CASE("groups of a column are read in its order, and are those of all rows", "[query][property]") {
  const std::uint64_t seed = property_seed("query groups");
  CAPTURE(seed);
  QueryDatabase database = database_of(many_activities(seed));
  CHECK(has(plan_of(database, "SELECT name, count(*) FROM activities GROUP BY name"), ":by name"));
  CHECK_FALSE(has(plan_of(database, "SELECT name, count(*) FROM activities GROUP BY name"), "TEMP B-TREE"));
  const std::string most = "SELECT name, kind, count(*) AS n FROM activities GROUP BY name, kind ORDER BY n DESC";
  CHECK_FALSE(has(plan_of(database, most), "FOR GROUP BY"));
  // More orders than are kept.
  for (const std::vector<std::string>& order :
       std::vector<std::vector<std::string>>{{"name", "stream_id"},
                                             {"name DESC", "stream_id"},
                                             {"stream_id", "name DESC"},
                                             {"range_id"},
                                             {"range_id DESC", "launch_id"},
                                             {"launch_id DESC"},
                                             {"collective_id", "begin_ns DESC"},
                                             {"kind", "owner"},
                                             {"name", "kind", "stream_id", "device_id"},
                                             {"owner DESC", "kind DESC"},
                                             {"end_ns"},
                                             {"name", "stream_id"}}) {
    std::string values, by_order, by_scan;
    for (const std::string& term : order) {
      const char* const comma = values.empty() ? "" : ", ";
      values.append(comma).append(term.substr(0, term.find(' ')));
      by_order.append(comma).append(term);
      by_scan.append(comma).append("+").append(term);
    }
    const std::string question = "SELECT " + values + " FROM activities ORDER BY ";
    CAPTURE(question, by_order);
    CHECK_FALSE(has(plan_of(database, question + by_order), "TEMP B-TREE"));
    CHECK(answer_to(database, question + by_order) == answer_to(database, question + by_scan));
  }
  for (const query::Table* table : query::tables())
    for (const query::Column& column : table->columns) {
      const std::string name = "\"" + std::string(column.name) + "\"";
      const std::string from = ", count(*), sum(id) FROM " + std::string(table->name) + " GROUP BY ";
      CAPTURE(from, name);
      CHECK(answer_to(database, "SELECT " + name + from + name) ==
            answer_to(database, "SELECT +" + name + from + "+" + name + " ORDER BY +" + name));
    }
}

TEST_CASE("every look-up names columns that there are", "[query]") {
  std::size_t indexed = 0;
  for (const QueryTableInfo& table : query_schema())
    for (const QueryColumnInfo& column : table.columns) indexed += column.indexed && column.name != "id" ? 1 : 0;
  CHECK(indexed > 40);
}
