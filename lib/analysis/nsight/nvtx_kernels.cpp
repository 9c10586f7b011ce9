// SPDX-License-Identifier: MIT
#include "analysis/nsight/nvtx_kernels.hpp"

#include "analysis/arrange.hpp"
#include "analysis/nsight/kernel_sweep.hpp"
#include "analysis/nsight/projection.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
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

Error too_many(const Timeline& timeline, ThreadIndex thread) {
  return Error(ErrorCode::kUnsupported, "nvtx_kern_sum: the ranges of thread " +
                                            std::to_string(timeline.threads[thread].tid) +
                                            " are too many at once to list every kernel under each");
}

bool feed(KernelSweep& sweep, const Timeline& timeline, const KernelsByLaunch& kernels,
          std::span<const RangeIndex> ranges, std::span<const std::uint32_t> range_rows,
          std::span<const std::uint32_t> launches) {
  std::vector<std::pair<base::Interval, std::uint32_t>> causes;
  for (const std::uint32_t launch : launches)
    if (!kernels.of(LaunchIndex(launch)).empty()) causes.emplace_back(cause_of(timeline, LaunchIndex(launch)), launch);
  const auto earlier = [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; };
  if (!std::is_sorted(causes.begin(), causes.end(), earlier)) std::stable_sort(causes.begin(), causes.end(), earlier);
  std::size_t opened = 0;
  for (const auto& [cause, launch] : causes) {
    for (; opened < range_rows.size() && timeline.ranges.begin_ns[ranges[range_rows[opened]]] <= cause.begin; ++opened)
      sweep.open(ranges[range_rows[opened]]);
    sweep.launch(cause, kernels.of(LaunchIndex(launch)));
    if (!sweep.within_bounds()) return false;
  }
  return true;
}

// Feeds the ranges and launches of each thread to a sweep, and calls `use(thread, sweep)`; where that is false, a bound
// was passed.
template <typename Use>
Status sweep_threads(const Timeline& timeline, const KernelsByLaunch& kernels, Labels& labels, Use use) {
  const std::vector<RangeIndex> ranges = choose_ranges(timeline, RangeChoice::kLaunching);
  std::vector<ThreadIndex> thread_of(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) thread_of[i] = timeline.ranges.thread[ranges[i]];
  const RowsByThread ranges_by_thread = group_by_thread(timeline.threads.size(), thread_of);
  const RowsByThread launches_by_thread = group_by_thread(timeline.threads.size(), timeline.launches.thread);
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    KernelSweep sweep(timeline, thread, kernels.names, labels);
    if (!feed(sweep, timeline, kernels, ranges, ranges_by_thread.of(thread), launches_by_thread.of(thread)) ||
        !use(thread, sweep))
      return too_many(timeline, thread);
  }
  return {};
}

