// SPDX-License-Identifier: MIT
#include "analysis/sampled_series.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::analysis {

void SampledSeries::add(std::int64_t time_ns, double value) {
  // Readings at one time, or out of order: the clock was set. The first one stands.
  if (!times_.empty() && time_ns <= times_.back()) return;
  times_.push_back(time_ns);
  values_.push_back(value);
}

void SampledSeries::finish() {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < times_.size(); ++i) steps.push_back(times_[i] - times_[i - 1]);
  if (!steps.empty()) {
    const auto median = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), median, steps.end());
    gap_ns_ = *median > std::numeric_limits<std::int64_t>::max() / 5 ? *median : *median * 5;
  }
  sums_.clear();
  Sum sum{0, 0};
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const std::int64_t step = i == 0 ? 0 : times_[i] - times_[i - 1];
    if (i != 0 && step < gap_ns_) {
      sum.integral += (values_[i - 1] + values_[i]) / 2 * static_cast<double>(step);
      sum.covered_ns += step;
    }
    sums_.push_back(sum);
  }
}

SampledSeries::Sum SampledSeries::sum_until(std::int64_t time_ns) const noexcept {
  if (times_.empty() || time_ns <= times_.front()) return {0, 0};
  if (time_ns >= times_.back()) return sums_.back();
  const auto next = static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), time_ns) - times_.begin());
  const std::int64_t step = times_[next] - times_[next - 1];
  Sum sum = sums_[next - 1];
  if (step >= gap_ns_) return sum;
  const std::int64_t part = time_ns - times_[next - 1];
  const double share = static_cast<double>(part) / static_cast<double>(step);
  const double value = values_[next - 1] + (values_[next] - values_[next - 1]) * share;
  sum.integral += (values_[next - 1] + value) / 2 * static_cast<double>(part);
  sum.covered_ns += part;
  return sum;
}

double SampledSeries::integral(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  return begin_ns < end_ns ? sum_until(end_ns).integral - sum_until(begin_ns).integral : 0;
}

std::int64_t SampledSeries::covered_ns(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  return begin_ns < end_ns ? sum_until(end_ns).covered_ns - sum_until(begin_ns).covered_ns : 0;
}

std::size_t SampledSeries::readings(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  const auto at = [&](std::int64_t time) { return std::lower_bound(times_.begin(), times_.end(), time); };
  return begin_ns < end_ns ? static_cast<std::size_t>(at(end_ns) - at(begin_ns)) : 0;
}

}  // namespace rangefinder::analysis
