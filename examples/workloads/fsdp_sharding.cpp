// SPDX-License-Identifier: MIT
// Training with all weights, gradients and optimizer state on every rank; and with each rank keeping its part of them:
// a block's weights are gathered before it runs and let go after it, its gradients are summed into the parts.
#include "common/estimates.hpp"
#include "common/fused_adamw.hpp"
#include "common/gradient_buckets.hpp"
#include "common/rank_variant.hpp"
#include "common/residual_blocks.hpp"
#include "common/sharded_block.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::fsdp_sharding {

using examples::Communication;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kCheckedSteps = 5;
constexpr double kLearningRate = 1e-4;

struct Sizes {
  std::int64_t rows;
  std::int64_t layers;
  std::int64_t width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {24, 3, 32}, {48, 8, 192}, {12 * 256, 12, 1024});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const auto weights = static_cast<double>(sizes.layers * examples::block_elements(sizes.width));
  const auto data = static_cast<double>(2 * sizes.rows * sizes.width);
  return {.input_bytes = 4 * (weights + data),
          .output_bytes = 4 * (weights + 1),
          .flops = examples::block_training_flops(sizes.layers, sizes.width, sizes.rows / setup.ranks),
          .launches = examples::training_launches(7.0 * static_cast<double>(sizes.layers)),
          .random_numbers = 2 * weights + data};
}

/// With a larger epsilon than the default: AdamW divides a gradient by its own size, and where that is as small as what
/// comes of another order of a sum over ranks, that order would decide whole updates.
torch::optim::AdamWOptions adamw() { return torch::optim::AdamWOptions(kLearningRate).eps(1e-6); }

/// The whole batch, and weights that are drawn from a seed of their own: who keeps only a part of them draws them again
/// to show what they were.
class Training : public examples::RankVariant {
 public:
  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(sizes_.rows) / static_cast<double>(ranks());
    work.flops = examples::block_training_flops(sizes_.layers, sizes_.width, sizes_.rows / ranks());
    work.flops_type = "fp32";
    return work;
  }

 protected:
  virtual void adopt(examples::BlockWeights weights) = 0;
  /// Of a block, as they are now.
  virtual examples::BlockWeights weights_of(std::int64_t layer) = 0;

  void make() final {
    sizes_ = sizes_of(size());
    rows_ = torch::randn({sizes_.rows, sizes_.width}).to(device());
    targets_ = torch::randn({sizes_.rows, sizes_.width}).to(device());
    seed_ = static_cast<std::uint64_t>(torch::randint(1 << 30, {1}, torch::kInt64).item<std::int64_t>());
    torch::manual_seed(seed_);
    for (std::int64_t layer = 0; layer < sizes_.layers; ++layer) adopt(examples::draw_block(sizes_.width, device()));
    ready();
  }
  virtual void ready() = 0;

  std::vector<examples::NamedTensor> given() final {
    std::vector<examples::NamedTensor> all{{"rows", rows_}, {"targets", targets_}};
    torch::manual_seed(seed_);
    for (std::int64_t layer = 0; layer < sizes_.layers; ++layer)
      name(all, layer, examples::draw_block(sizes_.width, device()));
    return all;
  }
  std::vector<examples::NamedTensor> results() final {
    std::vector<examples::NamedTensor> all{{"loss", summed(loss_) / static_cast<double>(ranks())}};
    for (std::int64_t layer = 0; layer < sizes_.layers; ++layer) name(all, layer, weights_of(layer));
    return all;
  }

  static void backward(const torch::Tensor& loss) {
    static const rangefinder::RangeName kBackward{"backward"};
    const ProfileRange range{kBackward};
    loss.backward();
  }
  template <typename Optimizer>
  static void update(Optimizer& optimizer) {
    static const rangefinder::RangeName kOptimizer{"optimizer"};
    const ProfileRange range{kOptimizer};
    optimizer.step();
  }

  Sizes sizes_{};
  torch::Tensor rows_, targets_, loss_;

 private:
  static void name(std::vector<examples::NamedTensor>& all, std::int64_t layer, const examples::BlockWeights& weights) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      all.push_back({"layer " + std::to_string(layer) + " weight " + std::to_string(i), weights[i]});
  }
  std::uint64_t seed_ = 0;
};

