// SPDX-License-Identifier: MIT
#include "source/nvml/nvml_source.hpp"

#include "base/health_numbers.hpp"
#include "source/nvml/nvml_api.hpp"
#include "source/nvml/nvml_device.hpp"
#include "support/catch.hpp"
#include "support/deadlines.hpp"
#include "support/environment.hpp"
#include "support/scratch_folder.hpp"
#include "support/unpacking_sink.hpp"

#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/types.hpp>

#include <fake_nvml.h>

#include <atomic>
#include <chrono>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::source;
using namespace rangefinder::testing;
using namespace std::chrono_literals;

namespace {

std::atomic<std::int64_t> now_ns{1'000};
std::int64_t test_now() noexcept { return now_ns.load(); }

/// Keeps what the source says.
class Kept final : public UnpackingSink {
 public:
  format::NameId name(std::string_view) noexcept override { return 0; }
  void count(std::uint32_t number, std::uint64_t n) noexcept override { counts[number] += n; }
  void meta(std::string_view key, std::string_view value) noexcept override { facts[std::string(key)] = value; }
  void sample_clock() noexcept override {}

  std::vector<format::DeviceSampleRow> rows;
  std::map<std::uint32_t, std::uint64_t> counts;
  std::map<std::string, std::string> facts;

 protected:
  void write_rows(format::ChunkKind kind, const void* data, std::size_t row_bytes, std::size_t count,
                  std::span<const format::Field>) noexcept override {
    CHECK(kind == format::ChunkKind::kDeviceSamples);
    CHECK(row_bytes == sizeof(format::DeviceSampleRow));
    const auto* first = static_cast<const format::DeviceSampleRow*>(data);
    rows.insert(rows.end(), first, first + count);
  }
};

/// NVML as the double plays it, for the length of a test.
class Played {
 public:
  Played() {
    fakenvml_reset();
    now_ns = 1'000;
  }
  ~Played() { fakenvml_reset(); }

 private:
  Environment library_{"RANGEFINDER_NVML_LIBRARY", FAKE_NVML_PATH};
};

constexpr char kNotInUse[] =
    "the program uses no device so far: CUDA is not initialised, or no device has a primary context";

// Of itself it samples once when it goes on and once when it stops.
constexpr NvmlOptions kRarely{1h, test_now};

std::vector<nvml::NvmlDevice> devices_in_use(const nvml::NvmlApi& api) {
  std::vector<nvml::NvmlDevice> devices;
  nvml::find_devices(api, nvml::find_driver(), devices);
  return devices;
}

const format::DeviceSampleRow& row_of(const Kept& kept, std::uint32_t device) {
  for (const format::DeviceSampleRow& row : kept.rows)
    if (row.device == device) return row;
  throw std::runtime_error("no sample of that device");
}

}  // namespace

TEST_CASE("sensors of the devices that CUDA uses are sampled, by CUDA's numbers", "[nvml]") {
  const Played played;
  Kept kept;
  NvmlSource source(kRarely);
  source.start(kept);
  source.set_active(true);
  REQUIRE(eventually([&] {
    source.flush(soon());
    return kept.rows.size() >= 2;
  }));
  CHECK(source.state().working);
  CHECK(kept.facts["nvml_state"] == "full");
  CHECK(kept.facts["nvml_driver_version"] == "580.00");
  CHECK(kept.facts["nvml_board:0"] == "GPU-65");
  CHECK(kept.facts["nvml_board:1"] == "GPU-17");
  CHECK(kept.facts.count("nvml_mig:0") == 0);
  // NVML's first board is CUDA's second one.
  CHECK(row_of(kept, 0).power_mw == 300'000);
  const format::DeviceSampleRow& row = row_of(kept, 1);
  CHECK(row.power_mw == 100'000);
  CHECK(row.time_ns == 1'000);
  CHECK(row.present == (kHasUtilisation | kHasSmClock | kHasMemoryClock | kHasPower | kHasTemperature | kHasEnergy |
                        kHasThrottleReasons | kHasMemoryUsed));
  CHECK(row.gpu_utilisation_percent == 87);
  CHECK(row.memory_utilisation_percent == 35);
  CHECK(row.sm_clock_mhz == 1755);
  CHECK(row.memory_clock_mhz == 2619);
  CHECK(row.temperature_c == 61);
  CHECK(row.energy_mj == 1'000'000);
  CHECK(row.throttle_reasons == 4);
  CHECK(row.memory_used_bytes == std::uint64_t{2} << 30);
  now_ns = 5'000;
  source.stop(soon());
  REQUIRE(kept.rows.size() == 4);
  CHECK(kept.rows.back().time_ns == 5'000);
}

TEST_CASE("nothing is sampled while the recording is off", "[nvml]") {
  const Played played;
  Kept kept;
  NvmlSource source(kRarely);
  source.start(kept);
  source.stop(soon());
  CHECK(kept.rows.empty());
  CHECK(fakenvml_calls("nvmlDeviceGetFieldValues") == 0);
}

TEST_CASE("devices are looked for until the program has initialised CUDA", "[nvml]") {
  const Played played;
  fakenvml_set_cuda(0);
  Kept kept;
  NvmlSource source(kRarely);
  source.start(kept);
  source.set_active(true);
  REQUIRE(eventually([&] { return source.state().reason == kNotInUse; }));
  source.flush(soon());
  CHECK(kept.rows.empty());
  CHECK(kept.facts["nvml_state"] == kNotInUse);
  fakenvml_set_cuda(1);
  source.stop(soon());
  // A sample of each device at the end; and one more, where that of the beginning came after CUDA.
  CHECK((kept.rows.size() == 2 || kept.rows.size() == 4));
  CHECK(kept.facts["nvml_state"] == "full");
}

TEST_CASE("a device is sampled once the program uses it", "[nvml]") {
  const Played played;
  fakenvml_set_context(0, 0);
  fakenvml_set_mig(1);
  Kept kept;
  NvmlSource source(kRarely);
  source.start(kept);
  source.set_active(true);
  REQUIRE(eventually([&] {
    source.flush(soon());
    return !kept.rows.empty();
  }));
  REQUIRE(kept.rows.size() == 1);
  CHECK(kept.rows.front().device == 1);
  fakenvml_set_context(0, 1);
  source.stop(soon());
  REQUIRE(kept.rows.size() == 3);
  CHECK(kept.rows[1].device == 1);
  CHECK(kept.rows[2].device == 0);
  CHECK(kept.facts["nvml_board:0"] == "GPU-65");
  CHECK(kept.facts["nvml_mig:1"] == "on");
}

TEST_CASE("the only device is in use once CUDA is, with whatever contexts", "[nvml]") {
  const Played played;
  const nvml::NvmlApi api = nvml::load_nvml().value();
  fakenvml_set_context(0, 0);
  fakenvml_set_context(1, 0);
  CHECK(devices_in_use(api).empty());
  fakenvml_hide_second(1);
  CHECK(devices_in_use(api).size() == 1);
}

TEST_CASE("what the library or the driver lacks is said in one line", "[nvml]") {
  const Played played;
  Kept kept;
  NvmlSource source(kRarely);
  SECTION("no such file") {
    const Environment library("RANGEFINDER_NVML_LIBRARY", "/nowhere/libnvidia-ml.so.1");
    source.start(kept);
    source.stop(soon());
    CHECK(kept.facts["nvml_state"].find("RANGEFINDER_NVML_LIBRARY: /nowhere/libnvidia-ml.so.1") == 0);
  }
  SECTION("no driver") {
    fakenvml_fail("nvmlInit_v2", 9);
    source.start(kept);
    source.stop(soon());
    CHECK(kept.facts["nvml_state"].find(": nvmlInit: Driver Not Loaded") != std::string::npos);
  }
  CHECK_FALSE(source.state().working);
  CHECK(kept.rows.empty());
  CHECK(kept.counts.empty());
}

TEST_CASE("a sensor that a board lacks is asked once, and one that fails later is counted", "[nvml]") {
  const Played played;
  const nvml::NvmlApi api = nvml::load_nvml().value();
  std::vector<nvml::NvmlDevice> devices = devices_in_use(api);
  REQUIRE(devices.size() == 2);
  nvml::NvmlDevice& device = devices.front();
  std::uint64_t failed = 0;
  fakenvml_fail("nvmlDeviceGetTemperature", 3);
  CHECK((device.sample(test_now, failed).present & kHasTemperature) == 0);
  CHECK((device.sample(test_now, failed).present & kHasTemperature) == 0);
  CHECK(fakenvml_calls("nvmlDeviceGetTemperature") == 1);
  CHECK(failed == 0);
  fakenvml_fail("nvmlDeviceGetMemoryInfo", 15);  // the device is gone
  CHECK((device.sample(test_now, failed).present & kHasMemoryUsed) == 0);
  CHECK(failed == 1);
}

TEST_CASE("a sensor that fails at first is asked again, and counted", "[nvml]") {
  const Played played;
  const nvml::NvmlApi api = nvml::load_nvml().value();
  std::vector<nvml::NvmlDevice> devices = devices_in_use(api);
  std::uint64_t failed = 0;
  fakenvml_fail("nvmlDeviceGetTemperature", 999);
  fakenvml_fail("nvmlDeviceGetFieldValues", 999);
  CHECK((devices.at(0).sample(test_now, failed).present & (kHasTemperature | kHasPower)) == 0);
  CHECK(failed == 2);
  fakenvml_fail("nvmlDeviceGetTemperature", 0);
  fakenvml_fail("nvmlDeviceGetFieldValues", 0);
  const format::DeviceSampleRow row = devices.at(0).sample(test_now, failed);
  CHECK((row.present & (kHasTemperature | kHasPower | kPowerIsMean)) == (kHasTemperature | kHasPower));
  CHECK(failed == 2);
}

TEST_CASE("power that could not be read is no power of 0", "[nvml]") {
  const Played played;
  const nvml::NvmlApi api = nvml::load_nvml().value();
  std::vector<nvml::NvmlDevice> devices = devices_in_use(api);
  std::uint64_t failed = 0;
  CHECK(devices.at(0).sample(test_now, failed).power_mw == 300'000);
  fakenvml_fail("nvmlDeviceGetFieldValues", 15);  // the device is gone
  CHECK((devices.at(0).sample(test_now, failed).present & kHasPower) == 0);
  CHECK(failed == 1);
}

TEST_CASE("power is the mean of the driver where it does not tell that of the moment, and says so", "[nvml]") {
  const Played played;
  fakenvml_fail("nvmlDeviceGetFieldValues", 3);
  const nvml::NvmlApi api = nvml::load_nvml().value();
  std::vector<nvml::NvmlDevice> devices = devices_in_use(api);
  std::uint64_t failed = 0;
  const format::DeviceSampleRow row = devices.at(0).sample(test_now, failed);
  CHECK((row.present & (kHasPower | kPowerIsMean)) == (kHasPower | kPowerIsMean));
  CHECK(row.power_mw == 300'000);
  devices.at(0).sample(test_now, failed);
  CHECK(fakenvml_calls("nvmlDeviceGetFieldValues") == 1);
  CHECK(failed == 0);
}

TEST_CASE("the counter of energy, which is slow, is read every 100 ms", "[nvml]") {
  const Played played;
  const nvml::NvmlApi api = nvml::load_nvml().value();
  std::vector<nvml::NvmlDevice> devices = devices_in_use(api);
  std::uint64_t failed = 0;
  const auto has_energy = [&](std::int64_t time) {
    now_ns = time;
    return (devices.at(0).sample(test_now, failed).present & kHasEnergy) != 0;
  };
  CHECK(has_energy(1'000'000'000));
  CHECK_FALSE(has_energy(1'099'999'999));
  CHECK(has_energy(1'100'000'000));
  CHECK(has_energy(900'000'000));  // the clock was set back
}

TEST_CASE("a driver that hangs is left behind by stop, and counted", "[nvml][fault]") {
  const Played played;
  fakenvml_hang(1);
  Kept kept;
  {
    NvmlSource source(kRarely);
    source.start(kept);
    source.set_active(true);
    REQUIRE(eventually([&] { return fakenvml_calls("nvmlDeviceGetHandleByPciBusId_v2") == 2; }));
    source.stop(std::chrono::steady_clock::now());
    CHECK(kept.counts[health::failed_device_samples] == 1);
  }
  CHECK(kept.rows.empty());
  fakenvml_hang(0);
  // Its thread ends by itself; what it reads goes nowhere.
  CHECK(eventually([&] { return fakenvml_calls("nvmlDeviceGetMemoryInfo") >= 2; }));
  CHECK(kept.rows.empty());
}

TEST_CASE("a session stores samples on its own clock, and its device state is not theirs", "[nvml]") {
  const Played played;
  const ScratchFolder folder;
  SessionOptions options;
  options.output = folder.file("sensors.rfcap");
  options.cuda = false;
  options.nvtx = false;
  options.nvml_period = 1h;
  std::string device;
  {
    Session session(options);
    REQUIRE(session.status().ok());
    device = session.device().reason;
    session.stop().value();
  }
  CHECK(device == "switched off (cuda=off)");
  const Timeline timeline = load_timeline(options.output).value();
  const SensorSampleTable& samples = timeline.sensor_samples;
  REQUIRE(samples.size() >= 2);  // one of each device when it stopped, and maybe one when it went on
  CHECK(timeline.devices.size() == 2);
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    CHECK(samples.power_mw[i] == (timeline.devices[samples.device[i]].id == 0 ? 300'000 : 100'000));
    CHECK(samples.time_ns[i] > now - 600'000'000'000);
    CHECK(samples.time_ns[i] <= now);
  }
  for (const std::string& note : timeline.notes) CHECK(note.find("sensors") == std::string::npos);
}
