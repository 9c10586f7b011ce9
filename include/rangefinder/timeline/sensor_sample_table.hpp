// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/table.hpp>
#include <rangefinder/timeline/column.hpp>
#include <rangefinder/types.hpp>

#include <cstdint>
#include <tuple>

namespace rangefinder {

struct SensorSampleRow {
  using Table = class SensorSampleTable;

  DeviceIndex device{};
  std::int64_t time_ns = 0;
  std::uint32_t present = 0;
  std::uint32_t gpu_utilisation_percent = 0;     ///< of the driver's last sampling period, in which a kernel ran
  std::uint32_t memory_utilisation_percent = 0;  ///< likewise, in which memory was read or written
  std::uint32_t sm_clock_mhz = 0;
  std::uint32_t memory_clock_mhz = 0;
  std::uint32_t power_mw = 0;  ///< of the whole board
  std::uint32_t temperature_c = 0;
  std::uint64_t energy_mj = 0;          ///< since the driver was loaded
  std::uint64_t throttle_reasons = 0;   ///< NVML's bits; 1: idle
  std::uint64_t memory_used_bytes = 0;  ///< by all processes
};

/// Samples of devices' sensors, in order of time within a device. A value is 0 unless `present` (SensorSampleField) has
/// it.
class SensorSampleTable : public detail::Table<SensorSampleTable, SensorSampleRow> {
 public:
  TableColumn<&SensorSampleRow::device> device;
  TableColumn<&SensorSampleRow::time_ns> time_ns;
  TableColumn<&SensorSampleRow::present> present;
  TableColumn<&SensorSampleRow::gpu_utilisation_percent> gpu_utilisation_percent;
  TableColumn<&SensorSampleRow::memory_utilisation_percent> memory_utilisation_percent;
  TableColumn<&SensorSampleRow::sm_clock_mhz> sm_clock_mhz;
  TableColumn<&SensorSampleRow::memory_clock_mhz> memory_clock_mhz;
  TableColumn<&SensorSampleRow::power_mw> power_mw;
  TableColumn<&SensorSampleRow::temperature_c> temperature_c;
  TableColumn<&SensorSampleRow::energy_mj> energy_mj;
  TableColumn<&SensorSampleRow::throttle_reasons> throttle_reasons;
  TableColumn<&SensorSampleRow::memory_used_bytes> memory_used_bytes;

 private:
  friend detail::Table<SensorSampleTable, SensorSampleRow>;
  template <typename Self>
  static auto columns_of(Self& self) noexcept {
    return std::tie(self.device, self.time_ns, self.present, self.gpu_utilisation_percent,
                    self.memory_utilisation_percent, self.sm_clock_mhz, self.memory_clock_mhz, self.power_mw,
                    self.temperature_c, self.energy_mj, self.throttle_reasons, self.memory_used_bytes);
  }
};

}  // namespace rangefinder
