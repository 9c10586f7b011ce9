// SPDX-License-Identifier: MIT
#include "source/counters/device_probe.hpp"

#include "source/counters/counter_fixture.hpp"

#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::source::counters;
using namespace rangefinder::source::testing;

TEST_CASE("each device is asked what its counters can do", "[counters]") {
  const ProfiledProcess process;
  fakecupti_add_device(1, "Second");
  const Result<std::vector<DeviceProbe>> probes = probe_devices(*process.load()());
  REQUIRE(probes.ok());
  REQUIRE(probes->size() == 2);
  for (const DeviceProbe& probe : *probes) {
    CHECK(probe.chip == "GH100");
    CHECK(probe.counts_ranges);
    CHECK(probe.samples);
    CHECK(probe.problem.empty());
  }
  CHECK((*probes)[1].device == 1);
  CHECK(fakecupti_calls("cuptiPmSamplingDisable") == 2);  // nothing is left behind
}

TEST_CASE("rights and other tools show when sampling is tried", "[counters][fault]") {
  const ProfiledProcess process;
  for (const DocumentedError& error : kDocumentedErrors) {
    INFO(error.code);
    fakecupti_fail("cuptiPmSamplingEnable", error.code);
    const Result<std::vector<DeviceProbe>> probes = probe_devices(*process.load()());
    REQUIRE(probes.ok());
    REQUIRE(probes->size() == 1);
    CHECK(probes->front().problem.find(error.text) != std::string::npos);
  }
  fakecupti_fail("cuptiPmSamplingEnable", 0);
}

TEST_CASE("a device that cannot says what is in the way", "[counters][fault]") {
  ProfiledProcess process;
  process.change = [](ProfilerApi& api) {
    api.cuptiProfilerDeviceSupported = [](CUpti_Profiler_DeviceSupported_Params* params) {
      const bool ranges = params->api == CUPTI_PROFILER_RANGE_PROFILING;
      params->isSupported = ranges ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
      params->architecture = params->sli = params->cmp = params->wsl = params->confidentialCompute =
          CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
      params->vGpu = ranges ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED : CUPTI_PROFILER_CONFIGURATION_DISABLED;
      return CUPTI_SUCCESS;
    };
  };
  const Result<std::vector<DeviceProbe>> probes = probe_devices(*process.load()());
  REQUIRE(probes.ok());
  REQUIRE(probes->size() == 1);
  CHECK(probes->front().counts_ranges);
  CHECK_FALSE(probes->front().samples);
  CHECK(probes->front().problem == "virtual GPU: its host must allow profiling");
  CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 0);
}

TEST_CASE("without a device, or with an old library, there is nothing to ask", "[counters]") {
  ProfiledProcess process;
  SECTION("no driver") {
    fakecupti_set_driver(false);
    CHECK(probe_devices(*process.load()()).error().code() == ErrorCode::kNotFound);
  }
  SECTION("an old library") {
    process.change = [](ProfilerApi& api) { api.cuptiPmSamplingEnable = nullptr; };
    CHECK(probe_devices(*process.load()()).error().message().find("has no cuptiPmSamplingEnable") != std::string::npos);
  }
}
