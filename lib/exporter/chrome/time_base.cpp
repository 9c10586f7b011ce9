// SPDX-License-Identifier: MIT
#include "exporter/chrome/time_base.hpp"

#include <algorithm>

namespace rangefinder::chrome {
namespace {

// Perfetto's reader multiplies the double by 1000: exact to the nanosecond below 2^42 us (51 days), off by one above.
constexpr std::int64_t kExactNs = (std::int64_t{1} << 42) * 1000;
// Of the ranks of a job, some may begin before a boundary and some behind it; weeks make that rare and numbers short.
constexpr std::int64_t kWeekNs = std::int64_t{7} * 24 * 3600 * 1'000'000'000;
// Device work may have begun before the recording did.
constexpr std::int64_t kEarlierNs = std::int64_t{3600} * 1'000'000'000;

bool stays_exact(std::int64_t origin_ns, std::int64_t first_ns, std::int64_t last_ns) noexcept {
  std::int64_t length = 0;
  return first_ns >= origin_ns && !__builtin_sub_overflow(last_ns, origin_ns, &length) && length < kExactNs;
}

}  // namespace

TimeBase TimeBase::with_wall_clock(std::int64_t first_ns, std::int64_t last_ns, std::int64_t realtime_offset_ns,
                                   std::optional<std::int64_t> given_origin_ns) noexcept {
  TimeBase base;
  std::int64_t wall = 0;
  if (given_origin_ns && stays_exact(*given_origin_ns, first_ns, last_ns) &&
      !__builtin_add_overflow(*given_origin_ns, realtime_offset_ns, &wall)) {
    base.origin_ns_ = *given_origin_ns;
    base.wall_ns_ = wall;
    return base;
  }
  if (__builtin_add_overflow(first_ns, realtime_offset_ns, &wall) || wall < kWeekNs)
    return without_wall_clock(first_ns, last_ns);
  base.wall_ns_ = (wall - kEarlierNs) / kWeekNs * kWeekNs;
  if (__builtin_sub_overflow(*base.wall_ns_, realtime_offset_ns, &base.origin_ns_))
    return without_wall_clock(first_ns, last_ns);
  return base;
}

TimeBase TimeBase::without_wall_clock(std::int64_t first_ns, std::int64_t last_ns) noexcept {
  TimeBase base;
  if (!stays_exact(0, first_ns, last_ns)) base.origin_ns_ = first_ns;
  return base;
}

}  // namespace rangefinder::chrome
