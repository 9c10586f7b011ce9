// SPDX-License-Identifier: MIT
#include "clock/clock_table.hpp"

#include <algorithm>
#include <cstdlib>

namespace rangefinder::clock {
namespace {

constexpr unsigned kFraction = 40;
// Slewing moves CLOCK_REALTIME by 500 ppm at most (adjtimex(2)); a little room for the brackets. More is a step.
constexpr std::int64_t kSlewPerMillion = 1000;
constexpr std::int64_t kSlewFloorNs = 20'000;

std::uint64_t fixed_rate(std::uint64_t ns, std::uint64_t ticks) noexcept {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns) << kFraction) / ticks);
}

std::int64_t scale(std::uint64_t rate, std::uint64_t ticks) noexcept {
  return static_cast<std::int64_t>((static_cast<unsigned __int128>(rate) * ticks) >> kFraction);
}

}  // namespace

ClockTable::ClockTable(std::vector<ClockPoint> points, std::uint64_t ticks_per_second) {
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  std::vector<ClockPoint> kept;
  for (const ClockPoint& point : points) {
    if (kept.empty() || (point.ticks > kept.back().ticks && point.monotonic_ns > kept.back().monotonic_ns))
      kept.push_back(point);
  }
  if (kept.empty()) kept.push_back({});
  if (ticks_per_second == 0) ticks_per_second = 1'000'000'000;

  std::uint64_t whole_rate = fixed_rate(1'000'000'000, ticks_per_second);
  if (kept.size() > 1) {
    whole_rate = fixed_rate(static_cast<std::uint64_t>(kept.back().monotonic_ns - kept.front().monotonic_ns),
                            kept.back().ticks - kept.front().ticks);
  }
  realtime_offset_ns_ = kept.front().realtime_ns - kept.front().monotonic_ns;
  segments_.reserve(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const ClockPoint& point = kept[i];
    Segment segment{point.ticks, point.monotonic_ns, point.realtime_ns, whole_rate, 0, 0, false};
    error_bound_ns_ = std::max<std::int64_t>(error_bound_ns_, (point.width_ns + 1) / 2);
    if (i + 1 < kept.size()) {
      const ClockPoint& next = kept[i + 1];
      const std::int64_t length = next.monotonic_ns - point.monotonic_ns;
      segment.ns_per_tick = fixed_rate(static_cast<std::uint64_t>(length), next.ticks - point.ticks);
      segment.offset_change = (next.monotonic_ns - next.realtime_ns) - (point.monotonic_ns - point.realtime_ns);
      segment.realtime_length = next.realtime_ns - point.realtime_ns;
      segment.steps = std::llabs(segment.offset_change) > kSlewFloorNs + length / 1'000'000 * kSlewPerMillion;
      if (segment.steps) ++realtime_steps_;
    }
    segments_.push_back(segment);
  }
  // What interpolation between brackets can be off, on top of half a bracket: the curvature, bounded by the drift.
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
    if (segments_[i].steps) continue;
    const std::int64_t half = (std::max(kept[i].width_ns, kept[i + 1].width_ns) + 1) / 2;
    error_bound_ns_ = std::max<std::int64_t>(error_bound_ns_, half + std::llabs(segments_[i].offset_change));
  }
}

const ClockTable::Segment& ClockTable::by_ticks(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), ticks,
                                      [](std::uint64_t t, const Segment& s) { return t < s.ticks; });
  return after == segments_.begin() ? segments_.front() : *(after - 1);
}

std::int64_t ClockTable::monotonic_of_ticks(std::uint64_t ticks) const noexcept {
  const Segment& segment = by_ticks(ticks);
  if (ticks >= segment.ticks) return segment.monotonic_ns + scale(segment.ns_per_tick, ticks - segment.ticks);
  return segment.monotonic_ns - scale(segment.ns_per_tick, segment.ticks - ticks);
}

const ClockTable::Segment& ClockTable::by_realtime(std::int64_t realtime_ns) const noexcept {
  if (realtime_steps_ == 0) {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), realtime_ns,
                                        [](std::int64_t t, const Segment& s) { return t < s.realtime_ns; });
    return after == segments_.begin() ? segments_.front() : *(after - 1);
  }
  // Not sorted where the clock was set back: the last segment that began at or before that time.
  for (std::size_t i = segments_.size(); i-- > 0;) {
    if (segments_[i].realtime_ns <= realtime_ns) return segments_[i];
  }
  return segments_.front();
}

std::int64_t ClockTable::monotonic_of_realtime(std::int64_t realtime_ns) const noexcept {
  const Segment& segment = by_realtime(realtime_ns);
  const std::int64_t offset = segment.monotonic_ns - segment.realtime_ns;
  const std::int64_t since = realtime_ns - segment.realtime_ns;
  if (segment.realtime_length <= 0 || since <= 0) return realtime_ns + offset;
  if (segment.steps) return realtime_ns + offset + (since * 2 > segment.realtime_length ? segment.offset_change : 0);
  const auto change = static_cast<std::int64_t>(static_cast<__int128>(segment.offset_change) * since / segment.realtime_length);
  return realtime_ns + offset + change;
}

}  // namespace rangefinder::clock
