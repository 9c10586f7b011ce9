// SPDX-License-Identifier: MIT
#include "analysis/nsight/nvtx_kernels.hpp"

#include "analysis/arrange.hpp"
#include "analysis/nsight/kernel_sweep.hpp"
#include "analysis/nsight/projection.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

namespace rangefinder::analysis::nsight {
namespace {

// The kernels of every launch, and those whose launch is unknown.
struct KernelsByLaunch {
  std::vector<Label> names;  // by number
  std::vector<std::uint32_t> offset;
  std::vector<Launched> kernels;
  std::vector<Launched> unlaunched;

  std::span<const Launched> of(LaunchIndex launch) const noexcept {
    return std::span(kernels).subspan(offset[launch], offset[launch + 1] - offset[launch]);
  }
};

KernelsByLaunch kernels_by_launch(const Timeline& timeline, KernelName form, Labels& labels) {
  const ActivityTable& activities = timeline.activities;
  const std::size_t launches = timeline.launches.size();
  KernelsByLaunch out;
  out.offset.assign(launches + 1, 0);
  const auto launch_of = [&](ActivityIndex i) {
    const LaunchIndex launch = activities.launch[i];
    const bool known = launch < launches && timeline.launches.source[launch] != LaunchSource::kUnknown &&
                       timeline.launches.thread[launch] < timeline.threads.size();
    return known ? launch : kNone;
  };
  const auto each_kernel = [&](auto&& use) {
    for (ActivityIndex i{0}; i < activities.size(); ++i)
      if (activities.kind[i] == ActivityKind::kKernel) use(i, launch_of(i));
  };
  each_kernel([&](ActivityIndex, LaunchIndex launch) {
    if (launch != kNone) ++out.offset[launch + 1];
  });
  std::partial_sum(out.offset.begin(), out.offset.end(), out.offset.begin());
  out.kernels.resize(out.offset.back());
  std::vector<std::uint32_t> next(out.offset.begin(), out.offset.end() - 1);
  std::vector<std::uint32_t> numbers;  // by label
  each_kernel([&](ActivityIndex i, LaunchIndex launch) {
    const Label label = labels.kernel(i, form);
    if (label >= numbers.size()) numbers.resize(labels.size(), kNone);
    if (numbers[label] == kNone) {
      numbers[label] = static_cast<std::uint32_t>(out.names.size());
      out.names.push_back(label);
    }
    const Launched launched{numbers[label], activities.end_ns[i] - activities.begin_ns[i]};
    if (launch == kNone)
      out.unlaunched.push_back(launched);
    else
      out.kernels[next[launch]++] = launched;
  });
  return out;
}

class KernelsInRanges {
 public:
  KernelsInRanges(const Timeline& timeline, KernelName form, Labels& labels)
      : timeline_(timeline), labels_(labels), by_launch_(kernels_by_launch(timeline, form, labels)) {}

  Result<NvtxKernelRows> run() {
    const std::vector<RangeIndex> ranges = choose_ranges(timeline_, RangeChoice::kLaunching);
    std::vector<ThreadIndex> thread_of(ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i) thread_of[i] = timeline_.ranges.thread[ranges[i]];
    const RowsByThread ranges_by_thread = group_by_thread(timeline_.threads.size(), thread_of);
    const RowsByThread launches_by_thread = group_by_thread(timeline_.threads.size(), timeline_.launches.thread);
    for (ThreadIndex thread{0}; thread < timeline_.threads.size(); ++thread)
      if (!sweep(thread, ranges, ranges_by_thread.of(thread), launches_by_thread.of(thread)))
        return Error(ErrorCode::kUnsupported, "nvtx_kern_sum: the ranges of thread " +
                                                  std::to_string(timeline_.threads[thread].tid) +
                                                  " are too many at once to list every kernel under each");
    add_unlaunched();
    rows_.sort(timeline_, labels_);
    return std::move(rows_);
  }

 private:
  bool sweep(ThreadIndex thread, std::span<const RangeIndex> ranges, std::span<const std::uint32_t> range_rows,
             std::span<const std::uint32_t> launches);
  void add_unlaunched();

