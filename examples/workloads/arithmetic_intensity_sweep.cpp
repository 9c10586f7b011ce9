// SPDX-License-Identifier: MIT
// Polynomials of growing degree over a large array: with a pass over memory for each coefficient, which costs the same
// bytes for each FLOP whatever the degree; and in one pass, where FLOPs for a byte grow until arithmetic is the limit.
#include "common/estimates.hpp"
#include "common/machine_peaks.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/kernels/polynomial.hpp"

#include <rangefinder/range.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace workloads::arithmetic_intensity_sweep {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

constexpr std::array<std::int64_t, 8> kDegrees{1, 2, 4, 8, 16, 32, 64, 128};

std::int64_t count_of(const std::string& size) {
  return examples::of_size<std::int64_t>(size, 1 << 14, 1 << 20, 1 << 22);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const auto count = static_cast<double>(count_of(setup.size));
  double flops = 0;
  for (const std::int64_t degree : kDegrees) flops += 2 * static_cast<double>(degree) * count;
  bench::Estimate out =
      examples::estimate_of_elements(count + static_cast<double>(kDegrees.back() + 1),
                                     static_cast<double>(kDegrees.size()) * count, examples::kFloatBytes, flops);
  out.bytes = 2.5 * examples::kFloatBytes * flops;  // for a product and a sum five arrays are read or written
  return out;
}

class Polynomials : public examples::TensorVariant {
 public:
  explicit Polynomials(bool one_pass) : one_pass_(one_pass) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < kDegrees.size(); ++i) {
      const ProfileRange range("degree." + std::to_string(kDegrees[i]));
      const auto begin = std::chrono::steady_clock::now();
      evaluate(kDegrees[i], values_[static_cast<std::int64_t>(i)]);
      spent_ns_[i] += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    }
    ++steps_;
  }

  bench::Work work() override {
    bench::Work work;
    for (const std::int64_t degree : kDegrees) work.flops += flops(degree);
    return work;
  }
  /// The points of a roofline: the knee is where GFLOP/s stop to grow with FLOPs for a byte.
  std::vector<bench::Metric> metrics() override {
    const examples::MachinePeaks peaks = examples::measure_peaks(device(), size() == "smoke");
    std::vector<bench::Metric> found{{"peak_gflops_per_s", peaks.flops_per_s * 1e-9},
                                     {"peak_gbytes_per_s", peaks.bytes_per_s * 1e-9}};
    for (std::size_t i = 0; i < kDegrees.size(); ++i) {
      const std::string degree = "degree_" + std::to_string(kDegrees[i]);
      const double a_step_ns = spent_ns_[i] / static_cast<double>(steps_);
      found.push_back({degree + ".flops_per_byte", flops(kDegrees[i]) / bytes(kDegrees[i])});
      found.push_back({degree + ".gflops_per_s", flops(kDegrees[i]) / a_step_ns});
      found.push_back({degree + ".gbytes_per_s", bytes(kDegrees[i]) / a_step_ns});
    }
    return found;
  }

 private:
  void make() override {
    const std::int64_t count = count_of(size());
    x_ = torch::rand({count}) * 1.6 - 0.8;  // powers of what is below 1 stay small
    coefficients_ = torch::randn({kDegrees.back() + 1});
    values_ = torch::zeros({static_cast<std::int64_t>(kDegrees.size()), count});
  }
  std::vector<NamedTensor> given() override { return {{"x", x_}, {"coefficients", coefficients_}}; }
  std::vector<NamedTensor> results() override { return {{"values", values_}}; }

  void evaluate(std::int64_t degree, torch::Tensor value) {
    const auto* coefficients = coefficients_.const_data_ptr<float>();
    if (one_pass_) {
      examples::kernels::polynomial(x_.const_data_ptr<float>(), value.data_ptr<float>(), x_.numel(), coefficients,
                                    degree);
      return;
    }
    value.fill_(coefficients[0]);
    for (std::int64_t k = 1; k <= degree; ++k) value.mul_(x_).add_(coefficients[k]);
  }
  double flops(std::int64_t degree) const { return 2.0 * static_cast<double>(degree * x_.numel()); }
  /// One pass reads x and writes the value. By passes, each product reads both and writes, each sum reads and writes.
  double bytes(std::int64_t degree) const {
    const double array = 4.0 * static_cast<double>(x_.numel());
    return one_pass_ ? 2.0 * array : array + 5.0 * array * static_cast<double>(degree);
  }

  bool one_pass_;
  torch::Tensor x_, coefficients_, values_;
  std::array<double, kDegrees.size()> spent_ns_{};
  std::int64_t steps_ = 0;
};

bench::Benchmark arithmetic_intensity_sweep() {
  bench::Benchmark benchmark;
  benchmark.name = "arithmetic_intensity_sweep";
  benchmark.estimate = estimate;
  benchmark.purpose = "polynomials by passes over memory, in one pass: points of a roofline";
  benchmark.baseline = {[] { return std::make_unique<Polynomials>(false); }, {1e-4, 1e-4}};
  benchmark.optimized = {[] { return std::make_unique<Polynomials>(true); }, {1e-4, 1e-4}};
  benchmark.informational = true;
  benchmark.iterations = 5;
  benchmark.warmup = 1;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(arithmetic_intensity_sweep());

}  // namespace workloads::arithmetic_intensity_sweep
