// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/length_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::analysis {

struct RangeGroup;

/// The lengths of the instances of groups, for their medians and percentiles. All are kept as long as they are few;
/// from then on they are counted in steps (LengthSteps).
class HostLengths {
 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  /// How many are kept, of all groups together.
  explicit HostLengths(std::size_t most_kept) : most_kept_(most_kept) {}

  /// One more, which is in `row.host_count` already. `group` is the number of the row.
  void add(RangeGroup& row, std::uint32_t group, std::int64_t ns);
  /// Sets median and p95 of all rows.
  void write(std::span<RangeGroup> rows) const;
  /// False: medians and percentiles are exact to `precision()`.
  bool is_exact() const noexcept { return is_exact_; }
  std::string precision() const { return steps_.precision(); }
  std::uint64_t memory_bytes() const noexcept;

 private:
  void keep(std::uint32_t group, std::int64_t ns);
  void write_kept(std::span<RangeGroup> rows) const;
  void write_counted(std::span<RangeGroup> rows) const;

  std::size_t most_kept_;
  bool is_exact_ = true;
  // Of groups that have several.
  std::vector<std::uint32_t> group_;
  std::vector<std::int64_t> ns_;
  LengthSteps steps_;  // of all, once they are too many
};

}  // namespace rangefinder::analysis
