// SPDX-License-Identifier: MIT
#include "exporter/chrome/sensor_events.hpp"

#include "exporter/chrome/markers.hpp"

#include <rangefinder/types.hpp>

#include <string>

namespace rangefinder::chrome {

void write_sensors(EventWriter& writer, std::string_view ids, std::int64_t time_ns,
                   const format::DeviceSampleRow& row) {
  const std::string behind = ", cuda:" + std::to_string(row.device);
  const auto integer = [&](std::uint32_t field, const char* name, std::uint64_t value) {
    if ((row.present & field) != 0)
      write_counter(writer, ids, time_ns, {name + behind, true, static_cast<std::int64_t>(value), 0});
  };
  if ((row.present & kHasPower) != 0)
    write_counter(writer, ids, time_ns, {"power W" + behind, false, 0, static_cast<double>(row.power_mw) / 1000});
  integer(kHasSmClock, "SM clock MHz", row.sm_clock_mhz);
  integer(kHasMemoryClock, "memory clock MHz", row.memory_clock_mhz);
  integer(kHasUtilisation, "GPU utilisation %", row.gpu_utilisation_percent);
  integer(kHasUtilisation, "memory utilisation %", row.memory_utilisation_percent);
  integer(kHasTemperature, "temperature C", row.temperature_c);
  integer(kHasMemoryUsed, "memory in use bytes", row.memory_used_bytes);
}

}  // namespace rangefinder::chrome