/// Everything on every rank; as the reference, in one process, without the all-reduce.
class Replicated : public Training {
  void adopt(examples::BlockWeights weights) override {
    for (torch::Tensor& weight : weights) parameters_.push_back(weight.requires_grad_());
    blocks_.push_back(std::move(weights));
  }
  examples::BlockWeights weights_of(std::int64_t layer) override { return blocks_.at(static_cast<std::size_t>(layer)); }
  void ready() override {
    if (ranks() > 1)
      buckets_.emplace(group(), parameters_, 4 * examples::block_elements(sizes_.width), /*behind_backward=*/true);
    else
      for (torch::Tensor& parameter : parameters_) parameter.mutable_grad() = torch::zeros_like(parameter);
    optimizer_.emplace(parameters_, adamw());
  }

  void run() override {
    if (buckets_) {
      buckets_->zero();
      buckets_->synchronize_next(true);
    } else {
      for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().zero_();
    }
    torch::Tensor loss;
    {
      static const rangefinder::RangeName kForward{"forward"};
      const ProfileRange range{kForward};
      torch::Tensor x = my_part(rows_);
      for (const examples::BlockWeights& block : blocks_) x = examples::block_forward(x, block);
      loss = torch::mse_loss(x, my_part(targets_));
    }
    backward(loss);
    if (buckets_) buckets_->finish();
    update(*optimizer_);
    loss_ = loss.detach();
  }

  examples::Traffic expected_traffic() override {
    examples::Traffic expected;
    if (ranks() > 1)
      expected[Communication::kAllReduce] = {sizes_.layers, 4 * sizes_.layers * examples::block_elements(sizes_.width)};
    return expected;
  }
  std::vector<bench::Metric> more_metrics() override {
    const auto bytes = static_cast<double>(4 * sizes_.layers * examples::block_elements(sizes_.width));
    const auto metric = [](const char* name, double value) {
      return bench::Metric{name, value, bench::MetricKind::kBytes, bench::OverRanks::kMost};
    };
    return {metric("parameter_bytes", bytes), metric("gradient_bytes", bytes), metric("optimizer_bytes", 2 * bytes),
            metric("gathered_bytes", 0), metric("whole_gradient_bytes", 0)};
  }

  std::vector<examples::BlockWeights> blocks_;
  std::vector<torch::Tensor> parameters_;
  std::optional<examples::GradientBuckets> buckets_;
  std::optional<examples::FusedAdamW> optimizer_;
};

class Sharded : public Training {
 public:
  explicit Sharded(examples::ShardingOptions options) : options_(options) {}

 private:
  void adopt(examples::BlockWeights weights) override {
    if (!blocks_) blocks_.emplace(group(), options_);
    blocks_->add(weights);
  }
  examples::BlockWeights weights_of(std::int64_t layer) override { return blocks_->gather_weights(layer); }
  void ready() override { optimizer_.emplace(blocks_->shards(), adamw()); }

  void run() override {
    blocks_->begin_step();
    torch::Tensor loss;
    {
      static const rangefinder::RangeName kForward{"forward"};
      const ProfileRange range{kForward};
      torch::Tensor x = my_part(rows_);
      for (std::int64_t layer = 0; layer < sizes_.layers; ++layer)
        x = blocks_->forward(layer, x, [](const torch::Tensor& in, const std::vector<torch::Tensor>& weights) {
          return examples::block_forward(in, weights);
        });
      loss = torch::mse_loss(x, my_part(targets_));
    }
    backward(loss);
    blocks_->finish_backward();
    update(*optimizer_);
    loss_ = loss.detach();
  }

  std::int64_t shard_bytes() const {
    const std::int64_t elements = examples::block_elements(sizes_.width);
    return 4 * ((elements + ranks() - 1) / ranks());
  }

  examples::Traffic expected_traffic() override {
    const std::int64_t gathers = options_.keep_after_forward ? sizes_.layers : 2 * sizes_.layers;
    examples::Traffic expected;
    expected[Communication::kAllGather] = {gathers, gathers * shard_bytes()};
    expected[Communication::kReduceScatter] = {sizes_.layers, sizes_.layers * ranks() * shard_bytes()};
    return expected;
  }

