// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>

#include <cstdint>

namespace rangefinder::source::cupti {

/// The counters of CaptureHealth by name, as RowSink::count takes them.
namespace health {
#define RANGEFINDER_HEALTH_NUMBER(member, number, severity, text) inline constexpr std::uint32_t member = number;
RANGEFINDER_HEALTH_COUNTERS(RANGEFINDER_HEALTH_NUMBER)
#undef RANGEFINDER_HEALTH_NUMBER
}  // namespace health

}  // namespace rangefinder::source::cupti
