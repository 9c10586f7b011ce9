// SPDX-License-Identifier: MIT
#include "exporter/chrome/nesting.hpp"

#include "exporter/chrome/end_to_end.hpp"
#include "exporter/chrome/span_nesting.hpp"
#include "exporter/chrome/thread_row.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

using namespace rangefinder::chrome;
using rangefinder::testing::property_seed;
using rangefinder::testing::repeats;

namespace {

Placed slice(std::int64_t begin, std::int64_t end, std::uint8_t weight = 0, std::uint32_t row = 0) {
  Placed out;
  out.begin_ns = begin;
  out.end_ns = end;
  out.weight = weight;
  out.row = row;
  return out;
}

/// Slices of one row, in the order in which they are written: do any two cut each other?
bool nests(const std::vector<Placed>& slices) {
  std::vector<std::int64_t> open;
  for (const Placed& s : slices) {
    while (!open.empty() && open.back() <= s.begin_ns) open.pop_back();
    if (!open.empty() && open.back() < s.end_ns) return false;
    open.push_back(s.end_ns);
  }
  return true;
}

}  // namespace

TEST_CASE("slices that nest stay on their row, the outer one first", "[exporter]") {
  std::vector<Placed> slices{slice(10, 20, 0, 0), slice(0, 100, 0, 1), slice(10, 90, 0, 2), slice(20, 30, 0, 3)};
  nest(slices);
  std::vector<std::uint32_t> order;
  for (const Placed& s : slices) {
    CHECK(s.level == 0);
    order.push_back(s.row);
  }
  CHECK(order == std::vector<std::uint32_t>{1, 2, 0, 3});
}

TEST_CASE("of two slices that cut each other, the lighter one leaves the row", "[exporter]") {
  std::vector<Placed> slices{slice(0, 50, 1, 0), slice(40, 60, 5, 1)};
  nest(slices);
  CHECK(slices[0].level == 1);
  CHECK(slices[1].level == 0);
  std::vector<Placed> equal{slice(0, 50, 3, 0), slice(40, 60, 3, 1)};
  nest(equal);
  CHECK(equal[0].level == 0);  // the one that came first stays
  CHECK(equal[1].level == 1);
}

TEST_CASE("slices that touch, and slices without length, cut nothing", "[exporter]") {
  std::vector<Placed> slices{slice(0, 10), slice(10, 20), slice(10, 10), slice(0, 0), slice(20, 20)};
  nest(slices);
  for (const Placed& s : slices) CHECK(s.level == 0);
}

TEST_CASE("every row of what was laid out nests, and no slice is lost", "[exporter][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("nesting"));
  for (int round = 0; round < 3000; ++round) {
    std::vector<Placed> slices;
    const std::size_t count = random() % 40;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 30);
      slices.push_back(slice(begin, begin + static_cast<std::int64_t>(random() % 20), random() % 6, i));
    }
    nest(slices);
    REQUIRE(slices.size() == count);
    std::map<std::uint32_t, std::vector<Placed>> rows;
    std::vector<std::uint32_t> seen;
    for (const Placed& s : slices) {
      rows[s.level].push_back(s);
      seen.push_back(s.row);
    }
    std::sort(seen.begin(), seen.end());
    for (std::uint32_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == i);
    for (const auto& [level, row] : rows) {
      INFO("level " << level);
      REQUIRE(nests(row));
    }
  }
}

TEST_CASE("a staircase of slices is laid out in no more time than sorting takes", "[exporter]") {
  // Each cuts all others: a level a slice, if every level were filled by nesting.
  std::vector<Placed> slices;
  for (std::int64_t i = 0; i < 50'000; ++i) slices.push_back(slice(i, i + 50'000));
  nest(slices);
  CHECK(slices.back().level >= 16);
  CHECK(std::count_if(slices.begin(), slices.end(), [](const Placed& s) { return s.level == 0; }) == 1);
}

TEST_CASE("a flat row takes slices in any order that leaves them end to end", "[exporter]") {
  FlatRow row;
  CHECK(row.add(10, 20));
  CHECK(row.add(30, 40));
  CHECK(row.add(20, 30));
  CHECK(row.add(0, 10));
  CHECK_FALSE(row.add(5, 6));
  CHECK_FALSE(row.add(39, 45));
  CHECK(row.add(40, 40));
}

TEST_CASE("a nested row takes what lies inside what is open", "[exporter]") {
  NestedRow row;
  CHECK(row.add(0, 100));
  CHECK(row.add(10, 50));
  CHECK(row.add(10, 20));
  CHECK_FALSE(row.add(40, 60));
  CHECK(row.add(50, 100));
  CHECK_FALSE(row.add(90, 101));
  CHECK(row.add(100, 200));
  CHECK_FALSE(row.add(90, 95));  // too late to be sure
}

TEST_CASE("a slice that a nested row refuses leaves its mark", "[exporter]") {
  NestedRow row;
  CHECK(row.add(1, 6));
  CHECK(row.add(1, 3));
  CHECK_FALSE(row.add(3, 9));
  CHECK_FALSE(row.add(2, 5));  // would cut the second, which is over by now
}

