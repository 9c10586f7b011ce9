// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"
#include "analysis/operator_flops.hpp"
#include "projection/figures.hpp"

#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/projection.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace rangefinder {
namespace {

using projection::Interval;
using projection::plus;

// Bookkeeping of the profiler itself and of Python, which its tables leave out.
constexpr std::string_view kNotCounted[] = {"profiler::_record_function_enter",
                                            "profiler::_record_function_enter_new",
                                            "profiler::_record_function_exit",
                                            "aten::is_leaf",
                                            "aten::output_nr",
                                            "aten::_version"};

/// Anything of a host thread that can stand inside another.
struct Event {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  StringId name;
  ThreadIndex thread;
  RangeIndex range;        // kNone: a CUDA call
  std::uint32_t parent;    // position; kNone: none
  std::uint32_t children;  // directly inside
  std::int64_t inside_ns;  // of those, added up
  AllocatedBytes inside_bytes;
  bool merged;  // with its parent, which has its name

  std::int64_t length() const noexcept { return Interval(begin_ns, end_ns).length(); }
};

std::vector<Event> host_events(const Timeline& timeline) {
  std::vector<Event> events;
  const RangeTable& ranges = timeline.ranges;
  std::vector<StringId> not_counted;
  for (const std::string_view name : kNotCounted) {
    StringId id{};
    if (timeline.find(name, id)) not_counted.push_back(id);
  }
  const auto add = [&](StringId name, ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns,
                       RangeIndex range) {
    if (begin_ns == kNoTime || thread >= timeline.threads.size()) return;
    events.push_back({begin_ns, end_ns, name, thread, range, kNone, 0, 0, {}, false});
  };
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    const bool is_counted = ranges.kind[range] == RangeKind::kOperator || ranges.kind[range] == RangeKind::kAnnotation;
    const bool is_scoped =
        ranges.style[range] == RangeStyle::kScoped && ranges.thread[range] == ranges.end_thread[range];
    if (!is_counted || !is_scoped || (ranges.flags[range] & kBeforeRecording) != 0) continue;
    if (std::find(not_counted.begin(), not_counted.end(), ranges.name[range]) != not_counted.end()) continue;
    add(ranges.name[range], ranges.thread[range], ranges.begin_ns[range], ranges.end_ns[range], range);
  }
  const CallTable& calls = timeline.calls;
  for (CallIndex call{0}; call < calls.size(); ++call)
    add(calls.name[call], calls.thread[call], calls.begin_ns[call], calls.end_ns[call], kNone);
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    return a.end_ns > b.end_ns;
  });
  return events;
}

/// Who is inside whom, once `merge` has been through them.
void find_parents(std::vector<Event>& events) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    Event& event = events[i];
    if (i == 0 || events[i - 1].thread != event.thread) open.clear();
    const auto holds = [&](const Event& outer) {
      return event.begin_ns < outer.end_ns && event.end_ns <= outer.end_ns;
    };
    while (!open.empty() && !holds(events[open.back()])) open.pop_back();
    if (!open.empty()) {
      event.parent = open.back();
      ++events[open.back()].children;
    }
    open.push_back(i);
  }
}

/// Of two of one name of which the outer holds nothing else, one counts: the outer, with what is in the inner.
void merge(std::vector<Event>& events) {
  for (Event& event : events) {  // outer ones come first
    if (event.parent == kNone) continue;
    Event& parent = events[event.parent];
    const std::uint32_t outer = parent.merged ? parent.parent : event.parent;
    event.parent = outer;
    if (events[outer].name != event.name || events[outer].children != 1) continue;
    event.merged = true;
    events[outer].children = event.children;
  }
}

/// Finds the group of an operator, or begins it; knows the FLOPs of a call.
class Groups {
 public:
  Groups(const Timeline& timeline, bool by_shape, std::vector<OperatorGroup>& groups)
      : timeline_(timeline), by_shape_(by_shape), groups_(groups) {}

