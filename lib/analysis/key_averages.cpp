// SPDX-License-Identifier: MIT
#include "analysis/memory.hpp"
#include "analysis/operator_flops.hpp"
#include "projection/figures.hpp"
#include "projection/project.hpp"

#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/detail/cells.hpp>
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

/// What of the host's threads can stand inside another: ranges and CUDA calls, in order of thread and time. An event is
/// the number of its row, and its times and name are read from the tables.
class HostEvents {
 public:
  explicit HostEvents(const Timeline& timeline) : timeline_(timeline) {
    add_ranges();
    for (CallIndex call{0}; call < timeline.calls.size(); ++call)
      add(timeline.ranges.size() + call, timeline.calls.begin_ns[call], timeline.calls.thread[call]);
    std::stable_sort(rows_.begin(), rows_.end(), [this](std::uint32_t a, std::uint32_t b) {
      if (const ThreadIndex of_a = thread_of(a), of_b = thread_of(b); of_a != of_b) return of_a < of_b;
      if (begin_of(a) != begin_of(b)) return begin_of(a) < begin_of(b);
      return end_of(a) > end_of(b);
    });
  }

  std::size_t size() const noexcept { return rows_.size(); }
  ThreadIndex thread(std::size_t at) const noexcept { return thread_of(rows_[at]); }
  std::int64_t begin_ns(std::size_t at) const noexcept { return begin_of(rows_[at]); }
  std::int64_t end_ns(std::size_t at) const noexcept { return end_of(rows_[at]); }
  std::int64_t length(std::size_t at) const noexcept { return Interval(begin_ns(at), end_ns(at)).length(); }
  /// kNone: a CUDA call.
  RangeIndex range(std::size_t at) const noexcept { return is_range(rows_[at]) ? RangeIndex(rows_[at]) : kNone; }
  StringId name(std::size_t at) const noexcept {
    const std::uint32_t row = rows_[at];
    return is_range(row) ? timeline_.ranges.name[row] : timeline_.calls.name[call(row)];
  }
  bool is_operator(std::size_t at) const noexcept {
    return is_range(rows_[at]) && timeline_.ranges.kind[rows_[at]] == RangeKind::kOperator;
  }

 private:
  void add_ranges() {
    const RangeTable& ranges = timeline_.ranges;
    std::vector<StringId> not_counted;
    for (const std::string_view name : kNotCounted) {
      StringId id{};
      if (timeline_.find(name, id)) not_counted.push_back(id);
    }
    for (RangeIndex range{0}; range < ranges.size(); ++range) {
      const RangeKind kind = ranges.kind[range];
      const bool is_counted = kind == RangeKind::kOperator || kind == RangeKind::kAnnotation;
      const bool is_scoped =
          ranges.style[range] == RangeStyle::kScoped && ranges.thread[range] == ranges.end_thread[range];
      if (!is_counted || !is_scoped || (ranges.flags[range] & kBeforeRecording) != 0) continue;
      if (std::find(not_counted.begin(), not_counted.end(), ranges.name[range]) != not_counted.end()) continue;
      add(range, ranges.begin_ns[range], ranges.thread[range]);
    }
  }
  void add(std::size_t row, std::int64_t begin_ns, ThreadIndex thread) {
    if (begin_ns != kNoTime && thread < timeline_.threads.size()) rows_.push_back(static_cast<std::uint32_t>(row));
  }
  bool is_range(std::uint32_t row) const noexcept { return row < timeline_.ranges.size(); }
  std::size_t call(std::uint32_t row) const noexcept { return row - timeline_.ranges.size(); }
  ThreadIndex thread_of(std::uint32_t row) const noexcept {
    return is_range(row) ? timeline_.ranges.thread[row] : timeline_.calls.thread[call(row)];
  }
  std::int64_t begin_of(std::uint32_t row) const noexcept {
    return is_range(row) ? timeline_.ranges.begin_ns[row] : timeline_.calls.begin_ns[call(row)];
  }
  std::int64_t end_of(std::uint32_t row) const noexcept {
    return is_range(row) ? timeline_.ranges.end_ns[row] : timeline_.calls.end_ns[call(row)];
  }

  const Timeline& timeline_;
  detail::Cells<std::uint32_t> rows_;  // of Timeline::ranges, and behind them of Timeline::calls
};

/// By event: which one it is inside, and whether it counts.
struct Nesting {
  std::vector<std::uint32_t> parent;  ///< position; kNone: none
  std::vector<bool> merged;           ///< with its parent, which has its name
};

/// Who is inside whom. `children`: how many are directly inside each.
void find_parents(const HostEvents& events, std::vector<std::uint32_t>& parent, std::vector<std::uint32_t>& children) {
  parent.assign(events.size(), kNone);
  children.assign(events.size(), 0);
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (i == 0 || events.thread(i - 1) != events.thread(i)) open.clear();
    const std::int64_t begin_ns = events.begin_ns(i), end_ns = events.end_ns(i);
    const auto holds = [&](std::uint32_t outer) {
      return begin_ns < events.end_ns(outer) && end_ns <= events.end_ns(outer);
    };
    while (!open.empty() && !holds(open.back())) open.pop_back();
    if (!open.empty()) {
      parent[i] = open.back();
      ++children[open.back()];
    }
    open.push_back(i);
  }
}

