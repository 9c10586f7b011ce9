// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/cupti_api.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::source::cupti {

/// CLOCK_REALTIME in nanoseconds; tests pass their own.
using RealtimeClock = std::int64_t (*)() noexcept;

/// One look at CUPTI's clock between two at CLOCK_REALTIME.
struct ClockPair {
  std::uint64_t cupti_ns = 0;
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
};

/// The narrowest of five. Nothing when CUPTI does not say, and then `result` tells why.
std::optional<ClockPair> take_clock_pair(const CuptiApi& api, RealtimeClock realtime, CUptiResult& result) noexcept;

/// Says what CUPTI's times mean. They are CLOCK_REALTIME unless somebody in the process has registered a timestamp
/// callback (Kineto does, with CLOCK_REALTIME or raw TSC ticks by version); then they are converted, piecewise linearly
/// between the pairs that were taken at start and at each flush.
class DeviceClock {
 public:
  void add(const ClockPair& pair);

  /// CLOCK_REALTIME of a record's time; nothing for one that cannot be.
  std::optional<std::int64_t> realtime(std::uint64_t cupti_ns) noexcept {
    return is_realtime(cupti_ns) ? static_cast<std::int64_t>(cupti_ns) : convert_plausible(cupti_ns);
  }
  /// Whether it is that already.
  bool is_realtime(std::uint64_t cupti_ns) const noexcept { return cupti_ns - plain_from_ < plain_count_; }

  /// True while a foreign clock is known at one point only: its rate is unknown, decode later.
  bool needs_another_pair() const noexcept { return foreign_from_start_ && pairs_.size() < 2; }
  /// Times converted since the last call.
  std::uint64_t take_converted() noexcept;
  /// "realtime", or what was found instead.
  std::string description() const;

 private:
  struct Point {
    std::uint64_t cupti_ns;
    std::int64_t realtime_ns;
  };
  void add_point(const ClockPair& pair, bool first);
  void choose_plain() noexcept;
  bool plausible(std::int64_t realtime_ns) const noexcept;
  std::optional<std::int64_t> convert_plausible(std::uint64_t cupti_ns) noexcept;
  std::optional<std::int64_t> convert(std::uint64_t cupti_ns) const noexcept;

  bool any_ = false;
  bool foreign_from_start_ = false;
  std::vector<Point> pairs_;  // of a foreign clock only
  std::int64_t offset_ns_ = 0;
  std::int64_t earliest_ns_ = 0;
  std::int64_t latest_ns_ = 0;
  std::uint64_t converted_ = 0;
  // Times that are taken as CLOCK_REALTIME: so many from here on. At first all that fit.
  std::uint64_t plain_from_ = 0;
  std::uint64_t plain_count_ = std::uint64_t{1} << 63;
};

}  // namespace rangefinder::source::cupti
