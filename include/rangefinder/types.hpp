// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>

namespace rangefinder {

/// A name inside one timeline; resolved by Timeline::text(). 0 is the empty string.
enum class StringId : std::uint32_t { kEmpty = 0 };

/// "No such row" in any of the index types below.
struct None {
  constexpr operator std::uint32_t() const noexcept { return std::numeric_limits<std::uint32_t>::max(); }
};
inline constexpr None kNone{};

/// The position of a row of kind `Of`, valid for one timeline only. It is made from a number explicitly and becomes one
/// by itself; an index of another kind of rows does not convert to it, nor compare with it.
template <typename Of>
class Index {
 public:
  Index() noexcept = default;
  template <typename Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
  constexpr explicit Index(Number position) noexcept : position_(static_cast<std::uint32_t>(position)) {}
  constexpr Index(None none) noexcept : position_(none) {}

  constexpr operator std::uint32_t() const noexcept { return position_; }
  constexpr Index& operator++() noexcept { return ++position_, *this; }
  constexpr Index operator++(int) noexcept { return Index(position_++); }

  friend constexpr bool operator==(Index a, Index b) noexcept { return a.position_ == b.position_; }
  friend constexpr bool operator!=(Index a, Index b) noexcept { return a.position_ != b.position_; }
  friend constexpr bool operator<(Index a, Index b) noexcept { return a.position_ < b.position_; }
  friend constexpr bool operator>(Index a, Index b) noexcept { return a.position_ > b.position_; }

 private:
  std::uint32_t position_;
};

template <typename A, typename B, std::enable_if_t<!std::is_same_v<A, B>, int> = 0>
bool operator==(Index<A>, Index<B>) = delete;
template <typename A, typename B, std::enable_if_t<!std::is_same_v<A, B>, int> = 0>
bool operator!=(Index<A>, Index<B>) = delete;
template <typename A, typename B, std::enable_if_t<!std::is_same_v<A, B>, int> = 0>
bool operator<(Index<A>, Index<B>) = delete;
template <typename A, typename B, std::enable_if_t<!std::is_same_v<A, B>, int> = 0>
bool operator>(Index<A>, Index<B>) = delete;
template <typename A, typename B, std::enable_if_t<!std::is_same_v<A, B>, int> = 0>
bool operator<=(Index<A>, Index<B>) = delete;
template <typename A, typename B, std::enable_if_t<!std::is_same_v<A, B>, int> = 0>
bool operator>=(Index<A>, Index<B>) = delete;

using RangeIndex = Index<struct RangeRow>;
using CallIndex = Index<struct CallRow>;
using LaunchIndex = Index<struct LaunchRow>;
using ActivityIndex = Index<struct ActivityRow>;
using AutogradNodeIndex = Index<struct AutogradNodeRow>;
using CollectiveIndex = Index<struct CollectiveRow>;
using ProcessGroupIndex = Index<struct ProcessGroupInfo>;
using ThreadIndex = Index<struct ThreadInfo>;
using StreamIndex = Index<struct StreamInfo>;
using DeviceIndex = Index<struct DeviceInfo>;
using ProcessIndex = Index<struct ProcessInfo>;

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

/// What ranks do together, or two of them with each other. The numbers are those of capture files.
enum class CollectiveKind : std::uint8_t {
  kOther = 0,
  kAllReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kBroadcast = 4,
  kReduce = 5,
  kGather = 6,
  kScatter = 7,
  kAllToAll = 8,
  kSend = 9,
  kReceive = 10,
  kBarrier = 11,
};

/// Who told of a collective. The numbers are those of capture files.
enum class CollectiveSource : std::uint8_t {
  kC10d = 1,  ///< PyTorch's process groups
  kNccl = 2,  ///< NCCL: its profiler plugin, or its ranges of NVTX
};

/// "No such time" where a time may be absent.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

}  // namespace rangefinder

template <typename Of>
struct std::hash<rangefinder::Index<Of>> {
  std::size_t operator()(rangefinder::Index<Of> index) const noexcept { return std::uint32_t{index}; }
};
