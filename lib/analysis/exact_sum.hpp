// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// The sum of doubles as if it had no rounding, whatever their order: "Adaptive Precision Floating-Point Arithmetic",
/// Shewchuk 1997. Finite numbers only; of numbers of one size it keeps one or two.
class ExactSum {
 public:
  void add(double number) {
    long double rest = number;
    std::size_t kept = 0;
    for (long double part : parts_) {
      if (std::fabs(rest) < std::fabs(part)) std::swap(rest, part);
      const long double sum = rest + part;
      const long double lost = part - (sum - rest);
      if (lost != 0) parts_[kept++] = lost;
      rest = sum;
    }
    parts_.resize(kept);
    parts_.push_back(rest);
  }
  /// Rounded once.
  long double total() const noexcept {
    if (parts_.empty()) return 0;
    std::size_t at = parts_.size() - 1;
    long double sum = parts_[at], lost = 0;
    while (at > 0 && lost == 0) {
      const long double before = sum, part = parts_[--at];
      sum = before + part;
      lost = part - (sum - before);
    }
    // Half of a last digit is rounded by what is behind it.
    if (at > 0 && lost != 0 && (lost < 0) == (parts_[at - 1] < 0)) {
      const long double twice = lost * 2, next = sum + twice;
      if (twice == next - sum) sum = next;
    }
    return sum;
  }

 private:
  std::vector<long double> parts_;  // that do not overlap, the smallest first
};

}  // namespace rangefinder::analysis
