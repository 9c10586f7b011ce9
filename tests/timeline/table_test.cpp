// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using namespace rangefinder;

namespace {

template <typename T>
constexpr bool is_writable = std::is_assignable_v<decltype(std::declval<T&>()[0]), typename T::value_type>;

ActivityRow kernel(std::int64_t begin_ns) {
  ActivityRow row;
  row.begin_ns = begin_ns;
  row.end_ns = begin_ns + 10;
  return row;
}

}  // namespace

TEST_CASE("columns are read-only outside of their table", "[timeline]") {
  using Name = decltype(RangeTable::name);
  using Queued = decltype(ActivityTable::queued_ns);
  STATIC_REQUIRE_FALSE(is_writable<Name>);
  STATIC_REQUIRE_FALSE(is_writable<Queued>);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Name>);
  STATIC_REQUIRE_FALSE(std::is_move_assignable_v<Name>);
  STATIC_REQUIRE_FALSE(std::is_move_assignable_v<Queued>);
  STATIC_REQUIRE(std::is_nothrow_move_assignable_v<RangeTable>);
  STATIC_REQUIRE(std::is_copy_constructible_v<RangeTable>);
}

TEST_CASE("a row is appended whole, and what it does not say has a default", "[timeline]") {
  RangeTable ranges;
  CHECK(ranges.append({.name = StringId{3}, .begin_ns = 5, .end_ns = 9}) == 0);
  CHECK(ranges.append({.flags = kResumed, .begin_ns = 20, .end_ns = 30, .opened_ns = 15}) == 1);
  REQUIRE(ranges.size() == 2);
  CHECK(ranges.name.size() == 2);
  CHECK(ranges.name[0] == StringId{3});
  CHECK(ranges.kind[0] == RangeKind::kAnnotation);
  CHECK(ranges.source_row == std::vector<std::int64_t>{-1, -1});
  CHECK(ranges.opened_ns[0] == kNoTime);
  CHECK(ranges.opened_ns[1] == 15);
  CHECK(ranges.run_ns(RangeIndex{0}) == 4);
  CHECK(ranges.run_ns(RangeIndex{1}) == 15);
}

TEST_CASE("a row that is read and written back stays the same", "[timeline]") {
  ActivityTable activities;
  activities.append(kernel(1));
  ActivityRow row = kernel(2);
  row.captured = LaunchIndex{4};
  row.estimated = true;
  row.queued_ns = 7;
  activities.append(row);
  activities.append(kernel(3));
  const ActivityTable before = activities;
  for (std::size_t at = 0; at < activities.size(); ++at) activities.set(at, activities.row(at));
  CHECK(activities.begin_ns == before.begin_ns);
  for (std::size_t at = 0; at < activities.size(); ++at) {
    CHECK(activities.captured[at] == (at == 1 ? LaunchIndex{4} : kNone));
    CHECK(activities.estimated[at] == (at == 1));
    CHECK(activities.queued_ns[at] == (at == 1 ? 7 : kNoTime));
    CHECK(activities.submitted_ns[at] == kNoTime);
  }
}

TEST_CASE("a column that no row fills takes no memory", "[timeline]") {
  ActivityTable activities;
  constexpr std::uint64_t kRows = 1'000;
  for (std::uint64_t i = 0; i < kRows; ++i) activities.append(kernel(0));
  const std::uint64_t without = activities.memory_bytes();
  CHECK(without == kRows * 33);
  CHECK(activities.queued_ns.empty());
  CHECK(activities.captured.empty());
  SECTION("nor when a row is written that does not fill it either") {
    activities.set(500, kernel(2));
    activities.set_captured(ActivityIndex{700}, kNone);
    CHECK(activities.memory_bytes() == without);
  }
  SECTION("and no more than up to the last row that does") {
    ActivityRow row = kernel(1);
    row.queued_ns = 5;
    activities.set(99, row);
    CHECK(activities.memory_bytes() == without + 100 * sizeof(std::int64_t));
    CHECK(activities.queued_ns[98] == kNoTime);
    CHECK(activities.queued_ns[99] == 5);
    CHECK(activities.queued_ns[100] == kNoTime);
    row.queued_ns = kNoTime;
    activities.set(99, row);
    CHECK(activities.queued_ns[99] == kNoTime);
  }
}

