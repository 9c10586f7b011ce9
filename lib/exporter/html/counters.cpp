// SPDX-License-Identifier: MIT
#include "exporter/html/counters.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace rangefinder::html {
namespace {

constexpr std::size_t kMostCounterTracks = 1024;

struct SensorField {
  std::uint32_t bit;
  const char* label;
  const char* unit;
  double (*value)(const SensorSampleRow& row);
};
constexpr SensorField kSensorFields[] = {
    {kHasUtilisation, "GPU utilization", "%",
     [](const SensorSampleRow& row) { return 1.0 * row.gpu_utilisation_percent; }},
    {kHasPower, "Power", "W", [](const SensorSampleRow& row) { return row.power_mw / 1e3; }},
    {kHasSmClock, "SM clock", "MHz", [](const SensorSampleRow& row) { return 1.0 * row.sm_clock_mhz; }},
    {kHasMemoryClock, "Memory clock", "MHz", [](const SensorSampleRow& row) { return 1.0 * row.memory_clock_mhz; }},
    {kHasTemperature, "Temperature", "C", [](const SensorSampleRow& row) { return 1.0 * row.temperature_c; }},
    {kHasMemoryUsed, "Memory used by all processes", "B",
     [](const SensorSampleRow& row) { return static_cast<double>(row.memory_used_bytes); }},
};

class CounterCollector {
 public:
  CounterCollector(const PageInput& input, PageOutput& output) : timeline_(input.timeline), output_(output) {}

  std::vector<CounterTrack> collect() {
    add_counters();
    add_sensors();
    add_samples();
    std::vector<CounterTrack> tracks;
    for (auto& [key, track] : tracks_) {
      thin_out(track);
      tracks.push_back(std::move(track));
    }
    if (left_out_ != 0) {
      output_.left_out += left_out_;
      output_.left_why.push_back(base::with_thousands(left_out_) +
                                 " samples of counters were left out: of each stretch of time the least and the "
                                 "greatest value are there");
    }
    return tracks;
  }

 private:
  // Of a process, then of a device; sensors before counters.
  using Key = std::tuple<int, std::uint32_t, int, std::string>;

  /// `group()` says under which heading a new track stands.
  template <typename Group>
  void add(const Key& key, std::int64_t time_ns, double value, const Group& group, const char* unit) {
    if (time_ns < timeline_.begin_ns || time_ns > timeline_.end_ns) return;
    auto found = tracks_.find(key);
    if (found == tracks_.end()) {
      if (tracks_.size() >= kMostCounterTracks) {
        ++left_out_;
        return;
      }
      found = tracks_.try_emplace(key).first;
      found->second = {group(), std::get<3>(key), unit, {}};
    }
    found->second.samples.emplace_back(time_ns, value);
  }

  void add_counters() {
    const CounterTable& counters = timeline_.counters;
    for (std::uint32_t row = 0; row < counters.size(); ++row) {
      const ThreadIndex thread = counters.thread[row];
      if (thread >= timeline_.threads.size()) continue;
      const ProcessIndex process = timeline_.threads[thread].process;
      if (process >= timeline_.processes.size()) continue;
      const double value = counters.is_integer[row] ? static_cast<double>(counters.integer[row]) : counters.number[row];
      add(
          {0, process, 0, std::string(timeline_.text(counters.name[row]))}, counters.time_ns[row], value,
          [&] { return process_label(timeline_, process); }, "");
    }
  }

  void add_sensors() {
    for (std::uint32_t row = 0; row < timeline_.sensor_samples.size(); ++row) {
      const SensorSampleRow sample = timeline_.sensor_samples.row(row);
      if (sample.device >= timeline_.devices.size()) continue;
      const auto group = [&] { return device_label(timeline_, sample.device); };
      int order = 0;
      for (const SensorField& field : kSensorFields) {
        ++order;
        if ((sample.present & field.bit) != 0)
          add({1, sample.device, order, field.label}, sample.time_ns, field.value(sample), group, field.unit);
      }
    }
  }

  void add_samples() {
    const PmSampleTable& samples = timeline_.pm_samples;
    constexpr int kBehindSensors = 100;
    for (std::uint32_t row = 0; row < samples.size(); ++row) {
      if (samples.device[row] >= timeline_.devices.size()) continue;
      add(
          {1, samples.device[row], kBehindSensors, std::string(timeline_.text(samples.metric[row]))},
          samples.begin_ns[row], samples.value[row], [&] { return device_label(timeline_, samples.device[row]); }, "");
    }
  }

  void thin_out(CounterTrack& track) {
    auto& samples = track.samples;
    std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (samples.size() <= kMostSamples) return;
    const std::size_t stretch = (samples.size() + kMostSamples / 2 - 1) / (kMostSamples / 2);
    std::vector<std::pair<std::int64_t, double>> kept;
    for (std::size_t first = 0; first < samples.size(); first += stretch) {
      const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = samples.begin() + static_cast<std::ptrdiff_t>(std::min(first + stretch, samples.size()));
      auto [least, greatest] =
          std::minmax_element(begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
      if (greatest < least) std::swap(least, greatest);
      kept.push_back(*least);
      if (least != greatest) kept.push_back(*greatest);
    }
    left_out_ += samples.size() - kept.size();
    samples = std::move(kept);
  }

  const Timeline& timeline_;
  PageOutput& output_;
  std::map<Key, CounterTrack> tracks_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

std::vector<CounterTrack> collect_counters(const PageInput& input, PageOutput& output) {
  return CounterCollector(input, output).collect();
}

}  // namespace rangefinder::html
