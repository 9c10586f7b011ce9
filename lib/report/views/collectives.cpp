// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/collective_labels.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/range_paths.hpp"

#include <rangefinder/analysis/collectives.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// `collectives`: collectives matched over the ranks of a job, how fast they were, who waited and for whom. By kind,
// group and size; with --instances each of them.
namespace rangefinder::report {
namespace {

std::string last_rank(const Timeline& timeline, const MatchedCollectives& matched, const MatchedCollective& one) {
  if (one.last_part == kNone) return "";
  return rank_label(timeline, matched.parts[one.first_part + one.last_part].process);
}

std::int64_t waited_ns(const MatchedCollectives& matched, const MatchedCollective& one) {
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < one.part_count; ++i) {
    const std::int64_t wait = matched.parts[one.first_part + i].wait_ns;
    if (wait != kNoTime) sum += wait;
  }
  return sum;
}

/// Hundredths of a gigabyte (10^9 bytes) a second.
std::optional<std::int64_t> bandwidth_cell(double bytes_per_second) {
  return if_that(bytes_per_second > 0, common::rounded(bytes_per_second / 1e7));
}

Table instances_of(const ProjectedTimeline& projected, const MatchedCollectives& matched) {
  using Row = std::pair<const MatchedCollective*, Paths::Node>;
  const Timeline& timeline = projected.timeline();
  const auto of = [](auto get) { return [get](const Row& row) { return get(*row.first); }; };
  ColumnsOf<Row> columns(timeline);
  columns.text("Collective", of([](const MatchedCollective& one) { return to_string(one.kind); }));
  columns.text("Group", of([&](const MatchedCollective& one) { return group_label(timeline, one.group); }))
      .if_room(5)
      .if_any();
  columns.count("Number", of([](const MatchedCollective& one) { return one.number; }));
  columns.count("Recorded", of([](const MatchedCollective& one) { return one.part_count; })).if_room(7);
  columns.count("Ranks", of([](const MatchedCollective& one) { return one.ranks; }));
  columns.bytes("Bytes", of([](const MatchedCollective& one) { return if_that(one.bytes != 0, one.bytes); }));
  columns.time("Latency", of([](const MatchedCollective& one) { return one.latency_ns; }));
  columns.time("Longest", of([](const MatchedCollective& one) { return one.longest_ns; })).if_room(4);
  columns.time("Skew", of([](const MatchedCollective& one) { return common::if_time(one.skew_ns); }));
  columns
      .time("Waited",
            of([&](const MatchedCollective& one) { return if_that(one.skew_ns != kNoTime, waited_ns(matched, one)); }))
      .if_room(3);
  columns.time("Clock error", of([](const MatchedCollective& one) { return common::if_time(one.clock_error_ns); }))
      .if_room(6);
  columns
      .decimal("Algorithm bandwidth", "GB/s", 2,
               of([](const MatchedCollective& one) { return bandwidth_cell(one.algorithm_bandwidth); }))
      .if_room(3);
  columns.decimal("Bus bandwidth", "GB/s", 2,
                  of([](const MatchedCollective& one) { return bandwidth_cell(one.bus_bandwidth); }));
  columns
      .decimal("Imbalance", "", 2, of([](const MatchedCollective& one) {
                 return if_that(one.kind == CollectiveKind::kAllToAll && one.bytes != 0,
                                common::rounded(one.imbalance * 100));
               }))
      .if_room(6)
      .if_any();
  columns.text("Last rank", of([&](const MatchedCollective& one) { return last_rank(timeline, matched, one); }));
  columns.path("Its range", [](const Row& row) { return row.second; }).if_room(1);
  common::add_id_of(columns, "Its range", [](const Row& row) { return row.second; });
  Table table = columns.table();
  RangePaths paths(table, projected);
  for (const MatchedCollective& one : matched.collectives)
    columns.add_row(table, {&one, one.last_range != kNone ? paths.of(one.last_range) : Paths::kNothing});
  return table;
}

/// Those of one kind, group and size.
struct Group {
  const MatchedCollective* first = nullptr;
  std::uint64_t count = 0;
  std::int64_t latency = 0, longest = 0, waited = 0, skew = 0, most_skew = 0, most_error = 0;
  bool comparable = true;
  std::map<std::string, std::uint64_t> last;  ///< how often each rank was
};

std::vector<Group> groups_of(const Timeline& timeline, const MatchedCollectives& matched) {
  std::map<std::tuple<CollectiveKind, std::uint32_t, std::uint64_t, std::uint32_t>, Group> found;
  for (const MatchedCollective& one : matched.collectives) {
    Group& group = found[{one.kind, one.group, one.bytes, one.ranks}];
    if (group.first == nullptr) group.first = &one;
    ++group.count;
    group.latency += one.latency_ns;
    group.longest += one.longest_ns;
    group.comparable = group.comparable && one.skew_ns != kNoTime;
    if (one.skew_ns == kNoTime) continue;
    group.waited += waited_ns(matched, one);
    group.skew += one.skew_ns;
    group.most_skew = std::max(group.most_skew, one.skew_ns);
    group.most_error = std::max(group.most_error, one.clock_error_ns);
    ++group.last[last_rank(timeline, matched, one)];
  }
  std::vector<Group> groups;
  for (auto& [key, group] : found) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.longest > b.longest; });
  return groups;
}

