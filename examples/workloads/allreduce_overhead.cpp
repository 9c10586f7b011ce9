// SPDX-License-Identifier: MIT
// Data parallel training: every rank has all weights and a part of the batch, and gradients are averaged. With a call
// for each parameter; with one call after the backward pass; in buckets behind it; and, of several parts of a batch
// whose gradients add up, only for the last.
#include "common/estimates.hpp"
#include "common/gradient_buckets.hpp"
#include "common/rank_variant.hpp"
#include "common/residual_blocks.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace workloads::allreduce_overhead {

using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr double kLearningRate = 0.01;
constexpr std::int64_t kEachParameter = 0;
constexpr std::int64_t kAllAtOnce = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBucketBytes = 1 << 20;
/// Rows of each rank are cut into up to 8 parts; 2, 3, 4 and 6 ranks divide the rest.
constexpr std::int64_t kRanksTimesParts = 12 * 8;

struct Sizes {
  std::int64_t rows;
  std::int64_t layers;
  std::int64_t width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {kRanksTimesParts, 3, 32}, {4 * kRanksTimesParts, 6, 128},
                                  {64 * kRanksTimesParts, 12, 1024});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const auto weights = static_cast<double>(sizes.layers * examples::block_elements(sizes.width));
  const auto data = static_cast<double>(2 * sizes.rows * sizes.width);
  return {.input_bytes = 4 * (weights + data),
          .output_bytes = 4 * (2 * weights + 1),
          .flops = examples::block_training_flops(sizes.layers, sizes.width, sizes.rows / setup.ranks),
          .launches = examples::training_launches(5.0 * static_cast<double>(sizes.layers)),
          .random_numbers = weights + data};
}

/// How gradients are averaged.
struct Schedule {
  std::int64_t bucket_bytes = kEachParameter;
  bool behind_backward = false;
  std::int64_t parts = 1;    ///< of a rank's rows, one after the other
  bool average_each = true;  ///< after each part; else after the last
};

/// What both the ranks and the process alone have: the whole batch and the weights.
class Training : public examples::RankVariant {
 protected:
  void make() override {
    sizes_ = sizes_of(size());
    rows_ = torch::randn({sizes_.rows, sizes_.width}).to(device());
    targets_ = torch::randn({sizes_.rows, sizes_.width}).to(device());
    blocks_ = examples::draw_blocks(sizes_.layers, sizes_.width, device());
    for (examples::BlockWeights& block : blocks_)
      for (torch::Tensor& weight : block) parameters_.push_back(weight.requires_grad_());
  }
  std::vector<examples::NamedTensor> given() override {
    std::vector<examples::NamedTensor> all{{"rows", rows_}, {"targets", targets_}};
    for (std::size_t i = 0; i < parameters_.size(); ++i) all.push_back({"weight " + std::to_string(i), parameters_[i]});
    return all;
  }
  std::vector<examples::NamedTensor> results() override {
    std::vector<examples::NamedTensor> all{{"loss", summed(loss_) / static_cast<double>(ranks())}};
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      all.push_back({"gradient " + std::to_string(i), parameters_[i].grad()});
      all.push_back({"weight " + std::to_string(i), parameters_[i]});
    }
    return all;
  }

  /// The mean over some rows; `share` is what they are of all that is averaged.
  torch::Tensor forward(const torch::Tensor& rows, const torch::Tensor& targets, double share) {
    static const rangefinder::RangeName kForward{"forward"};
    const ProfileRange range{kForward};
    torch::Tensor x = rows;
    for (const examples::BlockWeights& block : blocks_) x = examples::block_forward(x, block);
    return torch::mse_loss(x, targets) * share;
  }
  static void backward(const torch::Tensor& loss) {
    static const rangefinder::RangeName kBackward{"backward"};
    const ProfileRange range{kBackward};
    loss.backward();
  }
  void update() {
    static const rangefinder::RangeName kOptimizer{"optimizer"};
    const ProfileRange range{kOptimizer};
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : parameters_) parameter.sub_(parameter.grad(), kLearningRate);
  }

  Sizes sizes_{};
  torch::Tensor rows_, targets_, loss_;
  std::vector<examples::BlockWeights> blocks_;
  std::vector<torch::Tensor> parameters_;
};

/// The whole batch in one process.
class Alone : public Training {
  void run() override {
    for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    const torch::Tensor loss = forward(rows_, targets_, 1);
    backward(loss);
    update();
    loss_ = loss.detach();
  }
  examples::Traffic expected_traffic() override { return {}; }
};

class DataParallel : public Training {
 public:
  explicit DataParallel(Schedule schedule) : schedule_(schedule) {}

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(sizes_.rows) / static_cast<double>(ranks());
    work.flops = examples::block_training_flops(sizes_.layers, sizes_.width, sizes_.rows / ranks());
    work.flops_type = "fp32";
    return work;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void make() override {
    Training::make();
    buckets_.emplace(group(), parameters_, schedule_.bucket_bytes, schedule_.behind_backward);
  }

