// SPDX-License-Identifier: MIT
#include "analysis/profiling_cost.hpp"
#include "analysis/range_at.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"
#include "report/views/places.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// `overhead`: what profiling costs the program, and what CUDA does once: by kind, thread and range.
namespace rangefinder::report {
namespace {

std::int64_t length_of(const OverheadTable& overheads, std::size_t row) {
  return std::max<std::int64_t>(overheads.end_ns[row] - overheads.begin_ns[row], 0);
}

std::string_view cause_of(std::string_view kind) { return analysis::is_of_profiler(kind) ? "profiler" : "CUDA"; }

std::vector<RangeIndex> ranges_of(const Subject& subject) {
  const OverheadTable& overheads = subject.timeline().overheads;
  std::vector<analysis::HostMoment> moments;
  moments.reserve(overheads.size());
  for (std::size_t row = 0; row < overheads.size(); ++row)
    moments.push_back({overheads.thread[row], overheads.begin_ns[row]});
  return analysis::ranges_at(subject.timeline(), subject.projection_options(), moments);
}

Table instances_of(const Subject& subject) {
  const Timeline& timeline = subject.timeline();
  const OverheadTable& overheads = timeline.overheads;
  Table table({own::text("Kind"), own::text("Cause"), own::timestamp("Begin"), own::time("Duration"),
               own::text("Thread"), own::text("Range")});
  const std::vector<RangeIndex> ranges = ranges_of(subject);
  for (std::size_t row = 0; row < overheads.size(); ++row) {
    const std::string_view kind = timeline.text(overheads.name[row]);
    table.text(kind)
        .text(cause_of(kind))
        .number(overheads.begin_ns[row])
        .number(length_of(overheads, row))
        .text(thread_label(timeline, overheads.thread[row]))
        .text(range_label(timeline, ranges[row], overheads.thread[row]));
  }
  return table;
}

struct OverheadGroup {
  std::uint64_t count = 0;
  std::int64_t total = 0, longest = 0;
};
using OverheadKey = std::tuple<StringId, ThreadIndex, std::string>;

Result<Table> make_overhead(const Subject& subject, const ViewOptions& options) {
  if (options.instances) return instances_of(subject);
  const Timeline& timeline = subject.timeline();
  const OverheadTable& overheads = timeline.overheads;
  const std::vector<RangeIndex> ranges = ranges_of(subject);
  std::map<OverheadKey, OverheadGroup> found;
  for (std::size_t row = 0; row < overheads.size(); ++row) {
    const ThreadIndex thread = overheads.thread[row];
    OverheadGroup& group = found[{overheads.name[row], thread, range_label(timeline, ranges[row], thread)}];
    const std::int64_t length = length_of(overheads, row);
    ++group.count;
    group.total += length;
    group.longest = std::max(group.longest, length);
  }
  std::vector<std::pair<OverheadKey, OverheadGroup>> groups(found.begin(), found.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.total > b.second.total; });
  Table table({own::text("Kind"), own::text("Cause"), own::if_room(1, own::text("Thread")), own::text("Range"),
               own::count("Count"), own::time("Total"), own::percent("Share of recording"),
               own::if_room(3, own::time("Avg")), own::if_room(2, own::time("Max"))});
  const std::int64_t recorded = analysis::recorded_ns(timeline);
  for (const auto& [key, group] : groups) {
    const auto& [name, thread, range] = key;
    table.text(timeline, name)
        .text(cause_of(timeline.text(name)))
        .text(thread_label(timeline, thread))
        .text(range)
        .number(static_cast<std::int64_t>(group.count))
        .number(group.total)
        .number(own::share(group.total, recorded))
        .number(own::mean(group.total, group.count))
        .number(group.longest);
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View overhead{"overhead",
                           "Overhead by thread and range: profiling, module loading, JIT compilation "
                           "(--instances: each)",
                           kNeedsOverheads,
                           {},
                           false,
                           make_overhead};
}  // namespace views_list

}  // namespace rangefinder::report