TEST_CASE("numbers of 64 bits take half of them while they are small", "[timeline]") {
  CallTable calls;
  const auto add = [&](std::int64_t source_row) { calls.append({.source_row = source_row}); };
  add(-1);
  add(0);
  add(0xFFFFFFFE);
  const std::uint64_t without = 3 * (sizeof(StringId) + sizeof(CallDomain) + sizeof(ThreadIndex) + 16);
  CHECK(calls.memory_bytes() == without + 3 * sizeof(std::uint32_t));
  CHECK(calls.source_row == std::vector<std::int64_t>{-1, 0, 0xFFFFFFFE});
  SECTION("one that is not makes all of them wide") {
    const std::int64_t big =
        GENERATE(std::int64_t{0xFFFFFFFF}, std::int64_t{-2}, std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min());
    CallRow row = calls.row(1);
    row.source_row = big;
    calls.set(1, row);
    CHECK(calls.source_row == std::vector<std::int64_t>{-1, big, 0xFFFFFFFE});
    CHECK(calls.memory_bytes() == without + 3 * sizeof(std::int64_t));
    add(7);
    CHECK(calls.source_row == std::vector<std::int64_t>{-1, big, 0xFFFFFFFE, 7});
  }
  SECTION("rows that are cut off are forgotten") {
    calls.cut_to(2);
    calls.append({});
    CHECK(calls.source_row == std::vector<std::int64_t>{-1, 0, -1});
  }
  SECTION("the rows of a comparison are all there are") {
    CHECK_FALSE(calls.source_row == std::vector<std::int64_t>{-1, 0});
    CHECK_FALSE(calls.source_row == std::vector<std::int64_t>{-1, 0, 1});
    CHECK(calls.external_id == std::vector<std::int64_t>{-1, -1, -1});
  }
}

TEST_CASE("ranges may be written in any order", "[timeline]") {
  RangeTable ranges;
  ranges.grow_to(3);
  ranges.set(2, {.begin_ns = 2, .opened_ns = 1});
  ranges.set(0, {.begin_ns = 7});
  CHECK(ranges.size() == 3);
  CHECK(ranges.begin_ns == std::vector<std::int64_t>{7, 0, 2});
  CHECK(ranges.source_row == std::vector<std::int64_t>{-1, -1, -1});
  CHECK(ranges.opened_ns[1] == kNoTime);
  CHECK(ranges.opened_ns[2] == 1);
}

TEST_CASE("a table is put in order with all its columns", "[timeline]") {
  PmSampleTable samples;
  for (std::int64_t i = 0; i < 3; ++i)
    samples.append({.begin_ns = i, .end_ns = 10 * i, .value = static_cast<double>(i)});
  samples.reorder({2, 0, 1});
  CHECK(samples.begin_ns == std::vector<std::int64_t>{2, 0, 1});
  CHECK(samples.end_ns == std::vector<std::int64_t>{20, 0, 10});
  CHECK(samples.value == std::vector<double>{2, 0, 1});
}

namespace {

template <typename Column, typename Position, typename = void>
constexpr bool is_indexed_by = false;
template <typename Column, typename Position>
constexpr bool
    is_indexed_by<Column, Position, std::void_t<decltype(std::declval<const Column&>()[std::declval<Position>()])>> =
        true;

template <typename A, typename B, typename = void>
constexpr bool is_compared_with = false;
template <typename A, typename B>
constexpr bool is_compared_with<A, B, std::void_t<decltype(std::declval<A>() == std::declval<B>())>> = true;

}  // namespace

TEST_CASE("an index belongs to one table", "[timeline]") {
  using Name = decltype(RangeTable::name);
  using Captured = decltype(ActivityTable::captured);
  STATIC_REQUIRE(is_indexed_by<Name, RangeIndex>);
  STATIC_REQUIRE(is_indexed_by<Name, std::size_t>);
  STATIC_REQUIRE_FALSE(is_indexed_by<Name, CallIndex>);
  STATIC_REQUIRE(is_indexed_by<Captured, ActivityIndex>);
  STATIC_REQUIRE_FALSE(is_indexed_by<Captured, LaunchIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<CallIndex, RangeIndex>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::uint32_t, RangeIndex>);
  STATIC_REQUIRE(std::is_convertible_v<RangeIndex, std::uint32_t>);
  STATIC_REQUIRE(is_compared_with<RangeIndex, RangeIndex>);
  STATIC_REQUIRE_FALSE(is_compared_with<RangeIndex, CallIndex>);
  STATIC_REQUIRE(std::is_trivially_copyable_v<RangeIndex>);
  STATIC_REQUIRE(sizeof(RangeIndex) == sizeof(std::uint32_t));
  CHECK(RangeIndex(kNone) == kNone);
  CHECK(RangeIndex{0} != kNone);
}
