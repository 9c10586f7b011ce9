// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>

#include <cstdint>
#include <optional>

namespace rangefinder::chrome {

/// Where the times of a trace count from. Readers keep `ts` in a double and lose nanoseconds when it is large, so times
/// are relative to a `baseTimeNanoseconds`; and they compare `ts` of several files without looking at the base, so all
/// ranks of a job must have the same one.
class TimeBase {
 public:
  /// Wall time is known: counts from the beginning of a week, or from `given_origin_ns` where the input has one that
  /// keeps the times small.
  static TimeBase with_wall_clock(std::int64_t first_ns, std::int64_t last_ns, std::int64_t realtime_offset_ns,
                                  std::optional<std::int64_t> given_origin_ns) noexcept;
  /// It is not: counts from 0, or from the first time where that is far from it.
  static TimeBase without_wall_clock(std::int64_t first_ns, std::int64_t last_ns) noexcept;

  /// What `ts` says of a time, in nanoseconds. Times before the origin become 0.
  std::uint64_t since(std::int64_t time_ns) const noexcept {
    return time_ns <= origin_ns_ ? 0 : static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(origin_ns_);
  }
  /// How long before the origin; 0: not at all.
  std::uint64_t before(std::int64_t time_ns) const noexcept {
    return time_ns >= origin_ns_ ? 0 : static_cast<std::uint64_t>(origin_ns_) - static_cast<std::uint64_t>(time_ns);
  }
  std::int64_t origin_ns() const noexcept { return origin_ns_; }
  /// baseTimeNanoseconds.
  std::optional<std::int64_t> wall_ns() const noexcept { return wall_ns_; }

 private:
  std::int64_t origin_ns_ = 0;
  std::optional<std::int64_t> wall_ns_;
};

}  // namespace rangefinder::chrome
