// SPDX-License-Identifier: MIT
#include "base/descending.hpp"
#include "report/view.hpp"
#include "report/views/call_totals.hpp"
#include "report/views/common_columns.hpp"
#include "timeline/words.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

// `api`: CUDA calls on the host by name, or each one.
namespace rangefinder::report {
namespace {

Table instances_of(const Timeline& timeline) {
  const CallTable& calls = timeline.calls;
  ColumnsOf<CallIndex> columns(timeline);
  columns.text("Call", [&](CallIndex row) { return calls.name[row]; });
  columns.text("API", [&](CallIndex row) { return word_of(calls.domain[row]); });
  columns.timestamp("Begin", [&](CallIndex row) { return calls.begin_ns[row]; });
  columns.time("Duration", [&](CallIndex row) { return calls.end_ns[row] - calls.begin_ns[row]; });
  columns.count("Thread", [&](CallIndex row) { return timeline.threads[calls.thread[row]].tid; });
  const auto correlation = [&](CallIndex row) { return if_that(calls.correlation[row] != 0, calls.correlation[row]); };
  columns.count("Correlation", correlation).if_room(1);
  columns.count("Result", [&](CallIndex row) { return calls.result[row]; });
  std::vector<CallIndex> order;
  for (CallIndex row{0}; row < calls.size(); ++row) order.push_back(row);
  const auto before = [&](CallIndex a, CallIndex b) { return calls.begin_ns[a] < calls.begin_ns[b]; };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  Table table = columns.table();
  for (const CallIndex row : order) columns.add_row(table, row);
  return table;
}

}  // namespace

void CallTotals::add(const CallTable& calls, std::size_t rows) {
  for (CallIndex row{0}; row < rows; ++row) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(calls.name[row])} << 8 | static_cast<std::uint64_t>(calls.domain[row]);
    const auto [found, added] = by_name_.try_emplace(key, groups_.size());
    if (added) groups_.push_back({{}, calls.name[row], calls.domain[row]});
    Group& group = groups_[found->second];
    group.add(calls.end_ns[row] - calls.begin_ns[row]);
    group.failed += calls.result[row] != 0 ? 1 : 0;
  }
}

std::uint64_t CallTotals::memory_bytes() const noexcept {
  constexpr std::uint64_t kEntryBytes = 64;  // of a map
  return groups_.capacity() * sizeof(Group) + by_name_.size() * kEntryBytes;
}

Table CallTotals::table(const Timeline& timeline) const {
  using Row = Group;
  std::vector<Row> groups = groups_;
  std::sort(groups.begin(), groups.end(), [&](const Row& a, const Row& b) {
    return std::tuple(base::Descending{a.total}, timeline.text(a.name), a.domain) <
           std::tuple(base::Descending{b.total}, timeline.text(b.name), b.domain);
  });
  std::int64_t whole = 0;
  for (const Row& row : groups) whole += row.total;
  ColumnsOf<Row> columns(timeline);
  columns.text("Call", &Row::name);
  columns.text("API", [](const Row& row) { return word_of(row.domain); });
  columns.count("Count", &Row::count);
  columns.time("Total", &Row::total);
  columns.percent("Share", [whole](const Row& row) { return common::share(row.total, whole); });
  columns.time("Avg", [](const Row& row) { return common::mean(row.total, row.count); });
  columns.time("Min", &Row::min).if_room(2);
  columns.time("Max", &Row::max).if_room(1);
  columns.count("Failed", &Row::failed);
  return columns.table_of(groups);
}

Result<Table> make_api(const ProjectedTimeline& projected, const ViewOptions& options) {
  const Timeline& timeline = projected.timeline();
  if (options.instances) return instances_of(timeline);
  CallTotals totals;
  totals.add(timeline.calls, timeline.calls.size());
  return totals.table(timeline);
}

}  // namespace rangefinder::report
