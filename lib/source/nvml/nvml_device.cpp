// SPDX-License-Identifier: MIT
#include "source/nvml/nvml_device.hpp"

#include <rangefinder/types.hpp>

#include <algorithm>
#include <array>

namespace rangefinder::source::nvml {
namespace {

constexpr std::int64_t kEnergyPeriodNs = 100'000'000;

std::uint32_t field_unless(bool there, std::uint32_t field) noexcept { return there ? 0 : field; }

}  // namespace

NvmlDevice::NvmlDevice(const NvmlApi& api, Device handle, std::uint32_t cuda_id) noexcept
    : api_(api), handle_(handle), cuda_id_(cuda_id), instant_power_(api.field_values != nullptr) {
  missing_ = field_unless(api.utilisation != nullptr, kHasUtilisation) |
             field_unless(api.clock != nullptr, kHasSmClock | kHasMemoryClock) |
             field_unless(api.power != nullptr || instant_power_, kHasPower) |
             field_unless(api.temperature != nullptr, kHasTemperature) |
             field_unless(api.energy != nullptr, kHasEnergy) |
             field_unless(api.throttle_reasons != nullptr, kHasThrottleReasons) |
             field_unless(api.memory != nullptr, kHasMemoryUsed);
}

void NvmlDevice::note(Return result, std::uint32_t field, format::DeviceSampleRow& row,
                      std::uint64_t& failed) noexcept {
  if (result == kSuccess) {
    row.present |= field;
    worked_ |= field;
  } else if ((worked_ & field) != 0 || !is_lacking(result)) {
    ++failed;
  } else {
    missing_ |= field;
  }
}

void NvmlDevice::read_power(format::DeviceSampleRow& row, std::uint64_t& failed) noexcept {
  if (instant_power_) {
    FieldValue value{};
    value.field = kFieldPowerInstant;
    const Return called = api_.field_values(handle_, 1, &value);
    const Return result = called != kSuccess ? called : value.result;
    if (result == kSuccess) row.power_mw = value.value.small;
    if (result == kSuccess || (worked_ & kHasPower) != 0 || !is_lacking(result))
      return note(result, kHasPower, row, failed);
    instant_power_ = false;  // an older driver, or a board without it
  }
  unsigned milliwatts = 0;
  const Return result = api_.power != nullptr ? api_.power(handle_, &milliwatts) : kNotSupported;
  note(result, kHasPower, row, failed);
  if (result != kSuccess) return;
  row.power_mw = milliwatts;
  row.present |= kPowerIsMean;
}

void NvmlDevice::read_energy(format::DeviceSampleRow& row, std::uint64_t& failed) noexcept {
  if (row.time_ns >= energy_read_ns_ && row.time_ns - energy_read_ns_ < kEnergyPeriodNs) return;
  energy_read_ns_ = row.time_ns;
  unsigned long long millijoules = 0;
  note(api_.energy(handle_, &millijoules), kHasEnergy, row, failed);
  if ((row.present & kHasEnergy) != 0) row.energy_mj = millijoules;
}

format::DeviceSampleRow NvmlDevice::sample(std::int64_t (*realtime_ns)() noexcept, std::uint64_t& failed) noexcept {
  format::DeviceSampleRow row{};
  row.device = cuda_id_;
  // Power first: its time is the sample's.
  const std::int64_t before = realtime_ns();
  if (wants(kHasPower)) read_power(row, failed);
  row.time_ns = before + (realtime_ns() - before) / 2;
  if (wants(kHasSmClock)) note(api_.clock(handle_, kClockSm, &row.sm_clock_mhz), kHasSmClock, row, failed);
  if (wants(kHasMemoryClock))
    note(api_.clock(handle_, kClockMemory, &row.memory_clock_mhz), kHasMemoryClock, row, failed);
  if (wants(kHasUtilisation)) {
    Utilisation utilisation{};
    note(api_.utilisation(handle_, &utilisation), kHasUtilisation, row, failed);
    row.gpu_utilisation_percent = utilisation.gpu;
    row.memory_utilisation_percent = utilisation.memory;
  }
  if (wants(kHasTemperature))
    note(api_.temperature(handle_, kTemperatureGpu, &row.temperature_c), kHasTemperature, row, failed);
  if (wants(kHasThrottleReasons)) {
    unsigned long long reasons = 0;
    note(api_.throttle_reasons(handle_, &reasons), kHasThrottleReasons, row, failed);
    row.throttle_reasons = reasons;
  }
  if (wants(kHasMemoryUsed)) {
    Memory memory{};
    note(api_.memory(handle_, &memory), kHasMemoryUsed, row, failed);
    row.memory_used_bytes = memory.used;
  }
  if (wants(kHasEnergy)) read_energy(row, failed);
  return row;
}

std::string NvmlDevice::board() const {
  std::array<char, 96> text{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE
  if (api_.uuid == nullptr || api_.uuid(handle_, text.data(), text.size()) != kSuccess) return {};
  text.back() = '\0';
  return text.data();
}

bool NvmlDevice::mig() const noexcept {
  unsigned current = 0, pending = 0;
  return api_.mig_mode != nullptr && api_.mig_mode(handle_, &current, &pending) == kSuccess && current != 0;
}

bool find_devices(const NvmlApi& api, const DriverApi& driver, std::vector<NvmlDevice>& devices) {
  int count = 0;
  if (!driver.whole() || driver.count(&count) != 0) return true;
  bool more = false;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const auto id = static_cast<std::uint32_t>(ordinal);
    if (std::any_of(devices.begin(), devices.end(), [&](const NvmlDevice& known) { return known.cuda_id() == id; }))
      continue;
    int device = 0, in_use = count == 1 ? 1 : 0;
    unsigned flags = 0;
    if (driver.get(&device, ordinal) != 0 ||
        (in_use == 0 && (driver.primary_context(device, &flags, &in_use) != 0 || in_use == 0))) {
      more = true;
      continue;
    }
    std::array<char, 64> place{};
    Device handle = nullptr;
    if (driver.pci_bus_id(place.data(), static_cast<int>(place.size()), device) == 0 &&
        api.device_by_pci(place.data(), &handle) == kSuccess)
      devices.emplace_back(api, handle, id);
  }
  return more;
}

}  // namespace rangefinder::source::nvml
