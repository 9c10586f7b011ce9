// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::bench {

/// What the process of a variant does.
enum class Doing : std::uint8_t {
  kStart,      ///< from its beginning until it listens: loading libraries
  kCheck,      ///< variants and steps of the correctness check
  kSetup,      ///< of the variant that is timed
  kWarmUp,     ///< its untimed steps
  kSteps,      ///< rounds of timed steps; what is between the steps, too
  kRecording,  ///< the profiled steps
  kOther,      ///< asking for bytes and metrics
};
inline constexpr std::size_t kDoings = 7;

/// Where the time of a variant's processes went, and what energy the device took meanwhile. A process that waits while
/// the other variant's works counts for nothing.
struct ProcessUse {
  std::array<std::int64_t, kDoings> ns{};
  std::optional<std::int64_t> energy_mj;

  /// By an answer of the worker.
  void add(Doing doing, JsonView answer);
  std::int64_t all_ns() const noexcept;
};

/// Goodput: time of the timed steps / all time of the processes; with the parts of that. Null without timed steps.
Json goodput_json(const ProcessUse& use, const std::vector<double>& wall_ns);

/// Energy of all rows, and what it emitted at so many grams of CO2e a kWh (0: not told); null where no device told its
/// energy. `rows`: an array of row_json.
Json energy_json(JsonView rows, double carbon_intensity);

}  // namespace rangefinder::bench
