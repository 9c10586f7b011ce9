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
// A file with more steps than that is made up; every look-up goes over all runs.
constexpr std::size_t kMaxRuns = 1024;

std::uint64_t fixed_rate(std::uint64_t ns, std::uint64_t ticks) noexcept {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(ns) << kFraction) / ticks);
}

std::int64_t limited(__int128 ns) noexcept {
  constexpr __int128 latest = ClockTable::kLatestNs;
  return static_cast<std::int64_t>(std::clamp(ns, -latest, latest));
}

__int128 scale(std::uint64_t rate, std::uint64_t ticks) noexcept {
  return static_cast<__int128>((static_cast<unsigned __int128>(rate) * ticks) >> kFraction);
}

bool believable(const ClockPoint& point) noexcept {
  const auto within = [](std::int64_t ns) { return ns >= -ClockTable::kLatestNs && ns <= ClockTable::kLatestNs; };
  return within(point.monotonic_ns) && within(point.realtime_ns);
}

std::vector<ClockPoint> in_order(std::vector<ClockPoint> points) {
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  std::vector<ClockPoint> kept;
  for (const ClockPoint& point : points) {
    if (!believable(point)) continue;
    if (kept.empty() || (point.ticks > kept.back().ticks && point.monotonic_ns > kept.back().monotonic_ns))
      kept.push_back(point);
  }
  if (kept.empty()) kept.push_back({});
  return kept;
}

}  // namespace

ClockTable::ClockTable(std::vector<ClockPoint> points, std::uint64_t ticks_per_second) {
  points = in_order(std::move(points));
  whole_rate_ = fixed_rate(1'000'000'000, ticks_per_second != 0 ? ticks_per_second : 1'000'000'000);
  if (points.size() > 1) {
    whole_rate_ = fixed_rate(static_cast<std::uint64_t>(points.back().monotonic_ns - points.front().monotonic_ns),
                             points.back().ticks - points.front().ticks);
  }
  realtime_offset_ns_ = points.front().realtime_ns - points.front().monotonic_ns;
  add_segments(points);
}

void ClockTable::add_segments(const std::vector<ClockPoint>& points) {
  segments_.reserve(points.size());
  runs_.push_back({0, 0, points.front().realtime_ns, 0});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ClockPoint& point = points[i];
    Segment segment{point.ticks, point.monotonic_ns, point.realtime_ns, whole_rate_, 0, 0};
    std::int64_t error = (std::int64_t{point.width_ns} + 1) / 2;
    bool step = false;
    if (i + 1 < points.size()) {
      const ClockPoint& next = points[i + 1];
      const std::int64_t length = next.monotonic_ns - point.monotonic_ns;
      segment.ns_per_tick = fixed_rate(static_cast<std::uint64_t>(length), next.ticks - point.ticks);
      const std::int64_t change = limited(static_cast<__int128>(length) - next.realtime_ns + point.realtime_ns);
      step = std::llabs(change) > kSlewFloorNs + length / 1'000'000 * kSlewPerMillion && runs_.size() < kMaxRuns;
      if (step) {
        runs_.back().end = static_cast<std::uint32_t>(i + 1);
        runs_.back().end_realtime_ns = limited(static_cast<__int128>(point.realtime_ns) + length);
        runs_.push_back({static_cast<std::uint32_t>(i + 1), 0, next.realtime_ns, 0});
      } else {
        segment.offset_change = change;
        segment.realtime_length = next.realtime_ns - point.realtime_ns;
        // What interpolation between brackets can be off, on top of half a bracket: the curvature, bounded by the
        // drift.
        error =
            limited(static_cast<__int128>(std::max(error, (std::int64_t{next.width_ns} + 1) / 2)) + std::llabs(change));
      }
    }
    error_bound_ns_ = std::max(error_bound_ns_, error);
    segments_.push_back(segment);
  }
  runs_.back().end = static_cast<std::uint32_t>(points.size());
  runs_.back().end_realtime_ns = points.back().realtime_ns;
  realtime_goes_forward_ = std::is_sorted(points.begin(), points.end(),
                                          [](const auto& a, const auto& b) { return a.realtime_ns < b.realtime_ns; });
}

