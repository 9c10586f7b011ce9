// SPDX-License-Identifier: MIT
#include "analysis/nsight/kernel_sweep.hpp"

#include "analysis/nsight/ranges.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

namespace rangefinder::analysis::nsight {
namespace {

constexpr std::uint64_t kMaxMemberships = 1'000'000'000;  // some ten seconds
constexpr std::size_t kMaxInstances = 100'000'000;
constexpr std::size_t kMaxEntries = 50'000'000;  // of any one table below

constexpr std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

bool KernelSweep::spend(std::uint64_t memberships) noexcept {
  spent_ += memberships;
  failed_ |= spent_ > kMaxMemberships;
  return !failed_;
}

std::uint32_t KernelSweep::number(projection::FlatMap& numbers, std::uint64_t key) {
  const std::uint32_t number = numbers.find_or_set(key, static_cast<std::uint32_t>(numbers.size()));
  failed_ |= numbers.size() > kMaxEntries;
  return number;
}

std::uint32_t KernelSweep::name_number(RangeIndex range) {
  const Label label = labels_.range(range);
  const RangeStyle style = timeline_.ranges.style[range];
  const std::uint32_t name = number(name_numbers_, pair_of(label, static_cast<std::uint32_t>(style)));
  if (name == names_.size()) names_.emplace_back(label, style);
  return name;
}

std::uint32_t KernelSweep::child(std::uint32_t path, std::uint32_t name) {
  const std::uint32_t index = number(children_, pair_of(path, name)) + 1;
  if (index == paths_.size()) paths_.push_back({path, name});
  return index;
}

void KernelSweep::close_before(std::int64_t time) {
  const auto closed = [&](const Open& open) {
    if (open.end >= time) return false;
    free_slots_.push_back(open.slot);
    return true;
  };
  if (!overlapping_) {
    while (!open_.empty() && closed(open_.back())) open_.pop_back();
    return;
  }
  open_.erase(std::remove_if(open_.begin(), open_.end(), closed), open_.end());
  overlapping_ =
      !std::is_sorted(open_.begin(), open_.end(), [](const Open& a, const Open& b) { return a.end > b.end; });
  if (overlapping_) return;
  std::uint32_t path = kRoot;
  for (Open& open : open_) path = open.path = child(path, open.name);
}

void KernelSweep::open(RangeIndex range) {
  const base::Interval interval = interval_of(timeline_, range);
  if (!overlapping_) close_before(interval.begin);
  if (!open_.empty() && interval.end > open_.back().end) overlapping_ = true;
  Open opened{interval.end, name_number(range), kRoot, 0, static_cast<std::uint32_t>(opened_.size())};
  opened_.push_back({range, opened.name});
  if (free_slots_.empty()) {
    opened.slot = slots_++;
  } else {
    opened.slot = free_slots_.back();
    free_slots_.pop_back();
  }
  if (!overlapping_) opened.path = child(open_.empty() ? kRoot : open_.back().path, opened.name);
  open_.push_back(opened);
}

bool KernelSweep::is_first(const Open& open, std::uint32_t kernel) {
  std::uint32_t& seen = last_seen_[open.slot * kernel_names_.size() + kernel];
  if (seen == open.opened + 1) return false;
  seen = open.opened + 1;
  first_launches_.push_back({kernel, open.opened});
  failed_ |= first_launches_.size() > kMaxInstances;
  return true;
}

void KernelSweep::launch(const base::Interval& cause, std::span<const Launched> kernels) {
  close_before(cause.begin);
  failed_ |= slots_ > kMaxEntries / std::max<std::size_t>(1, kernel_names_.size());
  if (failed_) return;
  if (last_seen_.size() < slots_ * kernel_names_.size()) last_seen_.resize(slots_ * kernel_names_.size(), 0);
  std::uint32_t path = kRoot;
  if (overlapping_) {
    if (!spend(open_.size() * kernels.size())) return;
    for (const Open& open : open_) {
      if (open.end < cause.end) continue;
      path = child(path, open.name);
      for (const Launched& launched : kernels) is_first(open, launched.kernel);
    }
  } else {
    // The ranges around are the first so many; what one of them has counted, all around it have counted.
    const auto outlived =
        std::partition_point(open_.begin(), open_.end(), [&](const Open& o) { return o.end >= cause.end; });
    if (outlived != open_.begin()) path = std::prev(outlived)->path;
    for (const Launched& launched : kernels)
      for (auto open = outlived; open != open_.begin() && is_first(*std::prev(open), launched.kernel);) --open;
  }
  for (const Launched& launched : kernels) samples_.push_back({launched.kernel, path, launched.duration});
}

void KernelSweep::put_in_tree_order() {
  // A path's parent has a smaller number, before and after.
  std::vector<std::uint32_t> size(paths_.size(), 1);
  for (std::size_t path = paths_.size() - 1; path != kRoot; --path) size[paths_[path].parent] += size[path];
  std::vector<std::uint32_t> position(paths_.size(), 0), next(paths_.size(), 1);
  for (std::size_t path = 1; path < paths_.size(); ++path) {
    std::uint32_t& place = next[paths_[path].parent];
    position[path] = place;
    next[path] = place + 1;
    place += size[path];
  }
  std::vector<Path> ordered(paths_.size());
  end_.resize(paths_.size());
  for (std::size_t path = 0; path < paths_.size(); ++path) {
    const std::uint32_t parent = paths_[path].parent;
    ordered[position[path]] = {parent == kNone ? kNone : position[parent], paths_[path].name};
    end_[position[path]] = position[path] + size[path];
  }
  paths_ = std::move(ordered);
  for (Sample& sample : samples_) sample.path = position[sample.path];
}

void KernelSweep::sort_by_kernel() {
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) { return pair_of(a.kernel, a.path) < pair_of(b.kernel, b.path); });
  std::vector<std::size_t> next(kernel_names_.size() + 1, 0);
  for (const FirstLaunch& first : first_launches_) ++next[first.kernel + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<FirstLaunch> sorted(first_launches_.size());
  for (const FirstLaunch& first : first_launches_) sorted[next[first.kernel]++] = first;
  first_launches_ = std::move(sorted);
}

bool KernelSweep::finish(NvtxKernelRows& rows) {
  if (failed_) return false;
  put_in_tree_order();
  sort_by_kernel();
  seen_by_path_.assign(paths_.size(), kNone);
  instances_by_name_.assign(names_.size(), 0);
  for (std::size_t first = 0; first < samples_.size();) {
    std::size_t last = first;
    while (last < samples_.size() && samples_[last].kernel == samples_[first].kernel) ++last;
    add_rows_of_kernel(std::span(samples_).subspan(first, last - first), rows);
    first = last;
  }
  return true;
}

// The samples under every path that has the kernel, and those under none.
void KernelSweep::collect_stretches(std::span<const Sample> samples) {
  const std::uint32_t kernel = samples.front().kernel;
  const auto place = [&](std::uint32_t path) {
    const auto found =
        std::partition_point(samples.begin(), samples.end(), [&](const Sample& s) { return s.path < path; });
    return static_cast<std::size_t>(found - samples.begin());
  };
  stretches_.clear();
  for (const Sample& sample : samples) {
    const auto first = static_cast<std::ptrdiff_t>(stretches_.size());
    for (std::uint32_t path = sample.path; path != kRoot && seen_by_path_[path] != kernel; path = paths_[path].parent) {
      seen_by_path_[path] = kernel;
      stretches_.push_back({paths_[path].name, {place(path), place(end_[path])}});
    }
    std::reverse(stretches_.begin() + first,
                 stretches_.end());  // outer ones, whose names mostly came first, to the front
  }
  if (const std::size_t outside = place(1); outside != 0) stretches_.push_back({kNone, {0, outside}});
  const auto by_name = [](const NamedStretch& a, const NamedStretch& b) { return a.name < b.name; };
  if (!std::is_sorted(stretches_.begin(), stretches_.end(), by_name))
    std::sort(stretches_.begin(), stretches_.end(), by_name);
}

void KernelSweep::add_rows_of_kernel(std::span<const Sample> samples, NvtxKernelRows& rows) {
  const std::uint32_t kernel = samples.front().kernel;
  collect_stretches(samples);
  for (; next_first_launch_ < first_launches_.size() && first_launches_[next_first_launch_].kernel == kernel;
       ++next_first_launch_)
    ++instances_by_name_[opened_[first_launches_[next_first_launch_].opened].name];
  std::vector<std::int64_t> durations;
  for (const Sample& sample : samples) durations.push_back(sample.duration);
  const StretchSpreads spreads(durations);
  std::vector<Stretch> of_name;
  Stretch last;  // ranges one inside the other often have the same kernels
  Spread of_last;
  for (std::size_t at = 0; at < stretches_.size();) {
    const std::uint32_t name = stretches_[at].name;
    of_name.clear();
    for (; at < stretches_.size() && stretches_[at].name == name; ++at) of_name.push_back(stretches_[at].stretch);
    NvtxKernelRow row;
    row.in_range = name != kNone;
    row.thread = thread_;
    row.kernel = kernel_names_[kernel];
    if (row.in_range) {
      std::tie(row.name, row.style) = names_[name];
      row.instances = std::exchange(instances_by_name_[name], 0);
    }
    if (of_name.size() != 1 || of_name.front() != last) of_last = spreads.of(of_name);
    last = of_name.size() == 1 ? of_name.front() : Stretch{};
    row.duration = of_last;
    rows.push_back(row);
  }
}

}  // namespace rangefinder::analysis::nsight
