// SPDX-License-Identifier: MIT
// An epoch of training on records that take a while to arrive and to prepare: each when it is needed, and ahead by
// threads. What each option of a loader brings is a row: threads, batches ahead, pinned memory, threads that live on
// from epoch to epoch. The order of the records is the same.
#include "common/estimates.hpp"
#include "common/slow_records.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace workloads::dataloader_default {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using Clock = std::chrono::steady_clock;
using Example = torch::data::Example<>;
namespace bench = rangefinder::bench;

constexpr std::int64_t kClasses = 10;
constexpr double kReadSteps = 7.5;  // of a check: six without threads, six with four
constexpr examples::SlowRecords::Cost kCost{.read = std::chrono::microseconds(200), .rounds = 32};

struct Options {
  std::size_t workers = 0;
  std::size_t ahead = 4;  // batches
  bool pinned = false, persistent = false;
};
constexpr Options kThreads{.workers = 4}, kAll{.workers = 4, .ahead = 8, .pinned = true, .persistent = true};

struct Sizes {
  std::int64_t records, width, hidden, batch;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {96, 64, 32, 16}, {4000, 1024, 512, 64}, {2000, 1024, 512, 64});
}

double flops_of(const Sizes& sizes) {
  const double of_data = examples::elements({sizes.width, sizes.hidden});
  return examples::training_flops(of_data + examples::elements({sizes.hidden, kClasses}),
                                  static_cast<double>(sizes.records), of_data);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const auto records = static_cast<double>(sizes.records);
  const double reading_s = records * std::chrono::duration<double>(kCost.read).count();
  const double data = examples::elements({sizes.records, sizes.width});
  const double weights =
      examples::linear_elements(sizes.width, sizes.hidden) + examples::linear_elements(sizes.hidden, kClasses);
  return {.input_bytes = examples::kFloatBytes * (data + weights) + examples::kIndexBytes * records,
          .output_bytes = examples::kFloatBytes * (data + weights + 1),
          .flops = flops_of(sizes),
          .launches = (examples::training_launches(6) + 4) * records / static_cast<double>(sizes.batch),
          .random_numbers = data + weights + records,
          .waiting_s = kReadSteps * reading_s,
          .step_waiting_s = reading_s};
}

class Epoch : public examples::TensorVariant {
 public:
  explicit Epoch(const Options& options) : options_(options) {}

  void step() override {
    const auto begin = Clock::now();
    if (!loader_ || !options_.persistent) make_loader();
    std::optional<torch::data::Iterator<Example>> batch;
    wait_for([&] { batch.emplace(loader_->begin()); });
    for (std::int64_t at = 0; *batch != loader_->end(); wait_for([&] { ++*batch; })) {
      train((*batch)->data, (*batch)->target, at);
      at += (*batch)->data.size(0);
    }
    spent_ += Clock::now() - begin;
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(sizes_.records);
    work.flops = flops_of(sizes_);
    work.flops_type = "fp32";
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    return {{"share_of_step_waiting_for_data", std::chrono::duration<double>(waited_) / spent_}};
  }

 private:
  using Records = torch::data::datasets::MapDataset<examples::SlowRecords, examples::CollateRecords>;
  using Loader = torch::data::StatelessDataLoader<Records, torch::data::samplers::SequentialSampler>;

