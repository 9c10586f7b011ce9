// SPDX-License-Identifier: MIT
#include "workloads/device_memory/device_memory.hpp"

#include <c10/core/CachingDeviceAllocator.h>
#include <torch/torch.h>

#include <optional>
#include <string>

#undef CHECK  // LibTorch's
#include "support/catch.hpp"

namespace {

std::string no_device_memory() {
  if (!torch::cuda::is_available()) return "no CUDA device";
  return examples::device_memory_built() ? "" : "built without a toolkit";
}

torch::Tensor bytes_on_device(std::int64_t count) {
  return torch::empty({count}, torch::TensorOptions(torch::kCUDA).dtype(torch::kByte));
}

std::int64_t reserved_bytes() {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return at::getDeviceAllocator(at::kCUDA)->getDeviceStats(0).reserved_bytes[kAll].current;
}

constexpr std::int64_t kMiB = 1 << 20;

}  // namespace

TEST_CASE("benchmarks of a device's memory are skipped where it was not built", "[examples]") {
  CHECK(examples::skip_without_device_memory({.device = "cpu"}).empty());
  CHECK(examples::skip_without_device_memory({.device = "cuda"}).empty() == examples::device_memory_built());
}

TEST_CASE("under a cap the device is full, and afterwards it is not", "[examples][gpu]") {
  if (const std::string why = no_device_memory(); !why.empty()) RANGEFINDER_SKIP(why);
  {
    const examples::DeviceMemoryCap cap(64 * kMiB);
    CHECK_NOTHROW(bytes_on_device(40 * kMiB));
    CHECK_THROWS_AS(bytes_on_device(200 * kMiB), c10::OutOfMemoryError);
  }
  CHECK_NOTHROW(bytes_on_device(200 * kMiB));
}

TEST_CASE("a driver's allocator calls the driver for each block", "[examples][gpu]") {
  if (const std::string why = no_device_memory(); !why.empty()) RANGEFINDER_SKIP(why);
  torch::zeros({1}, torch::kCUDA);
  examples::DriverAllocator allocator;
  const torch::Tensor value = torch::full({1}, 7.0F, torch::TensorOptions(torch::kCUDA).dtype(torch::kFloat));
  const torch::Tensor out = torch::zeros_like(value);
  {
    const at::DataPtr first = allocator.allocate(1000), second = allocator.allocate(1000);
    CHECK(first.get() != second.get());
    CHECK(first.device().is_cuda());
    examples::copy_on_device(first.get(), value.const_data_ptr(), sizeof(float));
    examples::copy_on_device(out.data_ptr(), first.get(), sizeof(float));
    CHECK(allocator.driver_calls() == 2);
  }
  CHECK(allocator.driver_calls() == 4);
  CHECK(out.item<float>() == 7);
}

TEST_CASE("a private pool has segments of its own, which go with it", "[examples][gpu]") {
  if (const std::string why = no_device_memory(); !why.empty()) RANGEFINDER_SKIP(why);
  at::getDeviceAllocator(at::kCUDA)->emptyCache();
  const std::int64_t before = reserved_bytes();
  {
    examples::PrivatePool pool;
    std::optional<torch::Tensor> kept;
    {
      const examples::PrivatePool::Use use(pool);
      kept = bytes_on_device(40 * kMiB);
    }
    CHECK(reserved_bytes() >= before + 40 * kMiB);
    kept.reset();
    const torch::Tensor other = bytes_on_device(40 * kMiB);  // what is free in the pool is not for it
    CHECK(reserved_bytes() >= before + 80 * kMiB);
  }
  at::getDeviceAllocator(at::kCUDA)->emptyCache();
  CHECK(reserved_bytes() == before);
}
