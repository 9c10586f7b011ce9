// SPDX-License-Identifier: MIT
#include "analysis/host_lengths.hpp"

#include "analysis/range_rollup.hpp"
#include "analysis/steps.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rangefinder::analysis {

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
  if (!is_exact_) return steps_.add(group, ns);
  group_.push_back(group);
  ns_.push_back(ns);
  if (ns_.size() <= most_kept_) return;
  is_exact_ = false;
  for (std::size_t i = 0; i < ns_.size(); ++i) steps_.add(group_[i], ns_[i]);
  group_ = {};
  ns_ = {};
}

std::uint64_t HostLengths::memory_bytes() const noexcept {
  return ns_.capacity() * (sizeof ns_[0] + sizeof group_[0]) + steps_.memory_bytes();
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
  steps_.each_group([&](const LengthSteps::Ranked& lengths) {
    RangeGroup& row = rows[lengths.group()];
    // Ranks as percentiles_of has them.
    const auto at = [&](std::uint64_t percent) {
      const std::uint64_t rank = std::max<std::uint64_t>((lengths.count() * percent + 99) / 100, 1);
      return std::clamp(lengths.at(rank), row.host_min_ns, row.host_max_ns);
    };
    row.host_median_ns = at(50);
    row.host_p95_ns = at(95);
  });
}

}  // namespace rangefinder::analysis
