// SPDX-License-Identifier: MIT
#include "analysis/memory_owners.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <unordered_map>

namespace rangefinder::analysis {
namespace {

/// What is open on one thread, innermost last, while time goes on.
class OpenRanges {
 public:
  explicit OpenRanges(const Timeline& timeline) : timeline_(timeline) {}

  void clear() {
    open_.clear();
    names_.clear();
  }
  /// Whatever ended before `time_ns`. A range that outlives the one around it hides that one until it ends itself.
  void close(std::int64_t time_ns) {
    while (!open_.empty() && has_ended(open_.back(), time_ns)) {
      --names_[name_of(open_.back())];
      open_.pop_back();
    }
  }
  void open(RangeIndex range) {
    open_.push_back(range);
    ++names_[name_of(range)];
  }
  RangeIndex innermost() const noexcept { return open_.empty() ? kNone : open_.back(); }
  bool has_like(RangeIndex range) const {
    const auto found = names_.find(name_of(range));
    return found != names_.end() && found->second != 0;
  }

 private:
  bool has_ended(RangeIndex range, std::int64_t time_ns) const noexcept {
    const std::int64_t end = timeline_.ranges.end_ns[range];
    return timeline_.range_end == RangeEnd::kClosed ? end < time_ns : end <= time_ns;
  }
  std::uint32_t name_of(RangeIndex range) const noexcept {
    return static_cast<std::uint32_t>(timeline_.ranges.name[range]);
  }

  const Timeline& timeline_;
  std::vector<RangeIndex> open_;
  std::unordered_map<std::uint32_t, std::uint32_t> names_;  // how often each is open
};

NestedRanges nest_ranges(const Timeline& timeline, std::span<const RangeIndex> of_process) {
  const RangeTable& ranges = timeline.ranges;
  NestedRanges nested;
  nested.order.assign(of_process.begin(), of_process.end());
  std::stable_sort(nested.order.begin(), nested.order.end(), [&](RangeIndex a, RangeIndex b) {
    if (ranges.thread[a] != ranges.thread[b]) return ranges.thread[a] < ranges.thread[b];
    if (ranges.begin_ns[a] != ranges.begin_ns[b]) return ranges.begin_ns[a] < ranges.begin_ns[b];
    return ranges.end_ns[a] > ranges.end_ns[b];
  });
  OpenRanges open(timeline);
  for (std::size_t i = 0; i < nested.order.size(); ++i) {
    const RangeIndex range = nested.order[i];
    if (i == 0 || ranges.thread[nested.order[i - 1]] != ranges.thread[range]) open.clear();
    open.close(ranges.begin_ns[range]);
    nested.parent.push_back(open.innermost());
    nested.inside_its_like.push_back(open.has_like(range));
    open.open(range);
  }
  return nested;
}

}  // namespace

void RangeNesting::read(RangeKind kind, Kind& into) const {
  const RangeTable& ranges = timeline_.ranges;
  const std::size_t processes = timeline_.processes.size();
  const auto process_of = [&](RangeIndex range) {
    const ThreadIndex thread = ranges.thread[range];
    const bool fits = ranges.kind[range] == kind && ranges.style[range] == RangeStyle::kScoped;
    const ProcessIndex process =
        fits && thread < timeline_.threads.size() ? timeline_.threads[thread].process : ProcessIndex(kNone);
    return process < processes ? process : ProcessIndex(kNone);
  };
  into.first.assign(processes + 1, 0);
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (const ProcessIndex process = process_of(range); process != kNone) ++into.first[process + std::size_t{1}];
  std::partial_sum(into.first.begin(), into.first.end(), into.first.begin());
  into.ranges.resize(into.first.back());
  std::vector<std::size_t> next(into.first);
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (const ProcessIndex process = process_of(range); process != kNone) into.ranges[next[process]++] = range;
  into.read = true;
}

const NestedRanges& RangeNesting::of(RangeKind kind, ProcessIndex process) const {
  Kind& known = kinds_[kind == RangeKind::kAnnotation ? 0 : 1];
  if (!known.read) read(kind, known);
  if (known.process == process) return known.nested;
  known.process = process;
  known.nested = {};
  if (process >= timeline_.processes.size()) return known.nested;
  const std::span<const RangeIndex> ranges(known.ranges);
  known.nested = nest_ranges(
      timeline_, ranges.subspan(known.first[process], known.first[process + std::size_t{1}] - known.first[process]));
  return known.nested;
}

std::vector<RangeIndex> owners_of(const Timeline& timeline, const NestedRanges& nested,
                                  const std::vector<std::uint32_t>& rows) {
  const RangeTable& ranges = timeline.ranges;
  const AllocatorEventTable& memory = timeline.allocator_events;
  std::vector<std::uint32_t> by_thread(rows.size());
  for (std::uint32_t i = 0; i < rows.size(); ++i) by_thread[i] = i;
  std::stable_sort(by_thread.begin(), by_thread.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return memory.thread[rows[a]] < memory.thread[rows[b]]; });
  std::vector<RangeIndex> owners(rows.size(), kNone);
  OpenRanges open(timeline);
  std::size_t next = 0;
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    const std::uint32_t row = rows[by_thread[i]];
    const ThreadIndex thread = memory.thread[row];
    if (i == 0 || memory.thread[rows[by_thread[i - 1]]] != thread) {
      open.clear();
      while (next < nested.order.size() && ranges.thread[nested.order[next]] < thread) ++next;
    }
    for (; next < nested.order.size(); ++next) {
      const RangeIndex range = nested.order[next];
      if (ranges.thread[range] != thread || ranges.begin_ns[range] > memory.time_ns[row]) break;
      open.close(ranges.begin_ns[range]);
      open.open(range);
    }
    open.close(memory.time_ns[row]);
    owners[by_thread[i]] = open.innermost();
  }
  return owners;
}

}  // namespace rangefinder::analysis
