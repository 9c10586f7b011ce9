// SPDX-License-Identifier: MIT
#pragma once

#include "format/rows.hpp"
#include "source/nvml/nvml_api.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rangefinder::source::nvml {

/// A device that CUDA uses in this process, and what NVML can tell of it.
class NvmlDevice {
 public:
  NvmlDevice(const NvmlApi& api, Device handle, std::uint32_t cuda_id) noexcept;

  /// What its sensors say now. `failed` grows by those that have worked before and did not this time; one that the
  /// device does not have is asked once.
  /// Cost: some ten microseconds; the energy counter takes milliseconds, and is asked every 100 ms, in which it is
  /// counted on.
  format::DeviceSampleRow sample(std::int64_t (*realtime_ns)() noexcept, std::uint64_t& failed) noexcept;
  std::uint32_t cuda_id() const noexcept { return cuda_id_; }
  /// NVML's UUID of the board; empty where it does not tell.
  std::string board() const;
  /// It is divided into instances: what its sensors say is of all of them.
  bool mig() const noexcept;

 private:
  bool wants(std::uint32_t field) const noexcept { return (missing_ & field) == 0; }
  void note(Return result, std::uint32_t field, format::DeviceSampleRow& row, std::uint64_t& failed) noexcept;
  void read_power(format::DeviceSampleRow& row, std::uint64_t& failed) noexcept;
  void read_energy(format::DeviceSampleRow& row, std::uint64_t& failed) noexcept;

  const NvmlApi& api_;
  Device handle_;
  std::uint32_t cuda_id_;
  std::uint32_t missing_ = 0;  // SensorSampleField
  std::uint32_t worked_ = 0;
  bool instant_power_;
  std::int64_t energy_read_ns_ = std::numeric_limits<std::int64_t>::max();  // later than now: due
};

/// Adds the devices that the program has begun to use, by CUDA's numbers, whatever CUDA_VISIBLE_DEVICES and
/// CUDA_DEVICE_ORDER say; found by their place on the PCI bus. An instance of a MIG device stands for its whole device.
/// None until the program has initialised CUDA. From then on its only device is in use; one of several is with a
/// primary context, which the runtime makes. Whether any are left that may be used later.
bool find_devices(const NvmlApi& api, const DriverApi& driver, std::vector<NvmlDevice>& devices);

}  // namespace rangefinder::source::nvml
