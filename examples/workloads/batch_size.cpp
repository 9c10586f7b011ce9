// SPDX-License-Identifier: MIT
// Gradients of the same samples: one at a time, where each pays for all operators and reads all weights; and 128 at a
// time. The optimized variant also says how many samples a second there are at each power of two between.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <string>

namespace workloads::batch_size {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t samples, width, hidden;
};

constexpr std::int64_t kOutputs = 10;

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {128, 32, 64}, {512, 256, 512}, {128, 1024, 4096});
}

double flops_of(const Sizes& sizes) {
  const double of_data = examples::elements({sizes.width, sizes.hidden});
  return examples::training_flops(of_data + examples::elements({sizes.hidden, kOutputs}),
                                  static_cast<double>(sizes.samples), of_data);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double weights =
      examples::linear_elements(sizes.width, sizes.hidden) + examples::linear_elements(sizes.hidden, kOutputs);
  bench::Estimate out = examples::estimate_of_elements(
      examples::elements({sizes.samples, sizes.width + kOutputs}) + weights,
      examples::elements({sizes.samples, kOutputs}) + weights, examples::kFloatBytes, flops_of(sizes));
  out.launches = examples::training_launches(6) * static_cast<double>(sizes.samples);
  return out;
}

class Batches : public examples::TensorVariant {
 public:
  explicit Batches(std::int64_t batch) : batch_(batch) {}

  void step() override { gradients(batch_); }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(x_.size(0));
    work.flops = flops_of(sizes_of(size()));
    work.flops_type = "fp32";
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    std::vector<bench::Metric> all{{"batches", static_cast<double>(x_.size(0) / batch_), bench::MetricKind::kCount}};
    if (batch_ == 1) return all;
    for (std::int64_t batch = 1; batch <= batch_; batch *= 2)
      all.push_back({"samples_per_s_at_batch_" + std::to_string(batch), samples_per_s(batch)});
    return all;
  }

 private:
  /// By the best of three steps: a sweep is made once, and what else runs only makes it slower.
  double samples_per_s(std::int64_t batch) {
    double least_s = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 3; ++run) {
      synchronize();
      const auto begin = std::chrono::steady_clock::now();
      gradients(batch);
      synchronize();
      least_s = std::min(least_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return static_cast<double>(x_.size(0)) / least_s;
  }

  void gradients(std::int64_t batch) {
    net_->zero_grad();
    for (std::int64_t at = 0; at < x_.size(0); at += batch) {
      torch::Tensor loss;
      {
        const ProfileRange range("forward");
        const torch::Tensor out = net_->forward(x_.narrow(0, at, batch));
        out_.narrow(0, at, batch).copy_(out.detach());
        // Sums of squares: gradients of the batches add up to that of all samples.
        loss = torch::mse_loss(out, y_.narrow(0, at, batch), at::Reduction::Sum) / x_.size(0);
      }
      const ProfileRange range("backward");
      loss.backward();
    }
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    x_ = torch::randn({sizes.samples, sizes.width}).to(device());
    y_ = torch::randn({sizes.samples, kOutputs}).to(device());
    out_ = torch::zeros({sizes.samples, kOutputs}, device());
    net_ = torch::nn::Sequential(torch::nn::Linear(sizes.width, sizes.hidden), torch::nn::Tanh(),
                                 torch::nn::Linear(sizes.hidden, kOutputs));
    net_->to(device());
  }
  std::vector<NamedTensor> given() override {
    auto all = examples::parameters_of(*net_);
    all.insert(all.begin(), {{"x", x_}, {"y", y_}});
    return all;
  }
  std::vector<NamedTensor> results() override {
    auto all = examples::gradients_of(*net_);
    all.insert(all.begin(), {"out", out_});
    return all;
  }

  std::int64_t batch_;
  torch::Tensor x_, y_, out_;
  torch::nn::Sequential net_;
};

bench::Benchmark batch_size() {
  bench::Benchmark benchmark;
  benchmark.name = "batch_size";
  benchmark.estimate = estimate;
  benchmark.purpose = "samples one at a time, 128 at a time";
  benchmark.goal = bench::Goal::kThroughput;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Batches>(1); }, {1e-4, 1e-5}, {1e-4, 1e-5}};
  benchmark.optimized = {[] { return std::make_unique<Batches>(128); }, {1e-4, 1e-5}, {1e-4, 1e-5}};
  benchmark.least_ratio_cpu = 3;
  benchmark.least_ratio_cuda = 20;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(batch_size());

}  // namespace workloads::batch_size
