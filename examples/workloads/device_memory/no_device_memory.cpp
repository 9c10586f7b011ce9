// SPDX-License-Identifier: MIT
// Where there was no toolkit of CUDA, or a LibTorch without CUDA.
#include "workloads/device_memory/device_memory.hpp"

#include <c10/util/Exception.h>

namespace examples {
namespace {
[[noreturn]] void not_built() { TORCH_CHECK(false, "built without a toolkit of CUDA"); }
}  // namespace

bool device_memory_built() noexcept { return false; }

DeviceMemoryCap::DeviceMemoryCap(std::int64_t /*bytes*/) { not_built(); }
DeviceMemoryCap::~DeviceMemoryCap() = default;

struct DriverAllocator::Source {};
DriverAllocator::DriverAllocator() { not_built(); }
DriverAllocator::~DriverAllocator() = default;
at::DataPtr DriverAllocator::allocate(std::size_t /*bytes*/) { not_built(); }
at::DeleterFnPtr DriverAllocator::raw_deleter() const { return nullptr; }
void DriverAllocator::copy_data(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) const { not_built(); }
std::int64_t DriverAllocator::driver_calls() const { not_built(); }
void copy_on_device(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/) { not_built(); }

struct PrivatePool::Pool {};
PrivatePool::PrivatePool() { not_built(); }
PrivatePool::~PrivatePool() = default;
PrivatePool::Use::Use(PrivatePool& pool) : pool_(pool) { not_built(); }
PrivatePool::Use::~Use() = default;

}  // namespace examples
