// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>

namespace rangefinder {

/// A name inside one timeline; resolved by Timeline::text(). 0 is the empty string.
enum class StringId : std::uint32_t { kEmpty = 0 };

/// Rows of a timeline's tables. They are positions, valid for that timeline only.
using RangeIndex = std::uint32_t;
using CallIndex = std::uint32_t;
using ActivityIndex = std::uint32_t;
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

/// "No such row" in any of the index types above.
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// "No such time" where a time may be absent.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

}  // namespace rangefinder
