// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/length_steps.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
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

/// Values that belong to numbered groups. All are kept, as a median needs them, up to a number of them: from then on
/// medians are those of steps of less than a thousandth (LengthSteps), for lengths of 0 or more.
class GroupedSamples {
 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  GroupedSamples() = default;
  /// How many are kept, of all groups together.
  explicit GroupedSamples(std::size_t most_kept) : most_kept_(most_kept) {}

  void reserve(std::size_t count) {
    groups_.reserve(count);
    values_.reserve(count);
  }
  void add(std::uint32_t group, std::int64_t value) {
    if (is_exact_) {
      groups_.push_back(group);
      values_.push_back(value);
      if (values_.size() > most_kept_) count_all();
    } else {
      count(group, value);
    }
  }
  /// False: medians are exact to `precision()`.
  bool is_exact() const noexcept { return is_exact_; }
  std::string precision() const { return steps_.precision(); }
  std::uint64_t memory_bytes() const noexcept;
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
    if (!is_exact_) return each_counted(count, use);
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

  struct Counted {
    Spread spread;
    long double mean = 0, squares = 0;  // so far: of the values, and of how far they are from it
  };
  void count(std::uint32_t group, std::int64_t value);
  void count_all();
  void each_counted(std::size_t count, const std::function<void(std::size_t, const Spread&)>& use) const;

  std::size_t most_kept_ = kAll;
  bool is_exact_ = true;
  std::vector<std::uint32_t> groups_;
  std::vector<std::int64_t> values_;
  // Once they are too many.
  std::vector<Counted> counted_;  // by group
  LengthSteps steps_;
};

}  // namespace rangefinder::analysis
