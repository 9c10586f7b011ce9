// SPDX-License-Identifier: MIT
#include "analysis/length_steps.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace rangefinder::analysis {
namespace {

// Of a step: how far its lengths were shifted, then the leading bits that are left.
constexpr int kShiftAt = 16;
constexpr int kFewestBits = 5;

}  // namespace

std::uint32_t LengthSteps::step_of(std::int64_t ns) const noexcept {
  const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  const int shift = std::max(0, static_cast<int>(std::bit_width(length)) - bits_);
  return static_cast<std::uint32_t>(shift) << kShiftAt | static_cast<std::uint32_t>(length >> shift);
}

/// The middle of a step.
std::int64_t LengthSteps::length_of(std::uint32_t step) const noexcept {
  const std::uint32_t shift = step >> kShiftAt;
  const std::uint64_t first = std::uint64_t{step & ((1u << kShiftAt) - 1)} << shift;
  return static_cast<std::int64_t>(first + ((std::uint64_t{1} << shift) - 1) / 2);
}

void LengthSteps::add(std::uint32_t group, std::int64_t length) {
  add(group, step_of(length), 1);
  while (counts_.size() > most_steps_ && bits_ > kFewestBits) lengthen();
}

void LengthSteps::add(std::uint32_t group, std::uint32_t step, std::uint64_t count) {
  const std::uint64_t key = std::uint64_t{group} << 32 | step;
  const std::uint32_t place = place_.find_or_set(key, static_cast<std::uint32_t>(counts_.size()));
  if (place == counts_.size()) {
    steps_.push_back(key);
    counts_.push_back(0);
  }
  counts_[place] += count;
}

void LengthSteps::lengthen() {
  const std::vector<std::uint64_t> steps = std::exchange(steps_, {}), counts = std::exchange(counts_, {});
  place_.clear();
  --bits_;
  for (std::size_t row = 0; row < steps.size(); ++row) {
    auto step = static_cast<std::uint32_t>(steps[row]);
    const std::uint32_t leading = step & ((1u << kShiftAt) - 1);
    if (leading >> bits_ != 0) step = ((step >> kShiftAt) + 1) << kShiftAt | leading >> 1;
    add(static_cast<std::uint32_t>(steps[row] >> 32), step, counts[row]);
  }
}

std::string LengthSteps::precision() const {
  return 1 << bits_ > 1'000 ? "a thousandth" : "1/" + std::to_string(1 << bits_);
}

std::uint64_t LengthSteps::memory_bytes() const noexcept {
  constexpr std::uint64_t kSlotBytes = 32;  // of a map that is half full
  return counts_.capacity() * (sizeof counts_[0] + sizeof steps_[0]) + place_.size() * kSlotBytes;
}

std::vector<std::uint32_t> LengthSteps::in_order() const {
  std::vector<std::uint32_t> order(steps_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) { return steps_[a] < steps_[b]; });
  return order;
}

LengthSteps::Ranked LengthSteps::take_group(const std::vector<std::uint32_t>& order, std::size_t& next) const {
  Ranked ranked;
  ranked.steps_ = this;
  ranked.first_ = &order[next];
  ranked.group_ = group_of(order[next]);
  for (; next < order.size() && group_of(order[next]) == ranked.group_; ++next) ranked.count_ += counts_[order[next]];
  return ranked;
}

std::int64_t LengthSteps::Ranked::at(std::uint64_t rank) const noexcept {
  const std::uint32_t* row = first_;
  for (std::uint64_t below = steps_->counts_[*row]; below < rank; below += steps_->counts_[*row]) ++row;
  return steps_->length_of(static_cast<std::uint32_t>(steps_->steps_[*row]));
}

}  // namespace rangefinder::analysis
