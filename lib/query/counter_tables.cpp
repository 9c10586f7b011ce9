// SPDX-License-Identifier: MIT
#include "query/tables.hpp"

// Samples and counts: the program's counters, sensors, CPU events, hardware counters.
namespace rangefinder::query {
namespace {

const CounterTable& counters(const Model& model) noexcept { return model.timeline().counters; }

constexpr Column kCounterColumns[] = {
    {"name", Type::kText, "", "name of the counter track",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(counters(model).name[row])); }},
    {"thread_id", Type::kInteger, "", "row of threads",
     [](const Model& model, std::uint32_t row) { return id_of(counters(model).thread[row]); }},
    {"time_ns", Type::kInteger, "ns", "when",
     [](const Model& model, std::uint32_t row) { return number(counters(model).time_ns[row]); }},
    {"value", Type::kReal, "", "the sample",
     [](const Model& model, std::uint32_t row) {
       return counters(model).is_integer[row] ? number(static_cast<double>(counters(model).integer[row]))
                                              : number(counters(model).number[row]);
     }},
};
constexpr Lookup kCounterLookups[] = {{"thread_id", "time_ns"}, {"", "time_ns"}};

const SensorSampleTable& sensors(const Model& model) noexcept { return model.timeline().sensor_samples; }

template <auto Member, std::uint32_t Field>
Cell of_sensor(const Model& model, std::uint32_t row) {
  return (sensors(model).present[row] & Field) != 0 ? number((sensors(model).*Member)[row]) : null_cell();
}

constexpr Column kSensorColumns[] = {
    {"device_id", Type::kInteger, "", "row of devices",
     [](const Model& model, std::uint32_t row) { return id_of(sensors(model).device[row]); }},
    {"time_ns", Type::kInteger, "ns", "when; what follows is NULL where the sensor did not say",
     [](const Model& model, std::uint32_t row) { return number(sensors(model).time_ns[row]); }},
    {"gpu_utilisation_percent", Type::kInteger, "%", "of the driver's last sampling period, in which a kernel ran",
     of_sensor<&SensorSampleTable::gpu_utilisation_percent, kHasUtilisation>},
    {"memory_utilisation_percent", Type::kInteger, "%", "likewise, in which memory was read or written",
     of_sensor<&SensorSampleTable::memory_utilisation_percent, kHasUtilisation>},
    {"sm_clock_mhz", Type::kInteger, "MHz", "clock of the multiprocessors",
     of_sensor<&SensorSampleTable::sm_clock_mhz, kHasSmClock>},
    {"memory_clock_mhz", Type::kInteger, "MHz", "clock of the memory",
     of_sensor<&SensorSampleTable::memory_clock_mhz, kHasMemoryClock>},
    {"power_mw", Type::kInteger, "mW", "power of the board", of_sensor<&SensorSampleTable::power_mw, kHasPower>},
    {"temperature_c", Type::kInteger, "C", "temperature",
     of_sensor<&SensorSampleTable::temperature_c, kHasTemperature>},
    {"energy_mj", Type::kInteger, "mJ", "energy since the driver was loaded",
     of_sensor<&SensorSampleTable::energy_mj, kHasEnergy>},
    {"throttle_reasons", Type::kInteger, "", "NVML's bits",
     of_sensor<&SensorSampleTable::throttle_reasons, kHasThrottleReasons>},
    {"memory_used_bytes", Type::kInteger, "bytes", "memory that all processes use",
     of_sensor<&SensorSampleTable::memory_used_bytes, kHasMemoryUsed>},
};
constexpr Lookup kSensorLookups[] = {{"device_id", "time_ns"}, {"", "time_ns"}};

const CpuCounterTable& cpu(const Model& model) noexcept { return model.timeline().cpu_counters; }

template <CpuEvent Event>
Cell of_cpu(const Model& model, std::uint32_t row) {
  return if_known(cpu(model).counts[row][static_cast<std::size_t>(Event)]);
}

