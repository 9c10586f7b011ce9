// SPDX-License-Identifier: MIT
// Gradients of many samples in batches of a fixed small size; and of the largest size that a budget of memory takes,
// found by trying: batches double until one does not fit, then the interval is halved.
#include "common/estimates.hpp"
#include "common/largest_batch.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/device_memory/device_memory.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/torch/memory.hpp>

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace workloads::batch_until_full {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::int64_t kSmallBatch = 8, kOutputs = 10, kMiB = 1 << 20;

struct Sizes {
  std::int64_t samples, width, hidden;
  std::int64_t budget_bytes;  // for what a batch adds to inputs, weights and gradients
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {60, 16, 32, 1 << 14}, {1024, 256, 512, 4 * kMiB},
                                  {2048, 1024, 4096, 64 * kMiB});
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
  out.launches = examples::training_launches(6) * static_cast<double>(sizes.samples) / kSmallBatch;
  return out;
}

class Batches : public examples::TensorVariant {
 public:
  explicit Batches(bool until_full) : until_full_(until_full) {}

  void step() override {
    net_->zero_grad(/*set_to_none=*/false);
    for (std::int64_t at = 0; at < x_.size(0); at += batch_) add_gradients(at, std::min(batch_, x_.size(0) - at));
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(x_.size(0));
    work.flops = flops_of(sizes_of(size()));
    work.flops_type = "fp32";
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    std::vector<bench::Metric> all{{"batch", static_cast<double>(batch_)},
                                   {"batches", static_cast<double>((x_.size(0) + batch_ - 1) / batch_)}};
    if (until_full_) {
      all.push_back({"budget_bytes", static_cast<double>(sizes_of(size()).budget_bytes)});
      all.push_back({"batches_tried", static_cast<double>(tried_)});
    }
    return all;
  }

 private:
  void add_gradients(std::int64_t at, std::int64_t count) {
    torch::Tensor loss;
    {
      const ProfileRange range("forward");
      const torch::Tensor out = net_->forward(x_.narrow(0, at, count));
      out_.narrow(0, at, count).copy_(out.detach());
      // Sums of squares: gradients of the batches add up to that of all samples.
      loss = torch::mse_loss(out, y_.narrow(0, at, count), at::Reduction::Sum) / x_.size(0);
    }
    const ProfileRange range("backward");
    loss.backward();
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    x_ = torch::randn({sizes.samples, sizes.width}).to(device());
    y_ = torch::randn({sizes.samples, kOutputs}).to(device());
    out_ = torch::zeros({sizes.samples, kOutputs}, device());
    net_ = torch::nn::Sequential(torch::nn::Linear(sizes.width, sizes.hidden), torch::nn::Tanh(),
                                 torch::nn::Linear(sizes.hidden, kOutputs));
    net_->to(device());
    for (torch::Tensor& parameter : net_->parameters()) parameter.mutable_grad() = torch::zeros_like(parameter);
    batch_ = until_full_ ? search(sizes.budget_bytes) : kSmallBatch;
    out_.zero_();
  }

  std::int64_t search(std::int64_t budget_bytes) {
    add_gradients(0, 1);  // what libraries make once, workspaces say, is no batch's
    const std::int64_t found = device().is_cuda() ? search_device(budget_bytes) : search_host(budget_bytes);
    TORCH_CHECK(found > 0, "not even one sample fits into ", budget_bytes, " bytes");
    return found;
  }

  /// By the allocator's peak, which is exact: a host that is full ends the process, and gives no warning.
  std::int64_t search_host(std::int64_t budget_bytes) {
    return examples::largest_batch(x_.size(0), [&](std::int64_t batch) {
      ++tried_;
      rangefinder::torch::reset_host_memory_peak();
      const auto before = rangefinder::torch::host_memory().allocated_bytes;
      add_gradients(0, batch);
      const auto peak = rangefinder::torch::host_memory().peak_bytes;
      return static_cast<std::int64_t>(peak - before) <= budget_bytes;
    });
  }

  /// By failing, as on a device that is full: the allocator has given back all it could before it throws.
  std::int64_t search_device(std::int64_t budget_bytes) {
    const auto free_bytes = static_cast<std::int64_t>(at::getDeviceAllocator(at::kCUDA)->getMemoryInfo(0).first);
    const examples::DeviceMemoryCap cap(std::min(budget_bytes, free_bytes));
    return examples::largest_batch(x_.size(0), [&](std::int64_t batch) {
      ++tried_;
      try {
        add_gradients(0, batch);
        synchronize();
        return true;
      } catch (const c10::OutOfMemoryError&) {
        at::getDeviceAllocator(at::kCUDA)->emptyCache();  // blocks of this size are of no use to the next one
        return false;
      }
    });
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

  bool until_full_;
  std::int64_t batch_ = 0, tried_ = 0;
  torch::Tensor x_, y_, out_;
  torch::nn::Sequential net_;
};

bench::Benchmark batch_until_full() {
  bench::Benchmark benchmark;
  benchmark.name = "batch_until_full";
  benchmark.estimate = estimate;
  benchmark.purpose = "batches of 8, the largest batch that a budget of memory takes";
  benchmark.goal = bench::Goal::kThroughput;
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Batches>(false); }, {1e-4, 1e-5}, {1e-4, 1e-5}};
  benchmark.optimized = {[] { return std::make_unique<Batches>(true); }, {1e-4, 1e-5}, {1e-4, 1e-5}};
  benchmark.least_ratio_cpu = 1.3;
  benchmark.skip = examples::skip_without_device_memory;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(batch_until_full());

}  // namespace workloads::batch_until_full
