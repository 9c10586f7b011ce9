// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// What energy devices took, and how fast their clocks ran, while work of ranges was on them. Power is a figure of the
// whole board: it is divided among what runs, and what runs alone gets all of it, the part that idling takes included.
namespace rangefinder::analysis {

/// Of one range. Times are of device work, projected as the projection says.
struct RangeEnergy {
  /// Of the range's own work. Where several operations run on a device at once, each gets the same share of that
  /// moment, so that the sum over all ranges, the rest and idling is what the device took.
  double self_mj = 0;
  /// Of the devices while any work of the range, or of those inside it, ran; what ran beside it changes nothing. Adds
  /// up to more than the devices took where ranges overlap.
  double running_mj = 0;
  std::int64_t running_ns = 0;  ///< in which it ran, added up over devices
  std::int64_t known_ns = 0;    ///< of that, with readings of power around it
  std::int64_t readings = 0;    ///< in that time; with few, the energy is a guess between neighbours
  // Integrals over that time, and the time in which each is known.
  double sm_clock_mhz_ns = 0;
  std::int64_t sm_clock_ns = 0;
  double memory_clock_mhz_ns = 0;
  std::int64_t memory_clock_ns = 0;
  double throttled_ns = 0;  ///< held back by power or heat
  std::int64_t throttle_known_ns = 0;

  RangeEnergy& operator+=(const RangeEnergy& other) noexcept { return add(other, 1); }
  RangeEnergy& operator-=(const RangeEnergy& other) noexcept { return add(other, -1); }

 private:
  RangeEnergy& add(const RangeEnergy& other, int sign) noexcept;
};

/// Of a board, over the time of its readings: total = owned + unowned + idle. Processes of a job that used one board,
/// or instances of it, have their readings and their work together where the captures say which board it was.
struct DeviceEnergy {
  DeviceIndex device{0};    ///< the first one of it
  std::size_t devices = 1;  ///< in the data that are this board
  std::int64_t known_ns = 0;
  double total_mj = 0;
  double owned_mj = 0;         ///< of work that belongs to ranges
  double unowned_mj = 0;       ///< of other work
  double idle_mj = 0;          ///< while nothing that was recorded ran; other processes may have
  bool power_is_mean = false;  ///< the driver tells the mean over a second: short ranges are not told apart
  std::size_t readings = 0;
  /// What the device's own counter says for the time between its first and last readings, and the integral of power
  /// over the same: how far the readings can be trusted. Nothing where it has no counter.
  struct Check {
    double counter_mj;
    double integral_mj;
  };
  std::optional<Check> check;
};

struct Energy {
  std::vector<RangeEnergy> ranges;    ///< parallel to Timeline::ranges
  std::vector<DeviceEnergy> devices;  ///< those with readings of power
};

/// O((activities + readings) log (ranges + readings)), however deep ranges nest.
Energy energy_of_ranges(const Timeline& timeline, const Projection& projection);

}  // namespace rangefinder::analysis
