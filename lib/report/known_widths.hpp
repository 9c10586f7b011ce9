// SPDX-License-Identifier: MIT
#pragma once

#include "report/table.hpp"

#include <algorithm>
#include <cstdint>

namespace rangefinder::report {

/// Which numbers of a column cannot be wider than those before, so that most need not be written to be measured.
class KnownWidths {
 public:
  KnownWidths(ColumnType type, std::int64_t time_origin_ns)
      : type_(type), origin_(type == ColumnType::kTimestamp ? time_origin_ns : 0) {}

  bool is_no_wider(std::int64_t value) const noexcept { return value >= origin_ && value < known_below_; }
  void note(std::int64_t value) noexcept {
    if (value >= origin_) known_below_ = std::max(known_below_, first_wider(value));
  }

 private:
  /// Where wider numbers may begin than this one is.
  std::int64_t first_wider(std::int64_t value) const noexcept {
    constexpr std::int64_t kLongTime = 900'000'000'000, kManyBytes = 900'000'000'000'000;
    switch (type_) {
      case ColumnType::kNanoseconds:  // "1.234 us", "123.4 ms": none is wider; but "1.234 s" is narrower
        if (value >= 1'000) return value < kLongTime / 1'000 ? kLongTime : 0;
        break;
      case ColumnType::kBytes:
        if (value >= 1'000) return value < kManyBytes ? kManyBytes : 0;
        break;
      case ColumnType::kInteger:
      case ColumnType::kDecimal:
      case ColumnType::kTimestamp:
        break;
      default:
        return 0;
    }
    std::int64_t wider = 10;  // has a digit more
    while (wider <= value - origin_)
      if (__builtin_mul_overflow(wider, 10, &wider)) return value;
    return __builtin_add_overflow(origin_, wider, &wider) ? value : wider;
  }

  ColumnType type_;
  std::int64_t origin_;
  std::int64_t known_below_ = kNull;
};

}  // namespace rangefinder::report
