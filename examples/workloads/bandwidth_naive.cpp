// SPDX-License-Identifier: MIT
// The mean of two arrays, element by element: in an order in which each element lies in another cache line than the one
// before, and in the order of memory.
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"
#include "workloads/kernels/on_device.hpp"

#include <rangefinder/range.hpp>

#include <ATen/Parallel.h>

#include <memory>
#include <string>

namespace workloads::bandwidth_naive {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;
namespace kernels = examples::kernels;

constexpr std::int64_t kStride = 8191;  // odd: with a power of two of elements it meets each of them once
constexpr std::int64_t kGrain = 1 << 15;
constexpr std::int64_t kPassesOnDevice = 16;  // one takes a device less time than its launch

std::int64_t count_of(const std::string& size) {
  return examples::of_size<std::int64_t>(size, 1 << 16, 1 << 22, 1 << 24);
}

bench::Estimate estimate(const bench::Setup& setup) {
  const auto count = static_cast<double>(count_of(setup.size));
  const double touched = count * (setup.device == "cuda" ? kPassesOnDevice : 1);
  bench::Estimate out = examples::estimate_of_elements(2 * count, count, examples::kFloatBytes, 2 * touched);
  out.bytes = 3 * examples::kFloatBytes * touched;
  out.launches = setup.device == "cuda" ? kPassesOnDevice : 1;
  return out;
}

class Mean : public examples::TensorVariant {
 public:
  explicit Mean(bool in_order) : in_order_(in_order) {}

  void step() override {
    const ProfileRange range("mean");
    const auto* a = a_.const_data_ptr<float>();
    const auto* b = b_.const_data_ptr<float>();
    auto* mean = mean_.data_ptr<float>();
    if (device().is_cuda()) {
      for (std::int64_t pass = 0; pass < kPassesOnDevice; ++pass) launch(a, b, mean);
    } else if (in_order_) {
      at::parallel_for(0, a_.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) mean[i] = (a[i] + b[i]) * 0.5F;
      });
    } else {
      const std::int64_t mask = a_.numel() - 1;
      at::parallel_for(0, a_.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t j = (i * kStride) & mask;
          mean[j] = (a[j] + b[j]) * 0.5F;
        }
      });
    }
  }

  bench::Work work() override {
    bench::Work work;
    const double elements = static_cast<double>(a_.numel() * (device().is_cuda() ? kPassesOnDevice : 1));
    work.bytes = 12.0 * elements;
    work.flops = 2.0 * elements;
    return work;
  }

 private:
  void make() override {
    const std::int64_t count = count_of(size());
    a_ = torch::randn({count}).to(device());
    b_ = torch::randn({count}).to(device());
    mean_ = torch::zeros({count}, device());
  }
  std::vector<NamedTensor> given() override { return {{"a", a_}, {"b", b_}}; }
  std::vector<NamedTensor> results() override { return {{"mean", mean_}}; }

  void launch(const float* a, const float* b, float* mean) {
    void* const stream = kernels::current_stream(a_);
    kernels::check_launch(in_order_ ? kernels::mean_in_order(a, b, mean, a_.numel(), stream)
                                    : kernels::mean_strided(a, b, mean, a_.numel(), kStride, stream));
  }

  bool in_order_;
  torch::Tensor a_, b_, mean_;
};

bench::Benchmark bandwidth_naive() {
  bench::Benchmark benchmark;
  benchmark.name = "bandwidth_naive";
  benchmark.estimate = estimate;
  benchmark.purpose = "the mean of two arrays with a stride through memory, in its order";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Mean>(false); }, {}};
  benchmark.optimized = {[] { return std::make_unique<Mean>(true); }, {}};
  benchmark.least_ratio_cpu = 4;
  benchmark.least_ratio_cuda = 2;
  benchmark.skip = [](const bench::Setup& setup) -> std::string {
    return setup.device == "cuda" && !kernels::device_kernels_built() ? "feature_not_built" : "";
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(bandwidth_naive());

}  // namespace workloads::bandwidth_naive
