// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>

#include <cstdint>

// The numbers of CaptureHealth's counters, by name, for those who count.
namespace rangefinder::health {

inline constexpr std::uint32_t kDroppedRanges = 1;
inline constexpr std::uint32_t kDroppedEvents = 2;
inline constexpr std::uint32_t kDroppedLaunches = 3;
inline constexpr std::uint32_t kDroppedInSignal = 4;
inline constexpr std::uint32_t kLostEnds = 5;
inline constexpr std::uint32_t kForeignEnds = 6;
inline constexpr std::uint32_t kUnnamedRanges = 7;
inline constexpr std::uint32_t kTruncatedNames = 8;
inline constexpr std::uint32_t kDroppedThreads = 9;
inline constexpr std::uint32_t kFlushTimeouts = 22;
inline constexpr std::uint32_t kChunksNotWritten = 32;
inline constexpr std::uint32_t kRecordsNotWritten = 33;
inline constexpr std::uint32_t kRingOverwritten = 34;

}  // namespace rangefinder::health
