// SPDX-License-Identifier: MIT
#include "base/library.hpp"
#include "base/other_tools.hpp"
#include "doctor/checks.hpp"

#if RANGEFINDER_HAS_CUPTI
#include "source/counters/device_probe.hpp"
#include "source/cupti/cupti_api.hpp"
#endif

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace rangefinder::doctor {
namespace {

std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

constexpr const char* kInstallDriver =
    "on a machine with a GPU, install the NVIDIA driver; in a container, run with --gpus all. Host ranges are recorded "
    "without it";

#if RANGEFINDER_HAS_CUPTI
/// CUPTI is not looked for without a driver, so that installing CUPTI would not help there.
const char* cupti_fix(const Findings& findings) {
  if (const char* chosen = std::getenv("RANGEFINDER_CUPTI_LIBRARY"); chosen != nullptr && *chosen != '\0')
    return "set RANGEFINDER_CUPTI_LIBRARY to the path of libcupti.so, or unset it";
  const bool driver_missing = std::any_of(findings.begin(), findings.end(), [](const DoctorFinding& finding) {
    return finding.topic == "driver" && finding.state == State::kMissing;
  });
  return driver_missing ? kInstallDriver
                        : "install the CUDA toolkit or `pip install nvidia-cuda-cupti`, and set CUDA_HOME to it";
}
#endif

}  // namespace

void check_driver(Findings& findings) {
  const Result<base::Library> driver = base::Library::open("libcuda.so.1");
  if (!driver) {
    findings.push_back(
        {"driver", State::kMissing, "no NVIDIA driver is loaded (libcuda.so.1 was not found)", kInstallDriver});
    return;
  }
  int version = 0;
  using GetVersion = int (*)(int*);
  const auto get_version = driver->function<GetVersion>("cuDriverGetVersion");
  if (get_version == nullptr || get_version(&version) != 0) {
    findings.push_back({"driver", State::kMissing, "libcuda.so.1 was found but does not respond",
                        "check nvidia-smi; the kernel module may not be loaded"});
    return;
  }
  int devices = 0;
  const auto initialise = driver->function<int (*)(unsigned)>("cuInit");
  const auto count = driver->function<int (*)(int*)>("cuDeviceGetCount");
  const int status = initialise != nullptr ? initialise(0) : -1;
  if (status != 0 || count == nullptr || count(&devices) != 0 || devices == 0) {
    findings.push_back(
        {"driver", State::kMissing,
         "driver for CUDA " + cuda_version(version) + ", but no device (cuInit gives " + std::to_string(status) + ")",
         "check nvidia-smi and CUDA_VISIBLE_DEVICES"});
    return;
  }
  findings.push_back(
      {"driver",
       State::kGood,
       "CUDA " + cuda_version(version) + ", " + std::to_string(devices) + (devices == 1 ? " device" : " devices"),
       {}});
}

void check_cupti(Findings& findings) {
#if RANGEFINDER_HAS_CUPTI
  const Result<source::cupti::CuptiApi> api = source::cupti::load_cupti();
  if (!api) {
    findings.push_back({"CUPTI", State::kMissing, api.error().message(), cupti_fix(findings)});
    return;
  }
  const std::string what = source::cupti::version_text(api->version) + " from " + api->path;
  if (api->simulated) {
    findings.push_back(
        {"CUPTI", State::kNote, what + ": a simulation, no real device", "unset RANGEFINDER_CUPTI_LIBRARY"});
  } else {
    findings.push_back({"CUPTI", State::kGood, what, {}});
  }
#else
  findings.push_back({"CUPTI", State::kMissing, "this build has no CUPTI source",
                      "build with the CUDA toolkit's headers and -DRANGEFINDER_CUPTI=ON"});
#endif
}

void check_holders(Findings& findings) {
  const std::vector<base::OtherTool> others = base::other_tools();
  for (const base::OtherTool& tool : others) {
    if (tool.only_hears) {
      findings.push_back({"other tools", State::kNote, tool.text() + " listens to NVTX: ranges are sent to it, too",
                          "unset the variable for `rangefinder record`: only one tool can receive NVTX"});
    } else {
      findings.push_back(
          {"other tools", State::kNote,
           tool.text() +
               " has CUPTI: it hears our ranges where it listens to NVTX, and a recording has no device activity",
           "CUPTI serves one profiler per process: run without that tool to record device activity"});
    }
  }
  if (others.empty())
    findings.push_back({"other tools", State::kGood, "none that would take the CUPTI subscription", {}});
}

void check_counter_rights(Findings& findings) {
  std::ifstream parameters("/proc/driver/nvidia/params");
  if (!parameters) return;  // no driver: said already
  bool restricted = false;
  for (std::string line; std::getline(parameters, line);) restricted = restricted || line == "RmProfilingAdminOnly: 1";
  if (!restricted || ::geteuid() == 0) {
    findings.push_back(
        {"rights", State::kGood, "hardware counters are allowed; activity tracing needs no permission", {}});
  } else {
    findings.push_back({"rights", State::kNote,
                        "hardware counters are reserved to administrators; activity tracing needs no permission",
                        "for counters: run as root, add CAP_SYS_ADMIN, or load the driver with "
                        "NVreg_RestrictProfilingToAdminUsers=0"});
  }
}

void check_counters([[maybe_unused]] Findings& findings) {
#if RANGEFINDER_HAS_CUPTI
  const Result<source::counters::ProfilerApi> api = source::counters::load_profiler();
  if (!api && api.error().code() == ErrorCode::kNotFound) return;  // no driver or no CUPTI: said already
  const Result<std::vector<source::counters::DeviceProbe>> probes =
      api ? source::counters::probe_devices(*api) : Result<std::vector<source::counters::DeviceProbe>>(api.error());
  if (!probes) {
    if (probes.error().code() != ErrorCode::kNotFound)
      findings.push_back({"counters", State::kMissing, probes.error().message(), "use CUDA 12.6 or newer"});
    return;
  }
  for (const source::counters::DeviceProbe& probe : *probes) {
    const std::string device = "device " + std::to_string(probe.device) + (probe.chip.empty() ? "" : ", " + probe.chip);
    if (probe.problem.empty()) {
      findings.push_back(
          {"counters", State::kGood, device + ": of ranges (counters=) and over time (pm_sampling=)", {}});
      continue;
    }
    const std::string can = probe.counts_ranges && probe.samples ? "per range and over time, but not now"
                            : probe.counts_ranges                ? "per range, but not over time"
                            : probe.samples                      ? "over time, but not per range"
                                                                 : "none";
    findings.push_back({"counters", State::kNote, device + ": " + can, probe.problem});
  }
#endif
}

void check_nvml(Findings& findings) {
  const Result<base::Library> nvml = base::Library::open("libnvidia-ml.so.1");
  if (nvml.ok()) {
    findings.push_back({"NVML", State::kGood, nvml->path(), {}});
  } else {
    findings.push_back(
        {"NVML", State::kNote, "libnvidia-ml.so.1 was not found: no clocks, power and utilisation",
         "it comes with the NVIDIA driver; in a container set NVIDIA_DRIVER_CAPABILITIES=compute,utility"});
  }
}

}  // namespace rangefinder::doctor
