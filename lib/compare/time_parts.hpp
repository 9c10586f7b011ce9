// SPDX-License-Identifier: MIT
#pragma once

#include "compare/run_figures.hpp"

#include <rangefinder/compare.hpp>

#include <cstdint>

namespace rangefinder::compare {

/// Amounts of a mean step.
struct MeanAmounts {
  double calls = 0;
  double ops = 0;
  double work_ns = 0;
  double hidden_ns = 0;
  double host_ns = 0;
  double idle_ns = 0;

  double time_ns() const noexcept { return work_ns - hidden_ns + host_ns + idle_ns; }
  void add(const MeanAmounts& other) noexcept;
};

/// `steps` 0: all 0.
MeanAmounts mean_of(const Amounts& amounts, std::uint64_t steps) noexcept;

/// TimeDivision before it is rounded.
struct TimeParts {
  double count_ns = 0;
  double host_ns = 0;
  double kernel_ns = 0;
  double idle_ns = 0;
  double overlap_ns = 0;

  double sum() const noexcept { return count_ns + host_ns + kernel_ns + idle_ns + overlap_ns; }
  void add(const TimeParts& other) noexcept;
};

/// Why the candidate's time is another than the baseline's: the parts add up to the difference. `is_there`: the place
/// is on both sides; else all but the overlap is a matter of count.
///
/// More kernels count as long as the baseline's mean kernel; what then is left of the difference in work is speed.
/// Likewise time of the host and idle time with calls, where both sides have any.
TimeParts divide(const MeanAmounts& baseline, const MeanAmounts& candidate, bool is_there) noexcept;

/// The parts in whole nanoseconds that add up to `change_ns`: rounded down, and what is then missing goes to those that
/// lost most by it.
TimeDivision rounded_to(const TimeParts& parts, std::int64_t change_ns) noexcept;

/// Rounded to nearest; `steps` 0: 0.
std::int64_t mean_ns(std::int64_t sum_ns, std::uint64_t steps) noexcept;

}  // namespace rangefinder::compare
