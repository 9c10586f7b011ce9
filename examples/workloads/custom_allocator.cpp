// SPDX-License-Identifier: MIT
// Memory by request: from the system each time, or from a pool of size classes behind the same interface of LibTorch;
// on a device from the driver each time, or from LibTorch's caching allocator. Requests of one size one after the
// other, then a trace of many sizes with some blocks alive.
#include "common/estimates.hpp"
#include "common/size_class_pool.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/device_memory/device_memory.hpp"

#include <rangefinder/range.hpp>

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace workloads::custom_allocator {

using examples::NamedTensor;
using examples::SizeClassPool;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

class PoolAllocator : public at::Allocator {
 public:
  at::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, at::Device(at::kCPU)};
    void* const block = pool_.allocate(bytes);
    // Data and context are one pointer: callers that want raw memory insist.
    return {block, block, &SizeClassPool::free_anywhere, at::Device(at::kCPU)};
  }
  at::DeleterFnPtr raw_deleter() const override { return &SizeClassPool::free_anywhere; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
  SizeClassPool::Counts counts() const { return pool_.counts(); }

 private:
  SizeClassPool pool_;
};

struct Sizes {
  std::int64_t requests, bytes, alive;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {50, 1 << 16, 4}, {1000, 1 << 20, 16}, {250, 1 << 20, 16});
}

constexpr std::int64_t kPlacesOnDevice = 2;  // of a block that are used: its first and its last element

bench::Estimate estimate(const bench::Setup& setup) {
  const double requests = 2 * static_cast<double>(sizes_of(setup.size).requests);  // of one size, then mixed
  const bool cuda = setup.device == "cuda";
  return {.input_bytes = (examples::kFloatBytes + examples::kIndexBytes) * requests,
          .output_bytes = examples::kFloatBytes * requests * (cuda ? kPlacesOnDevice : 1),
          .launches = cuda ? 2 * kPlacesOnDevice * requests : 0,
          .random_numbers = 1.5 * requests};
}

class Requests : public examples::TensorVariant {
 public:
  explicit Requests(bool pooled) : pooled_(pooled) {}

  void step() override {
    before_ = pool_ ? pool_->counts() : SizeClassPool::Counts{};
    calls_before_ = driver_calls();
    {
      const ProfileRange range("one size");
      serve(0, sizes_.requests, 1);
    }
    const ProfileRange range("mixed sizes");
    serve(sizes_.requests, bytes_.numel(), sizes_.alive);
  }

  bench::Work work() override {
    bench::Work work;
    work.requests = static_cast<double>(bytes_.numel());
    work.bytes = static_cast<double>(bytes_.sum().item<std::int64_t>());
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    const auto requests = static_cast<double>(bytes_.numel());
    if (device().is_cuda()) {
      const auto calls = static_cast<double>(driver_calls() - calls_before_);
      return {{"driver_calls", calls, bench::MetricKind::kCount}};
    }
    if (!pool_) return {{"system_allocations", requests, bench::MetricKind::kCount}};
    const SizeClassPool::Counts now = pool_->counts();
    const auto hits = static_cast<double>(now.hits - before_.hits);
    const double asked = static_cast<double>(now.asked_bytes), given = static_cast<double>(now.given_bytes);
    return {{"system_allocations", requests - hits, bench::MetricKind::kCount},
            {"hit_rate", hits / requests, bench::MetricKind::kRate},
            {"internal_fragmentation", 1 - asked / given},
            {"reserved_bytes", static_cast<double>(now.reserved_bytes), bench::MetricKind::kBytes}};
  }

 private:
  struct Block {
    std::int64_t request;
    at::DataPtr data;
  };

  void make() override {
    sizes_ = sizes_of(size());
    if (device().is_cuda()) {
      if (!pooled_) driver_ = std::make_unique<examples::DriverAllocator>();
    } else if (pooled_) {
      pool_ = std::make_unique<PoolAllocator>();
    }
    // Mixed: as many requests from 256 bytes to 1 KiB as from 1 to 4 MiB.
    const double least = std::log2(256.0), most = std::log2(4.0 * static_cast<double>(sizes_.bytes));
    const torch::Tensor mixed =
        torch::pow(2, torch::rand({sizes_.requests}, torch::kDouble) * (most - least) + least).to(torch::kInt64);
    bytes_ = torch::cat({torch::full({sizes_.requests}, sizes_.bytes, torch::kInt64), mixed});
    values_ = torch::randn({bytes_.numel()}).to(device());
    read_ =
        device().is_cuda() ? torch::zeros({bytes_.numel(), kPlacesOnDevice}, device()) : torch::zeros({bytes_.numel()});
  }
  std::vector<NamedTensor> given() override { return {{"values", values_}, {"bytes", bytes_}}; }
  std::vector<NamedTensor> results() override { return {{"read back", read_}}; }

