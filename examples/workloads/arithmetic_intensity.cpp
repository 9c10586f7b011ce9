// SPDX-License-Identifier: MIT
// One product of matrices: as a sum of thin updates, each of which reads and writes the whole result for a few FLOPs an
// element; and at once, where the result stays in the caches until it is done.
#include "common/estimates.hpp"
#include "common/machine_peaks.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace workloads::arithmetic_intensity {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t side, chunk;
};

Sizes sizes_of(const std::string& size) { return examples::of_size<Sizes>(size, {64, 8}, {512, 8}, {4096, 16}); }

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double matrix = examples::elements({sizes.side, sizes.side});
  bench::Estimate out = examples::estimate_of_elements(2 * matrix, matrix, examples::kFloatBytes,
                                                       2 * matrix * static_cast<double>(sizes.side));
  out.launches = static_cast<double>(sizes.side / sizes.chunk);
  out.bytes = (3 + 2 * out.launches) * examples::kFloatBytes * matrix;
  return out;
}

class Product : public examples::TensorVariant {
 public:
  explicit Product(bool whole) : whole_(whole) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    const ProfileRange range("product");
    if (whole_) {
      at::matmul_out(product_, left_, right_);
      return;
    }
    product_.zero_();
    for (std::int64_t at = 0; at < sizes_.side; at += sizes_.chunk)
      product_.addmm_(left_.narrow(1, at, sizes_.chunk), right_.narrow(0, at, sizes_.chunk));
  }

  bench::Work work() override {
    bench::Work work;
    work.flops = flops();
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    const examples::MachinePeaks peaks = examples::measure_peaks(device(), size() == "smoke");
    const double flops_per_s = flops() / examples::best_seconds(device(), 3, [this] { step(); });
    // What the roofline allows at this many FLOPs for a byte, if each call read its operands from memory.
    const double roof = std::min(peaks.flops_per_s, peaks.bytes_per_s * flops() / bytes());
    return {{"matrix_products", static_cast<double>(updates()), bench::MetricKind::kCount},
            {"bytes_moved", bytes(), bench::MetricKind::kBytes},
            {"flops_per_byte", flops() / bytes()},
            {"gflops_per_s", flops_per_s * 1e-9},
            {"share_of_peak", flops_per_s / peaks.flops_per_s},
            {"share_of_roofline", flops_per_s / roof},
            {"peak_gflops_per_s", peaks.flops_per_s * 1e-9},
            {"peak_gbytes_per_s", peaks.bytes_per_s * 1e-9}};
  }

 private:
  void make() override {
    sizes_ = sizes_of(size());
    const auto random = [&] { return torch::randn({sizes_.side, sizes_.side}).to(device()); };
    left_ = random();
    right_ = random();
    product_ = torch::zeros({sizes_.side, sizes_.side}, device());
  }
  std::vector<NamedTensor> given() override { return {{"left", left_}, {"right", right_}}; }
  std::vector<NamedTensor> results() override { return {{"product", product_}}; }

  std::int64_t updates() const { return whole_ ? 1 : sizes_.side / sizes_.chunk; }
  double flops() const { return 2.0 * static_cast<double>(sizes_.side * sizes_.side * sizes_.side); }
  /// If each call read its operands once: both inputs in all, the result once written, and at each update read too.
  double bytes() const {
    const double matrix = 4.0 * static_cast<double>(sizes_.side * sizes_.side);
    return matrix * (whole_ ? 3.0 : 3.0 + 2.0 * static_cast<double>(updates()));
  }

  bool whole_;
  Sizes sizes_{};
  torch::Tensor left_, right_, product_;
};

bench::Benchmark arithmetic_intensity() {
  bench::Benchmark benchmark;
  benchmark.name = "arithmetic_intensity";
  benchmark.estimate = estimate;
  benchmark.purpose = "a matrix product as thin updates of the whole result, one product";
  benchmark.devices = {"cpu", "cuda"};
  // LibTorch computes float products without TF32 unless it is told otherwise.
  benchmark.baseline = {[] { return std::make_unique<Product>(false); }, {1e-4, 1e-3}, {1e-4, 2e-3}};
  benchmark.optimized = {[] { return std::make_unique<Product>(true); }, {1e-4, 1e-3}, {1e-4, 2e-3}};
  benchmark.least_ratio_cpu = 1.2;
  benchmark.least_ratio_cuda = 2;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(arithmetic_intensity());

}  // namespace workloads::arithmetic_intensity
