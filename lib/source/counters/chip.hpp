// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/profiler_api.hpp"

#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>

namespace rangefinder::source::counters {

/// "GH100": what CUPTI calls the chip of a device. Initialises CUPTI's profilers.
/// Errors: kUnsupported, with CUPTI's reason.
Result<std::string> chip_of(const ProfilerApi& api, std::uint32_t device);

}  // namespace rangefinder::source::counters