  void run() override {
    const auto begin = Clock::now();
    train(/*average=*/true);
    synchronize();
    step_ns_.push_back(std::chrono::nanoseconds(Clock::now() - begin).count());
  }

  void train(bool average) {
    const torch::Tensor rows = my_part(rows_), targets = my_part(targets_);
    const std::int64_t part_rows = rows.size(0) / schedule_.parts;
    torch::Tensor total = torch::zeros({}, rows.options());
    buckets_->zero();
    for (std::int64_t part = 0; part < schedule_.parts; ++part) {
      buckets_->synchronize_next(average && (schedule_.average_each || part + 1 == schedule_.parts));
      const torch::Tensor loss =
          forward(rows.narrow(0, part * part_rows, part_rows), targets.narrow(0, part * part_rows, part_rows),
                  1.0 / static_cast<double>(schedule_.parts));
      backward(loss);
      buckets_->finish();
      total += loss.detach();
    }
    update();
    loss_ = total;
  }

  examples::Traffic expected_traffic() override {
    const std::int64_t times = schedule_.average_each ? schedule_.parts : 1;
    const std::int64_t bytes = 4 * sizes_.layers * examples::block_elements(sizes_.width);
    examples::Traffic expected;
    expected[examples::Communication::kAllReduce] = {times * buckets_->count(), times * bytes};
    return expected;
  }

  std::vector<bench::Metric> more_metrics() override {
    const double with = median(step_ns_);
    std::vector<std::int64_t> alone_ns;
    for (std::size_t i = 0; i < std::min<std::size_t>(step_ns_.size(), 20); ++i) {
      const auto begin = Clock::now();
      train(/*average=*/false);
      synchronize();
      alone_ns.push_back(std::chrono::nanoseconds(Clock::now() - begin).count());
    }
    const double without = median(alone_ns);
    return {
        {"buckets", static_cast<double>(buckets_->count()), bench::MetricKind::kFact},
        {"step_with_all_reduce_ns", with, bench::MetricKind::kFact, bench::OverRanks::kMost},
        {"step_without_all_reduce_ns", without, bench::MetricKind::kFact, bench::OverRanks::kMost},
        {"overhead_ratio", with > 0 ? (with - without) / with : 0, bench::MetricKind::kFact, bench::OverRanks::kMost}};
  }

  static double median(std::vector<std::int64_t> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return static_cast<double>(*middle);
  }

  Schedule schedule_;
  std::optional<examples::GradientBuckets> buckets_;
  std::vector<std::int64_t> step_ns_;
};

/// Rows of one table: all have the same baseline, a call for each parameter after the backward pass.
bench::Benchmark row(const std::string& name, const std::string& purpose, Schedule optimized,
                     const std::string& builds_on = {}) {
  bench::Benchmark benchmark = examples::training_benchmark<DataParallel, Alone>(
      name, "a call for each gradient; " + purpose, Schedule{}, optimized, estimate);
  benchmark.series = "allreduce_overhead";
  benchmark.least_ratio_cpu = 1.2;
  benchmark.builds_on = builds_on;
  return benchmark;
}

bool add_buckets() {
  bool added = true;
  for (const std::int64_t kib : {64, 256, 4096}) {
    bench::Benchmark benchmark = row("allreduce_overhead_bucket_" + std::to_string(kib) + "k",
                                     "buckets of " + std::to_string(kib) + " KiB behind the backward pass",
                                     {kib * 1024, true}, "allreduce_overhead_once");
    benchmark.informational = true;
    added = bench::add_benchmark(std::move(benchmark)) && added;
  }
  return added;
}

bool add_no_sync() {
  bool added = true;
  for (const std::int64_t parts : {1, 4, 8}) {
    bench::Benchmark benchmark = examples::training_benchmark<DataParallel, Alone>(
        "allreduce_overhead_no_sync_" + std::to_string(parts),
        "gradients of " + std::to_string(parts) + " parts averaged after each; after the last (no_sync)",
        Schedule{kBucketBytes, true, parts, true}, Schedule{kBucketBytes, true, parts, false}, estimate);
    benchmark.informational = true;
    added = bench::add_benchmark(std::move(benchmark)) && added;
  }
  return added;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(row("allreduce_overhead_once", "one call after the backward pass", {kAllAtOnce, false})) &&
    bench::add_benchmark(row("allreduce_overhead", "buckets of 1 MiB behind the backward pass", {kBucketBytes, true},
                             "allreduce_overhead_once")) &&
    add_buckets() && add_no_sync();

}  // namespace workloads::allreduce_overhead
