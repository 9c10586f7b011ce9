// SPDX-License-Identifier: MIT
#include "source/nvml/nvml_api.hpp"

#include <cstdlib>

namespace rangefinder::source::nvml {
namespace {

const char* chosen_library() noexcept {
  // secure_getenv: a program with raised rights must not load what its caller names.
  const char* const chosen = ::secure_getenv("RANGEFINDER_NVML_LIBRARY");
  return chosen != nullptr && *chosen != '\0' ? chosen : nullptr;
}

template <typename Function>
void bind(const base::Library& library, Function& function, const char* name) {
  if (function == nullptr) function = library.function<Function>(name);
}

}  // namespace

Result<NvmlApi> load_nvml() {
  const char* const chosen = chosen_library();
  Result<base::Library> library = base::Library::open(chosen != nullptr ? chosen : "libnvidia-ml.so.1");
  if (!library) {
    if (chosen != nullptr) return std::move(library).error().with_context("RANGEFINDER_NVML_LIBRARY");
    return Error(ErrorCode::kNotFound,
                 "libnvidia-ml.so.1 was not found: it comes with the NVIDIA driver; in a container set "
                 "NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  }
  NvmlApi api;
  api.path = library->path();
  bind(*library, api.init, "nvmlInit_v2");
  bind(*library, api.error_string, "nvmlErrorString");
  bind(*library, api.device_by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
  if (api.init == nullptr || api.error_string == nullptr || api.device_by_pci == nullptr)
    return Error(ErrorCode::kUnsupported, api.path + ": lacks functions that NVML has had since 2013");
  bind(*library, api.driver_version, "nvmlSystemGetDriverVersion");
  bind(*library, api.utilisation, "nvmlDeviceGetUtilizationRates");
  bind(*library, api.clock, "nvmlDeviceGetClockInfo");
  bind(*library, api.power, "nvmlDeviceGetPowerUsage");
  bind(*library, api.field_values, "nvmlDeviceGetFieldValues");
  bind(*library, api.temperature, "nvmlDeviceGetTemperature");
  bind(*library, api.energy, "nvmlDeviceGetTotalEnergyConsumption");
  bind(*library, api.throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  bind(*library, api.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");  // its name in older drivers
  bind(*library, api.memory, "nvmlDeviceGetMemoryInfo");
  bind(*library, api.uuid, "nvmlDeviceGetUUID");
  bind(*library, api.mig_mode, "nvmlDeviceGetMigMode");
  return api;
}

DriverApi find_driver() noexcept {
  DriverApi api;
  const auto bind_all = [&](const base::Library& library) {
    bind(library, api.count, "cuDeviceGetCount");
    bind(library, api.get, "cuDeviceGet");
    bind(library, api.pci_bus_id, "cuDeviceGetPCIBusId");
    bind(library, api.primary_context, "cuDevicePrimaryCtxGetState");
  };
  try {
    if (const char* const chosen = chosen_library(); chosen != nullptr) {
      if (const Result<base::Library> library = base::Library::open(chosen)) bind_all(*library);
    }
    if (const Result<base::Library> library = base::Library::open("libcuda.so.1", true); library && !api.whole())
      bind_all(*library);
  } catch (...) {  // no memory for a message
  }
  return api;
}

}  // namespace rangefinder::source::nvml
