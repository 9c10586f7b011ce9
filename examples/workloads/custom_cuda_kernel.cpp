// SPDX-License-Identifier: MIT
// gelu(x + bias) + residual, forward and backward: three operators of LibTorch with a result each; and one of our own,
// registered with LibTorch, that reads and writes everything once each way.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/kernels/bias_gelu_residual_operator.hpp"
#include "workloads/kernels/device_kernels.hpp"

#include <rangefinder/range.hpp>

#include <functional>
#include <memory>
#include <string>

namespace workloads::custom_cuda_kernel {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;
namespace kernels = examples::kernels;

struct Sizes {
  std::int64_t rows, width;
};

Sizes sizes_of(const std::string& size) { return examples::of_size<Sizes>(size, {32, 256}, {256, 2048}, {6144, 4096}); }

std::int64_t passes_on(bool cuda) { return cuda ? 8 : 1; }  // one takes a device not much longer than its launches

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double array = examples::elements({sizes.rows, sizes.width});
  const double all = 3 * array + static_cast<double>(sizes.width);  // given; and come to, with gradients
  bench::Estimate out = examples::estimate_of_elements(all, all, examples::kFloatBytes);
  out.bytes = 6 * examples::kFloatBytes * array * static_cast<double>(passes_on(setup.device == "cuda"));
  out.launches = examples::training_launches(4) * static_cast<double>(passes_on(setup.device == "cuda"));
  return out;
}

class Activation : public examples::TensorVariant {
 public:
  explicit Activation(bool fused) : fused_(fused) {}

  void step() override {
    for (std::int64_t pass = passes_on(device().is_cuda()); pass-- > 0;) forward_and_backward();
  }

  bench::Work work() override {
    bench::Work work;
    // Of use: forward and backward, three arrays each.
    work.bytes = (3.0 + 3.0) * 4.0 * static_cast<double>(passes_on(device().is_cuda()) * x_.numel());
    return work;
  }

 private:
  void forward_and_backward() {
    for (Tensor& one : {std::ref(x_), std::ref(bias_), std::ref(residual_)}) one.mutable_grad().reset();
    {
      const ProfileRange range("forward");
      out_ = fused_ ? kernels::bias_gelu_residual(x_, bias_, residual_) : torch::gelu(x_ + bias_) + residual_;
    }
    const ProfileRange range("backward");
    out_.backward(gradient_);
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    const auto random = [&](torch::IntArrayRef shape) { return torch::randn(shape).to(device()); };
    x_ = random({sizes.rows, sizes.width}).requires_grad_();
    bias_ = random({sizes.width}).requires_grad_();
    residual_ = random({sizes.rows, sizes.width}).requires_grad_();
    gradient_ = random({sizes.rows, sizes.width});
  }
  std::vector<NamedTensor> given() override {
    return {{"x", x_}, {"bias", bias_}, {"residual", residual_}, {"gradient", gradient_}};
  }
  std::vector<NamedTensor> results() override {
    return {{"out", out_},
            {"gradient of x", x_.grad()},
            {"gradient of bias", bias_.grad()},
            {"gradient of residual", residual_.grad()}};
  }

  bool fused_;
  Tensor x_, bias_, residual_, gradient_, out_;
};

bench::Benchmark custom_cuda_kernel() {
  bench::Benchmark benchmark;
  benchmark.name = "custom_cuda_kernel";
  benchmark.estimate = estimate;
  benchmark.purpose = "bias, GELU and residual as three operators, as one of our own with its gradient";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Activation>(false); }, {1e-5, 1e-4}, {1e-5, 1e-4}};
  benchmark.optimized = {[] { return std::make_unique<Activation>(true); }, {1e-5, 1e-4}, {1e-5, 1e-4}};
  benchmark.least_ratio_cpu = 1.2;
  benchmark.least_ratio_cuda = 1.2;
  benchmark.skip = [](const bench::Setup& setup) -> std::string {
    return setup.device == "cuda" && !kernels::device_kernels_built() ? "feature_not_built" : "";
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(custom_cuda_kernel());

}  // namespace workloads::custom_cuda_kernel
