// SPDX-License-Identifier: MIT
#include "report/view.hpp"
#include "report/views/own_columns.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

// `api`: CUDA calls on the host by name, or each one.
namespace rangefinder::report {
namespace {

struct CallGroup {
  StringId name = StringId::kEmpty;
  CallDomain domain = CallDomain::kRuntime;
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  std::int64_t total = 0, min = 0, max = 0;
};

const char* domain_name(CallDomain domain) {
  switch (domain) {
    case CallDomain::kRuntime:
      return "runtime";
    case CallDomain::kDriver:
      return "driver";
    case CallDomain::kInternal:
      return "internal";
  }
  return "";
}

Table instances_of(const Timeline& timeline) {
  Table table({own::text("Call"), own::text("API"), own::timestamp("Begin"), own::time("Duration"),
               own::count("Thread"), own::if_room(1, own::count("Correlation")), own::count("Result")});
  const CallTable& calls = timeline.calls;
  for (CallIndex row{0}; row < calls.size(); ++row) {
    table.text(timeline, calls.name[row])
        .text(domain_name(calls.domain[row]))
        .number(calls.begin_ns[row])
        .number(calls.end_ns[row] - calls.begin_ns[row])
        .number(timeline.threads[calls.thread[row]].tid)
        .optional(calls.correlation[row] != 0, static_cast<std::int64_t>(calls.correlation[row]))
        .number(calls.result[row]);
  }
  return table;
}

Result<Table> make_api(const Subject& subject, const ViewOptions& options) {
  const Timeline& timeline = subject.timeline();
  if (options.instances) return instances_of(timeline);
  const CallTable& calls = timeline.calls;
  std::vector<CallGroup> groups;
  std::unordered_map<std::uint64_t, std::size_t> by_name;
  std::int64_t whole = 0;
  for (CallIndex row{0}; row < calls.size(); ++row) {
    const std::uint64_t key =
        std::uint64_t{static_cast<std::uint32_t>(calls.name[row])} << 8 | static_cast<std::uint64_t>(calls.domain[row]);
    const auto [found, added] = by_name.try_emplace(key, groups.size());
    if (added) groups.push_back({calls.name[row], calls.domain[row]});
    CallGroup& group = groups[found->second];
    const std::int64_t duration = calls.end_ns[row] - calls.begin_ns[row];
    group.min = group.count == 0 ? duration : std::min(group.min, duration);
    group.max = std::max(group.max, duration);
    group.total += duration;
    group.count += 1;
    group.failed += calls.result[row] != 0 ? 1 : 0;
    whole += duration;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CallGroup& a, const CallGroup& b) { return a.total > b.total; });
  Table table({own::text("Call"), own::text("API"), own::count("Count"), own::time("Total"), own::percent("Share"),
               own::time("Avg"), own::if_room(2, own::time("Min")), own::if_room(1, own::time("Max")),
               own::count("Failed")});
  for (const CallGroup& group : groups) {
    table.text(timeline, group.name)
        .text(domain_name(group.domain))
        .number(static_cast<std::int64_t>(group.count))
        .number(group.total)
        .number(own::share(group.total, whole))
        .number(own::mean(group.total, group.count))
        .number(group.min)
        .number(group.max)
        .number(static_cast<std::int64_t>(group.failed));
  }
  return table;
}

}  // namespace

namespace views_list {
extern const View api{"api", "CUDA calls on the host by name (--instances: each)", kNeedsCalls, {}, false, make_api};
}  // namespace views_list

}  // namespace rangefinder::report
