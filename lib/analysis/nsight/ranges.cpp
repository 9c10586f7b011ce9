// SPDX-License-Identifier: MIT
#include "analysis/nsight/ranges.hpp"

#include "analysis/nsight/containment.hpp"
#include "analysis/nsight/order.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rangefinder::analysis::nsight {
namespace {

bool chosen(const Timeline& timeline, RangeIndex range, RangeChoice choice) noexcept {
  const RangeTable& ranges = timeline.ranges;
  if (!is_nvtx(timeline, range) || (ranges.flags[range] & kBeforeRecording) != 0) return false;
  switch (choice) {
    case RangeChoice::kAll:
      return true;
    case RangeChoice::kPushPop:
      return ranges.style[range] == RangeStyle::kScoped;
    case RangeChoice::kStartEnd:
      return ranges.style[range] == RangeStyle::kStartEnd;
    case RangeChoice::kLaunching:
      return ranges.thread[range] != kNone && (ranges.flags[range] & (kEndedElsewhere | kOwnerless)) == 0;
  }
  return false;
}

}  // namespace

bool is_nvtx(const Timeline& timeline, RangeIndex range) noexcept {
  const RangeKind kind = timeline.ranges.kind[range];
  return kind == RangeKind::kAnnotation || (kind == RangeKind::kOperator && timeline.format == InputFormat::kNsight);
}

std::int64_t range_id(const Timeline& timeline, RangeIndex range) noexcept {
  const std::int64_t row = timeline.ranges.source_row[range];
  return row >= 0 ? row : std::int64_t{range} + 1;
}

ThreadNumbers numbers_of(const Timeline& timeline, ThreadIndex thread) noexcept {
  if (thread >= timeline.threads.size()) return {};
  const ThreadInfo& info = timeline.threads[thread];
  return {true, timeline.processes[info.process].pid, info.tid};
}

base::Interval interval_of(const Timeline& timeline, RangeIndex range) noexcept {
  return {timeline.ranges.begin_ns[range], timeline.ranges.end_ns[range]};
}

std::vector<RangeIndex> choose_ranges(const Timeline& timeline, RangeChoice choice) {
  const RangeTable& ranges = timeline.ranges;
  std::vector<RangeIndex> out;
  for (RangeIndex range{0}; range < ranges.size(); ++range)
    if (chosen(timeline, range, choice)) out.push_back(range);
  const auto before = [&](RangeIndex a, RangeIndex b) {
    if (ranges.begin_ns[a] != ranges.begin_ns[b]) return ranges.begin_ns[a] < ranges.begin_ns[b];
    if (ranges.end_ns[a] != ranges.end_ns[b]) return ranges.end_ns[a] > ranges.end_ns[b];
    return std::tuple(range_id(timeline, a), a) < std::tuple(range_id(timeline, b), b);
  };
  if (!std::is_sorted(out.begin(), out.end(), before)) std::sort(out.begin(), out.end(), before);
  return out;
}

RowsByThread group_by_thread(std::size_t threads, std::span<const ThreadIndex> thread_of_item) {
  RowsByThread out;
  out.offset.assign(threads + 1, 0);
  for (const ThreadIndex thread : thread_of_item)
    if (thread < threads) ++out.offset[thread + 1];
  std::partial_sum(out.offset.begin(), out.offset.end(), out.offset.begin());
  out.rows.resize(out.offset.back());
  std::vector<std::uint32_t> next(out.offset.begin(), out.offset.end() - 1);
  for (std::uint32_t item = 0; item < thread_of_item.size(); ++item)
    if (thread_of_item[item] < threads) out.rows[next[thread_of_item[item]]++] = item;
  return out;
}

Nesting nest(const Timeline& timeline, std::span<const RangeIndex> ranges) {
  Nesting nesting;
  nesting.parent.assign(ranges.size(), kNone);
  nesting.level.assign(ranges.size(), kNone);
  nesting.children.assign(ranges.size(), 0);
  std::vector<ThreadIndex> thread_of(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) thread_of[i] = timeline.ranges.thread[ranges[i]];
  const RowsByThread by_thread = group_by_thread(timeline.threads.size(), thread_of);

  std::vector<base::Interval> intervals;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    const std::span<const std::uint32_t> rows = by_thread.of(thread);
    intervals.clear();
    for (const std::uint32_t row : rows) intervals.push_back(interval_of(timeline, ranges[row]));
    const std::vector<std::uint32_t> parents = tightest_parents(intervals);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (parents[i] != kNone) nesting.parent[rows[i]] = rows[parents[i]];
  }
  // Parents come first, but for ranges that contain each other: those find no level here, which is Nsight's answer.
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::uint32_t parent = nesting.parent[i];
    if (parent == kNone) {
      nesting.level[i] = 0;
    } else {
      ++nesting.children[parent];
      if (parent < i && nesting.level[parent] != kNone) nesting.level[i] = nesting.level[parent] + 1;
    }
  }
  return nesting;
}

std::vector<PushPopRow> pushpop_trace(const Timeline& timeline) {
  const std::vector<RangeIndex> ranges = choose_ranges(timeline, RangeChoice::kPushPop);
  const Nesting nesting = nest(timeline, ranges);
  std::vector<std::int64_t> child_ns(ranges.size(), 0);
  for (std::size_t i = 0; i < ranges.size(); ++i)
    if (nesting.parent[i] != kNone) {
      const base::Interval interval = interval_of(timeline, ranges[i]);
      std::int64_t& sum = child_ns[nesting.parent[i]];
      sum = saturating_add(sum, interval.end - interval.begin);
    }
  // Ranges without a level have no row.
  std::vector<std::uint32_t> row_of(ranges.size(), kNone);
  std::vector<PushPopRow> rows;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (nesting.level[i] == kNone) continue;
    row_of[i] = static_cast<std::uint32_t>(rows.size());
    const std::uint32_t parent = nesting.parent[i] == kNone ? kNone : row_of[nesting.parent[i]];
    rows.push_back({ranges[i], parent, nesting.level[i], nesting.children[i], child_ns[i]});
  }
  return rows;
}

void RangeSums::add(RangeIndex range) {
  if (!chosen(timeline_, range, choice_)) return;
  const auto style = static_cast<std::uint8_t>(timeline_.ranges.style[range]);
  const base::Interval interval = interval_of(timeline_, range);
  durations_.add(groups_.of(labels_.range(range), style), interval.end - interval.begin);
}

std::vector<RangeSumRow> RangeSums::rows() const {
  std::vector<RangeSumRow> rows;
  rows.reserve(groups_.all().size());
  for (const NameGroups::Group& group : groups_.all())
    rows.push_back({group.name, static_cast<RangeStyle>(group.kind), {}});
  durations_.fill(rows, &RangeSumRow::duration);
  order_by_total(rows, labels_, [](const RangeSumRow& row) { return row.duration.total; });
  return rows;
}

}  // namespace rangefinder::analysis::nsight