void add_unlaunched(const KernelsByLaunch& kernels, NvtxKernelRows& rows) {
  GroupedSamples durations;
  for (const Launched& launched : kernels.unlaunched) durations.add(launched.kernel, launched.duration);
  const std::vector<Spread> spreads = durations.spreads(kernels.names.size());
  for (std::size_t kernel = 0; kernel < spreads.size(); ++kernel) {
    if (spreads[kernel].count == 0) continue;
    NvtxKernelRow row;
    row.kernel = kernels.names[kernel];
    row.duration = spreads[kernel];
    rows.push_back(row);
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
  NvtxKernelRows rows;
  const KernelsByLaunch kernels = kernels_by_launch(timeline, form, labels);
  Status swept =
      sweep_threads(timeline, kernels, labels, [&](ThreadIndex, KernelSweep& sweep) { return sweep.finish(rows); });
  if (!swept.ok()) return std::move(swept).error();
  add_unlaunched(kernels, rows);
  rows.sort(timeline, labels);
  return rows;
}

Status NvtxKernelSums::add_whole() {
  Result<NvtxKernelRows> rows = kernels_in_ranges(timeline_, form_, labels_);
  if (!rows) return std::move(rows).error();
  whole_ = std::move(*rows);
  return {};
}

Status NvtxKernelSums::add(const RowsOfWindow& window) {
  std::erase_if(launched_, [&](const auto& entry) { return !window.is_kept(entry.first); });
  const KernelsByLaunch kernels = kernels_by_launch(timeline_, form_, labels_);
  for (const Launched& launched : kernels.unlaunched)
    durations_.add(group_of(ThreadIndex(kNone), kNone, kernels.names[launched.kernel]), launched.duration);
  return sweep_threads(timeline_, kernels, labels_, [&](ThreadIndex thread, KernelSweep& sweep) {
    return add_thread(window, thread, kernels.names, sweep);
  });
}

bool NvtxKernelSums::add_thread(const RowsOfWindow& window, ThreadIndex thread, std::span<const Label> kernels,
                                KernelSweep& sweep) {
  constexpr std::uint64_t kMaxTold = 4'000'000'000;  // of all windows: some 40 s
  projection::FlatMap known;                         // name << 32 | kernel, as the sweep numbers them -> group
  const auto group = [&](std::uint32_t name, std::uint32_t kernel) {
    const std::uint64_t key = std::uint64_t{name} << 32 | kernel;
    if (const std::uint32_t found = known.find(key); found != projection::FlatMap::kAbsent) return found;
    std::uint32_t named = kNone;
    if (name != kNone) {
      const auto [label, style] = sweep.name(name);
      named = names_.of(label, static_cast<std::uint8_t>(style));
    }
    return known.find_or_set(key, group_of(thread, named, kernels[kernel]));
  };
  const auto duration = [&](std::uint32_t name, std::uint32_t kernel, std::int64_t ns) {
    ++told_;
    durations_.add(group(name, kernel), ns);
  };
  const auto instance = [&](RangeIndex range, std::uint32_t name, std::uint32_t kernel) {
    add_instance(window.key_of(range), group(name, kernel));
  };
  return sweep.tell(duration, instance) && told_ <= kMaxTold;
}

void NvtxKernelSums::add_instance(std::uint64_t key, std::uint32_t group) {
  std::vector<std::uint32_t>& launched = launched_[key];
  const auto place = std::lower_bound(launched.begin(), launched.end(), group);
  if (place != launched.end() && *place == group) return;
  launched.insert(place, group);
  ++groups_[group].instances;
}

std::uint32_t NvtxKernelSums::group_of(ThreadIndex thread, std::uint32_t name, Label kernel) {
  const auto pair_of = [](std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; };
  const std::uint32_t named =
      names_of_threads_.find_or_set(pair_of(thread, name), static_cast<std::uint32_t>(names_of_threads_.size()));
  const std::uint32_t kernel_number = kernels_.of(kernel, 0);
  const auto next = static_cast<std::uint32_t>(groups_.size());
  const std::uint32_t group = group_numbers_.find_or_set(pair_of(named, kernel_number), next);
  if (group == next) groups_.push_back({thread, name, kernel_number});
  return group;
}

NvtxKernelRows NvtxKernelSums::rows() const {
  if (groups_.empty()) return whole_;
  NvtxKernelRows rows;
  durations_.each_spread(groups_.size(), [&](std::size_t number, const Spread& spread) {
    const Group& group = groups_[number];
    NvtxKernelRow row;
    row.in_range = group.name != kNone;
    if (row.in_range) {
      row.name = names_.all()[group.name].name;
      row.style = static_cast<RangeStyle>(names_.all()[group.name].kind);
      row.instances = group.instances;
    }
    row.thread = group.thread;
    row.kernel = kernels_.all()[group.kernel].name;
    row.duration = spread;
    rows.push_back(row);
  });
  rows.sort(timeline_, labels_);
  return rows;
}

std::uint64_t NvtxKernelSums::memory_bytes() const noexcept {
  constexpr std::uint64_t kEntryBytes = 96;  // of a map, with a few groups
  return durations_.memory_bytes() + names_.memory_bytes() + kernels_.memory_bytes() +
         groups_.capacity() * sizeof(Group) + launched_.size() * kEntryBytes;
}

}  // namespace rangefinder::analysis::nsight