  at::Allocator& allocator_of_variant() {
    if (pool_) return *pool_;
    if (driver_) return *driver_;
    return device().is_cuda() ? *at::getDeviceAllocator(at::kCUDA) : *c10::GetDefaultCPUAllocator();
  }

  /// cudaMalloc and cudaFree; 0 on a CPU.
  std::int64_t driver_calls() const {
    if (!device().is_cuda()) return 0;
    if (driver_) return driver_->driver_calls();
    const auto stats = at::getDeviceAllocator(at::kCUDA)->getDeviceStats(0);
    return stats.num_device_alloc + stats.num_device_free;
  }

  /// Each block lives until `alive` later ones were made.
  void serve(std::int64_t begin, std::int64_t end, std::int64_t alive) {
    at::Allocator& allocator = allocator_of_variant();
    std::deque<Block> blocks;
    for (std::int64_t request = begin; request < end; ++request) {
      if (static_cast<std::int64_t>(blocks.size()) == alive) {
        read(blocks.front());
        blocks.pop_front();
      }
      blocks.push_back({request, allocator.allocate(bytes_of(request))});
      write(blocks.back());
    }
    for (const Block& block : blocks) read(block);
  }

  std::size_t bytes_of(std::int64_t request) const {
    return static_cast<std::size_t>(bytes_.const_data_ptr<std::int64_t>()[request]);
  }

  /// A block is used: each page of it, and its end.
  template <typename Use>
  void each_place(const Block& block, const Use& use) const {
    constexpr std::size_t kPage = 4096;
    const std::size_t bytes = bytes_of(block.request);
    auto* const data = static_cast<std::byte*>(block.data.get());
    for (std::size_t at = 0; at + sizeof(float) <= bytes; at += kPage) use(data + at);
    use(data + bytes - sizeof(float));
  }
  /// Calls `use` with a place of the block on the device, and its number.
  template <typename Use>
  void each_place_on_device(const Block& block, const Use& use) const {
    auto* const data = static_cast<std::byte*>(block.data.get());
    use(data, 0);
    use(data + bytes_of(block.request) - sizeof(float), 1);
  }
  void write(const Block& block) const {
    if (device().is_cuda())
      return each_place_on_device(block, [&](std::byte* place, std::int64_t) {
        examples::copy_on_device(place, values_.const_data_ptr<float>() + block.request, sizeof(float));
      });
    const float value = values_.const_data_ptr<float>()[block.request];
    each_place(block, [&](std::byte* place) { std::memcpy(place, &value, sizeof value); });
  }
  /// What was written, unless another block lies over this one.
  void read(const Block& block) {
    if (device().is_cuda())
      return each_place_on_device(block, [&](const std::byte* place, std::int64_t number) {
        float* const to = read_.data_ptr<float>() + block.request * kPlacesOnDevice + number;
        examples::copy_on_device(to, place, sizeof(float));
      });
    double sum = 0;
    each_place(block, [&](const std::byte* place) {
      float value = 0;
      std::memcpy(&value, place, sizeof value);
      sum += value;
    });
    read_.data_ptr<float>()[block.request] = static_cast<float>(sum);
  }

  bool pooled_;
  std::int64_t calls_before_ = 0;
  std::unique_ptr<PoolAllocator> pool_;
  std::unique_ptr<examples::DriverAllocator> driver_;
  SizeClassPool::Counts before_;
  Sizes sizes_{};
  torch::Tensor bytes_, values_, read_;
};

bench::Benchmark custom_allocator() {
  bench::Benchmark benchmark;
  benchmark.name = "custom_allocator";
  benchmark.estimate = estimate;
  benchmark.purpose =
      "the system's memory for each request, a pool of size classes; the driver's, the caching allocator";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.skip = examples::skip_without_device_memory;
  benchmark.baseline = {[] { return std::make_unique<Requests>(false); }, {}};
  benchmark.optimized = {[] { return std::make_unique<Requests>(true); }, {}};
  benchmark.least_ratio_cpu = 2;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(custom_allocator());

}  // namespace workloads::custom_allocator
