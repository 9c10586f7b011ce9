// SPDX-License-Identifier: MIT
#include "source/cupti/device_clock.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rangefinder::source::cupti {
namespace {

// Both ends are the same clock read by clock_gettime, so the bracket is exact; a microsecond for a CUPTI that rounds.
constexpr std::int64_t kToleranceNs = 1'000;
// A step of CLOCK_REALTIME by an operator or NTP is hours at most while a program runs; other clocks are decades away.
constexpr std::int64_t kSlackNs = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::size_t kMaxPairs = 4096;

}  // namespace

std::optional<ClockPair> take_clock_pair(const CuptiApi& api, RealtimeClock realtime, CUptiResult& result) noexcept {
  std::optional<ClockPair> best;
  for (int i = 0; i < 5; ++i) {
    ClockPair pair;
    pair.before_ns = realtime();
    result = api.cuptiGetTimestamp(&pair.cupti_ns);
    if (result != CUPTI_SUCCESS) return std::nullopt;
    pair.after_ns = realtime();
    if (pair.after_ns < pair.before_ns) continue;  // set back in between
    if (!best || pair.after_ns - pair.before_ns < best->after_ns - best->before_ns) best = pair;
  }
  return best;
}

void DeviceClock::add(const ClockPair& pair) {
  const bool first = !std::exchange(any_, true);
  earliest_ns_ = first ? pair.before_ns : std::min(earliest_ns_, pair.before_ns);
  latest_ns_ = first ? pair.after_ns : std::max(latest_ns_, pair.after_ns);
  add_point(pair, first);
  choose_plain();
}

void DeviceClock::add_point(const ClockPair& pair, bool first) {
  const auto is = static_cast<std::int64_t>(pair.cupti_ns);
  if (is >= pair.before_ns - kToleranceNs && is <= pair.after_ns + kToleranceNs) return;
  const std::int64_t middle = pair.before_ns + (pair.after_ns - pair.before_ns) / 2;
  if (pairs_.empty()) offset_ns_ = middle - is;
  if (first) foreign_from_start_ = true;
  // Two points at least apart on both clocks, else there is no rate between them.
  if (!pairs_.empty() && (pair.cupti_ns <= pairs_.back().cupti_ns || middle <= pairs_.back().realtime_ns)) return;
  if (pairs_.size() == kMaxPairs) pairs_.erase(pairs_.begin(), pairs_.begin() + kMaxPairs / 2);
  pairs_.push_back({pair.cupti_ns, middle});
}

void DeviceClock::choose_plain() noexcept {
  const std::int64_t from = std::max<std::int64_t>(earliest_ns_ - kSlackNs, 0);
  plain_from_ = static_cast<std::uint64_t>(from);
  plain_count_ = foreign_from_start_ || latest_ns_ + kSlackNs < from
                     ? 0
                     : static_cast<std::uint64_t>(latest_ns_ + kSlackNs - from) + 1;
}

bool DeviceClock::plausible(std::int64_t realtime_ns) const noexcept {
  return !any_ || (realtime_ns >= earliest_ns_ - kSlackNs && realtime_ns <= latest_ns_ + kSlackNs);
}

std::optional<std::int64_t> DeviceClock::convert(std::uint64_t cupti_ns) const noexcept {
  if (pairs_.empty()) return std::nullopt;
  const auto delta = [cupti_ns](const Point& from) {
    return static_cast<__int128>(cupti_ns) - static_cast<__int128>(from.cupti_ns);
  };
  __int128 result;
  if (pairs_.size() == 1) {
    result = delta(pairs_[0]) + pairs_[0].realtime_ns;
  } else {
    // The segment that holds the time; before the first and after the last pair their segments go on.
    auto right = std::upper_bound(pairs_.begin() + 1, pairs_.end() - 1, cupti_ns,
                                  [](std::uint64_t time, const Point& point) { return time < point.cupti_ns; });
    const Point& a = *(right - 1);
    const Point& b = *right;
    result =
        delta(a) * (b.realtime_ns - a.realtime_ns) / static_cast<__int128>(b.cupti_ns - a.cupti_ns) + a.realtime_ns;
  }
  if (result < 0 || result > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

std::optional<std::int64_t> DeviceClock::convert_plausible(std::uint64_t cupti_ns) noexcept {
  const std::optional<std::int64_t> converted = convert(cupti_ns);
  if (!converted || !plausible(*converted)) return std::nullopt;
  ++converted_;
  return converted;
}

std::uint64_t DeviceClock::take_converted() noexcept { return std::exchange(converted_, 0); }

std::string DeviceClock::description() const {
  if (!any_) return "not verified: cuptiGetTimestamp fails";
  if (pairs_.empty()) return "realtime";
  return "another tool's, registered " + std::string(foreign_from_start_ ? "before" : "during") +
         " the recording; converted, offset at first " + std::to_string(offset_ns_) + " ns";
}

}  // namespace rangefinder::source::cupti
