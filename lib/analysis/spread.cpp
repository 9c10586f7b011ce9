// SPDX-License-Identifier: MIT
#include "analysis/spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rangefinder::analysis {
namespace {

constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

// Exact in 128 bits as long as values differ by less than some minutes; measured from the least, which changes nothing.
long double sample_deviation(std::span<const std::int64_t> samples, std::int64_t least) noexcept {
  const auto n = static_cast<unsigned __int128>(samples.size());
  unsigned __int128 sum = 0, squares = 0;
  bool exact = true;
  for (const std::int64_t sample : samples) {
    const auto above = static_cast<unsigned __int128>(static_cast<__int128>(sample) - least);
    unsigned __int128 square = 0;
    exact &= !__builtin_mul_overflow(above, above, &square) && !__builtin_add_overflow(squares, square, &squares);
    sum += above;
  }
  unsigned __int128 scaled = 0, squared_sum = 0;
  exact &= !__builtin_mul_overflow(n, squares, &scaled) && !__builtin_mul_overflow(sum, sum, &squared_sum);
  const auto freedom = static_cast<long double>(n) * static_cast<long double>(n - 1);
  if (exact) return std::sqrt(static_cast<long double>(scaled - squared_sum) / freedom);
  const long double mean = static_cast<long double>(sum) / static_cast<long double>(n);
  long double deviations = 0;
  for (const std::int64_t sample : samples) {
    const long double deviation = static_cast<long double>(static_cast<__int128>(sample) - least) - mean;
    deviations += deviation * deviation;
  }
  return std::sqrt(deviations / static_cast<long double>(n - 1));
}

}  // namespace

std::int64_t rounded_quotient(__int128 numerator, __int128 denominator, int places) noexcept {
  // Nearly all: division in 128 bits takes ten times as long.
  constexpr std::int64_t kSmall = kGreatest / 1'000;
  if (places <= 3 && numerator >= 0 && numerator <= kSmall && denominator <= kGreatest) {
    auto scaled = static_cast<std::uint64_t>(numerator);
    for (int i = 0; i < places; ++i) scaled *= 10;
    const auto by = static_cast<std::uint64_t>(denominator);
    const std::uint64_t rest = scaled % by;
    return static_cast<std::int64_t>(scaled / by + (rest >= by - rest ? 1 : 0));
  }
  const bool negative = numerator < 0;
  auto left = static_cast<unsigned __int128>(negative ? -numerator : numerator);
  const auto divisor = static_cast<unsigned __int128>(denominator);
  unsigned __int128 quotient = left / divisor;
  left %= divisor;
  // Digit by digit: scaling the numerator first could overflow.
  for (int i = 0; i < places; ++i) {
    left *= 10;
    quotient = quotient * 10 + left / divisor;
    left %= divisor;
    if (quotient > static_cast<unsigned __int128>(kGreatest)) break;
  }
  if (left >= divisor - left) ++quotient;
  const std::int64_t value =
      quotient > static_cast<unsigned __int128>(kGreatest) ? kGreatest : static_cast<std::int64_t>(quotient);
  return negative ? -value : value;
}

std::int64_t Spread::standard_deviation(int places, std::int64_t unit) const noexcept {
  long double scaled = deviation / static_cast<long double>(unit);
  for (int i = 0; i < places; ++i) scaled *= 10;
  return scaled >= static_cast<long double>(kGreatest) ? kGreatest : std::llround(scaled);
}

Spread spread_of(std::span<std::int64_t> samples) noexcept {
  Spread spread;
  spread.count = samples.size();
  if (samples.empty()) return spread;
  const auto [least, greatest] = std::minmax_element(samples.begin(), samples.end());
  spread.min = *least;
  spread.max = *greatest;
  for (const std::int64_t sample : samples) spread.total += sample;
  if (samples.size() > 1) spread.deviation = sample_deviation(samples, spread.min);
  const auto upper = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), upper, samples.end());
  const std::int64_t lower = samples.size() % 2 == 1 ? *upper : *std::max_element(samples.begin(), upper);
  spread.median_twice = static_cast<__int128>(lower) + *upper;
  return spread;
}

GroupedSamples::Grouped GroupedSamples::by_group(std::size_t count) const {
  Grouped out;
  out.offset.assign(count + 1, 0);
  for (const std::uint32_t group : groups_) ++out.offset[group + 1];
  std::partial_sum(out.offset.begin(), out.offset.end(), out.offset.begin());
  out.values.resize(values_.size());
  std::vector<std::size_t> next(out.offset.begin(), out.offset.end() - 1);
  for (std::size_t i = 0; i < values_.size(); ++i) out.values[next[groups_[i]]++] = values_[i];
  return out;
}

void GroupedSamples::count(std::uint32_t group, std::int64_t value) {
  if (group >= counted_.size()) counted_.resize(group + 1);
  Counted& counted = counted_[group];
  Spread& spread = counted.spread;
  spread.min = spread.count == 0 ? value : std::min(spread.min, value);
  spread.max = spread.count == 0 ? value : std::max(spread.max, value);
  spread.add(value);
  const long double before = static_cast<long double>(value) - counted.mean;
  counted.mean += before / static_cast<long double>(spread.count);
  counted.squares += before * (static_cast<long double>(value) - counted.mean);
  steps_.add(group, value);
}

void GroupedSamples::count_all() {
  is_exact_ = false;
  for (std::size_t i = 0; i < values_.size(); ++i) count(groups_[i], values_[i]);
  groups_ = {};
  values_ = {};
}

void GroupedSamples::each_counted(std::size_t count, const std::function<void(std::size_t, const Spread&)>& use) const {
  std::vector<Spread> spreads(count);
  for (std::size_t group = 0; group < std::min(count, counted_.size()); ++group) {
    spreads[group] = counted_[group].spread;
    if (spreads[group].count > 1)
      spreads[group].deviation =
          std::sqrt(counted_[group].squares / static_cast<long double>(spreads[group].count - 1));
  }
  steps_.each_group([&](const LengthSteps::Ranked& lengths) {
    Spread& spread = spreads[lengths.group()];
    const auto at = [&](std::uint64_t rank) { return std::clamp(lengths.at(rank), spread.min, spread.max); };
    const std::uint64_t all = lengths.count();
    spread.median_twice = static_cast<__int128>(at((all + 1) / 2)) + at(all / 2 + 1);
  });
  for (std::size_t group = 0; group < count; ++group) use(group, spreads[group]);
}

std::uint64_t GroupedSamples::memory_bytes() const noexcept {
  return values_.capacity() * (sizeof values_[0] + sizeof groups_[0]) + counted_.capacity() * sizeof(Counted) +
         steps_.memory_bytes();
}

}  // namespace rangefinder::analysis