TEST_CASE("rows taken one at a time never cut themselves", "[exporter][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("nested rows"));
  for (int round = 0; round < 500; ++round) {
    Rows<NestedRow> nested;
    EndToEnd flat;
    std::map<std::uint32_t, std::vector<Placed>> nested_rows, flat_rows;
    std::int64_t begin = 0;
    for (int i = 0; i < 60; ++i) {
      begin += static_cast<std::int64_t>(random() % 5) - (random() % 9 == 0 ? 4 : 0);
      const std::int64_t end = begin + static_cast<std::int64_t>(random() % 15);
      nested_rows[nested.add(begin, end)].push_back(slice(begin, end));
      flat_rows[flat.add(begin, end)].push_back(slice(begin, end));
    }
    for (auto* rows : {&nested_rows, &flat_rows}) {
      for (auto& [level, row] : *rows) {
        std::stable_sort(row.begin(), row.end(), [](const Placed& a, const Placed& b) {
          return std::tie(a.begin_ns, b.end_ns) < std::tie(b.begin_ns, a.end_ns);
        });
        REQUIRE(nests(row));
      }
    }
    for (auto& [level, row] : flat_rows) {
      std::erase_if(row, [](const Placed& s) { return s.begin_ns == s.end_ns; });
      for (std::size_t i = 1; i < row.size(); ++i) REQUIRE(row[i - 1].end_ns <= row[i].begin_ns);
    }
  }
}

TEST_CASE("a call that cuts a range goes beside the thread's row, others stay", "[exporter]") {
  ThreadRow row;
  row.range_begins(100);
  CHECK(row.place_call(110, 120) == 0);
  row.range_ends(100, 200);
  CHECK(row.place_call(190, 210) == 1);  // begins inside, ends outside
  CHECK(row.place_call(200, 220) == 0);
  row.range_begins(230);
  row.range_ends(230, 240);
  CHECK(row.place_call(225, 250) == 0);  // around a whole range
}

namespace {

/// A stream's activities as the ranges in which they were launched, innermost last; keys in the order of their begin.
using Launches = std::vector<std::vector<SpanNesting::Key>>;

/// Threads that take turns at random, each with ranges that nest.
Launches random_launches(std::mt19937_64& random) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<std::vector<SpanNesting::Key>> open(static_cast<std::size_t>(pick(1, 3)));
  SpanNesting::Key next = 1;
  Launches launches;
  for (int i = pick(1, 60); i > 0; --i) {
    std::vector<SpanNesting::Key>& mine = open[static_cast<std::size_t>(pick(0, static_cast<int>(open.size()) - 1))];
    for (int change = pick(0, 3); change > 0; --change) {
      if (pick(0, 1) == 0 && !mine.empty())
        mine.pop_back();
      else
        mine.push_back(next++);
    }
    launches.push_back(mine);
  }
  return launches;
}

}  // namespace

TEST_CASE("of a stream's ranges those that stay lie inside each other or end to end", "[exporter][property]") {
  const std::uint64_t first = property_seed("span nesting");
  std::size_t cut = 0, kept = 0;
  for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(repeats(2000)); ++round) {
    INFO("RANGEFINDER_SEED=" << first + round);
    std::mt19937_64 random(first + round);
    const Launches launches = random_launches(random);
    std::map<SpanNesting::Key, SpanNesting::Key> parents;
    std::map<SpanNesting::Key, std::pair<std::int64_t, std::int64_t>> spans;  // first and last activity
    std::map<SpanNesting::Key, std::int64_t> begun;
    SpanNesting row;
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const std::vector<SpanNesting::Key>& ranges = launches[i];
      const auto time = static_cast<std::int64_t>(i);
      for (std::size_t depth = 0; depth < ranges.size(); ++depth) {
        parents[ranges[depth]] = depth == 0 ? 0 : ranges[depth - 1];
        spans.try_emplace(ranges[depth], time, time).first->second.second = time;
      }
      if (ranges.empty()) continue;
      for (const SpanNesting::Key key : row.add(ranges.back(), [&](SpanNesting::Key at) { return parents.at(at); }))
        REQUIRE(begun.emplace(key, time).second);
    }
    std::vector<Placed> staying;
    for (const auto& [key, span] : spans) {
      REQUIRE(begun.at(key) == span.first);
      if (row.end(key))
        staying.push_back(slice(2 * span.first, 2 * span.second + 1));
      else
        ++cut;
    }
    kept += staying.size();
    std::sort(staying.begin(), staying.end(), [](const Placed& a, const Placed& b) {
      return std::tie(a.begin_ns, b.end_ns) < std::tie(b.begin_ns, a.end_ns);
    });
    REQUIRE(nests(staying));
  }
  CHECK(cut > 100);
  CHECK(kept > 1000);
}

TEST_CASE("ranges of one thread stay, and one that comes back when others were there does not", "[exporter]") {
  SpanNesting row;
  const auto parent_of = [](SpanNesting::Key key) { return key == 2 || key == 3 ? SpanNesting::Key{1} : 0; };
  CHECK(row.add(2, parent_of) == std::vector<SpanNesting::Key>{2, 1});
  CHECK(row.add(2, parent_of).empty());
  CHECK(row.add(1, parent_of).empty());
  CHECK(row.add(3, parent_of) == std::vector<SpanNesting::Key>{3});
  CHECK(row.add(4, parent_of) == std::vector<SpanNesting::Key>{4});  // of another thread
  CHECK(row.add(3, parent_of).empty());
  CHECK(row.add(4, parent_of).empty());
  for (const SpanNesting::Key key : {1, 2, 3}) CHECK(row.end(key));
  CHECK_FALSE(row.end(4));
  CHECK_FALSE(row.end(3));  // nothing more of it comes
}

TEST_CASE("of more ranges than a row remembers, the forgotten ones cannot stay", "[exporter]") {
  SpanNesting row(2);
  const auto no_parent = [](SpanNesting::Key) { return SpanNesting::Key{0}; };
  CHECK(row.add(1, no_parent).size() == 1);
  CHECK(row.add(2, no_parent).size() == 1);
  CHECK(row.add(3, no_parent).size() == 1);
  CHECK(row.add(1, no_parent).empty());
  CHECK_FALSE(row.end(1));
  CHECK_FALSE(row.end(2));
  CHECK(row.end(3));
}
