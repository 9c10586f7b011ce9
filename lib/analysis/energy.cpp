// SPDX-License-Identifier: MIT
#include "analysis/energy.hpp"

#include "analysis/running_time.hpp"
#include "analysis/sampled_series.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

namespace rangefinder::analysis {
namespace {

// In milliwatts times nanoseconds.
constexpr double kPerMillijoule = 1e9;
// NVML's reasons that mean less work: limits of power and heat, and the board's own brakes.
constexpr std::uint64_t kThrottled = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

struct Sensors {
  SampledSeries power;
  SampledSeries sm_clock;
  SampledSeries memory_clock;
  SampledSeries throttled;
  bool power_is_mean = false;
  std::int64_t first_counter_ns = 0, last_counter_ns = 0;
  std::uint64_t first_counter_mj = 0, last_counter_mj = 0;
  std::size_t counter_readings = 0;

  double millijoules(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return power.integral(begin_ns, end_ns) / kPerMillijoule;
  }
};

/// For each device the first one of the same board.
std::vector<DeviceIndex> boards_of(const Timeline& timeline) {
  std::vector<DeviceIndex> out(timeline.devices.size());
  std::map<std::string_view, DeviceIndex> known;
  for (DeviceIndex device{0}; device < out.size(); ++device) {
    const std::string_view board = timeline.devices[device].board;
    out[device] = board.empty() ? device : known.try_emplace(board, device).first->second;
  }
  return out;
}

std::vector<Sensors> sensors_of(const Timeline& timeline, const std::vector<DeviceIndex>& boards) {
  std::vector<Sensors> out(timeline.devices.size());
  const SensorSampleTable& samples = timeline.sensor_samples;
  // Each device's are in order; those of several processes are not.
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (timeline.processes.size() > 1)
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return samples.time_ns[a] < samples.time_ns[b]; });
  for (const std::size_t i : order) {
    Sensors& sensors = out[boards[samples.device[i]]];
    const std::uint32_t present = samples.present[i];
    const std::int64_t time = samples.time_ns[i];
    if ((present & kHasPower) != 0) sensors.power.add(time, samples.power_mw[i]);
    if ((present & kPowerIsMean) != 0) sensors.power_is_mean = true;
    if ((present & kHasSmClock) != 0) sensors.sm_clock.add(time, samples.sm_clock_mhz[i]);
    if ((present & kHasMemoryClock) != 0) sensors.memory_clock.add(time, samples.memory_clock_mhz[i]);
    if ((present & kHasThrottleReasons) != 0)
      sensors.throttled.add(time, (samples.throttle_reasons[i] & kThrottled) != 0 ? 1 : 0);
    // A counter that goes back was reset with the driver.
    if ((present & kHasEnergy) == 0 || samples.energy_mj[i] < sensors.last_counter_mj) continue;
    if (sensors.counter_readings++ == 0) {
      sensors.first_counter_ns = time;
      sensors.first_counter_mj = samples.energy_mj[i];
    }
    sensors.last_counter_ns = time;
    sensors.last_counter_mj = samples.energy_mj[i];
  }
  for (Sensors& sensors : out)
    for (SampledSeries* series : {&sensors.power, &sensors.sm_clock, &sensors.memory_clock, &sensors.throttled})
      series->finish();
  return out;
}

