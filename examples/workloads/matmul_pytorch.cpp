// SPDX-License-Identifier: MIT
// relu(A B + bias) + residual, scaled: five operators, each with a new result; and the product with its bias into
// memory that is there already, finished in place.
#include "common/tensor_side.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/torch/memory.hpp>

#include <cmath>
#include <cstdint>
#include <memory>

namespace {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr double kScale = 0.125;

class Epilogue : public examples::TensorSide {
 public:
  explicit Epilogue(bool in_place) : in_place_(in_place) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    const std::uint64_t before = rangefinder::torch::host_memory().allocations;
    if (in_place_) {
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
    allocations_ = rangefinder::torch::host_memory().allocations - before;
  }

  bench::Work work() override {
    bench::Work work;
    work.flops = 2.0 * static_cast<double>(left_.numel() * right_.size(1));
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    if (device().is_cuda()) return {};  // the caching allocator's requests are not those of the host
    return {{"host_allocations", static_cast<double>(allocations_), bench::MetricKind::kCount}};
  }

 private:
  void make() override {
    const auto side = of_size<std::int64_t>(64, 512, 4096);
    const auto type = device().is_cuda() ? torch::kHalf : torch::kFloat;
    const auto random = [&](torch::IntArrayRef shape) { return torch::randn(shape).to(device(), type); };
    left_ = random({side, side});
    // The product's elements are then about 1: a half has the digits for a residual beside them.
    right_ = random({side, side}) / std::sqrt(static_cast<double>(side));
    bias_ = random({side});
    residual_ = random({side, side});
    kept_ = torch::empty({side, side}, left_.options());
  }
  std::vector<NamedTensor> given() override {
    return {{"left", left_}, {"right", right_}, {"bias", bias_}, {"residual", residual_}};
  }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }

  bool in_place_;
  std::uint64_t allocations_ = 0;
  torch::Tensor left_, right_, bias_, residual_, kept_, out_;
};

bench::Pair matmul_pytorch() {
  bench::Pair pair;
  pair.name = "matmul_pytorch";
  pair.purpose = "a product and its epilogue in five operators, in place";
  pair.devices = {"cpu", "cuda"};
  pair.baseline = {[] { return std::make_unique<Epilogue>(false); }, {1e-5, 1e-5}, {2e-3, 1e-2}};
  pair.optimized = {[] { return std::make_unique<Epilogue>(true); }, {1e-5, 1e-5}, {2e-3, 1e-2}};
  // No promise of time on a CPU: the product outweighs what is saved. What is promised there is the count of
  // allocations.
  return pair;
}

[[maybe_unused]] const bool kAdded = bench::add_pair(matmul_pytorch());

}  // namespace
