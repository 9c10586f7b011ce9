// SPDX-License-Identifier: MIT
#pragma once

#include "importer/capture/host_shift.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <span>
#include <vector>

// The clocks of two hosts, compared by what their devices did together: no rank leaves an all-reduce, all-gather or
// reduce-scatter before the last one has come. Each one that both hosts took part in bounds the difference of their
// clocks from both sides; between them the difference may change by no more than kMaxDrift.
namespace rangefinder::importer {

/// In parts of 10^9. Clocks that are kept by NTP drift by less, and free quartz by about as much.
inline constexpr std::int64_t kMaxDrift = 50'000;

/// What is known of a difference of clocks at a time: what is to be added to the other host's times.
struct ShiftBound {
  std::int64_t time_ns;
  std::int64_t least_ns;
  std::int64_t most_ns;
};

/// Sorts the bounds by time and makes each as tight as all the others allow; false when they contradict each other.
bool tighten(std::vector<ShiftBound>& bounds);

struct HostAlignment {
  std::vector<HostShift::Knot> knots;  ///< empty: no collectives in common, or such as contradict each other
  std::int64_t error_ns = 0;           ///< at most, while there are collectives
  std::uint64_t matched = 0;           ///< collectives
  bool contradiction = false;
};

/// For each host but the first, which has the clock of all: what to add to the times of its processes, which `timeline`
/// has by the wall clocks. `host_of` is by process.
std::vector<HostAlignment> align_hosts(const Timeline& timeline, std::span<const std::uint32_t> host_of,
                                       std::uint32_t hosts);

}  // namespace rangefinder::importer
