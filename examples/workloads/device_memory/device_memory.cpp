// SPDX-License-Identifier: MIT
#include "workloads/device_memory/device_memory.hpp"

#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace examples {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

}  // namespace

bool device_memory_built() noexcept { return true; }

DeviceMemoryCap::DeviceMemoryCap(std::int64_t bytes) {
  const c10::DeviceIndex device = c10::cuda::current_device();
  fraction_before_ = allocator::getMemoryFraction(device);
  allocator::emptyCache();  // what is cached and unused would be a budget of its own
  const auto total = static_cast<double>(allocator::get()->getMemoryInfo(device).second);
  const auto reserved = static_cast<double>(allocator::getDeviceStats(device).reserved_bytes[kAll].current);
  allocator::setMemoryFraction(std::min(1.0, (reserved + static_cast<double>(bytes)) / total), device);
}

DeviceMemoryCap::~DeviceMemoryCap() {
  try {
    allocator::setMemoryFraction(fraction_before_, c10::cuda::current_device());
  } catch (const c10::Error&) {  // a device that has failed fails the next operator, too
  }
}

struct DriverAllocator::Source {
  struct Block {
    std::shared_ptr<allocator::CUDAAllocator> from;
    void* data;
  };

  /// By its raw functions: a DataPtr of a pluggable allocator is freed by the one that is current, and the one that
  /// LibTorch uses cannot be changed any more once a tensor was made.
  static void free(void* block) {
    const std::unique_ptr<Block> owned(static_cast<Block*>(block));
    owned->from->raw_delete(owned->data);
  }

  std::atomic<std::int64_t> calls{0};
  std::shared_ptr<allocator::CUDAAllocator> pluggable = torch::cuda::CUDAPluggableAllocator::createCustomAllocator(
      [this](std::size_t bytes, int /*device*/, cudaStream_t /*stream*/) {
        void* block = nullptr;
        C10_CUDA_CHECK(cudaMalloc(&block, bytes));
        ++calls;
        return block;
      },
      [this](void* block, std::size_t /*bytes*/, int /*device*/, cudaStream_t /*stream*/) {
        C10_CUDA_CHECK(cudaFree(block));  // waits for the device
        ++calls;
      });
};

DriverAllocator::DriverAllocator() : source_(std::make_unique<Source>()) {}
DriverAllocator::~DriverAllocator() = default;

at::DataPtr DriverAllocator::allocate(std::size_t bytes) {
  const at::Device device(at::kCUDA, c10::cuda::current_device());
  if (bytes == 0) return {nullptr, device};
  void* const data = source_->pluggable->raw_alloc(bytes);
  return {data, new Source::Block{source_->pluggable, data}, &Source::free, device};
}

at::DeleterFnPtr DriverAllocator::raw_deleter() const { return nullptr; }  // data and context are two pointers
void DriverAllocator::copy_data(void* to, const void* from, std::size_t bytes) const {
  copy_on_device(to, from, bytes);
}
std::int64_t DriverAllocator::driver_calls() const { return source_->calls; }

void copy_on_device(void* to, const void* from, std::size_t bytes) {
  C10_CUDA_CHECK(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, c10::cuda::getCurrentCUDAStream().stream()));
}

struct PrivatePool::Pool {
  at::cuda::MemPool of_allocator;
};

PrivatePool::PrivatePool() : pool_(std::make_unique<Pool>()) {}
PrivatePool::~PrivatePool() = default;

PrivatePool::Use::Use(PrivatePool& pool) : pool_(pool) {
  at::cuda::MemPool& of_allocator = pool_.pool_->of_allocator;
  // LibTorch asks with the stream of an allocation, on the thread that allocates.
  const auto here = [thread = std::this_thread::get_id()](cudaStream_t) {
    return std::this_thread::get_id() == thread;
  };
  allocator::beginAllocateToPool(of_allocator.device(), of_allocator.id(), here);
}

PrivatePool::Use::~Use() {
  at::cuda::MemPool& of_allocator = pool_.pool_->of_allocator;
  allocator::endAllocateToPool(of_allocator.device(), of_allocator.id());
  allocator::releasePool(of_allocator.device(), of_allocator.id());  // beginAllocateToPool counts as a user
}

}  // namespace examples
