// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/event_writer.hpp"
#include "format/rows.hpp"

#include <cstdint>
#include <string_view>

namespace rangefinder::chrome {

/// What a device's sensors said, a series of samples each: power, clocks, utilisation, temperature, memory in use.
void write_sensors(EventWriter& writer, std::string_view ids, std::int64_t time_ns, const format::DeviceSampleRow& row);

}  // namespace rangefinder::chrome
