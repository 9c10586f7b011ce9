// SPDX-License-Identifier: MIT
#pragma once

#include "bench/device_limits.hpp"
#include "bench/json.hpp"
#include "bench/step_time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::bench {

enum class BottleneckClass : std::uint8_t {
  kUndecided,
  kInput,            ///< data comes too late: waiting for it, copying it to the device
  kHost,             ///< on a device: it waits for launches; without one: the processors compute
  kDeviceCompute,    ///< arithmetic of kernels
  kDeviceMemory,     ///< bandwidth of the device's memory
  kSynchronisation,  ///< the host waits for results, and the device then for the host; copying results to the host
  kCommunication,    ///< between ranks
};

/// "undecided", "device_compute", ...: as JSON has it.
std::string_view to_string(BottleneckClass what) noexcept;

/// What was measured of a variant; what is empty was not.
struct BottleneckEvidence {
  bool on_device = false;           ///< the variant runs on a GPU
  std::optional<double> processor;  ///< CPU time of the process / wall time, of timed steps; 1 is one core
  std::optional<StepTime> steps;    ///< of profiled steps
  double recording_overhead = 0;    ///< by which part of the timed median recording made a step longer
  DeviceLimits limits;
};

/// A part of a step; parts do not overlap.
struct StepPart {
  BottleneckClass what = BottleneckClass::kUndecided;  ///< kDeviceCompute: all work of kernels. kUndecided: not known
  const char* word = "";
  double share = 0;
};

/// What bounds a variant.
struct Bottleneck {
  BottleneckClass what = BottleneckClass::kUndecided;
  std::string evidence;           ///< one sentence with figures; empty: nothing was measured
  std::string missing;            ///< of kUndecided: what to record for a decision; empty: nothing would decide
  std::vector<StepPart> parts{};  ///< the largest first; empty: not measured
  std::string input_range{};      ///< of the ranges that get input, the longest
};

/// A class is named where it takes at least half of a step, and twice as much as any other class and as all that is not
/// known; arithmetic and memory likewise, by the shares of their peaks. All else is undecided.
Bottleneck bottleneck_of(const BottleneckEvidence& evidence);

/// {"class", "evidence", "missing", "parts": [{"class", "share", "range"}]}; null where a text is empty.
Json to_json(const Bottleneck& bottleneck);

/// What to try against a class, by its name in JSON; "-" for undecided.
std::string_view what_to_try(std::string_view bottleneck_class) noexcept;

}  // namespace rangefinder::bench