  const Timeline& timeline_;
  Labels& labels_;
  KernelsByLaunch by_launch_;
  NvtxKernelRows rows_;
};

bool KernelsInRanges::sweep(ThreadIndex thread, std::span<const RangeIndex> ranges,
                            std::span<const std::uint32_t> range_rows, std::span<const std::uint32_t> launches) {
  std::vector<std::pair<base::Interval, std::uint32_t>> causes;
  for (const std::uint32_t launch : launches)
    if (!by_launch_.of(LaunchIndex(launch)).empty())
      causes.emplace_back(cause_of(timeline_, LaunchIndex(launch)), launch);
  const auto earlier = [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; };
  if (!std::is_sorted(causes.begin(), causes.end(), earlier)) std::stable_sort(causes.begin(), causes.end(), earlier);

  KernelSweep sweep(timeline_, thread, by_launch_.names, labels_);
  std::size_t opened = 0;
  for (const auto& [cause, launch] : causes) {
    for (; opened < range_rows.size() && timeline_.ranges.begin_ns[ranges[range_rows[opened]]] <= cause.begin; ++opened)
      sweep.open(ranges[range_rows[opened]]);
    sweep.launch(cause, by_launch_.of(LaunchIndex(launch)));
    if (!sweep.within_bounds()) return false;
  }
  return sweep.finish(rows_);
}

void KernelsInRanges::add_unlaunched() {
  GroupedSamples durations;
  for (const Launched& launched : by_launch_.unlaunched) durations.add(launched.kernel, launched.duration);
  const std::vector<Spread> spreads = durations.spreads(by_launch_.names.size());
  for (std::size_t kernel = 0; kernel < spreads.size(); ++kernel) {
    if (spreads[kernel].count == 0) continue;
    NvtxKernelRow row;
    row.kernel = by_launch_.names[kernel];
    row.duration = spreads[kernel];
    rows_.push_back(row);
  }
}

}  // namespace

NvtxKernelRow NvtxKernelRows::operator[](std::size_t row) const {
  const Entry& entry = entries_[row];
  return {
      entry.in_range, entry.name, entry.style, entry.thread, entry.instances, entry.kernel, durations_[entry.duration]};
}

void NvtxKernelRows::push_back(const NvtxKernelRow& row) {
  if (durations_.empty() || row.duration != durations_.back()) durations_.push_back(row.duration);
  entries_.push_back({row.name, row.thread, row.kernel, static_cast<std::uint32_t>(row.instances),
                      static_cast<std::uint32_t>(durations_.size() - 1), row.style, row.in_range});
}

void NvtxKernelRows::sort(const Timeline& timeline, const Labels& labels) {
  std::vector<Label> names;
  for (const Entry& row : entries_)
    if (row.in_range) names.push_back(row.name);
  const std::vector<std::uint32_t> ranks = labels.ranks(names);
  // Names first: where they differ, which is mostly so, nothing else is looked at.
  const auto rank = [&](const Entry& row) { return row.in_range ? std::size_t{ranks[row.name]} + 1 : 0; };
  std::vector<std::uint32_t> offset(labels.size() + 2, 0);  // rows of a rank are [offset[rank], offset[rank + 1])
  for (const Entry& row : entries_) ++offset[rank(row) + 1];
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  std::vector<std::uint32_t> order(entries_.size());
  std::vector<std::uint32_t> next(offset.begin(), offset.end() - 1);
  for (std::uint32_t row = 0; row < entries_.size(); ++row) order[next[rank(entries_[row])]++] = row;
  const auto before = [&](std::uint32_t left, std::uint32_t right) {
    const Entry &a = entries_[left], &b = entries_[right];
    if (a.style != b.style) return a.style < b.style;
    if (a.thread != b.thread)
      if (const auto of_a = numbers_of(timeline, a.thread), of_b = numbers_of(timeline, b.thread); of_a != of_b)
        return of_a < of_b;
    const __int128 more = durations_[a.duration].total - durations_[b.duration].total;
    if (more != 0) return more > 0;
    return std::tuple(labels.text(a.kernel), a.thread) < std::tuple(labels.text(b.kernel), b.thread);
  };
  for (std::size_t of_rank = 0; of_rank + 1 < offset.size(); ++of_rank)
    std::sort(order.begin() + offset[of_rank], order.begin() + offset[of_rank + 1], before);
  arrange(entries_, std::move(order));
}

Result<NvtxKernelRows> kernels_in_ranges(const Timeline& timeline, KernelName form, Labels& labels) {
  return KernelsInRanges(timeline, form, labels).run();
}

}  // namespace rangefinder::analysis::nsight