  void make_loader() {
    loader_.reset();  // its threads end first
    auto options = torch::data::DataLoaderOptions(static_cast<std::size_t>(sizes_.batch));
    if (options_.workers > 0) options.workers(options_.workers).max_jobs(options_.ahead);
    loader_ = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        examples::SlowRecords(records_, labels_, kCost).map(examples::CollateRecords(pinned())), options);
  }
  bool pinned() const { return options_.pinned && device().is_cuda(); }

  void make() override {
    sizes_ = sizes_of(size());
    records_ = torch::randn({sizes_.records, sizes_.width});
    labels_ = torch::randint(kClasses, {sizes_.records}, torch::kInt64);
    seen_ = torch::zeros({sizes_.records, sizes_.width}, device());
    net_ = torch::nn::Sequential(torch::nn::Linear(sizes_.width, sizes_.hidden), torch::nn::ReLU(),
                                 torch::nn::Linear(sizes_.hidden, kClasses));
    net_->to(device());
    optimizer_ = std::make_unique<torch::optim::SGD>(net_->parameters(), 0.01);
  }
  std::vector<NamedTensor> given() override {
    auto all = examples::parameters_of(*net_);
    all.insert(all.begin(), {{"records", records_}, {"labels", labels_}});
    return all;
  }
  /// What was trained on, in its order, too: a loader that swaps records must not pass.
  std::vector<NamedTensor> results() override {
    auto all = examples::parameters_of(*net_);
    all.insert(all.begin(), {{"loss", loss_}, {"records as seen", seen_}});
    return all;
  }

  template <typename Next>
  void wait_for(Next next) {
    const ProfileRange range("dataloader_next");
    const auto begin = Clock::now();
    next();
    waited_ += Clock::now() - begin;
  }
  void train(torch::Tensor data, torch::Tensor labels, std::int64_t at) {
    {
      const ProfileRange range("transfer");
      data = data.to(device(), /*non_blocking=*/options_.pinned);
      labels = labels.to(device(), /*non_blocking=*/options_.pinned);
      seen_.narrow(0, at, data.size(0)).copy_(data);
    }
    const ProfileRange range("train");
    optimizer_->zero_grad();
    loss_ = torch::nn::functional::cross_entropy(net_->forward(data), labels);
    loss_.backward();
    optimizer_->step();
  }

  Options options_;
  Sizes sizes_{};
  std::unique_ptr<Loader> loader_;
  torch::Tensor records_, labels_, seen_, loss_;
  torch::nn::Sequential net_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
  Clock::duration waited_{}, spent_{};
};

bench::Benchmark epochs(const std::string& name, const std::string& purpose, const Options& baseline,
                        const Options& optimized) {
  bench::Benchmark benchmark;
  benchmark.name = "dataloader_default" + name;
  benchmark.estimate = estimate;
  benchmark.purpose = purpose;
  benchmark.goal = bench::Goal::kThroughput;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[baseline] { return std::make_unique<Epoch>(baseline); }, {}, {1e-4, 1e-5}};
  benchmark.optimized = {[optimized] { return std::make_unique<Epoch>(optimized); }, {}, {1e-4, 1e-5}};
  benchmark.iterations = 5;  // epochs
  benchmark.warmup = 1;
  return benchmark;
}

bool add_default() {
  bench::Benchmark benchmark =
      epochs("", "records when they are needed; ahead by four threads that live on, pinned", {}, kAll);
  benchmark.least_ratio_cpu = 2;
  benchmark.least_ratio_cuda = 1.2;
  return bench::add_benchmark(benchmark);
}

/// An option of the loader: what it brings is shown, and nothing is promised.
bool add_option(const std::string& name, const std::string& purpose, const Options& baseline, const Options& optimized,
                const std::vector<std::string>& devices = {"cpu", "cuda"}) {
  bench::Benchmark benchmark = epochs(name, purpose, baseline, optimized);
  benchmark.devices = devices;
  benchmark.informational = true;
  return bench::add_benchmark(benchmark);
}

[[maybe_unused]] const bool kAdded =
    add_default() && add_option("_workers", "records when they are needed; ahead by four threads", {}, kThreads) &&
    add_option("_prefetch", "four threads, a batch ahead each; four batches", kThreads, {.workers = 4, .ahead = 16}) &&
    add_option("_pinned", "four threads; batches in pinned memory", kThreads, {.workers = 4, .pinned = true},
               {"cuda"}) &&
    add_option("_persistent", "four threads for each epoch; threads that live on", kThreads,
               {.workers = 4, .persistent = true});

}  // namespace workloads::dataloader_default
