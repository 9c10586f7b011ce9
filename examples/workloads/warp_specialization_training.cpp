// SPDX-License-Identifier: MIT
// Thirteen elementwise operators after a layer: each over the whole array and into a new one, thirteen round trips
// through memory; and all of them over rows that fit into a core's cache before the next rows, one round trip.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/kernels/on_device.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace workloads::warp_specialization_training {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;
namespace kernels = examples::kernels;

constexpr int kOperators = 13;

struct Sizes {
  std::int64_t rows, width;
};

Sizes sizes_of(const std::string& size) { return examples::of_size<Sizes>(size, {32, 256}, {512, 4096}, {8192, 4096}); }

std::int64_t passes_on(bool cuda) { return cuda ? 8 : 1; }  // one takes a device not much longer than its launches

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double array = examples::elements({sizes.rows, sizes.width}),
               element_bytes = examples::float_or_half_bytes(setup);
  bench::Estimate out =
      examples::estimate_of_elements(2 * array + 3 * static_cast<double>(sizes.width), array, element_bytes);
  out.bytes = 3 * element_bytes * array * static_cast<double>(passes_on(setup.device == "cuda"));
  out.launches = kOperators * static_cast<double>(passes_on(setup.device == "cuda"));
  return out;
}

class Chain : public examples::TensorVariant {
 public:
  explicit Chain(bool by_rows) : by_rows_(by_rows) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    for (std::int64_t pass = passes_on(device().is_cuda()); pass-- > 0;) epilogue();
  }

  bench::Work work() override {
    bench::Work work;
    const std::int64_t passes = passes_on(device().is_cuda());
    work.samples = static_cast<double>(passes * x_.size(0));
    work.bytes = 3.0 * static_cast<double>(passes) * array_bytes();  // of use: x and the residual in, the result out
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    // Of a pass. Each operator reads and writes an array, and two read the residual. Fused or by rows, the arrays are
    // met once.
    const bool once = by_rows_ && (!device().is_cuda() || kernels::device_kernels_built());
    return {{"bytes_moved", (once ? 3 : 2 * kOperators + 2) * array_bytes(), bench::MetricKind::kBytes},
            {"round_trips", once ? 1.0 : kOperators, bench::MetricKind::kCount}};
  }

 private:
  static constexpr std::int64_t kBlock = 1 << 15;  // elements: a block and its residual take 256 KiB of cache

  void epilogue() {
    const ProfileRange range("epilogue");
    if (!by_rows_) {
      out_ = torch::leaky_relu(x_ * scale_ + shift_, 0.1) * gate_ + residual_;
      out_ = (torch::silu(out_) * 1.25 - 0.5) * scale_;
      out_ = (torch::leaky_relu(out_, 0.2) + residual_) * 0.5 + shift_;
      return;
    }
    out_ = kept_;
    if (device().is_cuda() && kernels::device_kernels_built()) {
      kernels::check_launch(
          kernels::epilogue_chain({x_.const_data_ptr(), residual_.const_data_ptr(), scale_.const_data_ptr(),
                                   shift_.const_data_ptr(), gate_.const_data_ptr(), kept_.data_ptr()},
                                  {x_.size(0), x_.size(1)}, kernels::current_stream(x_)));
      return;
    }
    // A device's cache is not a core's: there a launch for each few rows would cost more than the round trips.
    const std::int64_t rows = device().is_cuda() ? x_.size(0) : kBlock / x_.size(1);
    for (std::int64_t begin = 0; begin < x_.size(0); begin += rows) {
      const std::int64_t count = std::min(rows, x_.size(0) - begin);
      const torch::Tensor residual = residual_.narrow(0, begin, count);
      torch::Tensor y = kept_.narrow(0, begin, count);
      at::mul_out(y, x_.narrow(0, begin, count), scale_);
      at::leaky_relu_(y.add_(shift_), 0.1).mul_(gate_).add_(residual);
      at::silu_(y).mul_(1.25).sub_(0.5).mul_(scale_);
      at::leaky_relu_(y, 0.2).add_(residual).mul_(0.5).add_(shift_);
    }
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kHalf : torch::kFloat;
    const auto random = [&](torch::IntArrayRef shape) { return torch::randn(shape).to(device(), type); };
    x_ = random({sizes.rows, sizes.width});
    residual_ = random({sizes.rows, sizes.width});
    scale_ = random({sizes.width});
    shift_ = random({sizes.width});
    gate_ = random({sizes.width});
    kept_ = torch::empty_like(x_);
  }
  std::vector<NamedTensor> given() override {
    return {{"x", x_}, {"residual", residual_}, {"scale", scale_}, {"shift", shift_}, {"gate", gate_}};
  }
  std::vector<NamedTensor> results() override { return {{"out", out_}}; }
  double array_bytes() const { return static_cast<double>(x_.numel()) * static_cast<double>(x_.element_size()); }

  bool by_rows_;
  torch::Tensor x_, residual_, scale_, shift_, gate_, kept_, out_;
};

bench::Benchmark warp_specialization_training() {
  bench::Benchmark benchmark;
  benchmark.name = "warp_specialization_training";
  benchmark.estimate = estimate;
  benchmark.purpose = "an epilogue of 13 operators over whole arrays, over rows in place";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Chain>(false); }, {1e-5, 1e-5}, {2e-3, 2e-3}};
  benchmark.optimized = {[] { return std::make_unique<Chain>(true); }, {1e-5, 1e-5}, {2e-3, 2e-3}};
  benchmark.least_ratio_cpu = 1.5;
  benchmark.least_ratio_cuda = 1.5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(warp_specialization_training());

}  // namespace workloads::warp_specialization_training
