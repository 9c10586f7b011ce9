// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <rangefinder/analysis/key_averages.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// `ops`: the operators of a framework by name, in the columns of torch.profiler's key averages.
namespace rangefinder::report {
namespace {

Result<Table> make_ops(const Subject& subject, const ViewOptions& options) {
  using own::if_any;
  using own::if_room;
  const Timeline& timeline = subject.timeline();
  KeyAverages averages = key_averages(timeline, options.by_shape);
  std::stable_sort(averages.groups.begin(), averages.groups.end(), [](const OperatorGroup& a, const OperatorGroup& b) {
    return std::pair(a.device_self_ns, a.cpu_self_ns) > std::pair(b.device_self_ns, b.cpu_self_ns);
  });
  std::vector<Column> columns{own::text("Operator"),
                              if_room(2, own::percent("Self CPU share")),
                              own::time("Self CPU"),
                              if_room(4, own::percent("CPU share")),
                              own::time("CPU total"),
                              if_room(3, own::time("CPU avg")),
                              if_any(own::time("Self GPU")),
                              if_room(1, if_any(own::percent("Self GPU share"))),
                              if_any(own::time("GPU total")),
                              if_room(3, if_any(own::time("GPU avg"))),
                              if_any(own::bytes("CPU memory")),
                              if_any(own::bytes("Self CPU memory")),
                              if_any(own::bytes("GPU memory")),
                              if_any(own::bytes("Self GPU memory")),
                              own::count("Calls"),
                              if_room(5, if_any(own::count("FLOPs")))};
  if (options.by_shape) columns.push_back(own::text("Shapes"));
  Table table(std::move(columns));
  for (const OperatorGroup& group : averages.groups) {
    table.text(timeline.text(group.name))
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
        .number(
            static_cast<std::int64_t>(std::min<std::uint64_t>(group.flops, std::numeric_limits<std::int64_t>::max())));
    if (options.by_shape) table.text(timeline.text(group.shapes));
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View ops{"ops",           "Operators of LibTorch by name: key averages, as torch.profiler counts them",
                      kNeedsOperators, {},
                      false,           make_ops};
}  // namespace views_list

}  // namespace rangefinder::report
