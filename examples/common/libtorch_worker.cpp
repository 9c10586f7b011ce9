// SPDX-License-Identifier: MIT
#include "common/libtorch_worker.hpp"

#include "common/device_peaks.hpp"

#include <rangefinder/torch/collectives.hpp>
#include <rangefinder/torch/memory.hpp>
#include <rangefinder/torch/operators.hpp>

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <dlfcn.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace examples {
namespace {

namespace bench = rangefinder::bench;
using rangefinder::torch::CollectiveRecording;
using rangefinder::torch::MemoryRecording;
using rangefinder::torch::OperatorRecording;

/// A library of the driver, asked without the toolkit's headers. Never closed: LibTorch uses it too.
class DriverLibrary {
 public:
  explicit DriverLibrary(const char* name) : library_(::dlopen(name, RTLD_NOW)) {}
  /// Null where the library or the function is missing.
  template <typename Function>
  Function* function(const char* name) const {
    return library_ != nullptr ? reinterpret_cast<Function*>(::dlsym(library_, name)) : nullptr;
  }

 private:
  void* library_;
};

/// What the driver says of its first device.
class Driver {
 public:
  bench::DeviceFacts device() const {
    bench::DeviceFacts facts;
    facts.count = static_cast<unsigned>(torch::cuda::device_count());
    const auto name = library_.function<int(char*, int, int)>("cuDeviceGetName");
    const auto attribute = library_.function<int(int*, int, int)>("cuDeviceGetAttribute");
    if (facts.count == 0 || name == nullptr || attribute == nullptr) return facts;
    constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
    char text[256] = {};
    int major = 0, minor = 0;
    if (name(text, sizeof text - 1, 0) == 0) facts.name = text;
    if (attribute(&major, kMajor, 0) == 0 && attribute(&minor, kMinor, 0) == 0) facts.capability = major * 10 + minor;
    return facts;
  }
  std::string version() const {
    const auto ask = library_.function<int(int*)>("cuDriverGetVersion");
    int version = 0;
    if (ask == nullptr || ask(&version) != 0) return {};
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  /// "00000000:1B:00.0"
  std::string bus_id() const {
    const auto ask = library_.function<int(char*, int, int)>("cuDeviceGetPCIBusId");
    char text[32] = {};
    return ask != nullptr && ask(text, sizeof text - 1, 0) == 0 ? text : "";
  }
  const DriverLibrary& library() const { return library_; }

 private:
  DriverLibrary library_{"libcuda.so.1"};
};

/// Two events in the default stream, which LibTorch computes in unless it is told otherwise.
class DeviceSpan {
 public:
  explicit DeviceSpan(const DriverLibrary& driver)
      : create_(driver.function<int(void**, unsigned)>("cuEventCreate")),
        record_(driver.function<int(void*, void*)>("cuEventRecord")),
        wait_(driver.function<int(void*)>("cuEventSynchronize")),
        elapsed_(driver.function<int(float*, void*, void*)>("cuEventElapsedTime")) {}

  void begin() {
    constexpr unsigned kDefault = 0;
    if (begin_ == nullptr && (create_ == nullptr || record_ == nullptr || wait_ == nullptr || elapsed_ == nullptr ||
                              create_(&begin_, kDefault) != 0 || create_(&end_, kDefault) != 0))
      begin_ = nullptr;
    marked_ = begin_ != nullptr && record_(begin_, nullptr) == 0;
  }
  void end() { marked_ = marked_ && record_(end_, nullptr) == 0; }
  std::int64_t ns() const {
    float ms = 0;
    if (!marked_ || wait_(end_) != 0 || elapsed_(&ms, begin_, end_) != 0) return -1;
    return std::llround(static_cast<double>(ms) * 1e6);
  }

 private:
  int (*create_)(void**, unsigned);
  int (*record_)(void*, void*);
  int (*wait_)(void*);
  int (*elapsed_)(float*, void*, void*);
  void *begin_ = nullptr, *end_ = nullptr;
  bool marked_ = false;
};

/// What the first device has taken since its driver was loaded.
class DeviceEnergy {
 public:
  explicit DeviceEnergy(const Driver& driver)
      : total_(library_.function<int(void*, unsigned long long*)>("nvmlDeviceGetTotalEnergyConsumption")) {
    const auto start = library_.function<int()>("nvmlInit_v2");
    const auto find = library_.function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    const std::string bus_id = driver.bus_id();
    if (start == nullptr || find == nullptr || bus_id.empty() || start() != 0 || find(bus_id.c_str(), &device_) != 0)
      device_ = nullptr;
  }
  std::int64_t mj() const {
    unsigned long long total = 0;
    return device_ != nullptr && total_ != nullptr && total_(device_, &total) == 0 ? static_cast<std::int64_t>(total)
                                                                                   : -1;
  }
  /// The longest time between two changes of that reading, of a few; -1: it did not change. Takes as long.
  std::int64_t period_ns() const {
    using Clock = std::chrono::steady_clock;
    constexpr int kChanges = 4;
    const auto until = Clock::now() + std::chrono::seconds(2);
    std::int64_t longest_ns = -1, before = mj();
    auto changed = Clock::time_point::max();  // no first change to count from
    for (int changes = 0; changes < kChanges && Clock::now() < until;) {
      const std::int64_t reading = mj();
      if (reading == before) continue;
      const auto now = Clock::now();
      if (changes++ > 0)
        longest_ns = std::max(longest_ns, std::int64_t{std::chrono::nanoseconds(now - changed).count()});
      before = reading;
      changed = now;
    }
    return longest_ns;
  }

 private:
  DriverLibrary library_{"libnvidia-ml.so.1"};
  int (*total_)(void*, unsigned long long*);
  void* device_ = nullptr;
};

/// Writes more than any cache holds, outside of the allocators that are measured.
class CacheFlush {
 public:
  explicit CacheFlush(const DriverLibrary& driver)
      : allocate_(driver.function<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")),
        fill_(driver.function<int(std::uint64_t, unsigned char, std::size_t)>("cuMemsetD8_v2")) {}

  void run(const std::string& device) {
    ++value_;
    if (device != "cuda") return host_.assign(kBytes, static_cast<char>(value_));
    const bool can = allocate_ != nullptr && fill_ != nullptr && (at_ != 0 || allocate_(&at_, kBytes) == 0);
    TORCH_CHECK(can && fill_(at_, value_, kBytes) == 0, "cannot fill the caches of the device");
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{256} << 20;
  int (*allocate_)(std::uint64_t*, std::size_t);
  int (*fill_)(std::uint64_t, unsigned char, std::size_t);
  std::uint64_t at_ = 0;
  std::vector<char> host_;
  unsigned char value_ = 0;
};

/// Of the runtime that LibTorch was built with, where it can be used: "13.0".
std::string cuda_version() {
  if (!torch::cuda::is_available()) return {};
  const long version = at::detail::getCUDAHooks().versionCUDART();
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

c10::CachingAllocator::Stat device_bytes() {
  return at::getDeviceAllocator(at::kCUDA)->getDeviceStats(0).allocated_bytes[kAll];
}

const Driver& driver() {
  static const Driver the_driver;
  return the_driver;
}

DeviceSpan& device_span() {
  static DeviceSpan span(driver().library());
  return span;
}

const DeviceEnergy& energy() {
  static const DeviceEnergy the_energy(driver());
  return the_energy;
}

/// While the steps of a profile run.
struct Profile {
  std::optional<MemoryRecording> devices;
  std::optional<OperatorRecording> operators;
  std::optional<CollectiveRecording> collectives;
};

}  // namespace

std::int64_t live_bytes(c10::Device device) {
  if (device.is_cuda()) return device_bytes().current;
  return static_cast<std::int64_t>(rangefinder::torch::host_memory().allocated_bytes);
}

int cuda_capability() { return driver().device().capability; }

bench::WorkerHooks libtorch_hooks() {
  // The host's bytes are exact from here on; the devices' are counted by their allocator anyway.
  static const MemoryRecording host({.cuda = false});
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
    // Of several ranks alone: it has LibTorch collect the inputs of all operators.
    if (std::getenv("WORLD_SIZE") != nullptr) profile.collectives.emplace();
  };
  hooks.end_profile = [](bench::ProfileLevel level, const std::string& folder) -> std::vector<std::string> {
    profile.collectives.reset();
    profile.operators.reset();
    profile.devices.reset();
    if (level != bench::ProfileLevel::kDeep || !torch::cuda::is_available()) return {};
    const std::string path = folder + "/memory.pickle";
    rangefinder::torch::memory_snapshot(path).value();
    return {path};
  };
  hooks.begin_device_span = [](const std::string& device) {
    if (device == "cuda") device_span().begin();
  };
  hooks.end_device_span = [](const std::string& device) {
    if (device == "cuda") device_span().end();
  };
  hooks.device_span_ns = [](const std::string& device) { return device == "cuda" ? device_span().ns() : -1; };
  hooks.energy_mj = [](const std::string& device) -> std::int64_t { return device == "cuda" ? energy().mj() : -1; };
  hooks.energy_period_ns = [](const std::string& device) -> std::int64_t {
    if (device != "cuda" || energy().mj() < 0) return -1;
    static const std::int64_t period_ns = energy().period_ns();
    return period_ns;
  };
  hooks.flush_cache = [](const std::string& device) {
    static CacheFlush flush(driver().library());
    flush.run(device);
  };
  hooks.measure_peaks = [](const std::string& device, double seconds) {
    return measure_device(c10::Device(device), seconds);
  };
  hooks.cuda = [] { return driver().device(); };
  hooks.torch_version = TORCH_VERSION;
  hooks.cuda_version = cuda_version();
  hooks.driver_version = driver().version();
  return hooks;
}

}  // namespace examples
