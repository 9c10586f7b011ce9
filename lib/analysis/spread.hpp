// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// numerator / denominator * 10^places, rounded half away from zero, without a double in between. Saturates. The
/// denominator is positive.
std::int64_t rounded_quotient(__int128 numerator, __int128 denominator, int places) noexcept;

/// Sums of hostile durations stop at the greatest number instead of wrapping.
inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

/// What adds up over the values of a group.
struct Sum {
  __int128 total = 0;
  std::uint64_t count = 0;

  friend bool operator==(const Sum&, const Sum&) = default;
  void add(std::int64_t value) noexcept {
    total += value;
    ++count;
  }
  std::int64_t total_saturated() const noexcept { return rounded_quotient(total, 1, 0); }
  /// In units of `unit`, times 10^places. Only when count is not 0.
  std::int64_t mean(int places, std::int64_t unit = 1) const noexcept {
    return rounded_quotient(total, static_cast<__int128>(count) * unit, places);
  }
};

/// The statistics that Nsight's summaries print of one group.
struct Spread : Sum {
  std::int64_t min = 0;
  std::int64_t max = 0;
  __int128 median_twice = 0;  ///< sum of the two middle values; twice the middle one
  long double deviation = 0;  ///< of the sample (n - 1); 0 for one value

  friend bool operator==(const Spread&, const Spread&) = default;
  std::int64_t median(int places, std::int64_t unit = 1) const noexcept {
    return rounded_quotient(median_twice, static_cast<__int128>(2) * unit, places);
  }
  std::int64_t standard_deviation(int places, std::int64_t unit = 1) const noexcept;
};

/// Reorders the samples.
Spread spread_of(std::span<std::int64_t> samples) noexcept;

/// Values that belong to numbered groups, all kept: a median needs them.
class GroupedSamples {
 public:
  void reserve(std::size_t count) {
    groups_.reserve(count);
    values_.reserve(count);
  }
  void add(std::uint32_t group, std::int64_t value) {
    groups_.push_back(group);
    values_.push_back(value);
  }
  /// One for each of `count` groups; of a group without values, count is 0.
  std::vector<Spread> spreads(std::size_t count) const {
    std::vector<Spread> out(count);
    each_spread(count, [&](std::size_t group, const Spread& spread) { out[group] = spread; });
    return out;
  }
  /// The same, as a member of rows: a group each.
  template <typename Row>
  void fill(std::vector<Row>& rows, Spread Row::*member) const {
    each_spread(rows.size(), [&](std::size_t group, const Spread& spread) { rows[group].*member = spread; });
  }
  /// The same, `use(group, spread)` for each.
  template <typename Use>
  void each_spread(std::size_t count, Use use) const {
    Grouped grouped = by_group(count);
    for (std::size_t group = 0; group < count; ++group)
      use(group, spread_of(std::span(grouped.values)
                               .subspan(grouped.offset[group], grouped.offset[group + 1] - grouped.offset[group])));
  }

 private:
  /// Group g has values [offset[g], offset[g + 1]).
  struct Grouped {
    std::vector<std::int64_t> values;
    std::vector<std::size_t> offset;
  };
  Grouped by_group(std::size_t count) const;

  std::vector<std::uint32_t> groups_;
  std::vector<std::int64_t> values_;
};

}  // namespace rangefinder::analysis
