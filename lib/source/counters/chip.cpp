// SPDX-License-Identifier: MIT
#include "source/counters/chip.hpp"

#include "source/cupti/cupti_error.hpp"

namespace rangefinder::source::counters {

Result<std::string> chip_of(const ProfilerApi& api, std::uint32_t device) {
  const auto failed = [](const char* call, CUptiResult result) {
    return Error(ErrorCode::kUnsupported, cupti::describe_failure(call, result));
  };
  auto initialize = sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  if (const CUptiResult result = api.cuptiProfilerInitialize(&initialize); result != CUPTI_SUCCESS)
    return failed("cuptiProfilerInitialize", result);
  auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  chip.deviceIndex = device;
  if (const CUptiResult result = api.cuptiDeviceGetChipName(&chip); result != CUPTI_SUCCESS)
    return failed("cuptiDeviceGetChipName", result);
  return std::string(chip.pChipName);
}

}  // namespace rangefinder::source::counters
