// SPDX-License-Identifier: MIT
// Memory that is free and of no use: large blocks that come and go, each larger than the one before, as sequences grow;
// and tensors that stay, which settle in what a large block has left. Segments of a fixed size cannot serve the next
// block, and with a tensor in them cannot be given back; segments that grow at their end can. Or the tensors that stay
// have a pool of their own.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/device_memory/device_memory.hpp"

#include <rangefinder/range.hpp>

#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::memory_profiling_fragmentation {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kMiB = 1 << 20;
// Of a round: one that goes, larger by `kGrowth` each time, and two that stay. After all rounds one large block.
constexpr std::int64_t kGoes = 200 * kMiB, kGrowth = 20 * kMiB, kStays[] = {4 * kMiB, 20 * kMiB}, kLarge = 400 * kMiB;
constexpr std::int64_t kBlocksOfRound = 3;
constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

std::int64_t rounds_of(const std::string& size) { return examples::of_size<std::int64_t>(size, 2, 4, 8); }

bench::Estimate estimate(const bench::Setup& setup) {
  const auto blocks = static_cast<double>(rounds_of(setup.size) * kBlocksOfRound + 1);
  bench::Estimate out = examples::estimate_of_elements(blocks, blocks, examples::kFloatBytes);
  out.launches = 3 * blocks;
  return out;
}

enum class Remedy { kNone, kExpandableSegments, kPrivatePool };

class Sequence : public examples::TensorVariant {
 public:
  explicit Sequence(Remedy remedy) : remedy_(remedy) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    kept_.clear();
    pool_.reset();
    at::getDeviceAllocator(device().type())->emptyCache();  // each step begins with nothing
    if (remedy_ == Remedy::kPrivatePool) pool_.emplace();
    for (std::int64_t round = 0; round < rounds_; ++round) {
      const ProfileRange range("round");
      const std::int64_t first = round * kBlocksOfRound;
      block(first, kGoes + round * kGrowth);
      std::optional<examples::PrivatePool::Use> in_pool;
      if (pool_) in_pool.emplace(*pool_);
      kept_.push_back(block(first + 1, kStays[0]));
      kept_.push_back(block(first + 2, kStays[1]));
    }
    const ProfileRange range("large");
    const torch::Tensor large = block(rounds_ * kBlocksOfRound, kLarge);
    after_ = at::getDeviceAllocator(device().type())->getDeviceStats(0);
  }

  bench::Work work() override {
    bench::Work work;
    work.requests = static_cast<double>(values_.numel());  // of the allocator
    return work;
  }

  /// While the large block is there.
  std::vector<bench::Metric> metrics() override {
    using bench::MetricKind;
    const auto now = [](const c10::CachingAllocator::StatArray& all) { return static_cast<double>(all[kAll].current); };
    const double reserved = now(after_.reserved_bytes), allocated = now(after_.allocated_bytes);
    return {{"reserved_bytes", reserved, MetricKind::kBytes},
            {"allocated_bytes", allocated, MetricKind::kBytes},
            {"inactive_split_bytes", now(after_.inactive_split_bytes), MetricKind::kBytes},
            {"segments", now(after_.segment), MetricKind::kCount},
            {"allocations_tried_again", static_cast<double>(after_.num_alloc_retries), MetricKind::kCount},
            {"out_of_memory", static_cast<double>(after_.num_ooms), MetricKind::kCount},
            {"external_fragmentation", now(after_.inactive_split_bytes) / reserved},
            {"internal_fragmentation", 1 - now(after_.requested_bytes) / allocated},
            {"efficiency", allocated / reserved}};
  }

 private:
  void make() override {
    // Each variant is a process of its own. Set in both, whatever the environment says.
    c10::CachingAllocator::setAllocatorSettings(remedy_ == Remedy::kExpandableSegments ? "expandable_segments:True"
                                                                                       : "expandable_segments:False");
    rounds_ = rounds_of(size());
    values_ = torch::randn({rounds_ * kBlocksOfRound + 1}).to(device());
    out_ = torch::zeros_like(values_);
  }
  std::vector<NamedTensor> given() override { return {{"values", values_}}; }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }

  /// Its first and last elements meet in the result: what was allocated is there.
  torch::Tensor block(std::int64_t index, std::int64_t bytes) {
    const torch::Tensor block = torch::empty({bytes / 4}, torch::TensorOptions(device()).dtype(torch::kFloat));
    block.fill_(values_[index]);
    torch::Tensor out = out_[index];
    torch::add_out(out, block[0], block[-1]);
    return block;
  }

  Remedy remedy_;
  std::int64_t rounds_ = 0;
  torch::Tensor values_, out_;
  std::optional<examples::PrivatePool> pool_;  // outlives what is kept in it
  std::vector<torch::Tensor> kept_;
  c10::CachingDeviceAllocator::DeviceStats after_{};
};

bool add(const std::string& name, const std::string& purpose, Remedy remedy) {
  bench::Benchmark benchmark;
  benchmark.name = "memory_profiling_fragmentation" + name;
  benchmark.estimate = estimate;
  benchmark.purpose = "blocks that go between tensors that stay: " + purpose + ": reserved_bytes";
  benchmark.devices = {"cuda"};
  benchmark.baseline = {[] { return std::make_unique<Sequence>(Remedy::kNone); }};
  benchmark.optimized = {[remedy] { return std::make_unique<Sequence>(remedy); }};
  benchmark.iterations = 10;
  benchmark.warmup = 2;
  benchmark.informational = true;  // bytes of tensors are the same in both variants, and its time is the driver's
  if (remedy == Remedy::kPrivatePool) benchmark.skip = examples::skip_without_device_memory;
  return bench::add_benchmark(benchmark);
}

[[maybe_unused]] const bool kAdded =
    add("", "segments of fixed size, expandable ones", Remedy::kExpandableSegments) &&
    add("_pool", "all in one pool, those that stay in their own", Remedy::kPrivatePool);

}  // namespace workloads::memory_profiling_fragmentation
