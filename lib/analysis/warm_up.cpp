// SPDX-License-Identifier: MIT
#include "analysis/warm_up.hpp"

#include "analysis/medians.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace rangefinder::analysis {
namespace {

// Clocks have ticks and caches have luck: steps that are all alike within this are not told apart.
constexpr double kLeastDeviation = 0.01;
constexpr double kLeastEffect = 1.05;
constexpr std::size_t kOneIn = 20;
constexpr std::size_t kEachPrefix = 32;  // up to here all lengths are tried
constexpr std::size_t kMaxOfRest = 4096;
constexpr int kMaxStages = 16;

/// What makes the median absolute deviation of few values unbiased (Croux and Rousseeuw, 1992).
double small_sample(std::size_t count) noexcept {
  constexpr double kFactors[] = {1, 1, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
  if (count < std::size(kFactors)) return kFactors[count];
  return static_cast<double>(count) / (static_cast<double>(count) - 0.8);
}

/// At most kMaxOfRest of them, evenly spread.
void sample(std::span<const std::int64_t> steps, std::vector<double>& out) {
  const std::size_t count = std::min(steps.size(), kMaxOfRest);
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<double>(steps[i * steps.size() / count]);
}

struct Prefix {
  std::size_t length = 0;
  double t = 0;
  double degrees = 0;
  double halfway = 0;  // between its median and that of the rest
};

class Test {
 public:
  /// Nothing where the prefix is not slow beyond doubt for other reasons than chance.
  std::optional<Prefix> of(std::span<const std::int64_t> steps, std::size_t length) {
    sample(steps.first(length), first_);
    sample(steps.subspan(length), rest_);
    const double slow = median_of(first_);
    const auto as_slow = static_cast<std::size_t>(
        std::count_if(rest_.begin(), rest_.end(), [&](double value) { return value >= slow; }));
    if (as_slow > std::max<std::size_t>(1, rest_.size() / kOneIn)) return std::nullopt;
    const double usual = median_of(rest_);
    if (slow < usual * kLeastEffect) return std::nullopt;
    const double deviation = robust_deviation(rest_, usual) * small_sample(rest_.size());
    const auto firsts = static_cast<double>(first_.size());
    const auto rests = static_cast<double>(rest_.size());
    const double error =
        std::max({deviation, usual * kLeastDeviation, 1.0}) * std::sqrt(kMedianVariance * (1 / firsts + 1 / rests));
    return Prefix{length, (slow - usual) / error, std::max(1.0, kMedianInformation * (rests - 1)), (slow + usual) / 2};
  }

 private:
  std::vector<double> first_, rest_;
};

std::vector<std::size_t> lengths_to_try(std::size_t longest) {
  std::vector<std::size_t> lengths;
  for (std::size_t length = 1; length <= longest; length += length < kEachPrefix ? 1 : length / 5)
    lengths.push_back(length);
  return lengths;
}

/// The best length between its neighbours, where those stand apart.
Prefix close_in(Test& test, std::span<const std::int64_t> steps, Prefix best, std::size_t longest) {
  for (std::size_t apart = best.length / 5; best.length > kEachPrefix && apart > 1;) {
    const std::size_t stride = std::max<std::size_t>(1, apart / 8);
    const std::size_t last = std::min(longest, best.length + apart);
    for (std::size_t length = best.length - apart; length <= last; length += stride) {
      const std::optional<Prefix> prefix = test.of(steps, length);
      if (prefix && prefix->t > best.t) best = *prefix;
    }
    apart = stride;
  }
  return best;
}

std::size_t first_stage(std::span<const std::int64_t> steps) {
  if (steps.size() < kFewestSteps) return 0;
  Test test;
  const std::size_t longest = steps.size() / 2;
  const std::vector<std::size_t> lengths = lengths_to_try(longest);
  Prefix best;
  for (const std::size_t length : lengths) {
    const std::optional<Prefix> prefix = test.of(steps, length);
    if (prefix && prefix->t > best.t) best = *prefix;
  }
  if (best.length == 0) return 0;
  const double chance = student_tail(best.t, best.degrees) * static_cast<double>(lengths.size());
  if (chance >= kWarmUpSignificance) return 0;
  best = close_in(test, steps, best, longest);
  // A median stays where it is while up to half of the prefix is like the rest already.
  while (static_cast<double>(steps[best.length - 1]) < best.halfway) --best.length;
  return best.length;
}

/// Continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) noexcept {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m < 300; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-12) break;
  }
  return value;
}

double regularized_beta(double a, double b, double x) noexcept {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_tail(double t, double degrees) noexcept {
  return 0.5 * regularized_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

std::size_t warm_up_steps(std::span<const std::int64_t> step_ns) {
  std::size_t found = 0;
  for (int stage = 0; stage < kMaxStages && found <= step_ns.size() / 2; ++stage) {
    const std::size_t more = first_stage(step_ns.subspan(found));
    if (more == 0) break;
    found += more;
  }
  return std::min(found, step_ns.size() / 2);
}

}  // namespace rangefinder::analysis
