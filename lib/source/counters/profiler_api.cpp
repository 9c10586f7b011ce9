// SPDX-License-Identifier: MIT
#include "source/counters/profiler_api.hpp"

#include "source/cupti/cupti_api.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace rangefinder::source::counters {
namespace {

Error lacks(const ProfilerApi& api, const char* function) {
  return Error(ErrorCode::kUnsupported, (api.path.empty() ? std::string("CUPTI") : api.path) + ": has no " + function +
                                            "; hardware counters need CUPTI of CUDA 12.6 or newer and its driver");
}

/// CUPTI asks the loader for it by its name, which finds that of a toolkit. The wheels have it beside CUPTI, where
/// the loader does not look: without it every call of the host API fails. Once it is loaded, the name is enough.
void load_companion(const base::Library& cupti) {
  const std::string path = cupti.path();
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos) (void)base::Library::open(path.substr(0, slash + 1) + "libnvperf_host.so");
}

}  // namespace

#define RANGEFINDER_PROFILER_DEMAND(name) \
  if (api.name == nullptr) return lacks(api, #name);

Status check_host(const ProfilerApi& api) {
  RANGEFINDER_PROFILER_HOST(RANGEFINDER_PROFILER_DEMAND)
  return {};
}

Status check_range_profiler(const ProfilerApi& api) {
  RANGEFINDER_PROFILER_HOST(RANGEFINDER_PROFILER_DEMAND)
  RANGEFINDER_PROFILER_DEVICE(RANGEFINDER_PROFILER_DEMAND)
  RANGEFINDER_RANGE_PROFILER(RANGEFINDER_PROFILER_DEMAND)
  RANGEFINDER_PROFILER_DRIVER(RANGEFINDER_PROFILER_DEMAND)
  return {};
}

Status check_pm_sampling(const ProfilerApi& api) {
  RANGEFINDER_PROFILER_HOST(RANGEFINDER_PROFILER_DEMAND)
  RANGEFINDER_PROFILER_DEVICE(RANGEFINDER_PROFILER_DEMAND)
  RANGEFINDER_PM_SAMPLING(RANGEFINDER_PROFILER_DEMAND)
  RANGEFINDER_PROFILER_DRIVER(RANGEFINDER_PROFILER_DEMAND)
  return {};
}

#undef RANGEFINDER_PROFILER_DEMAND

ProfilerApi bind_profiler(const base::Library& library, const base::Library* driver) {
  ProfilerApi api;
  api.path = library.path();
  api.simulated = library.symbol("fakecupti_reset") != nullptr;
  if (!api.simulated) load_companion(library);
#define RANGEFINDER_PROFILER_BIND(name) api.name = library.function<decltype(api.name)>(#name);
  RANGEFINDER_PROFILER_HOST(RANGEFINDER_PROFILER_BIND)
  RANGEFINDER_PROFILER_DEVICE(RANGEFINDER_PROFILER_BIND)
  RANGEFINDER_RANGE_PROFILER(RANGEFINDER_PROFILER_BIND)
  RANGEFINDER_PM_SAMPLING(RANGEFINDER_PROFILER_BIND)
#undef RANGEFINDER_PROFILER_BIND
  if (driver == nullptr) return api;
#define RANGEFINDER_PROFILER_BIND(name) api.name = driver->function<decltype(api.name)>(#name);
  RANGEFINDER_PROFILER_DRIVER(RANGEFINDER_PROFILER_BIND)
#undef RANGEFINDER_PROFILER_BIND
  return api;
}

Result<ProfilerApi> load_profiler() {
  Result<cupti::CuptiLibrary> found = cupti::find_cupti();
  if (!found) return std::move(found).error();
  // A double plays the driver, too.
  const bool simulated = found->library.symbol("fakecupti_reset") != nullptr;
  Result<base::Library> driver =
      simulated ? Result<base::Library>(found->library) : base::Library::open("libcuda.so.1");
  ProfilerApi api = bind_profiler(found->library, driver.ok() ? &*driver : nullptr);
  if (Status status = check_host(api); !status.ok()) return std::move(status).error();
  return api;
}

}  // namespace rangefinder::source::counters
