// SPDX-License-Identifier: MIT
// relu(A B + bias) + residual, scaled: five operators, each with a new result; the product with its bias into memory
// that is there already, finished in place; and, on a device, one kernel of CUTLASS that does it all.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/kernels/on_device.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/torch/memory.hpp>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

namespace workloads::matmul_pytorch {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

namespace kernels = examples::kernels;

constexpr double kScale = kernels::kEpilogueScale;

struct Sizes {
  std::int64_t side, inner;
};

// The product for a GPU is thin: the time of a square one would hide that of its epilogue.
Sizes sizes_of(const std::string& size) { return examples::of_size<Sizes>(size, {64, 64}, {512, 512}, {6144, 1024}); }

std::int64_t passes_on(bool cuda) { return cuda ? 16 : 1; }  // one takes a device not much longer than its launches

bench::Estimate estimate(const bench::Setup& setup) {
  const auto [side, inner] = sizes_of(setup.size);
  const double matrix = examples::elements({side, side}), factors = examples::elements({2, side, inner});
  const double passes = static_cast<double>(passes_on(setup.device == "cuda"));
  bench::Estimate out = examples::estimate_of_elements(matrix + factors + static_cast<double>(side), matrix,
                                                       examples::float_or_half_bytes(setup),
                                                       passes * 2 * matrix * static_cast<double>(inner));
  out.bytes = passes * 10 * examples::float_or_half_bytes(setup) * matrix;  // of the product and four operators
  out.launches = 5 * passes;
  out.half = setup.device == "cuda";
  return out;
}

enum class Way { kOperators, kInPlace, kOneKernel };

class Epilogue : public examples::TensorVariant {
 public:
  explicit Epilogue(Way way) : way_(way) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    const std::uint64_t before = rangefinder::torch::host_memory().allocations;
    for (std::int64_t pass = passes_on(device().is_cuda()); pass-- > 0;) product_and_epilogue();
    allocations_ = rangefinder::torch::host_memory().allocations - before;
  }

  bench::Work work() override {
    bench::Work work;
    work.flops = 2.0 * static_cast<double>(passes_on(device().is_cuda()) * left_.numel() * right_.size(1));
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    if (device().is_cuda()) return {};  // the caching allocator's requests are not those of the host
    return {{"host_allocations", static_cast<double>(allocations_), bench::MetricKind::kCount}};
  }

 private:
  void product_and_epilogue() {
    if (way_ == Way::kOneKernel) {
      const ProfileRange range("product_and_epilogue");
      kernels::check_launch(
          kernels::fused_product({left_.const_data_ptr(), right_.const_data_ptr(), bias_.const_data_ptr(),
                                  residual_.const_data_ptr(), kept_.data_ptr()},
                                 {left_.size(0), right_.size(1), left_.size(1)}, kernels::current_stream(left_)));
      out_ = kept_;
    } else if (way_ == Way::kInPlace) {
      {
        const ProfileRange range("product");
        at::addmm_out(kept_, bias_, left_, right_);
      }
      const ProfileRange range("epilogue");
      out_ = kept_.relu_().add_(residual_).mul_(kScale);
    } else {
      torch::Tensor product;
      {
        const ProfileRange range("product");
        product = torch::matmul(left_, right_);
      }
      const ProfileRange range("epilogue");
      out_ = (torch::relu(product + bias_) + residual_) * kScale;
    }
  }

  void make() override {
    const auto [side, inner] = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kHalf : torch::kFloat;
    const auto random = [&](torch::IntArrayRef shape) { return torch::randn(shape).to(device(), type); };
    left_ = random({side, inner});
    // The product's elements are then about 1: a half has the digits for a residual beside them.
    right_ = random({inner, side}) / std::sqrt(static_cast<double>(inner));
    bias_ = random({side});
    residual_ = random({side, side});
    kept_ = torch::empty({side, side}, left_.options());
  }
  std::vector<NamedTensor> given() override {
    return {{"left", left_}, {"right", right_}, {"bias", bias_}, {"residual", residual_}};
  }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }

  Way way_;
  std::uint64_t allocations_ = 0;
  torch::Tensor left_, right_, bias_, residual_, kept_, out_;
};

bench::Benchmark matmul_pytorch() {
  bench::Benchmark benchmark;
  benchmark.name = "matmul_pytorch";
  benchmark.estimate = estimate;
  benchmark.purpose = "a product and its epilogue in five operators, in place";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Epilogue>(Way::kOperators); }, {1e-5, 1e-5}, {2e-3, 1e-2}};
  benchmark.optimized = {[] { return std::make_unique<Epilogue>(Way::kInPlace); }, {1e-5, 1e-5}, {2e-3, 1e-2}};
  // No promise of time on a CPU: the product outweighs what is saved. What is promised there is the count of
  // allocations.
  benchmark.least_ratio_cuda = 1.15;
  return benchmark;
}

bench::Benchmark matmul_pytorch_cutlass() {
  bench::Benchmark benchmark = matmul_pytorch();
  benchmark.name = "matmul_pytorch_cutlass";
  benchmark.purpose = "a product and its epilogue in five operators, in one kernel of CUTLASS";
  benchmark.devices = {"cuda"};
  benchmark.optimized.make = [] { return std::make_unique<Epilogue>(Way::kOneKernel); };
  benchmark.least_ratio_cuda = 0;
  benchmark.skip = [](const bench::Setup&) -> std::string {
    return kernels::fused_product_built() ? "" : "feature_not_built: no headers of CUTLASS were found";
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(matmul_pytorch()) && bench::add_benchmark(matmul_pytorch_cutlass());

}  // namespace workloads::matmul_pytorch
