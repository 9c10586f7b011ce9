// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>

#include <c10/core/Allocator.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

// What LibTorch's allocators for CUDA can do beyond making tensors, without CUDA's headers: a program that was built
// without a toolkit has the same functions, which only say so.
namespace examples {

/// Whether the below can be used where there is a device.
bool device_memory_built() noexcept;
/// For Benchmark::skip: "feature_not_built" on a device where it cannot.
inline std::string skip_without_device_memory(const rangefinder::bench::Setup& setup) {
  return setup.device == "cuda" && !device_memory_built() ? "feature_not_built" : "";
}

/// While it lives, the caching allocator takes at most `bytes` more from the current device than it has now: what does
/// not fit throws c10::OutOfMemoryError, as on a device that is full.
class DeviceMemoryCap {
 public:
  explicit DeviceMemoryCap(std::int64_t bytes);
  ~DeviceMemoryCap();
  DeviceMemoryCap(const DeviceMemoryCap&) = delete;
  DeviceMemoryCap& operator=(const DeviceMemoryCap&) = delete;

 private:
  double fraction_before_ = 1;
};

/// A pluggable allocator without a cache: each block of the current device is the driver's (cudaMalloc, cudaFree).
/// Blocks are freed before it is.
class DriverAllocator : public at::Allocator {
 public:
  DriverAllocator();
  ~DriverAllocator() override;
  at::DataPtr allocate(std::size_t bytes) override;
  at::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, std::size_t bytes) const override;
  /// cudaMalloc and cudaFree, ever.
  std::int64_t driver_calls() const;

 private:
  struct Source;
  std::unique_ptr<Source> source_;
};

/// Copies on the current device, after what was launched on the current stream.
void copy_on_device(void* to, const void* from, std::size_t bytes);

/// A pool of the caching allocator (MemPool) whose segments serve nothing else. Tensors of it are freed before it is.
class PrivatePool {
 public:
  PrivatePool();
  ~PrivatePool();
  PrivatePool(const PrivatePool&) = delete;
  PrivatePool& operator=(const PrivatePool&) = delete;

  /// Tensors that this thread makes on the device while it lives are of the pool.
  class Use {
   public:
    explicit Use(PrivatePool& pool);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    PrivatePool& pool_;
  };

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace examples
