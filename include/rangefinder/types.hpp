// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace rangefinder {

/// A name inside one timeline; resolved by Timeline::text(). 0 is the empty string.
enum class StringId : std::uint32_t { kEmpty = 0 };

/// Rows of a timeline's tables. They are positions, valid for that timeline only.
using RangeIndex = std::uint32_t;
using CallIndex = std::uint32_t;
using LaunchIndex = std::uint32_t;
using ActivityIndex = std::uint32_t;
using AutogradNodeIndex = std::uint32_t;
using ThreadIndex = std::uint32_t;
using StreamIndex = std::uint32_t;
using DeviceIndex = std::uint32_t;
using ProcessIndex = std::uint32_t;

/// What an allocator did. The numbers are those of capture files.
enum class MemoryAction : std::uint8_t {
  kAllocate = 0,         ///< a block was given to the program
  kFree = 1,             ///< a block came back
  kSegmentAllocate = 2,  ///< the allocator took memory from the system, in which blocks lie
  kSegmentFree = 3,      ///< and gave it back
  kSegmentMap = 4,       ///< likewise, of segments that can grow
  kSegmentUnmap = 5,
  kOutOfMemory = 6,  ///< a request of `bytes` failed
};

/// What a device's sensors said: the bits of SensorSampleRow::present. The numbers are those of capture files.
enum SensorSampleField : std::uint32_t {
  kHasUtilisation = 1,
  kHasSmClock = 2,
  kHasMemoryClock = 4,
  kHasPower = 8,
  kHasTemperature = 16,
  kHasEnergy = 32,
  kHasThrottleReasons = 64,
  kHasMemoryUsed = 128,
  kPowerIsMean = 256,  ///< power is the driver's mean over the last second or so, not of the moment
};

/// Events of the processor that are counted per thread. The numbers are those of capture files.
enum class CpuEvent : std::uint8_t {
  kCpuTime = 0,  ///< ns on a processor
  kCycles = 1,
  kInstructions = 2,
  kCacheReferences = 3,
  kCacheMisses = 4,
  kBranchMisses = 5,
  kPageFaults = 6,
  kContextSwitches = 7,
  kNotCounted = 8,  ///< ns on a processor in which 1 to 5 were not counted: others had the hardware
};
inline constexpr std::size_t kCpuEvents = 9;

/// "No such row" in any of the index types above.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// "No such time" where a time may be absent.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

}  // namespace rangefinder
