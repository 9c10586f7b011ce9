// SPDX-License-Identifier: MIT
#include "analysis/host_lengths.hpp"

#include "analysis/range_rollup.hpp"
#include "analysis/steps.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace rangefinder::analysis {
namespace {

// Leading bits that tell steps apart: the middle of a step is within 1/2048 of all that is in it.
constexpr int kStepBits = 11;

std::uint32_t step_of(std::int64_t ns) noexcept {
  const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  const int shift = std::max(0, static_cast<int>(std::bit_width(length)) - kStepBits);
  return static_cast<std::uint32_t>(shift) << kStepBits | static_cast<std::uint32_t>(length >> shift);
}

/// The middle of a step.
std::int64_t length_of(std::uint32_t step) noexcept {
  const std::uint32_t shift = step >> kStepBits;
  const std::uint64_t first = std::uint64_t{step & ((1u << kStepBits) - 1)} << shift;
  return static_cast<std::int64_t>(first + ((std::uint64_t{1} << shift) - 1) / 2);
}

}  // namespace

void HostLengths::add(RangeGroup& row, std::uint32_t group, std::int64_t ns) {
  // A group's first length is kept in its row: most have no other where there are many groups.
  if (row.host_count == 1) {
    row.host_min_ns = row.host_median_ns = row.host_p95_ns = row.host_max_ns = ns;
    return;
  }
  if (row.host_count == 2) keep(group, row.host_median_ns);
  row.host_min_ns = std::min(row.host_min_ns, ns);
  row.host_max_ns = std::max(row.host_max_ns, ns);
  keep(group, ns);
}

void HostLengths::keep(std::uint32_t group, std::int64_t ns) {
  if (!is_exact_) return count(group, ns);
  group_.push_back(group);
  ns_.push_back(ns);
  if (ns_.size() <= most_kept_) return;
  is_exact_ = false;
  for (std::size_t i = 0; i < ns_.size(); ++i) count(group_[i], ns_[i]);
  group_ = {};
  ns_ = {};
}

void HostLengths::count(std::uint32_t group, std::int64_t ns) {
  const std::uint64_t step = std::uint64_t{group} << 32 | step_of(ns);
  const std::uint32_t place = place_.find_or_set(step, static_cast<std::uint32_t>(counts_.size()));
  if (place == counts_.size()) {
    steps_.push_back(step);
    counts_.push_back(0);
  }
  ++counts_[place];
}

std::uint64_t HostLengths::memory_bytes() const noexcept {
  constexpr std::uint64_t kSlotBytes = 32;  // of a map that is half full
  return ns_.capacity() * (sizeof ns_[0] + sizeof group_[0]) +
         counts_.capacity() * (sizeof counts_[0] + sizeof steps_[0]) + place_.size() * kSlotBytes;
}

void HostLengths::write(std::span<RangeGroup> rows) const {
  if (is_exact_)
    write_kept(rows);
  else
    write_counted(rows);
}

void HostLengths::write_kept(std::span<RangeGroup> rows) const {
  if (ns_.empty()) return;
  std::vector<std::size_t> first(rows.size() + 1);
  for (const std::uint32_t group : group_) ++first[group + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int64_t> sorted(ns_.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[next[group_[i]]++] = ns_[i];
  for (std::size_t group = 0; group < rows.size(); ++group) {
    if (first[group] == first[group + 1]) continue;
    RangeGroup& row = rows[group];
    row.host_median_ns = row.host_p95_ns = row.host_min_ns;
    if (row.host_min_ns == row.host_max_ns) continue;
    const auto lengths = std::span(sorted).subspan(first[group], first[group + 1] - first[group]);
    const Percentiles percentiles = percentiles_of({lengths.begin(), lengths.end()});
    row.host_median_ns = percentiles.p50;
    row.host_p95_ns = percentiles.p95;
  }
}

void HostLengths::write_counted(std::span<RangeGroup> rows) const {
  std::vector<std::uint32_t> order(steps_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) { return steps_[a] < steps_[b]; });
  const auto group_at = [&](std::size_t i) { return static_cast<std::uint32_t>(steps_[order[i]] >> 32); };
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    std::uint64_t all = 0;
    for (last = first; last < order.size() && group_at(last) == group_at(first); ++last) all += counts_[order[last]];
    RangeGroup& row = rows[group_at(first)];
    // Ranks as percentiles_of has them.
    const auto at = [&](std::uint64_t percent) {
      const std::uint64_t rank = std::max<std::uint64_t>((all * percent + 99) / 100, 1);
      std::size_t place = first;
      for (std::uint64_t below = counts_[order[place]]; below < rank; below += counts_[order[place]]) ++place;
      return std::clamp(length_of(static_cast<std::uint32_t>(steps_[order[place]])), row.host_min_ns, row.host_max_ns);
    };
    row.host_median_ns = at(50);
    row.host_p95_ns = at(95);
  }
}

}  // namespace rangefinder::analysis
