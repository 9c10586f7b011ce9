// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rangefinder::analysis {

/// A run of fewer steps says nothing about which of them are warm-up.
inline constexpr std::size_t kFewestSteps = 6;
/// Chance that first steps which are like all others are set apart, for each time that the test is made.
inline constexpr double kWarmUpSignificance = 0.001;

/// How many of the first steps took longer than the rest by more than chance: lazy loading, compilation, autotuning,
/// caches that fill.
///
/// A change-point test: each prefix of at most half of the steps is compared with all that follow it. It is set apart
/// when
///   - the difference of the medians, over the standard error that the rest's median absolute deviation gives, has a
///     one-sided probability under Student's t of less than kWarmUpSignificance over the number of prefixes tried
///     (Bonferroni). The t has 0.37 (r - 1) degrees of freedom for a rest of r steps: a deviation of the median tells
///     as much as 0.37 times as many steps do by their standard deviation;
///   - and no more than one in 20 of the steps that follow (one at least) took as long as the prefix's median: where
///     every fourth step is slow, the first is no warm-up;
///   - and it took at least 5 % longer.
/// Of those prefixes the one with the greatest t counts, up to its last step that is nearer to its own median than to
/// the rest's; the test is then made on what remains, since warm-up comes in stages. A single slow step anywhere but at
/// the very start sets nothing apart: medians do not follow it.
///
/// 0 for fewer than kFewestSteps. O(n): of long runs, prefixes grow by a fifth until the best is closed in on, and
/// 4,096 steps stand for a rest that has more.
std::size_t warm_up_steps(std::span<const std::int64_t> step_ns);

/// Probability that Student's t with `degrees` of freedom is greater than `t`, for t >= 0.
double student_tail(double t, double degrees) noexcept;

}  // namespace rangefinder::analysis
