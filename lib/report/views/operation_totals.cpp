// SPDX-License-Identifier: MIT
#include "report/views/operation_totals.hpp"

#include "base/descending.hpp"
#include "report/columns.hpp"
#include "report/views/common_columns.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::report {

void OperationTotals::add(const Timeline& timeline, const Projection& projection) {
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (is_copy(activities.kind[row]) != (kind_ == Kind::kCopies)) continue;
    const auto [found, added] = by_name_.try_emplace(static_cast<std::uint32_t>(activities.name[row]), groups_.size());
    if (added) groups_.emplace_back().name = activities.name[row];
    Group& group = groups_[found->second];
    const std::int64_t duration = activities.end_ns[row] - activities.begin_ns[row];
    group.add(duration);
    group.conditional += timeline.is_lower_bound(row) ? 1 : 0;
    group.bytes += activities.bytes[row];
    const std::uint32_t owner = projection.owner[row];
    const std::uint32_t name =
        owner < timeline.ranges.size() ? static_cast<std::uint32_t>(timeline.ranges.name[RangeIndex(owner)]) : kNone;
    group.owners[name] += duration;
  }
}

std::uint64_t OperationTotals::memory_bytes() const noexcept {
  constexpr std::uint64_t kEntryBytes = 64;  // of a map
  std::uint64_t bytes = groups_.capacity() * sizeof(Group) + by_name_.size() * kEntryBytes;
  for (const Group& group : groups_) bytes += group.owners.size() * kEntryBytes;
  return bytes;
}

std::vector<const OperationTotals::Group*> OperationTotals::in_order(const Timeline& timeline) const {
  std::vector<const Group*> order;
  for (const Group& group : groups_) order.push_back(&group);
  std::sort(order.begin(), order.end(), [&](const Group* a, const Group* b) {
    return std::pair(base::Descending{a->total}, timeline.text(a->name)) <
           std::pair(base::Descending{b->total}, timeline.text(b->name));
  });
  return order;
}

/// The range name that owns most of the group's time; of equal shares the first by name, so that the answer does not
/// depend on a hash.
std::string OperationTotals::main_owner(const Timeline& timeline, const Group& group) {
  const auto text_of = [&](std::uint32_t name) {
    return name == kNone ? std::string_view("(none)") : timeline.text(static_cast<StringId>(name));
  };
  const auto best = std::max_element(group.owners.begin(), group.owners.end(), [&](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : text_of(a.first) > text_of(b.first);
  });
  const std::string owner(text_of(best->first));
  return group.owners.size() == 1 ? owner : owner + " and " + std::to_string(group.owners.size() - 1) + " more";
}

Table OperationTotals::table(const RangeReport& report) const {
  return kind_ == Kind::kCopies ? table_of_copies(report) : table_of_kernels(report);
}

Table OperationTotals::table_of_kernels(const RangeReport& report) const {
  using Row = Group;
  const Timeline& timeline = report.timeline;
  const std::int64_t all_ns = report.facts.account.total.gpu_sum_ns;
  const bool bounded = report.facts.has_bounds;
  ColumnsOf<Row> columns(timeline);
  columns.kernel("Kernel", &Row::name);
  columns.count("Count", &Row::count).bounded_by(common::conditional_title(bounded));
  columns.time("Total", &Row::total);
  columns.percent("Share", [all_ns](const Row& row) { return common::share(row.total, all_ns); });
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); });
  columns.time("Min", &Row::min).if_room(2);
  columns.time("Max", &Row::max).if_room(1);
  columns.text("Range", [&](const Row& row) { return main_owner(timeline, row); });
  common::add_conditional(columns, bounded, &Row::conditional);
  Table table = columns.table();
  for (const Group* group : in_order(timeline)) columns.add_row(table, *group);
  return table;
}

Table OperationTotals::table_of_copies(const RangeReport& report) const {
  using Row = Group;
  const Timeline& timeline = report.timeline;
  const bool bounded = report.facts.has_bounds;
  const auto throughput = [](const Row& row) { return common::gigabytes_per_second(row.bytes, row.total); };
  ColumnsOf<Row> columns(timeline);
  columns.text("Operation", &Row::name);
  columns.count("Count", &Row::count).bounded_by(common::conditional_title(bounded));
  columns.bytes("Bytes", &Row::bytes);
  columns.time("Total", &Row::total);
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); }).if_room(1);
  columns.time("Min", &Row::min).if_room(3);
  columns.time("Max", &Row::max).if_room(2);
  columns.decimal("Throughput", "GB/s", 2, throughput);
  columns.text("Range", [&](const Row& row) { return main_owner(timeline, row); });
  common::add_conditional(columns, bounded, &Row::conditional);
  Table table = columns.table();
  for (const Group* group : in_order(timeline)) columns.add_row(table, *group);
  return table;
}

}  // namespace rangefinder::report