constexpr Column kCpuColumns[] = {
    {"range_id", Type::kInteger, "", "row of ranges; counts are of all inside it on its thread, NULL: not counted",
     [](const Model& model, std::uint32_t row) { return id_of(cpu(model).range[row]); }},
    {"cpu_ns", Type::kInteger, "ns", "time on a processor", of_cpu<CpuEvent::kCpuTime>},
    {"not_counted_ns", Type::kInteger, "ns", "of that, time in which other events had the hardware",
     of_cpu<CpuEvent::kNotCounted>},
    {"cycles", Type::kInteger, "", "cycles", of_cpu<CpuEvent::kCycles>},
    {"instructions", Type::kInteger, "", "instructions", of_cpu<CpuEvent::kInstructions>},
    {"cache_references", Type::kInteger, "", "cache references", of_cpu<CpuEvent::kCacheReferences>},
    {"cache_misses", Type::kInteger, "", "cache misses", of_cpu<CpuEvent::kCacheMisses>},
    {"branch_misses", Type::kInteger, "", "branch misses", of_cpu<CpuEvent::kBranchMisses>},
    {"page_faults", Type::kInteger, "", "page faults", of_cpu<CpuEvent::kPageFaults>},
    {"context_switches", Type::kInteger, "", "context switches", of_cpu<CpuEvent::kContextSwitches>},
};
constexpr Lookup kByRange[] = {{"range_id", ""}};

const RangeMetricTable& metrics(const Model& model) noexcept { return model.timeline().range_metrics; }

constexpr Column kMetricColumns[] = {
    {"range_id", Type::kInteger, "", "row of ranges",
     [](const Model& model, std::uint32_t row) { return id_of(metrics(model).range[row]); }},
    {"device_id", Type::kInteger, "", "row of devices",
     [](const Model& model, std::uint32_t row) { return id_of(metrics(model).device[row]); }},
    {"metric", Type::kText, "", "name of the metric, which ends in its unit",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(metrics(model).metric[row])); }},
    {"value", Type::kReal, "", "sum over the range; of a name that ends in _ratio the average",
     [](const Model& model, std::uint32_t row) { return number(metrics(model).value[row]); }},
};

const PmSampleTable& samples(const Model& model) noexcept { return model.timeline().pm_samples; }

constexpr Column kSampleColumns[] = {
    {"device_id", Type::kInteger, "", "row of devices",
     [](const Model& model, std::uint32_t row) { return id_of(samples(model).device[row]); }},
    {"metric", Type::kText, "", "name of the metric, which ends in its unit",
     [](const Model& model, std::uint32_t row) { return text(model.timeline().text(samples(model).metric[row])); }},
    {"begin_ns", Type::kInteger, "ns", "begin of the interval",
     [](const Model& model, std::uint32_t row) { return number(samples(model).begin_ns[row]); }},
    {"end_ns", Type::kInteger, "ns", "end of the interval",
     [](const Model& model, std::uint32_t row) { return number(samples(model).end_ns[row]); }},
    {"value", Type::kReal, "", "of this interval",
     [](const Model& model, std::uint32_t row) { return number(samples(model).value[row]); }},
};
constexpr Lookup kSampleLookups[] = {{"device_id", "begin_ns"}, {"", "begin_ns"}};

constexpr Table kCounterTables[] = {
    {"counters", "Samples of user counter tracks", kCounterColumns,
     [](const Model& model) { return model.timeline().counters.size(); }, kCounterLookups},
    {"sensor_samples", "Samples of devices' sensors", kSensorColumns,
     [](const Model& model) { return model.timeline().sensor_samples.size(); }, kSensorLookups},
    {"cpu_counters", "CPU events (perf events) of ranges", kCpuColumns,
     [](const Model& model) { return model.timeline().cpu_counters.size(); }, kByRange},
    {"range_metrics", "Hardware counters of ranges", kMetricColumns,
     [](const Model& model) { return model.timeline().range_metrics.size(); }, kByRange},
    {"pm_samples", "Samples of devices' hardware counters", kSampleColumns,
     [](const Model& model) { return model.timeline().pm_samples.size(); }, kSampleLookups},
};

}  // namespace

std::span<const Table> counter_tables() { return kCounterTables; }

}  // namespace rangefinder::query
