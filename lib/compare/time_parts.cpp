// SPDX-License-Identifier: MIT
#include "compare/time_parts.hpp"

#include <rangefinder/detail/wrapping.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rangefinder::compare {
namespace {

using detail::minus;
using detail::plus;

constexpr std::size_t kParts = 5;

/// Of what goes with a number of calls: the part that more of them explain.
double by_count(double count_before, double count_after, double ns_before) noexcept {
  if (count_before <= 0 || count_after <= 0) return 0;
  return (count_after - count_before) * (ns_before / count_before);
}

std::int64_t whole(double value) noexcept {
  constexpr double kMost = 9.2e18;
  return std::isfinite(value) ? static_cast<std::int64_t>(std::clamp(std::floor(value), -kMost, kMost)) : 0;
}

}  // namespace

void MeanAmounts::add(const MeanAmounts& other) noexcept {
  calls += other.calls;
  ops += other.ops;
  work_ns += other.work_ns;
  hidden_ns += other.hidden_ns;
  host_ns += other.host_ns;
  idle_ns += other.idle_ns;
}

void TimeParts::add(const TimeParts& other) noexcept {
  count_ns += other.count_ns;
  host_ns += other.host_ns;
  kernel_ns += other.kernel_ns;
  idle_ns += other.idle_ns;
  overlap_ns += other.overlap_ns;
}

MeanAmounts mean_of(const Amounts& amounts, std::uint64_t steps) noexcept {
  if (steps == 0) return {};
  const auto mean = [count = static_cast<double>(steps)](auto value) { return static_cast<double>(value) / count; };
  return {mean(amounts.calls),     mean(amounts.ops),     mean(amounts.work_ns),
          mean(amounts.hidden_ns), mean(amounts.host_ns), mean(amounts.idle_ns)};
}

TimeParts divide(const MeanAmounts& baseline, const MeanAmounts& candidate, bool is_there) noexcept {
  const double work = candidate.work_ns - baseline.work_ns;
  const double host = candidate.host_ns - baseline.host_ns;
  const double idle = candidate.idle_ns - baseline.idle_ns;
  TimeParts parts;
  parts.overlap_ns = baseline.hidden_ns - candidate.hidden_ns;
  if (!is_there) {
    parts.count_ns = work + host + idle;
    return parts;
  }
  const bool both_work = baseline.ops > 0 && candidate.ops > 0;
  const double work_by_count = both_work ? by_count(baseline.ops, candidate.ops, baseline.work_ns) : work;
  const double host_by_count = by_count(baseline.calls, candidate.calls, baseline.host_ns);
  const double idle_by_count = by_count(baseline.calls, candidate.calls, baseline.idle_ns);
  parts.kernel_ns = work - work_by_count;
  parts.host_ns = host - host_by_count;
  parts.idle_ns = idle - idle_by_count;
  parts.count_ns = work_by_count + host_by_count + idle_by_count;
  return parts;
}

TimeDivision rounded_to(const TimeParts& parts, std::int64_t change_ns) noexcept {
  const std::array<double, kParts> exact{parts.count_ns, parts.host_ns, parts.kernel_ns, parts.idle_ns,
                                         parts.overlap_ns};
  TimeDivision out;
  const std::array<std::int64_t*, kParts> rounded{&out.count_ns, &out.host_ns, &out.kernel_ns, &out.idle_ns,
                                                  &out.overlap_ns};
  std::array<std::size_t, kParts> order{0, 1, 2, 3, 4};
  for (std::size_t i = 0; i < kParts; ++i) *rounded[i] = whole(exact[i]);
  const auto lost = [&](std::size_t part) { return exact[part] - static_cast<double>(*rounded[part]); };
  std::array<double, kParts> losses{};
  for (std::size_t i = 0; i < kParts; ++i) losses[i] = lost(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return losses[a] > losses[b]; });
  std::int64_t missing = minus(change_ns, out.sum());
  for (std::size_t i = 0; i < kParts && missing > 0 && losses[order[i]] > 0; ++i, --missing)
    *rounded[order[i]] = plus(*rounded[order[i]], 1);
  // What rounding of the two times themselves, or of numbers that a double cannot hold, leaves: to the largest.
  if (missing != 0) {
    const auto largest =
        std::max_element(exact.begin(), exact.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::int64_t& part = *rounded[static_cast<std::size_t>(largest - exact.begin())];
    part = plus(part, missing);
  }
  return out;
}

std::int64_t mean_ns(std::int64_t sum_ns, std::uint64_t steps) noexcept {
  if (steps == 0) return 0;
  const auto count = static_cast<__int128>(steps);
  const auto sum = static_cast<__int128>(sum_ns);
  return static_cast<std::int64_t>((sum >= 0 ? sum + count / 2 : sum - count / 2) / count);
}

}  // namespace rangefinder::compare