  /// What a rank held at most. Its part is a part of the whole to the byte, and beyond it there are so many whole
  /// blocks as the schedule wants.
  std::vector<bench::Metric> more_metrics() override {
    const examples::ShardingBytes& bytes = blocks_->bytes();
    const std::int64_t block = ranks() * shard_bytes();
    const std::int64_t gathered = options_.keep_after_forward ? sizes_.layers : options_.prefetch ? 2 : 1;
    TORCH_CHECK(bytes.parameters == sizes_.layers * shard_bytes() && bytes.gradients == bytes.parameters,
                "a rank keeps ", bytes.parameters, " bytes of weights and ", bytes.gradients, " of gradients, not ",
                sizes_.layers * shard_bytes());
    TORCH_CHECK(bytes.most_gathered == std::min(gathered, sizes_.layers) * block, "up to ", bytes.most_gathered,
                " bytes of weights were gathered, not ", gathered, " blocks of ", block);
    TORCH_CHECK(bytes.most_whole_gradients == (options_.prefetch ? 2 : 1) * block, "up to ", bytes.most_whole_gradients,
                " bytes of whole gradients, not of ", options_.prefetch ? 2 : 1, " blocks of ", block);
    const auto metric = [](const char* name, std::int64_t value) {
      return bench::Metric{name, static_cast<double>(value), bench::MetricKind::kBytes, bench::OverRanks::kMost};
    };
    return {metric("parameter_bytes", bytes.parameters), metric("gradient_bytes", bytes.gradients),
            metric("optimizer_bytes", 2 * bytes.parameters), metric("gathered_bytes", bytes.most_gathered),
            metric("whole_gradient_bytes", bytes.most_whole_gradients)};
  }

  examples::ShardingOptions options_;
  std::optional<examples::ShardedBlocks> blocks_;
  std::optional<examples::FusedAdamW> optimizer_;
};

bench::Benchmark row(const std::string& name, const std::string& purpose, examples::ShardingOptions options) {
  // An update is up to 1e-4: wrong ones are far outside of the tolerance.
  bench::Benchmark benchmark = examples::rank_benchmark(12, {1e-6, 1e-6}, {1e-5, 1e-5});
  benchmark.name = name;
  benchmark.purpose = "weights, gradients and AdamW's state on every rank; " + purpose;
  benchmark.goal = bench::Goal::kMemory;
  benchmark.series = "fsdp_sharding";
  benchmark.time_bound = 4;  // twice the all-gathers and calls that cannot hide behind so little work
  benchmark.baseline.make = [] { return std::make_unique<Replicated>(); };
  benchmark.optimized.make = [options] { return std::make_unique<Sharded>(options); };
  benchmark.reference.make = [] { return std::make_unique<Replicated>(); };
  benchmark.check_steps = kCheckedSteps;
  benchmark.check_size = "cpu";  // at size gpu weights take gigabytes
  benchmark.estimate = estimate;
  return benchmark;
}

bool add_rows() {
  bench::Benchmark plain = row("fsdp_sharding_plain", "a part each, a block gathered when it is wanted", {});
  bench::Benchmark prefetch =
      row("fsdp_sharding", "a part each, the next block gathered meanwhile", {.prefetch = true});
  bench::Benchmark offload = row("fsdp_sharding_offload", "a part each in the host's memory, where AdamW runs",
                                 {.prefetch = true, .offload = true});
  bench::Benchmark keep = row("fsdp_sharding_keep", "a part each, weights kept from forward to backward pass",
                              {.prefetch = true, .keep_after_forward = true});
  prefetch.builds_on = "fsdp_sharding_plain";
  offload.builds_on = keep.builds_on = "fsdp_sharding";
  plain.informational = offload.informational = keep.informational = true;
  prefetch.least_ratio_cpu = 1.2;
  return bench::add_benchmark(std::move(plain)) && bench::add_benchmark(std::move(prefetch)) &&
         bench::add_benchmark(std::move(offload)) && bench::add_benchmark(std::move(keep));
}

[[maybe_unused]] const bool kAdded = add_rows();

}  // namespace workloads::fsdp_sharding
