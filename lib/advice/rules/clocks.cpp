// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The clock of a device is held back by heat or by its power limit.
namespace rangefinder::advice {
namespace {

// NVML's bits.
constexpr std::uint64_t kIdle = 0x1, kPowerCap = 0x4, kSlowdown = 0x8, kHeat = 0x20 | 0x40, kPowerBrake = 0x80;
constexpr std::uint64_t kHeldBack = kPowerCap | kSlowdown | kHeat | kPowerBrake;
// Boost clocks move by some steps of 15 MHz at any load.
constexpr double kLeastSlower = 0.95;

/// Highest clock of multiprocessors, of NVIDIA's data sheets, in MHz; 0: not known.
std::uint32_t boost_clock_of(std::string_view device) noexcept {
  static constexpr std::pair<std::string_view, std::uint32_t> kClocks[] = {
      {"H100 PCIe", 1755}, {"H100", 1980}, {"H200", 1980}, {"GH200", 1980}, {"A100", 1410}, {"A30", 1440},
      {"V100", 1530},      {"L40S", 2520}, {"L40", 2490},  {"T4", 1590},    {"B200", 1965}, {"A10", 1695}};
  for (const auto& [name, mhz] : kClocks)
    if (device.find(name) != std::string_view::npos) return mhz;
  return 0;
}

struct Reading {
  std::int64_t time_ns;
  std::uint32_t mhz;
  bool held_back;
};

/// Of one device, in order of time; while it did something.
std::vector<Reading> readings_of(const Timeline& timeline, DeviceIndex device) {
  const SensorSampleTable& samples = timeline.sensor_samples;
  std::vector<Reading> out;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (samples.device[row] != device) continue;
    const std::uint32_t present = samples.present[row];
    if ((present & kHasSmClock) == 0 || (present & kHasThrottleReasons) == 0) continue;
    const std::uint64_t reasons = samples.throttle_reasons[row];
    if ((reasons & kIdle) != 0 || samples.sm_clock_mhz[row] == 0) continue;
    out.push_back({samples.time_ns[row], samples.sm_clock_mhz[row], (reasons & kHeldBack) != 0});
  }
  return out;
}

const char* reason_text(const Timeline& timeline, DeviceIndex device) {
  const SensorSampleTable& samples = timeline.sensor_samples;
  std::size_t heat = 0, power = 0;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if (samples.device[row] != device || (samples.present[row] & kHasThrottleReasons) == 0) continue;
    heat += (samples.throttle_reasons[row] & (kHeat | kSlowdown)) != 0 ? 1 : 0;
    power += (samples.throttle_reasons[row] & (kPowerCap | kPowerBrake)) != 0 ? 1 : 0;
  }
  return heat > power ? "heat" : "its power limit";
}

}  // namespace

Judgement judge_clocks(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  const char* const what_to_record =
      "clocks of the devices and why they are held back: record with nvml_period above 0 (nvml=on)";
  std::vector<std::vector<Reading>> readings(timeline.devices.size());
  std::vector<std::uint32_t> usual(timeline.devices.size());
  bool any = false, any_held_back = false;
  for (DeviceIndex device{0}; device < timeline.devices.size(); ++device) {
    readings[device] = readings_of(timeline, device);
    usual[device] = boost_clock_of(timeline.devices[device].name);
    for (const Reading& one : readings[device]) {
      any = true;
      any_held_back = any_held_back || one.held_back;
      if (!one.held_back) usual[device] = std::max(usual[device], one.mhz);
    }
  }
  if (!any) return Judgement::cannot_tell(what_to_record);
  if (!any_held_back) return Judgement::nothing();
  Change change;
  std::vector<std::int64_t> slow_ns(timeline.devices.size());
  for (const ActivityIndex kernel : context.work()) {
    if (timeline.activities.kind[kernel] != ActivityKind::kKernel) continue;
    if (context.families().of(kernel) == analysis::KernelFamily::kCommunication) continue;
    const DeviceIndex device = device_index_of(timeline, kernel);
    const std::vector<Reading>& of_device = readings[device];
    const auto after = std::partition_point(of_device.begin(), of_device.end(), [&](const Reading& one) {
      return one.time_ns <= timeline.activities.begin_ns[kernel];
    });
    if (after == of_device.begin() || usual[device] == 0) continue;
    const Reading& reading = *(after - 1);
    const double share = static_cast<double>(reading.mhz) / static_cast<double>(usual[device]);
    if (!reading.held_back || share > kLeastSlower) continue;
    change.scale_activity(timeline, kernel, share);
    slow_ns[device] += length_of(timeline, kernel) / 2;  // halves cannot overflow
  }
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  const auto worst = static_cast<std::size_t>(std::max_element(slow_ns.begin(), slow_ns.end()) - slow_ns.begin());
  std::vector<std::uint32_t> clocks;
  for (const Reading& one : readings[worst])
    if (one.held_back) clocks.push_back(one.mhz);
  std::nth_element(clocks.begin(), clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2), clocks.end());
  const std::uint32_t median = clocks[clocks.size() / 2];
  EvidenceTable none(context);
  AdviceFinding finding = finding_of(
      AdviceRule::kClocks, gain_ns, none,
      {"The clock of device " + std::to_string(timeline.devices[worst].id) + " is held back by " +
           reason_text(timeline, DeviceIndex(worst)) + ": " + std::to_string(median) + " MHz instead of " +
           std::to_string(usual[worst]),
       "Look at the machine: air flow, other devices beside it, its power limit (nvidia-smi -q -d "
       "PERFORMANCE,POWER,CLOCK; nvidia-smi -pl), locked clocks (nvidia-smi -lgc); compare with another machine",
       "`report --view energy` shows higher clocks and no throttled time"});
  finding.evidence.push_back({"device " + std::to_string(timeline.devices[worst].id),
                              "readings while the clock was held back", "", clocks.size(),
                              slow_ns[worst] / static_cast<std::int64_t>(context.frames().count()) * 2});
  return Judgement::found(std::move(finding));
}

}  // namespace rangefinder::advice
