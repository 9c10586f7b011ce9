// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/exporters.hpp>

#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

CaptureBuilder sampled() {
  format::DeviceSampleRow row{};
  row.present = kHasPower | kHasSmClock | kHasMemoryUsed;
  row.power_mw = 312'500;
  row.sm_clock_mhz = 1755;
  row.memory_used_bytes = std::uint64_t{2} << 30;
  row.temperature_c = 61;  // not present
  CaptureBuilder capture;
  capture.range("step", 1'000, 9'000).launch(2'000).kernel("gemm", 3'000, 8'000).device_sample(4'000, row);
  row.power_mw = 400'000;
  return std::move(capture.on_device(1).device_sample(5'000, row));
}

void check(const Exported& trace) {
  require_sound(trace);
  const TraceEvent power = trace.one("", "power W, cuda:0");
  CHECK(power.phase == "C");
  CHECK(power["value"].number() == 312.5);
  CHECK(trace.one("", "power W, cuda:1")["value"].number() == 400);
  CHECK(trace.one("", "SM clock MHz, cuda:0")["value"].number() == 1755);
  CHECK(trace.one("", "memory in use bytes, cuda:0")["value"].number() == 2'147'483'648.0);
  CHECK(trace.all("", "temperature C, cuda:0").empty());
  CHECK(trace.one("", "power W, cuda:1").time_ns - power.time_ns == 1'000);
}

}  // namespace

TEST_CASE("sensors of devices are series of samples beside the device's streams", "[exporter]") {
  SECTION("of a capture") { check(Exported::of(sampled())); }
  SECTION("of a loaded one") {
    ChromeExportOptions options;
    options.attribution = Attribution::kAuto;
    check(Exported::of(sampled(), options));
  }
  SECTION("or not, where counters are left out") {
    ChromeExportOptions options;
    options.counters = false;
    CHECK(Exported::of(sampled(), options).all("", "power W, cuda:0").empty());
  }
}
