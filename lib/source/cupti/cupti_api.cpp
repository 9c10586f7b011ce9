// SPDX-License-Identifier: MIT
#include "source/cupti/cupti_api.hpp"

#include "base/other_tools.hpp"
#include "source/cupti/cupti_error.hpp"

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

namespace rangefinder::source::cupti {
namespace {

// Newest first: records only grow at the end within a major version, and 12's are prefixes of 13's. A newer major
// version has to be tried before it may stand here.
constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};

// Where a toolkit, or the wheels that carry the same files, keep libraries.
constexpr const char* kFolders[] = {"lib64", "lib", "extras/CUPTI/lib64", "targets/x86_64-linux/lib",
                                    "targets/sbsa-linux/lib"};

std::atomic<bool> initializing{false};

struct Driver {
  std::uint32_t version = 0;
  bool in_use = false;
};

// Without a driver CUPTI answers most calls with "unknown error" (999), so the driver is asked for by name first.
Result<Driver> find_driver() {
  Result<base::Library> driver = base::Library::open("libcuda.so.1");
  if (!driver)
    return Error(ErrorCode::kNotFound, "no NVIDIA driver in this process (" + driver.error().message() + ")");
  int version = 0;
  const auto get = driver->function<int (*)(int*)>("cuDriverGetVersion");
  if (get == nullptr || get(&version) != 0 || version < 0) version = 0;
  constexpr int kNotInitialized = 3;  // CUDA_ERROR_NOT_INITIALIZED
  int devices = 0;
  const auto count = driver->function<int (*)(int*)>("cuDeviceGetCount");
  const bool in_use = !initializing.load() && count != nullptr && count(&devices) != kNotInitialized;
  return Driver{static_cast<std::uint32_t>(version), in_use};
}

std::optional<base::Library> open_any() {
  for (const bool only_if_loaded : {true, false}) {
    for (const char* soname : kSonames) {
      if (Result<base::Library> found = base::Library::open(soname, only_if_loaded)) return *found;
    }
  }
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = ::secure_getenv(variable);
    if (root != nullptr && *root == '/') roots.emplace_back(root);
  }
#ifdef RANGEFINDER_CUPTI_BUILD_ROOT
  roots.emplace_back(RANGEFINDER_CUPTI_BUILD_ROOT);
#endif
  for (const std::string& root : roots) {
    for (const char* folder : kFolders) {
      for (const char* soname : kSonames) {
        if (Result<base::Library> found = base::Library::open(root + "/" + folder + "/" + soname)) return *found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void cuda_is_initializing(bool now) noexcept { initializing.store(now); }

std::string version_text(std::uint32_t version) {
  if (version >= 130000) {
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
  }
  static constexpr std::string_view kTwelve[] = {"12.0", "12.2", "12.3", "12.4", "12.5",
                                                 "12.6", "12.7", "12.8", "12.9", "12.9.1"};
  if (version == 18) return "12.1 or 11.8";
  if (version < 18) return "older than 11.8";
  if (version < 19 + std::size(kTwelve)) return std::string(kTwelve[version - 19]);
  return "of API version " + std::to_string(version);
}

Result<CuptiApi> bind_cupti(const base::Library& library) {
  CuptiApi api;
  api.path = library.path();
#define RANGEFINDER_CUPTI_BIND(name) api.name = library.function<decltype(api.name)>(#name);
  RANGEFINDER_CUPTI_REQUIRED(RANGEFINDER_CUPTI_BIND)
  RANGEFINDER_CUPTI_OPTIONAL(RANGEFINDER_CUPTI_BIND)
#undef RANGEFINDER_CUPTI_BIND
#define RANGEFINDER_CUPTI_DEMAND(name) \
  if (api.name == nullptr)             \
    return Error(ErrorCode::kUnsupported, api.path + ": has no " #name "; CUPTI of CUDA 12.0 or newer is needed");
  RANGEFINDER_CUPTI_REQUIRED(RANGEFINDER_CUPTI_DEMAND)
#undef RANGEFINDER_CUPTI_DEMAND
  if (const CUptiResult result = api.cuptiGetVersion(&api.version); result != CUPTI_SUCCESS)
    return Error(ErrorCode::kUnsupported, api.path + ": " + describe_failure("cuptiGetVersion", result));
  if (api.version < kOldestCupti) {
    return Error(ErrorCode::kUnsupported,
                 api.path + ": CUPTI " + version_text(api.version) + " is too old; CUDA 12.0 or newer is needed");
  }
  api.simulated = library.symbol("fakecupti_reset") != nullptr;
  return api;
}

Result<CuptiLibrary> find_cupti() {
  // secure_getenv: a program with raised rights must not load what its caller names.
  if (const char* chosen = ::secure_getenv("RANGEFINDER_CUPTI_LIBRARY"); chosen != nullptr && *chosen != '\0') {
    Result<base::Library> library = base::Library::open(chosen);
    if (!library) return std::move(library).error().with_context("RANGEFINDER_CUPTI_LIBRARY");
    return CuptiLibrary{*library};
  }
  Result<Driver> driver = find_driver();
  if (!driver) return std::move(driver).error();
  const std::optional<base::Library> library = open_any();
  if (!library) {
    return Error(ErrorCode::kNotFound,
                 "CUPTI not found (libcupti.so.13 or .12, by name and in CUDA_HOME): set CUDA_HOME, or install the "
                 "nvidia-cuda-cupti wheel and put its lib folder on the library path");
  }
  return CuptiLibrary{*library, driver->version, driver->in_use};
}

Status check_left_to_others() {
  for (const base::OtherTool& tool : base::other_tools()) {
    if (!tool.only_hears)
      return Error(ErrorCode::kBusy, "CUPTI is left to " + tool.text() + ": look at its report, or run without it");
  }
  return {};
}

Result<CuptiApi> load_cupti() {
  Result<CuptiLibrary> found = find_cupti();
  if (!found) return std::move(found).error();
  Result<CuptiApi> api = bind_cupti(found->library);
  if (!api) return api;
  api->driver_version = found->driver_version;
  api->cuda_in_use = found->cuda_in_use;
  return api;
}

}  // namespace rangefinder::source::cupti