std::size_t ClockTable::segment_of(std::uint64_t ticks) const noexcept {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), ticks,
                                      [](std::uint64_t t, const Segment& s) { return t < s.ticks; });
  return after == segments_.begin() ? 0 : static_cast<std::size_t>(after - segments_.begin()) - 1;
}

std::int64_t ClockTable::monotonic_of_ticks(std::uint64_t ticks) const noexcept {
  std::size_t segment = segments_.size();
  return monotonic_of_ticks(ticks, segment);
}

std::int64_t ClockTable::monotonic_of_ticks(std::uint64_t ticks, std::size_t& segment) const noexcept {
  // A table that a running session adds to has had fewer segments.
  const bool is_there = segment < segments_.size() && segments_[segment].ticks <= ticks &&
                        (segment + 1 == segments_.size() || ticks < segments_[segment + 1].ticks);
  if (!is_there) segment = segment_of(ticks);
  const Segment& from = segments_[segment];
  if (ticks >= from.ticks) return limited(from.monotonic_ns + scale(from.ns_per_tick, ticks - from.ticks));
  return limited(from.monotonic_ns - scale(whole_rate_, from.ticks - ticks));
}

const ClockTable::Run& ClockTable::run_of(std::int64_t realtime_ns) const noexcept {
  const Run* nearest = nullptr;
  std::int64_t nearest_ns = 0;
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    const std::int64_t away =
        std::max({run->begin_realtime_ns - realtime_ns, realtime_ns - run->end_realtime_ns, std::int64_t{0}});
    if (nearest == nullptr || away < nearest_ns) {
      nearest = &*run;
      nearest_ns = away;
    }
    if (away == 0) break;
  }
  return *nearest;
}

std::size_t ClockTable::segment_at(std::int64_t realtime_ns) const noexcept {
  const Run& run = runs_.size() == 1 ? runs_.front() : run_of(realtime_ns);
  const auto begin = segments_.begin() + run.first;
  const auto after = std::upper_bound(begin, segments_.begin() + run.end, realtime_ns,
                                      [](std::int64_t t, const Segment& s) { return t < s.realtime_ns; });
  return static_cast<std::size_t>((after == begin ? begin : after - 1) - segments_.begin());
}

std::int64_t ClockTable::monotonic_of_realtime(std::int64_t realtime_ns) const noexcept {
  std::size_t segment = segments_.size();
  return monotonic_of_realtime(realtime_ns, segment);
}

std::int64_t ClockTable::monotonic_of_realtime(std::int64_t realtime_ns, std::size_t& segment) const noexcept {
  realtime_ns = limited(realtime_ns);
  const auto covers = [realtime_ns](const Segment& s) {
    return s.realtime_ns <= realtime_ns && realtime_ns - s.realtime_ns < s.realtime_length;
  };
  // Where CLOCK_REALTIME was set back, several segments may.
  const bool is_there = realtime_goes_forward_ && segment < segments_.size() && covers(segments_[segment]);
  if (!is_there) segment = segment_at(realtime_ns);
  const Segment& from = segments_[segment];
  const std::int64_t since = realtime_ns - from.realtime_ns;
  const __int128 plain = static_cast<__int128>(from.monotonic_ns) + since;
  if (from.realtime_length <= 0 || since <= 0) return limited(plain);
  // 128 bits only where the product needs them: dividing them takes ten times as long.
  if (std::int64_t product = 0; !__builtin_mul_overflow(from.offset_change, since, &product)) [[likely]]
    return limited(plain + product / from.realtime_length);
  return limited(plain + static_cast<__int128>(from.offset_change) * since / from.realtime_length);
}

}  // namespace rangefinder::clock
