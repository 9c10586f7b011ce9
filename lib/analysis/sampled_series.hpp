// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// A quantity that was read now and then, taken to change evenly between readings. Nothing is known before the first
/// one, behind the last one, and in gaps that are longer than those between most readings.
class SampledSeries {
 public:
  /// In order of time.
  void add(std::int64_t time_ns, double value);
  /// Once all are there: what is five times as long as the median step between readings is a gap.
  void finish();

  bool empty() const noexcept { return times_.empty(); }
  /// Of the quantity over time, in its unit times ns; what is not known adds nothing.
  double integral(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;
  /// ns of that stretch for which it is known.
  std::int64_t covered_ns(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;
  /// Readings in [begin, end).
  std::size_t readings(std::int64_t begin_ns, std::int64_t end_ns) const noexcept;
  std::int64_t first_ns() const noexcept { return times_.front(); }
  std::int64_t last_ns() const noexcept { return times_.back(); }

 private:
  struct Sum {
    double integral;
    std::int64_t covered_ns;
  };
  Sum sum_until(std::int64_t time_ns) const noexcept;

  std::vector<std::int64_t> times_;
  std::vector<double> values_;
  std::vector<Sum> sums_;  // up to each reading
  std::int64_t gap_ns_ = 0;
};

}  // namespace rangefinder::analysis
