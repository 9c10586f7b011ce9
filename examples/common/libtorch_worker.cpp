// SPDX-License-Identifier: MIT
#include "common/libtorch_worker.hpp"

#include <rangefinder/torch/memory.hpp>
#include <rangefinder/torch/operators.hpp>

#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace examples {
namespace {

namespace bench = rangefinder::bench;
using rangefinder::torch::MemoryRecording;
using rangefinder::torch::OperatorRecording;

/// What the driver says of its first device, asked without the toolkit's headers.
class Driver {
 public:
  Driver() : library_(::dlopen("libcuda.so.1", RTLD_NOW)) {}
  bench::DeviceFacts device() const {
    bench::DeviceFacts facts;
    facts.count = static_cast<unsigned>(torch::cuda::device_count());
    const auto name = function<int (*)(char*, int, int)>("cuDeviceGetName");
    const auto attribute = function<int (*)(int*, int, int)>("cuDeviceGetAttribute");
    if (facts.count == 0 || name == nullptr || attribute == nullptr) return facts;
    constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
    char text[256] = {};
    int major = 0, minor = 0;
    if (name(text, sizeof text - 1, 0) == 0) facts.name = text;
    if (attribute(&major, kMajor, 0) == 0 && attribute(&minor, kMinor, 0) == 0) facts.capability = major * 10 + minor;
    return facts;
  }
  std::string version() const {
    const auto ask = function<int (*)(int*)>("cuDriverGetVersion");
    int version = 0;
    if (ask == nullptr || ask(&version) != 0) return {};
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }

 private:
  template <typename Function>
  Function function(const char* name) const {
    return library_ != nullptr ? reinterpret_cast<Function>(::dlsym(library_, name)) : nullptr;
  }
  void* library_;  // never closed: LibTorch uses it too
};

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

c10::CachingAllocator::Stat device_bytes() {
  return at::getDeviceAllocator(at::kCUDA)->getDeviceStats(0).allocated_bytes[kAll];
}

/// While the steps of a profile run.
struct Profile {
  std::optional<MemoryRecording> devices;
  std::optional<OperatorRecording> operators;
};

}  // namespace

std::int64_t live_bytes(c10::Device device) {
  if (device.is_cuda()) return device_bytes().current;
  return static_cast<std::int64_t>(rangefinder::torch::host_memory().allocated_bytes);
}

bench::WorkerHooks libtorch_hooks() {
  // The host's bytes are exact from here on; the devices' are counted by their allocator anyway.
  static const MemoryRecording host({.cuda = false});
  static const Driver driver;
  static Profile profile;

  bench::WorkerHooks hooks;
  hooks.live_bytes = [](const std::string& device) { return live_bytes(c10::Device(device)); };
  hooks.peak_bytes = [](const std::string& device) -> std::int64_t {
    if (device == "cuda") return device_bytes().peak;
    return static_cast<std::int64_t>(rangefinder::torch::host_memory().peak_bytes);
  };
  hooks.reset_peak = [](const std::string& device) {
    if (device == "cuda") return at::getDeviceAllocator(at::kCUDA)->resetPeakStats(0);
    rangefinder::torch::reset_host_memory_peak();
  };
  hooks.begin_profile = [](bench::ProfileLevel level) {
    if (torch::cuda::is_available()) profile.devices.emplace(rangefinder::torch::MemoryRecordingOptions{.host = false});
    // Without a device, operators stand for its kernels.
    const bool deep = level == bench::ProfileLevel::kDeep || level == bench::ProfileLevel::kRoofline;
    if (deep || !torch::cuda::is_available())
      profile.operators.emplace(rangefinder::torch::OperatorOptions{.shapes = deep});
  };
  hooks.end_profile = [](bench::ProfileLevel level, const std::string& folder) -> std::vector<std::string> {
    profile.operators.reset();
    profile.devices.reset();
    if (level != bench::ProfileLevel::kDeep || !torch::cuda::is_available()) return {};
    const std::string path = folder + "/memory.pickle";
    rangefinder::torch::memory_snapshot(path).value();
    return {path};
  };
  hooks.cuda = [] { return driver.device(); };
  hooks.torch_version = TORCH_VERSION;
  hooks.driver_version = driver.version();
  return hooks;
}

}  // namespace examples
