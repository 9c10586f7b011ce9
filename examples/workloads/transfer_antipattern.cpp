// SPDX-License-Identifier: MIT
// A layer whose weights come from pageable memory of the host at every step, although they are unchanged; and one
// whose weights were brought once, so that a step moves its batch alone. On a CPU the transfer is a copy.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>

namespace workloads::transfer_antipattern {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batch, width;
};

constexpr double kPageableBytes_per_s = 7e9;  // from memory that the system may swap out; to an H100

Sizes sizes_of(const std::string& size) { return examples::of_size<Sizes>(size, {4, 128}, {8, 2048}, {64, 4096}); }

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double batch = examples::elements({sizes.batch, sizes.width});
  const double weights = examples::elements({sizes.width, sizes.width});
  bench::Estimate out = examples::estimate_of_elements(batch + weights, batch, examples::kFloatBytes,
                                                       2 * batch * static_cast<double>(sizes.width));
  out.launches = 4;
  if (setup.device == "cuda") out.step_waiting_s = examples::kFloatBytes * weights / kPageableBytes_per_s;
  return out;
}

class Layer : public examples::TensorVariant {
 public:
  explicit Layer(bool once) : once_(once) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    torch::Tensor x, weights;
    {
      const ProfileRange range("transfer");
      x = host_x_.to(device(), /*non_blocking=*/once_, /*copy=*/true);
      weights = once_ ? weights_ : host_weights_.to(device(), /*non_blocking=*/false, /*copy=*/true);
    }
    const ProfileRange range("forward");
    out_ = torch::relu(torch::matmul(x, weights));
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(host_x_.size(0));
    work.flops = 2.0 * static_cast<double>(host_x_.size(0) * host_weights_.numel());
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    const std::int64_t moved = host_x_.numel() + (once_ ? 0 : host_weights_.numel());
    return {{"transferred_bytes", 4.0 * static_cast<double>(moved), bench::MetricKind::kBytes}};
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    host_x_ = torch::randn({sizes.batch, sizes.width});
    host_weights_ = torch::randn({sizes.width, sizes.width}) / static_cast<double>(sizes.width);
    if (!once_) return;
    if (device().is_cuda()) host_x_ = host_x_.pin_memory();
    weights_ = host_weights_.to(device(), /*non_blocking=*/false, /*copy=*/true);
  }
  std::vector<NamedTensor> given() override { return {{"x", host_x_}, {"weights", host_weights_}}; }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }
  /// Of all elements of a row: the layer's ReLU may hide what one of them does.
  void perturb() override { host_x_[host_x_.size(0) / 2].add_(1); }

  bool once_;
  torch::Tensor host_x_, host_weights_, weights_, out_;
};

bench::Benchmark transfer_antipattern() {
  bench::Benchmark benchmark;
  benchmark.name = "transfer_antipattern";
  benchmark.estimate = estimate;
  benchmark.purpose = "weights transferred at every step, once";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Layer>(false); }, {}, {1e-5, 1e-6}};
  benchmark.optimized = {[] { return std::make_unique<Layer>(true); }, {}, {1e-5, 1e-6}};
  benchmark.least_ratio_cpu = 1.3;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(transfer_antipattern());

}  // namespace workloads::transfer_antipattern