  OperatorGroup& of(RangeIndex range) {
    const StringId name = timeline_.ranges.name[range];
    const std::uint32_t row = inputs_of(range);
    const StringId shapes = by_shape_ && row != kNone ? timeline_.operators.shapes[row] : StringId::kEmpty;
    const auto key = std::uint64_t{static_cast<std::uint32_t>(name)} << 32 | static_cast<std::uint32_t>(shapes);
    const auto [found, added] = index_.try_emplace(key, groups_.size());
    if (added) {
      groups_.emplace_back();
      groups_.back().name = name;
      groups_.back().shapes = shapes;
    }
    return groups_[found->second];
  }

  std::optional<std::uint64_t> flops_of(RangeIndex range) {
    const std::uint32_t row = inputs_of(range);
    const OperatorTable& operators = timeline_.operators;
    const StringId name = timeline_.ranges.name[range];
    const StringId shapes = row == kNone ? StringId::kEmpty : operators.shapes[row];
    const StringId values = row == kNone ? StringId::kEmpty : operators.values[row];
    const auto [found, added] = flops_.try_emplace({name, shapes, values});
    if (added)
      found->second = analysis::operator_flops(timeline_.text(name), timeline_.text(shapes), timeline_.text(values));
    return found->second;
  }

 private:
  std::uint32_t inputs_of(RangeIndex range) const {
    const auto& rows = timeline_.operators.range;
    const auto row = std::lower_bound(rows.begin(), rows.end(), range);
    return row != rows.end() && *row == range ? static_cast<std::uint32_t>(row - rows.begin()) : kNone;
  }

  const Timeline& timeline_;
  bool by_shape_;
  std::vector<OperatorGroup>& groups_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  // by name and shapes
  // By name, shapes and values: few differ.
  std::map<std::tuple<StringId, StringId, StringId>, std::optional<std::uint64_t>> flops_;
};

}  // namespace

KeyAverages key_averages(const Timeline& timeline, bool by_shape) {
  std::vector<Event> events = host_events(timeline);
  find_parents(events);
  merge(events);
  const analysis::MemoryByTime memory(timeline);
  for (const Event& event : events) {
    if (event.merged || event.parent == kNone) continue;
    Event& parent = events[event.parent];
    parent.inside_ns = plus(parent.inside_ns, event.length());
    analysis::add(parent.inside_bytes, memory.between(event.begin_ns, event.end_ns));
  }
  const Projection projection = project(timeline, {Attribution::kLaunch, false, true});

  KeyAverages result;
  result.device_ns = projection.account.total.gpu_sum_ns;
  Groups groups(timeline, by_shape, result.groups);
  const auto is_operator = [&](const Event& event) {
    return event.range != kNone && timeline.ranges.kind[event.range] == RangeKind::kOperator;
  };
  // In the order of the file, not of threads.
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.merged) continue;
    result.cpu_ns = plus(result.cpu_ns, std::max<std::int64_t>(0, event.length() - event.inside_ns));
    if (is_operator(event)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return events[a].range < events[b].range; });
  for (const std::uint32_t i : order) {
    const Event& event = events[i];
    OperatorGroup& group = groups.of(event.range);
    ++group.calls;
    const std::optional<std::uint64_t> flops = groups.flops_of(event.range);
    group.flops += flops.value_or(0);  // a program does not reach 2^64
    group.calls_without_flops += flops ? 0 : 1;
    group.cpu_total_ns = plus(group.cpu_total_ns, event.length());
    group.cpu_self_ns = plus(group.cpu_self_ns, event.length() - event.inside_ns);
    const AllocatedBytes bytes = memory.between(event.begin_ns, event.end_ns);
    analysis::add(group.memory_total, bytes);
    analysis::add(group.memory_self, bytes);
    analysis::subtract(group.memory_self, event.inside_bytes);
    group.device_total_ns = plus(group.device_total_ns, projection.inclusive[event.range].gpu_sum_ns);
    group.device_self_ns = plus(group.device_self_ns, projection.exclusive[event.range].gpu_sum_ns);
  }
  // What a merged operator launched itself is its outer one's, which has the same name.
  for (const Event& event : events) {
    if (!event.merged || !is_operator(event)) continue;
    OperatorGroup& group = groups.of(events[event.parent].range);
    group.device_self_ns = plus(group.device_self_ns, projection.exclusive[event.range].gpu_sum_ns);
  }
  return result;
}

}  // namespace rangefinder
