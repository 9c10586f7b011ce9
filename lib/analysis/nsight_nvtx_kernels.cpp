// SPDX-License-Identifier: MIT
#include "analysis/nsight_nvtx_kernels.hpp"

#include "analysis/arrange.hpp"
#include "analysis/nsight_kernel_sweep.hpp"
#include "analysis/nsight_projection.hpp"

#include <algorithm>
#include <cstddef>
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

  Result<std::vector<NvtxKernelRow>> run() {
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
    sort();
    return std::move(rows_);
  }

 private:
  bool sweep(ThreadIndex thread, std::span<const RangeIndex> ranges, std::span<const std::uint32_t> range_rows,
             std::span<const std::uint32_t> launches);
  void add_unlaunched();
  void sort();

  const Timeline& timeline_;
  Labels& labels_;
  KernelsByLaunch by_launch_;
  std::vector<NvtxKernelRow> rows_;
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

void KernelsInRanges::sort() {
  std::vector<Label> names;
  for (const NvtxKernelRow& row : rows_)
    if (row.in_range) names.push_back(row.name);
  const std::vector<std::uint32_t> ranks = labels_.ranks(names);
  // Names first: where they differ, which is mostly so, nothing else is looked at.
  const auto rank = [&](const NvtxKernelRow& row) { return row.in_range ? std::uint64_t{ranks[row.name]} + 1 : 0; };
  std::vector<std::uint64_t> by_name;  // rank << 32 | row
  by_name.reserve(rows_.size());
  for (std::uint32_t row = 0; row < rows_.size(); ++row) by_name.push_back(rank(rows_[row]) << 32 | row);
  std::sort(by_name.begin(), by_name.end());
  std::vector<std::uint32_t> order;
  order.reserve(rows_.size());
  for (const std::uint64_t row : by_name) order.push_back(static_cast<std::uint32_t>(row));
  const auto rest = [&](std::uint32_t at) {
    const NvtxKernelRow& row = rows_[at];
    return std::tuple(row.style, numbers_of(timeline_, row.thread), -row.duration.total, labels_.text(row.kernel),
                      row.thread);
  };
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && by_name[last] >> 32 == by_name[first] >> 32) ++last;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last),
              [&](std::uint32_t a, std::uint32_t b) { return rest(a) < rest(b); });
  }
  arrange(rows_, std::move(order));
}

}  // namespace

Result<std::vector<NvtxKernelRow>> kernels_in_ranges(const Timeline& timeline, KernelName form, Labels& labels) {
  return KernelsInRanges(timeline, form, labels).run();
}

}  // namespace rangefinder::analysis::nsight