/// Of two of one name of which the outer holds nothing else, one counts: the outer, with what is in the inner.
Nesting merged_nesting(const HostEvents& events) {
  Nesting nesting;
  std::vector<std::uint32_t> children;
  find_parents(events, nesting.parent, children);
  nesting.merged.assign(events.size(), false);
  for (std::uint32_t i = 0; i < events.size(); ++i) {  // outer ones come first
    std::uint32_t& outer = nesting.parent[i];
    if (outer == kNone) continue;
    if (nesting.merged[outer]) outer = nesting.parent[outer];
    if (events.name(outer) != events.name(i) || children[outer] != 1) continue;
    nesting.merged[i] = true;
    children[outer] = children[i];
  }
  return nesting;
}

/// Durations of device activities that operators launched, added up by operator.
class DeviceTimes {
 public:
  explicit DeviceTimes(const Timeline& timeline) {
    const Projection projection = projection::project_without_streams(timeline, {Attribution::kLaunch, false, true});
    all_ns_ = projection.account.total.gpu_sum_ns;
    for (RangeIndex range{0}; range < timeline.ranges.size(); ++range) {
      const DeviceFigures& inclusive = projection.inclusive[range];
      if (inclusive.gpu_ops == 0) continue;
      if (place_.empty()) place_.resize(timeline.ranges.size());
      rows_.push_back({inclusive.gpu_sum_ns, projection.exclusive[range].gpu_sum_ns});
      place_[range] = static_cast<std::uint32_t>(rows_.size());
    }
  }

  std::int64_t all_ns() const noexcept { return all_ns_; }
  std::int64_t total_ns(RangeIndex range) const noexcept { return row(range).total_ns; }
  std::int64_t self_ns(RangeIndex range) const noexcept { return row(range).self_ns; }

 private:
  struct Row {
    std::int64_t total_ns = 0;
    std::int64_t self_ns = 0;
  };
  Row row(RangeIndex range) const noexcept {
    const std::uint32_t place = range < place_.size() ? place_[range] : 0;
    return place == 0 ? Row() : rows_[place - 1];
  }

  std::int64_t all_ns_ = 0;
  std::vector<std::uint32_t> place_;  // by range: its row, counted from 1. Empty while no range has one
  detail::Cells<Row> rows_;
};

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
  const DeviceTimes device(timeline);  // first: a projection takes the most memory
  const HostEvents events(timeline);
  const Nesting nesting = merged_nesting(events);
  analysis::MemoryByTime memory(timeline);
  std::vector<std::int64_t> inside_ns(events.size());
  std::vector<AllocatedBytes> inside_bytes(memory.empty() ? 0 : events.size());
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    const std::uint32_t parent = nesting.parent[i];
    if (nesting.merged[i] || parent == kNone) continue;
    inside_ns[parent] = plus(inside_ns[parent], events.length(i));
    if (!memory.empty()) analysis::add(inside_bytes[parent], memory.between(events.begin_ns(i), events.end_ns(i)));
  }

  KeyAverages result;
  result.device_ns = device.all_ns();
  Groups groups(timeline, by_shape, result.groups);
  // In the order of the file, not of threads.
  detail::Cells<std::uint32_t> order;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (nesting.merged[i]) continue;
    result.cpu_ns = plus(result.cpu_ns, std::max<std::int64_t>(0, events.length(i) - inside_ns[i]));
    if (events.is_operator(i)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return events.range(a) < events.range(b); });
  for (const std::uint32_t i : order) {
    const RangeIndex range = events.range(i);
    OperatorGroup& group = groups.of(range);
    ++group.calls;
    const std::optional<std::uint64_t> flops = groups.flops_of(range);
    group.flops += flops.value_or(0);  // a program does not reach 2^64
    group.calls_without_flops += flops ? 0 : 1;
    group.cpu_total_ns = plus(group.cpu_total_ns, events.length(i));
    group.cpu_self_ns = plus(group.cpu_self_ns, events.length(i) - inside_ns[i]);
    group.device_total_ns = plus(group.device_total_ns, device.total_ns(range));
    group.device_self_ns = plus(group.device_self_ns, device.self_ns(range));
    if (memory.empty()) continue;
    const AllocatedBytes bytes = memory.between(events.begin_ns(i), events.end_ns(i));
    analysis::add(group.memory_total, bytes);
    analysis::add(group.memory_self, bytes);
    analysis::subtract(group.memory_self, inside_bytes[i]);
  }
  // What a merged operator launched itself is its outer one's, which has the same name.
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (!nesting.merged[i] || !events.is_operator(i)) continue;
    const RangeIndex outer = events.range(nesting.parent[i]);
    if (outer == kNone) continue;  // a file may name a call as an operator
    OperatorGroup& group = groups.of(outer);
    group.device_self_ns = plus(group.device_self_ns, device.self_ns(events.range(i)));
  }
  return result;
}

}  // namespace rangefinder
