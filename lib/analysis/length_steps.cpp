// SPDX-License-Identifier: MIT
#include "analysis/length_steps.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace rangefinder::analysis {
namespace {

// Leading bits that tell steps apart: the middle of a step is within 1/2048 of all that is in it.
constexpr int kStepBits = 11;

std::uint32_t step_of(std::int64_t ns) noexcept {
  const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  const int shift = std::max(0, static_cast<int>(std::bit_width(length)) - kStepBits);
  return static_cast<std::uint32_t>(shift) << kStepBits | static_cast<std::uint32_t>(length >> shift);
}

/// The middle of a step.
std::int64_t length_of(std::uint32_t step) noexcept {
  const std::uint32_t shift = step >> kStepBits;
  const std::uint64_t first = std::uint64_t{step & ((1u << kStepBits) - 1)} << shift;
  return static_cast<std::int64_t>(first + ((std::uint64_t{1} << shift) - 1) / 2);
}

}  // namespace

void LengthSteps::add(std::uint32_t group, std::int64_t length) {
  const std::uint64_t step = std::uint64_t{group} << 32 | step_of(length);
  const std::uint32_t place = place_.find_or_set(step, static_cast<std::uint32_t>(counts_.size()));
  if (place == counts_.size()) {
    steps_.push_back(step);
    counts_.push_back(0);
  }
  ++counts_[place];
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
  return length_of(static_cast<std::uint32_t>(steps_->steps_[*row]));
}

}  // namespace rangefinder::analysis
