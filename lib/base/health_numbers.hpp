// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>

#include <cstdint>

/// The numbers of CaptureHealth's counters by the names of its members, for those who count.
namespace rangefinder::health {
#define RANGEFINDER_HEALTH_NUMBER(member, number, severity, text) inline constexpr std::uint32_t member = number;
RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_NUMBER)
#undef RANGEFINDER_HEALTH_NUMBER
}  // namespace rangefinder::health
