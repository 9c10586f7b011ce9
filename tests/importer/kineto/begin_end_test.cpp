// SPDX-License-Identifier: MIT
#include "importer/kineto/begin_end.hpp"

#include "trace_text.hpp"

using namespace rangefinder;
using rangefinder::testing::load;
using rangefinder::testing::Loaded;
using rangefinder::testing::trace_of;

namespace {

struct Slice {
  std::string name;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t row;
  friend bool operator==(const Slice&, const Slice&) = default;
};

std::ostream& operator<<(std::ostream& out, const Slice& s) {
  return out << s.name << " " << s.begin_ns << ".." << s.end_ns << " row " << s.row;
}

std::vector<Slice> slices(const Loaded& loaded) {
  std::vector<Slice> out;
  const RangeTable& ranges = loaded.timeline.ranges;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    out.push_back({loaded.text(ranges.name[i]), ranges.begin_ns[i], ranges.end_ns[i], ranges.source_row[i]});
  return out;
}

}  // namespace

TEST_CASE("begins and ends become slices, innermost first", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"B","cat":"user_annotation","name":"outer","pid":1,"tid":1,"ts":10,"args":{"External id":4}},
    {"ph":"B","cat":"user_annotation","name":"inner","pid":1,"tid":1,"ts":20},
    {"ph":"E","pid":1,"tid":1,"ts":30},
    {"ph":"E","pid":1,"tid":1,"ts":50})"));
  CHECK(slices(loaded) == std::vector<Slice>{{"inner", 20'000, 30'000, 1}, {"outer", 10'000, 50'000, 0}});
  CHECK(loaded.timeline.ranges.external_id[1] == 4);
  CHECK(loaded.timeline.ranges.kind[0] == RangeKind::kAnnotation);
}

TEST_CASE("threads and the order in the file do not mix slices up", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"E","pid":1,"tid":2,"ts":40},
    {"ph":"E","pid":1,"tid":1,"ts":30},
    {"ph":"B","name":"b","pid":1,"tid":2,"ts":20},
    {"ph":"B","name":"a","pid":1,"tid":1,"ts":10})"));
  CHECK(slices(loaded) == std::vector<Slice>{{"b", 20'000, 40'000, 2}, {"a", 10'000, 30'000, 3}});
  CHECK(loaded.timeline.health.unmatched_ends == 0);
}

TEST_CASE("ends without a begin are counted, begins without an end last until the end", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"E","pid":1,"tid":1,"ts":5},
    {"ph":"B","name":"open","pid":1,"tid":1,"ts":10},
    {"ph":"X","cat":"cpu_op","name":"last","pid":1,"tid":2,"ts":10,"dur":90})"));
  CHECK(slices(loaded) == std::vector<Slice>{{"last", 10'000, 100'000, 2}, {"open", 10'000, 100'000, 1}});
  CHECK(loaded.timeline.ranges.flags[1] == kUnfinished);
  CHECK(loaded.timeline.health.unmatched_ends == 1);
  CHECK(loaded.timeline.health.unfinished_ranges == 1);
}

TEST_CASE("a pair may be any kind of slice", "[importer]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"args":{"device":0,"stream":7,"correlation":3}},
    {"ph":"E","pid":0,"tid":7,"ts":12.5})"));
  REQUIRE(loaded.timeline.activities.size() == 1);
  CHECK(loaded.timeline.activities.end_ns[0] == 12'500);
}

TEST_CASE("pairs whose times are too far apart to count are set aside", "[importer][fault]") {
  const Loaded loaded = load(trace_of(R"(
    {"ph":"B","name":"a","pid":1,"tid":1,"ts":-9000000000000000},
    {"ph":"E","pid":1,"tid":1,"ts":9000000000000000})"));
  CHECK(loaded.timeline.ranges.size() == 0);
  CHECK(loaded.has_note("no time that can be used"));
}