/// Energy of a device by what runs at the same time, each taking an equal share.
class SharedEnergy {
 public:
  SharedEnergy(const ActivityTable& activities, const std::vector<ActivityIndex>& on_device, const Sensors& sensors) {
    std::vector<std::pair<std::int64_t, int>> changes;
    changes.reserve(2 * on_device.size());
    for (const ActivityIndex activity : on_device) {
      if (activities.begin_ns[activity] >= activities.end_ns[activity]) continue;
      changes.emplace_back(activities.begin_ns[activity], 1);
      changes.emplace_back(activities.end_ns[activity], -1);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t running = 0;
    double each_mj = 0;
    for (std::size_t i = 0; i < changes.size();) {
      const std::int64_t time = changes[i].first;
      if (running > 0) {
        const double taken = sensors.millijoules(times_.back(), time);
        busy_mj_ += taken;
        each_mj += taken / static_cast<double>(running);
      }
      times_.push_back(time);
      each_mj_.push_back(each_mj);
      for (; i < changes.size() && changes[i].first == time; ++i) running += changes[i].second;
    }
  }

  double of(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return begin_ns < end_ns ? each_until(end_ns) - each_until(begin_ns) : 0;
  }
  double busy_mj() const noexcept { return busy_mj_; }

 private:
  double each_until(std::int64_t time) const noexcept {  // a boundary, always
    return each_mj_[static_cast<std::size_t>(std::lower_bound(times_.begin(), times_.end(), time) - times_.begin())];
  }

  std::vector<std::int64_t> times_;
  std::vector<double> each_mj_;  // that one who ran all the time would have taken
  double busy_mj_ = 0;
};

/// What is known of [begin_ns, end_ns), in which work of a range ran.
RangeEnergy energy_between(const Sensors& sensors, std::int64_t begin_ns, std::int64_t end_ns) {
  RangeEnergy out;
  out.running_mj = sensors.millijoules(begin_ns, end_ns);
  out.running_ns = end_ns - begin_ns;
  out.known_ns = sensors.power.covered_ns(begin_ns, end_ns);
  out.readings = static_cast<std::int64_t>(sensors.power.readings(begin_ns, end_ns));
  out.sm_clock_mhz_ns = sensors.sm_clock.integral(begin_ns, end_ns);
  out.sm_clock_ns = sensors.sm_clock.covered_ns(begin_ns, end_ns);
  out.memory_clock_mhz_ns = sensors.memory_clock.integral(begin_ns, end_ns);
  out.memory_clock_ns = sensors.memory_clock.covered_ns(begin_ns, end_ns);
  out.throttled_ns = sensors.throttled.integral(begin_ns, end_ns);
  out.throttle_known_ns = sensors.throttled.covered_ns(begin_ns, end_ns);
  return out;
}

std::optional<DeviceEnergy::Check> check_of(const Sensors& sensors) {
  if (sensors.counter_readings < 2) return std::nullopt;
  return DeviceEnergy::Check{static_cast<double>(sensors.last_counter_mj - sensors.first_counter_mj),
                             sensors.millijoules(sensors.first_counter_ns, sensors.last_counter_ns)};
}

}  // namespace

RangeEnergy& RangeEnergy::add(const RangeEnergy& other, int sign) noexcept {
  self_mj += sign * other.self_mj;
  running_mj += sign * other.running_mj;
  running_ns += sign * other.running_ns;
  known_ns += sign * other.known_ns;
  readings += sign * other.readings;
  sm_clock_mhz_ns += sign * other.sm_clock_mhz_ns;
  sm_clock_ns += sign * other.sm_clock_ns;
  memory_clock_mhz_ns += sign * other.memory_clock_mhz_ns;
  memory_clock_ns += sign * other.memory_clock_ns;
  throttled_ns += sign * other.throttled_ns;
  throttle_known_ns += sign * other.throttle_known_ns;
  return *this;
}

Energy energy_of_ranges(const Timeline& timeline, const Projection& projection) {
  Energy out;
  std::vector<double> self_mj(timeline.ranges.size());
  const std::vector<DeviceIndex> boards = boards_of(timeline);
  const std::vector<Sensors> sensors = sensors_of(timeline, boards);
  const RangeForest forest(projection);
  const CommonRange common(projection, forest);
  RunningIntegrals<RangeEnergy> running(timeline, projection, forest, common);
  const ActivityTable& activities = timeline.activities;
  std::vector<std::vector<ActivityIndex>> on_device(timeline.devices.size());
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity)
    on_device[boards[timeline.streams[activities.stream[activity]].device]].push_back(activity);
  for (DeviceIndex device{0}; device < timeline.devices.size(); ++device) {
    const Sensors& readings = sensors[device];
    if (readings.power.empty()) continue;
    std::vector<ActivityIndex>& work = on_device[device];
    std::stable_sort(work.begin(), work.end(),
                     [&](ActivityIndex a, ActivityIndex b) { return activities.begin_ns[a] < activities.begin_ns[b]; });
    const SharedEnergy shared(activities, work, readings);
    DeviceEnergy total;
    total.device = device;
    total.devices = static_cast<std::size_t>(std::count(boards.begin(), boards.end(), device));
    const std::int64_t first = readings.power.first_ns(), last = readings.power.last_ns();
    total.known_ns = readings.power.covered_ns(first, last);
    total.total_mj = readings.millijoules(first, last);
    total.power_is_mean = readings.power_is_mean;
    total.readings = readings.power.readings(first, last + 1);
    total.check = check_of(readings);
    for (const ActivityIndex activity : work) {
      const double taken = shared.of(activities.begin_ns[activity], activities.end_ns[activity]);
      const std::uint32_t owner = projection.owner[activity];
      if (owner < self_mj.size()) self_mj[owner] += taken;
      (owner < self_mj.size() ? total.owned_mj : total.unowned_mj) += taken;
    }
    total.idle_mj = std::max(0.0, total.total_mj - shared.busy_mj());
    out.devices.push_back(total);
    running.add(work,
                [&](std::int64_t begin_ns, std::int64_t end_ns) { return energy_between(readings, begin_ns, end_ns); });
  }
  out.ranges = running.take();
  for (RangeIndex range{0}; range < self_mj.size(); ++range) out.ranges[range].self_mj = self_mj[range];
  return out;
}

}  // namespace rangefinder::analysis