/// "3 (12 of 20)"
std::string mostly_last(const Group& group) {
  const auto most = std::max_element(group.last.begin(), group.last.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == group.last.end()) return "";
  return most->first + " (" + std::to_string(most->second) + " of " + std::to_string(group.count) + ")";
}

Table groups_table(const ProjectedTimeline& projected, const MatchedCollectives& matched) {
  using Row = Group;
  const Timeline& timeline = projected.timeline();
  const auto bandwidth = [](const Row& row, double of_one) {
    return row.latency > 0 && of_one > 0 && row.first->latency_ns > 0
               ? of_one * static_cast<double>(row.first->latency_ns) * static_cast<double>(row.count) /
                     static_cast<double>(row.latency)
               : 0;
  };
  const auto if_comparable = [](auto get) {
    return [get](const Row& row) { return figure_of(row.comparable ? &row : nullptr, get); };
  };
  ColumnsOf<Row> columns(timeline);
  columns.text("Collective", [](const Row& row) { return to_string(row.first->kind); });
  columns.text("Group", [&](const Row& row) { return group_label(timeline, row.first->group); }).if_room(3).if_any();
  columns.count("Ranks", [](const Row& row) { return row.first->ranks; });
  columns.count("Count", &Row::count);
  columns.bytes("Bytes", [](const Row& row) { return if_that(row.first->bytes != 0, row.first->bytes); });
  columns.time("Latency avg", [](const Row& row) { return common::mean(row.latency, row.count); });
  columns.time("Longest avg", [](const Row& row) { return common::mean(row.longest, row.count); }).if_room(4);
  columns.time("Skew avg", if_comparable([](const Row& row) { return common::mean(row.skew, row.count); }));
  columns.time("Skew max", if_comparable(&Row::most_skew)).if_room(5);
  columns.time("Waited", if_comparable(&Row::waited)).if_room(2);
  columns.time("Clock error", if_comparable(&Row::most_error)).if_room(6);
  columns
      .decimal("Algorithm bandwidth", "GB/s", 2,
               [=](const Row& row) { return bandwidth_cell(bandwidth(row, row.first->algorithm_bandwidth)); })
      .if_room(4);
  columns.decimal("Bus bandwidth", "GB/s", 2,
                  [=](const Row& row) { return bandwidth_cell(bandwidth(row, row.first->bus_bandwidth)); });
  columns.text("Mostly last", [](const Row& row) { return mostly_last(row); }).if_room(1);
  return columns.table_of(groups_of(timeline, matched));
}

void add_notes(const Timeline& timeline, const MatchedCollectives& matched, Table& table) {
  constexpr std::size_t kMaxNotes = 8;
  for (std::size_t i = 0; i < matched.refused.size() && i < kMaxNotes; ++i) {
    const RefusedCollectives& refused = matched.refused[i];
    table.note("collectives: " + std::to_string(refused.parts) + " not matched" +
               (refused.group != kNone ? " in group " + *group_label(timeline, refused.group) : "") + ": " +
               refused.reason);
  }
  if (matched.refused.size() > kMaxNotes)
    table.note("collectives: " + std::to_string(matched.refused.size() - kMaxNotes) + " more reasons are not listed");
  const auto without_clock = [](const MatchedCollective& one) {
    return one.part_count > 1 && one.clock_error_ns == kNoTime;
  };
  if (std::any_of(matched.collectives.begin(), matched.collectives.end(), without_clock))
    table.note(
        "collectives: clocks of the hosts are known by wall clock alone: skew, waits and last ranks are left out");
  const auto alone = [](const MatchedCollective& one) { return one.part_count == 1 && one.ranks > 1; };
  if (std::any_of(matched.collectives.begin(), matched.collectives.end(), alone))
    table.note("collectives: of some only one rank was recorded: its duration holds what it waited for others");
}

}  // namespace

Result<Table> make_collectives(const ProjectedTimeline& projected, const ViewOptions& options) {
  const MatchedCollectives matched = match_collectives(projected.timeline());
  Table table = options.instances ? instances_of(projected, matched) : groups_table(projected, matched);
  add_notes(projected.timeline(), matched, table);
  return table;
}

}  // namespace rangefinder::report
