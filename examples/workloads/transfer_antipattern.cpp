// SPDX-License-Identifier: MIT
// A layer whose weights come from the host at every step, although they are unchanged; and one whose weights were
// brought once, so that a step moves its batch alone. Both from pinned memory: what that brings to weights that come at
// every step is a benchmark of its own. On a CPU the transfer is a copy.
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

enum class Way { kPageable, kPinned, kOnce };  // the weights: at every step, or once

Sizes sizes_of(const std::string& size) { return examples::of_size<Sizes>(size, {4, 128}, {8, 2048}, {64, 8192}); }

bench::Estimate estimate(const bench::Setup& setup, double bytes_per_s) {
  const Sizes sizes = sizes_of(setup.size);
  const double batch = examples::elements({sizes.batch, sizes.width});
  const double weights = examples::elements({sizes.width, sizes.width});
  bench::Estimate out = examples::estimate_of_elements(batch + weights, batch, examples::kFloatBytes,
                                                       2 * batch * static_cast<double>(sizes.width));
  out.launches = 4;
  if (setup.device == "cuda") out.step_waiting_s = examples::kFloatBytes * weights / bytes_per_s;
  return out;
}

class Layer : public examples::TensorVariant {
 public:
  explicit Layer(Way way) : once_(way == Way::kOnce), pinned_(way != Way::kPageable) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    torch::Tensor x, weights;
    {
      const ProfileRange range("transfer");
      x = host_x_.to(device(), /*non_blocking=*/pinned_, /*copy=*/true);
      weights = once_ ? weights_ : host_weights_.to(device(), /*non_blocking=*/pinned_, /*copy=*/true);
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
    if (pinned_ && device().is_cuda()) {
      host_x_ = host_x_.pin_memory();
      host_weights_ = host_weights_.pin_memory();
    }
    if (once_) weights_ = host_weights_.to(device(), /*non_blocking=*/false, /*copy=*/true);
  }
  std::vector<NamedTensor> given() override { return {{"x", host_x_}, {"weights", host_weights_}}; }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }
  /// Of all elements of a row: the layer's ReLU may hide what one of them does.
  void perturb() override { host_x_[host_x_.size(0) / 2].add_(1); }

  bool once_, pinned_;
  torch::Tensor host_x_, host_weights_, weights_, out_;
};

bench::Benchmark transfers(Way baseline, Way optimized, double bytes_per_s) {
  bench::Benchmark benchmark;
  benchmark.estimate = [bytes_per_s](const bench::Setup& setup) { return estimate(setup, bytes_per_s); };
  benchmark.baseline = {[baseline] { return std::make_unique<Layer>(baseline); }, {}, {1e-5, 1e-6}};
  benchmark.optimized = {[optimized] { return std::make_unique<Layer>(optimized); }, {}, {1e-5, 1e-6}};
  return benchmark;
}

bench::Benchmark transfer_antipattern() {
  bench::Benchmark benchmark = transfers(Way::kPinned, Way::kOnce, examples::kPinnedBytes_per_s);
  benchmark.name = "transfer_antipattern";
  benchmark.purpose = "weights transferred at every step, once";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.least_ratio_cpu = 1.3;
  return benchmark;
}

bench::Benchmark transfer_antipattern_pinned() {
  bench::Benchmark benchmark = transfers(Way::kPageable, Way::kPinned, examples::kPageableBytes_per_s);
  benchmark.name = "transfer_antipattern_pinned";
  benchmark.purpose = "weights transferred at every step from pageable memory, from pinned";
  benchmark.devices = {"cuda"};
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(transfer_antipattern()) && bench::add_benchmark(transfer_antipattern_pinned());

}  // namespace workloads::transfer_antipattern
