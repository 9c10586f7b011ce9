// SPDX-License-Identifier: MIT
#include "base/text.hpp"
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <rangefinder/analysis/key_averages.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
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

Result<Table> make_ops(const Subject& subject, const ViewOptions& options) {
  using own::if_any;
  using own::if_room;
  const Timeline& timeline = subject.timeline();
  KeyAverages averages = key_averages(timeline, options.by_shape);
  std::stable_sort(averages.groups.begin(), averages.groups.end(), [](const OperatorGroup& a, const OperatorGroup& b) {
    return std::pair(a.device_self_ns, a.cpu_self_ns) > std::pair(b.device_self_ns, b.cpu_self_ns);
  });
  // What an operator costs, how often it ran and what it computed stay longest; memory goes before shares, and
  // averages first.
  std::vector<Column> columns{own::text("Operator"),
                              if_room(2, own::percent("Self CPU share")),
                              own::time("Self CPU"),
                              if_room(8, own::percent("CPU share")),
                              if_room(1, own::time("CPU total")),
                              if_room(9, own::time("CPU avg")),
                              if_any(own::time("Self GPU")),
                              if_room(1, if_any(own::percent("Self GPU share"))),
                              if_any(own::time("GPU total")),
                              if_room(9, if_any(own::time("GPU avg"))),
                              if_room(7, if_any(own::bytes("CPU memory"))),
                              if_room(6, if_any(own::bytes("Self CPU memory"))),
                              if_room(5, if_any(own::bytes("GPU memory"))),
                              if_room(4, if_any(own::bytes("Self GPU memory"))),
                              own::count("Calls"),
                              if_any(own::flops("FLOPs")),
                              own::for_programs(own::count("Calls without FLOPs"))};
  columns[columns.size() - 2].bound_by = columns.back().name;
  if (options.by_shape) columns.push_back(own::text("Shapes"));
  Table table(std::move(columns));
  for (const OperatorGroup& group : averages.groups) {
    table.text(timeline, group.name)
        .number(own::share(group.cpu_self_ns, averages.cpu_ns))
        .number(group.cpu_self_ns)
        .number(own::share(group.cpu_total_ns, averages.cpu_ns))
        .number(group.cpu_total_ns)
        .number(own::mean(group.cpu_total_ns, group.calls))
        .number(group.device_self_ns)
        .number(own::share(group.device_self_ns, averages.device_ns))
        .number(group.device_total_ns)
        .number(own::mean(group.device_total_ns, group.calls))
        .number(group.memory_total.host)
        .number(group.memory_self.host)
        .number(group.memory_total.device)
        .number(group.memory_self.device)
        .number(static_cast<std::int64_t>(group.calls))
        .optional(group.calls_without_flops < group.calls, static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                               group.flops, std::numeric_limits<std::int64_t>::max())))
        .number(static_cast<std::int64_t>(group.calls_without_flops));
    if (options.by_shape) table.text(timeline, group.shapes);
  }
  add_note_on_flops(table, timeline, averages.groups);
  return table;
}

}  // namespace

namespace views_list {
extern const View ops{"ops",           "Operators of LibTorch by name: key averages, as torch.profiler counts them",
                      kNeedsOperators, {},
                      false,           make_ops};
}  // namespace views_list

}  // namespace rangefinder::report
