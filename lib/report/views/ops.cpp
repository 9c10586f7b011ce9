// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"

#include <rangefinder/analysis/key_averages.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// `ops`: the operators of a framework by name, in the columns of torch.profiler's key averages.
namespace rangefinder::report {
namespace {

/// Names the operators without any known FLOPs, of those that launched device work themselves: what only calls others
/// has its FLOPs in their rows. Without device work, names all.
void add_note_on_flops(Table& table, const Timeline& timeline, const std::vector<OperatorGroup>& groups) {
  const auto any = [&](auto has) { return std::any_of(groups.begin(), groups.end(), has); };
  if (!any([](const OperatorGroup& group) { return group.flops != 0; })) return;
  const bool on_device = any([](const OperatorGroup& group) { return group.device_self_ns > 0; });
  std::vector<std::string_view> names;
  for (const OperatorGroup& group : groups) {
    const std::string_view name = timeline.text(group.name);
    const bool is_work = on_device ? group.device_self_ns > 0 : group.cpu_self_ns > 0;
    if (!is_work || group.calls_without_flops != group.calls) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) return;
  constexpr std::size_t kMaxNames = 8;
  std::string text = "FLOPs of " + base::with_thousands(names.size()) +
                     (names.size() == 1 ? " operator are" : " operators are") + " not counted: ";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i)
    text.append(i == 0 ? "" : ", ").append(base::printable(names[i]));
  if (names.size() > kMaxNames) text += ", and " + base::with_thousands(names.size() - kMaxNames) + " more";
  table.note(std::move(text));
}

}  // namespace

Result<Table> make_ops(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = OperatorGroup;
  const Timeline& timeline = projected.timeline();
  KeyAverages averages = key_averages(timeline, options.by_shape);
  std::stable_sort(averages.groups.begin(), averages.groups.end(), [](const Row& a, const Row& b) {
    return std::pair(a.device_self_ns, a.cpu_self_ns) > std::pair(b.device_self_ns, b.cpu_self_ns);
  });
  const auto share = [](std::int64_t Row::*part, std::int64_t whole) {
    return [=](const Row& row) { return common::share(row.*part, whole); };
  };
  const auto mean = [](std::int64_t Row::*total) {
    return [total](const Row& row) { return common::mean(row.*total, row.calls); };
  };
  const auto flops = [](const Row& row) { return if_that(row.calls_without_flops < row.calls, row.flops); };
  constexpr const char* kNotCounted = "Calls without FLOPs";
  // What an operator costs, how often it ran and what it computed stay longest; memory goes before shares, and
  // averages first.
  ColumnsOf<Row> columns(timeline);
  columns.text("Operator", &Row::name);
  columns.percent("Self CPU share", share(&Row::cpu_self_ns, averages.cpu_ns)).if_room(2);
  columns.time("Self CPU", &Row::cpu_self_ns);
  columns.percent("CPU share", share(&Row::cpu_total_ns, averages.cpu_ns)).if_room(8);
  columns.time("CPU total", &Row::cpu_total_ns).if_room(1);
  columns.time("CPU avg", mean(&Row::cpu_total_ns)).if_room(9);
  columns.time("Self GPU", &Row::device_self_ns).if_any();
  columns.percent("Self GPU share", share(&Row::device_self_ns, averages.device_ns)).if_room(1).if_any();
  columns.time("GPU total", &Row::device_total_ns).if_any();
  columns.time("GPU avg", mean(&Row::device_total_ns)).if_room(9).if_any();
  columns.bytes("CPU memory", [](const Row& row) { return row.memory_total.host; }).if_room(7).if_any();
  columns.bytes("Self CPU memory", [](const Row& row) { return row.memory_self.host; }).if_room(6).if_any();
  columns.bytes("GPU memory", [](const Row& row) { return row.memory_total.device; }).if_room(5).if_any();
  columns.bytes("Self GPU memory", [](const Row& row) { return row.memory_self.device; }).if_room(4).if_any();
  columns.count("Calls", &Row::calls);
  columns.flops("FLOPs", flops).if_any().bounded_by(kNotCounted);
  columns.count(kNotCounted, &Row::calls_without_flops).for_programs();
  if (options.by_shape) columns.text("Shapes", &Row::shapes);
  Table table = columns.table_of(averages.groups);
  add_note_on_flops(table, timeline, averages.groups);
  return table;
}

}  // namespace rangefinder::report
