// SPDX-License-Identifier: MIT
#include "analysis/nsight/stretch_spreads.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

namespace rangefinder::analysis::nsight {
namespace {

std::vector<std::int64_t> distinct(std::span<const std::int64_t> samples) {
  std::vector<std::int64_t> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<std::uint32_t> ranks_of(std::span<const std::int64_t> samples, const std::vector<std::int64_t>& values) {
  std::vector<std::uint32_t> ranks;
  ranks.reserve(samples.size());
  for (const std::int64_t sample : samples)
    ranks.push_back(
        static_cast<std::uint32_t>(std::lower_bound(values.begin(), values.end(), sample) - values.begin()));
  return ranks;
}

}  // namespace

RankedNumbers::RankedNumbers(std::vector<std::uint32_t> numbers) {
  std::uint32_t greatest = 0;
  for (const std::uint32_t number : numbers) greatest = std::max(greatest, number);
  for (int bit = static_cast<int>(std::bit_width(greatest)); bit-- > 0;) {
    Level level;
    level.ones.assign(numbers.size() / 64 + 1, 0);
    level.ones_to.assign(level.ones.size(), 0);
    for (std::size_t at = 0; at < numbers.size(); ++at)
      level.ones[at / 64] |= std::uint64_t{numbers[at] >> bit & 1} << at % 64;
    for (std::size_t word = 1; word < level.ones.size(); ++word)
      level.ones_to[word] = level.ones_to[word - 1] + static_cast<std::uint32_t>(std::popcount(level.ones[word - 1]));
    const auto has_not = [&](std::uint32_t number) { return (number >> bit & 1) == 0; };
    level.zeros =
        static_cast<std::size_t>(std::stable_partition(numbers.begin(), numbers.end(), has_not) - numbers.begin());
    levels_.push_back(std::move(level));
  }
}

std::size_t RankedNumbers::Level::ones_before(std::size_t at) const noexcept {
  const std::uint64_t below = (std::uint64_t{1} << at % 64) - 1;
  return ones_to[at / 64] + static_cast<std::size_t>(std::popcount(ones[at / 64] & below));
}

std::uint32_t RankedNumbers::nth(std::vector<Part> parts, std::uint64_t n) const {
  std::uint32_t number = 0;
  for (const Level& level : levels_) {
    std::uint64_t zeros = 0;
    for (const Part& part : parts)
      zeros += part.times * (part.last - part.first - (level.ones_before(part.last) - level.ones_before(part.first)));
    const bool one = n >= zeros;
    if (one) n -= zeros;
    number = number << 1 | (one ? 1 : 0);
    for (Part& part : parts) {
      const std::size_t first = level.ones_before(part.first), last = level.ones_before(part.last);
      part.first = one ? level.zeros + first : part.first - first;
      part.last = one ? level.zeros + last : part.last - last;
    }
    std::erase_if(parts, [](const Part& part) { return part.first == part.last; });
  }
  return number;
}

StretchSpreads::StretchSpreads(std::span<const std::int64_t> samples)
    : samples_(samples), values_(distinct(samples)), ranks_(ranks_of(samples, values_)) {
  Sums sums;
  for (std::size_t at = 0; at < samples.size(); ++at) {
    if (at % kBlock == 0) blocks_.push_back(sums);
    const unsigned __int128 before = sums.squares;
    add(sums, samples[at]);
    exact_ = exact_ && sums.squares >= before;
  }
  constexpr __int128 kSquareFits = static_cast<__int128>(1) << 64;
  exact_ = exact_ && (values_.empty() || static_cast<__int128>(values_.back()) - values_.front() < kSquareFits);
}

void StretchSpreads::add(Sums& sums, std::int64_t sample) const noexcept {
  const auto above = static_cast<unsigned __int128>(static_cast<__int128>(sample) - values_.front());
  sums.above += above;
  sums.squares += above * above;
  sums.rough_squares += static_cast<long double>(above) * static_cast<long double>(above);
}

StretchSpreads::Sums StretchSpreads::sums_before(std::size_t place) const noexcept {
  if (blocks_.empty()) return {};
  const std::size_t block = std::min(place / kBlock, blocks_.size() - 1);
  Sums sums = blocks_[block];
  for (std::size_t at = block * kBlock; at < place; ++at) add(sums, samples_[at]);
  return sums;
}

/// Disjoint, in order.
std::vector<StretchSpreads::Part> StretchSpreads::parts_of(std::span<Stretch> stretches) {
  std::vector<std::size_t> lasts;
  lasts.reserve(stretches.size());
  for (const Stretch& stretch : stretches) lasts.push_back(stretch.last);
  std::sort(lasts.begin(), lasts.end());
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.first < b.first; });
  std::vector<Part> parts;
  std::size_t at = 0;
  std::uint64_t open = 0;
  const auto move_to = [&](std::size_t place) {
    if (open != 0 && place > at) parts.push_back({at, place, open});
    at = place;
  };
  auto last = lasts.begin();
  for (const Stretch& stretch : stretches) {
    for (; *last <= stretch.first; ++last, --open) move_to(*last);
    move_to(stretch.first);
    ++open;
  }
  for (; last != lasts.end(); ++last, --open) move_to(*last);
  return parts;
}

/// Total and deviation. Exact as in spread_of, wherever the least sample of all may lie.
void StretchSpreads::set_moments(Spread& spread, std::span<const Part> parts) const {
  const auto n = static_cast<unsigned __int128>(spread.count);
  unsigned __int128 above = 0, squares = 0;
  long double rough_squares = 0;
  bool exact = exact_;
  for (const Part& part : parts) {
    const Sums first = sums_before(part.first), last = sums_before(part.last);
    unsigned __int128 of_part = 0;
    above += part.times * (last.above - first.above);
    exact &= !__builtin_mul_overflow(last.squares - first.squares, part.times, &of_part) &&
             !__builtin_add_overflow(squares, of_part, &squares);
    rough_squares += static_cast<long double>(part.times) * (last.rough_squares - first.rough_squares);
  }
  spread.total = static_cast<__int128>(above) + static_cast<__int128>(n) * values_.front();
  if (spread.count < 2) return;
  unsigned __int128 scaled = 0, squared_sum = 0;
  exact &= !__builtin_mul_overflow(n, squares, &scaled) && !__builtin_mul_overflow(above, above, &squared_sum);
  const auto count = static_cast<long double>(n);
  if (exact) {
    spread.deviation = std::sqrt(static_cast<long double>(scaled - squared_sum) / (count * (count - 1)));
    return;
  }
  const long double mean = static_cast<long double>(above) / count;
  spread.deviation = std::sqrt(std::max(0.0L, rough_squares / count - mean * mean) * count / (count - 1));
}

Spread StretchSpreads::of(std::span<Stretch> stretches) const {
  const std::vector<Part> parts = parts_of(stretches);
  Spread spread;
  for (const Part& part : parts) spread.count += part.times * (part.last - part.first);
  if (spread.count == 0) return spread;
  const auto nth = [&](std::uint64_t n) { return values_[ranks_.nth(parts, n)]; };
  spread.min = nth(0);
  spread.max = nth(spread.count - 1);
  spread.median_twice = static_cast<__int128>(nth((spread.count - 1) / 2)) + nth(spread.count / 2);
  set_moments(spread, parts);
  return spread;
}

}  // namespace rangefinder::analysis::nsight
