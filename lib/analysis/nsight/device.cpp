// SPDX-License-Identifier: MIT
#include "analysis/nsight/device.hpp"

#include "analysis/nsight/containment.hpp"
#include "analysis/nsight/projection.hpp"
#include "base/descending.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace rangefinder::analysis::nsight {
namespace {

// The innermost range around each launch's call, or kNone.
std::vector<RangeIndex> innermost_ranges(const Timeline& timeline) {
  std::vector<RangeIndex> out(timeline.launches.size(), kNone);
  const std::vector<RangeIndex> ranges = choose_ranges(timeline, RangeChoice::kLaunching);
  std::vector<ThreadIndex> thread_of(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) thread_of[i] = timeline.ranges.thread[ranges[i]];
  const RowsByThread ranges_by_thread = group_by_thread(timeline.threads.size(), thread_of);
  const RowsByThread launches_by_thread = group_by_thread(timeline.threads.size(), timeline.launches.thread);
  std::vector<base::Interval> containers, causes;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    const std::span<const std::uint32_t> rows = ranges_by_thread.of(thread);
    const std::span<const std::uint32_t> launches = launches_by_thread.of(thread);
    if (rows.empty() || launches.empty()) continue;
    containers.clear();
    causes.clear();
    for (const std::uint32_t row : rows) containers.push_back(interval_of(timeline, ranges[row]));
    for (const std::uint32_t launch : launches) causes.push_back(cause_of(timeline, LaunchIndex(launch)));
    const std::vector<std::uint32_t> around = tightest_around(containers, causes);
    for (std::size_t i = 0; i < launches.size(); ++i)
      if (around[i] != kNone && timeline.launches.source[launches[i]] != LaunchSource::kUnknown)
        out[launches[i]] = ranges[rows[around[i]]];
  }
  return out;
}

std::int64_t clamped(std::uint64_t bytes) noexcept {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::string_view category_name(Category category) noexcept {
  switch (category) {
    case Category::kApi:
      return "CUDA_API";
    case Category::kKernel:
      return "CUDA_KERNEL";
    case Category::kMemory:
      return "MEMORY_OPER";
  }
  return {};
}

std::vector<Label> activity_labels(const Timeline& timeline, const KernelNaming& naming, Labels& labels) {
  const ActivityTable& activities = timeline.activities;
  std::vector<RangeIndex> innermost;
  if (naming.innermost_range) innermost = innermost_ranges(timeline);
  std::vector<Label> out(activities.size());
  for (ActivityIndex i{0}; i < activities.size(); ++i) {
    if (is_copy(activities.kind[i])) {
      out[i] = labels.memory_operation(i);
      continue;
    }
    out[i] = labels.kernel(i, naming.form);
    const LaunchIndex launch = activities.launch[i];
    if (launch < innermost.size() && innermost[launch] != kNone) out[i] = labels.inside(innermost[launch], out[i]);
  }
  return out;
}

void CudaSums::add(std::size_t own_calls) {
  if (parts_.calls) add_calls(own_calls);
  if (parts_.kernels || parts_.memory) add_activities();
}

void CudaSums::add_calls(std::size_t own_calls) {
  const CallTable& calls = timeline_.calls;
  for (CallIndex call{0}; call < own_calls; ++call)
    if (calls.domain[call] != CallDomain::kInternal)
      samples_.add(group_of(Category::kApi, labels_.call(call)), calls.end_ns[call] - calls.begin_ns[call]);
}

void CudaSums::add_activities() {
  const ActivityTable& activities = timeline_.activities;
  const std::vector<Label> names = activity_labels(timeline_, naming_, labels_);
  for (ActivityIndex i{0}; i < names.size(); ++i) {
    if (activities.kind[i] == ActivityKind::kGraph) continue;  // in no report of Nsight's
    const bool kernel = !is_copy(activities.kind[i]);
    if (kernel ? !parts_.kernels : !parts_.memory) continue;
    samples_.add(group_of(kernel ? Category::kKernel : Category::kMemory, names[i]),
                 what_ == SumOf::kBytes ? clamped(activities.bytes[i]) : activities.end_ns[i] - activities.begin_ns[i]);
  }
}

std::vector<SumRow> CudaSums::rows() const {
  std::vector<SumRow> rows;
  for (const NameGroups::Group& group : groups_.all())
    rows.push_back({static_cast<Category>(group.kind), group.name, {}});
  samples_.fill(rows, &SumRow::spread);
  std::sort(rows.begin(), rows.end(), [&](const SumRow& a, const SumRow& b) {
    return std::tuple(base::Descending{a.spread.total}, labels_.text(a.name), a.category) <
           std::tuple(base::Descending{b.spread.total}, labels_.text(b.name), b.category);
  });
  return rows;
}

std::vector<ActivityIndex> activities_by_begin(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::vector<ActivityIndex> order;
  order.reserve(activities.size());
  for (ActivityIndex i{0}; i < activities.size(); ++i)
    if (activities.kind[i] != ActivityKind::kGraph) order.push_back(i);  // those are in no report of Nsight's
  std::sort(order.begin(), order.end(), [&](ActivityIndex a, ActivityIndex b) {
    return std::tuple(activities.begin_ns[a], activities.kind[a], activities.source_row[a], a) <
           std::tuple(activities.begin_ns[b], activities.kind[b], activities.source_row[b], b);
  });
  return order;
}

}  // namespace rangefinder::analysis::nsight
