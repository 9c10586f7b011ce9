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

constexpr std::array kAmounts{&MeanAmounts::calls,     &MeanAmounts::ops,     &MeanAmounts::work_ns,
                              &MeanAmounts::hidden_ns, &MeanAmounts::host_ns, &MeanAmounts::idle_ns};
constexpr std::array kExactParts{&TimeParts::count_ns, &TimeParts::host_ns, &TimeParts::kernel_ns, &TimeParts::idle_ns,
                                 &TimeParts::overlap_ns};
constexpr std::array kRoundedParts{&TimeDivision::count_ns, &TimeDivision::host_ns, &TimeDivision::kernel_ns,
                                   &TimeDivision::idle_ns, &TimeDivision::overlap_ns};
constexpr std::size_t kParts = kExactParts.size();
static_assert(kParts == kRoundedParts.size());

template <typename Row, std::size_t kMembers>
void add_members(Row& to, const Row& other, const std::array<double Row::*, kMembers>& members) noexcept {
  for (const auto member : members) to.*member += other.*member;
}

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

void MeanAmounts::add(const MeanAmounts& other) noexcept { add_members(*this, other, kAmounts); }

void TimeParts::add(const TimeParts& other) noexcept { add_members(*this, other, kExactParts); }

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
  TimeDivision out;
  std::array<double, kParts> exact{}, losses{};
  std::array<std::size_t, kParts> order{};
  for (std::size_t i = 0; i < kParts; ++i) {
    exact[i] = parts.*kExactParts[i];
    std::int64_t& rounded = out.*kRoundedParts[i];
    rounded = whole(exact[i]);
    losses[i] = exact[i] - static_cast<double>(rounded);
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return losses[a] > losses[b]; });
  std::int64_t missing = minus(change_ns, out.sum());
  for (std::size_t i = 0; i < kParts && missing > 0 && losses[order[i]] > 0; ++i, --missing) {
    std::int64_t& part = out.*kRoundedParts[order[i]];
    part = plus(part, 1);
  }
  // What rounding of the two times themselves, or of numbers that a double cannot hold, leaves: to the largest.
  if (missing != 0) {
    const auto largest =
        std::max_element(exact.begin(), exact.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    std::int64_t& part = out.*kRoundedParts[static_cast<std::size_t>(largest - exact.begin())];
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
