// SPDX-License-Identifier: MIT
#include "source/counters/device_probe.hpp"

#include "source/counters/chip.hpp"
#include "source/cupti/cupti_error.hpp"

namespace rangefinder::source::counters {
namespace {

/// What of the device or its surroundings makes it impossible; empty: nothing.
std::string obstacle(const CUpti_Profiler_DeviceSupported_Params& answer) {
  const auto lacks = [](CUpti_Profiler_Support_Level level) { return level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED; };
  if (lacks(answer.architecture))
    return "the device is too old: counting ranges needs Volta or newer, sampling Turing or newer";
  if (lacks(answer.confidentialCompute)) return "not possible in confidential computing mode";
  if (lacks(answer.vGpu)) return "virtual GPU: its host must allow profiling";
  if (lacks(answer.wsl)) return "not possible under WSL with this driver";
  if (lacks(answer.cmp)) return "mining cards (CMP) cannot be profiled";
  if (lacks(answer.sli)) return "not possible on devices linked by SLI";
  return "this device, or this CUPTI, does not support it";
}

bool supports(const ProfilerApi& api, CUdevice device, CUpti_Profiler_API what, std::string& problem) {
  auto params = sized<CUpti_Profiler_DeviceSupported_Params>(CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE);
  params.cuDevice = device;
  params.api = what;
  const CUptiResult result = api.cuptiProfilerDeviceSupported(&params);
  if (result == CUPTI_SUCCESS && params.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return true;
  if (problem.empty()) {
    problem =
        result == CUPTI_SUCCESS ? obstacle(params) : cupti::describe_failure("cuptiProfilerDeviceSupported", result);
  }
  return false;
}

/// Support does not tell of rights, nor of other tools: only trying does.
void try_sampling(const ProfilerApi& api, DeviceProbe& probe) {
  auto enable = sized<CUpti_PmSampling_Enable_Params>(CUpti_PmSampling_Enable_Params_STRUCT_SIZE);
  enable.deviceIndex = probe.device;
  const CUptiResult result = api.cuptiPmSamplingEnable(&enable);
  if (result != CUPTI_SUCCESS) {
    probe.problem = cupti::describe_failure("cuptiPmSamplingEnable", result);
    return;
  }
  auto disable = sized<CUpti_PmSampling_Disable_Params>(CUpti_PmSampling_Disable_Params_STRUCT_SIZE);
  disable.pPmSamplingObject = enable.pPmSamplingObject;
  (void)api.cuptiPmSamplingDisable(&disable);
}

}  // namespace

Result<std::vector<DeviceProbe>> probe_devices(const ProfilerApi& api) {
  if (Status status = check_range_profiler(api); !status.ok()) return std::move(status).error();
  if (Status status = check_pm_sampling(api); !status.ok()) return std::move(status).error();
  int count = 0;
  if (api.cuInit(0) != CUDA_SUCCESS || api.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0)
    return Error(ErrorCode::kNotFound, "no device: check nvidia-smi and CUDA_VISIBLE_DEVICES");
  std::vector<DeviceProbe> probes;
  for (int device = 0; device < count; ++device) {
    DeviceProbe probe;
    probe.device = static_cast<std::uint32_t>(device);
    if (Result<std::string> chip = chip_of(api, probe.device); chip.ok())
      probe.chip = std::move(*chip);
    else
      probe.problem = chip.error().message();
    probe.counts_ranges = supports(api, device, CUPTI_PROFILER_RANGE_PROFILING, probe.problem);
    probe.samples = supports(api, device, CUPTI_PROFILER_PM_SAMPLING, probe.problem);
    if (probe.samples && probe.problem.empty()) try_sampling(api, probe);
    probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace rangefinder::source::counters
