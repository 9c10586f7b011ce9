// SPDX-License-Identifier: MIT
// A forward pass whose gradients are never asked for: recorded for a backward pass, with every activation kept until
// the output is let go; and not recorded, each activation freed when the next layer has read it.
#include "common/estimates.hpp"
#include "common/libtorch_worker.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <c10/core/InferenceMode.h>

#include <memory>
#include <string>
#include <vector>

namespace workloads::inference_no_grad {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t layers, rows, width;
};

/// Rows outnumber weights where activations are the point, and are few where operators are.
Sizes sizes_of(const std::string& size, bool many_rows) {
  if (!many_rows) return examples::of_size<Sizes>(size, {4, 1, 32}, {64, 1, 64}, {64, 1, 256});
  return examples::of_size<Sizes>(size, {4, 64, 32}, {8, 512, 256}, {16, 16384, 1024});
}

bench::Estimate estimate(const bench::Setup& setup, bool many_rows) {
  const auto [layers, rows, width] = sizes_of(setup.size, many_rows);
  const double weights = static_cast<double>(layers) * examples::linear_elements(width, width);
  const double products = examples::elements({layers, width, width}), x = examples::elements({rows, width});
  bench::Estimate out =
      examples::estimate_of_elements(x + weights, x, examples::kFloatBytes, 2 * products * static_cast<double>(rows));
  out.launches = 3 * static_cast<double>(layers);
  return out;
}

enum class Recording { kOn, kNoGrad, kInferenceMode };

class Forward : public examples::TensorVariant {
 public:
  Forward(Recording recording, bool many_rows) : recording_(recording), many_rows_(many_rows) {}

  void step() override {
    const std::int64_t before = examples::live_bytes(device());
    const torch::Tensor y = forward();
    held_bytes_ = examples::live_bytes(device()) - before;
    out_.copy_(y.detach());
  }

  bench::Work work() override {
    const Sizes sizes = sizes_of(size(), many_rows_);
    bench::Work work;
    work.samples = static_cast<double>(sizes.rows);
    work.flops = 2 * examples::elements({sizes.layers, sizes.rows, sizes.width, sizes.width});
    work.flops_type = "fp32";
    return work;
  }

  /// What lives for as long as the output does: with a graph, all that a backward pass would read.
  std::vector<bench::Metric> metrics() override {
    return {{"held_by_output_bytes", static_cast<double>(held_bytes_), bench::MetricKind::kBytes}};
  }

 private:
  torch::Tensor forward() {
    const ProfileRange range("forward");
    if (recording_ == Recording::kInferenceMode) {
      const c10::InferenceMode inference;
      return layers_forward();
    }
    const torch::AutoGradMode recorded(recording_ == Recording::kOn);
    return layers_forward();
  }
  torch::Tensor layers_forward() {
    torch::Tensor x = in_;
    for (const torch::nn::Linear& layer : layers_) x = x + torch::gelu(torch::linear(x, layer->weight, layer->bias));
    return x;
  }

  void make() override {
    const Sizes sizes = sizes_of(size(), many_rows_);
    for (std::int64_t layer = 0; layer < sizes.layers; ++layer) {
      layers_.emplace_back(sizes.width, sizes.width);
      layers_.back()->to(device());
    }
    in_ = torch::randn({sizes.rows, sizes.width}).to(device());
    out_ = torch::zeros_like(in_);
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"in", in_}};
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      all.push_back({"weight " + std::to_string(i), layers_[i]->weight});
      all.push_back({"bias " + std::to_string(i), layers_[i]->bias});
    }
    return all;
  }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }

  Recording recording_;
  bool many_rows_;
  std::vector<torch::nn::Linear> layers_;
  torch::Tensor in_, out_;
  std::int64_t held_bytes_ = 0;
};

bench::Benchmark forward_pass(Recording baseline, bool many_rows) {
  bench::Benchmark benchmark;
  benchmark.devices = {"cpu", "cuda"};
  // The same kernels on the same numbers. On a device the choice of a kernel may depend on where its memory lies.
  benchmark.baseline = {[=] { return std::make_unique<Forward>(baseline, many_rows); }, {0, 0}, {1e-5, 1e-5}};
  benchmark.optimized = {
      [=] { return std::make_unique<Forward>(Recording::kInferenceMode, many_rows); }, {0, 0}, {1e-5, 1e-5}};
  benchmark.estimate = [=](const bench::Setup& setup) { return estimate(setup, many_rows); };
  return benchmark;
}

bench::Benchmark inference_no_grad() {
  bench::Benchmark benchmark = forward_pass(Recording::kOn, /*many_rows=*/true);
  benchmark.name = "inference_no_grad";
  benchmark.purpose = "a forward pass recorded for gradients, in inference mode";
  benchmark.goal = bench::Goal::kMemory;
  benchmark.memory_above_setup = true;
  benchmark.least_ratio_cpu = 3;
  benchmark.least_ratio_cuda = 3;
  return benchmark;
}

/// Of one row through many layers: what recording costs by itself, and what a guard leaves of it.
bool add_small(const std::string& name, const std::string& purpose, Recording baseline) {
  bench::Benchmark benchmark = forward_pass(baseline, /*many_rows=*/false);
  benchmark.name = "inference_no_grad" + name;
  benchmark.purpose = purpose;
  benchmark.iterations = 100;
  benchmark.informational = true;
  return bench::add_benchmark(benchmark);
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(inference_no_grad()) &&
    add_small("_row", "one row, recorded for gradients; in inference mode", Recording::kOn) &&
    add_small("_guard", "one row, under NoGradGuard; in inference mode", Recording::kNoGrad);

}  // namespace workloads::inference_no_grad
