// SPDX-License-Identifier: MIT
// One product of activations and weights in float8, as in inference: with scales found at each call or by a calibration
// pass, with a scale for the whole weight or for each of its channels, and padded beside float32.
#include "common/calibration.hpp"
#include "common/estimates.hpp"
#include "common/low_precision.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace workloads::fp8_static {

using examples::Format;
using examples::NamedTensor;
using examples::Scales;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t rows, inner, outputs;
};

struct Kind {
  Sizes smoke, cpu, gpu;
  double decades = 0;           ///< by which channels of the weight differ in size
  bool float32_inputs = false;  ///< on a GPU, too

  Sizes sizes(const std::string& size) const { return examples::of_size(size, smoke, cpu, gpu); }
  torch::ScalarType type(bool cuda) const { return cuda && !float32_inputs ? torch::kBFloat16 : torch::kFloat; }
};

enum class Way {
  kFloat,       ///< no float8, in the type of the activations
  kBFloat16,    ///< no float8
  kCurrent,     ///< activations are scaled by their own largest value
  kCalibrated,  ///< by that of a file
  kChannels,    ///< as kCurrent, and the weight has a scale for each channel
};

bench::Estimate estimate(const Kind& kind, const bench::Setup& setup) {
  const Sizes sizes = kind.sizes(setup.size);
  const bool cuda = setup.device == "cuda";
  const double inputs = examples::elements({sizes.rows, sizes.inner});
  const double weights = examples::elements({sizes.outputs, sizes.inner});
  bench::Estimate out;
  out.input_bytes = inputs * static_cast<double>(torch::elementSize(kind.type(cuda))) + weights * examples::kFloatBytes;
  out.output_bytes = examples::elements({sizes.rows, sizes.outputs}) * examples::kFloatBytes;
  out.flops = 2 * inputs * static_cast<double>(sizes.outputs);
  out.launches = 10;
  out.random_numbers = inputs + weights;
  out.half = cuda && !kind.float32_inputs;
  return out;
}

/// What calibrated scales are from: data that are like those to come, and none of them. By way of a file, as where
/// another program calibrates.
double calibrated_scale(std::int64_t inner) {
  const auto generator = at::detail::createCPUGenerator(/*seed=*/1);
  const torch::Tensor sample = torch::randn({512, inner}, generator);
  const double amax = examples::amax_of(sample, Scales::kOfTensor).item<double>();
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rangefinder-calibration-" + std::to_string(::getpid()) + ".json"))
          .string();
  examples::write_calibration(path, {{"linear", amax, 100, amax / examples::kCalibratedLargest}});
  const double scale = examples::scale_of_layer(examples::read_calibration(path), "linear", path);
  std::filesystem::remove(path);
  return scale;
}

class Product : public examples::TensorVariant {
 public:
  Product(Kind kind, Way way) : kind_(std::move(kind)), way_(way) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    if (!float8()) {
      const ProfileRange range("product");
      out_ = at::mm(in_.to(exact_.scalar_type()), exact_.t());
      return;
    }
    examples::Float8 in;
    {
      const ProfileRange range("quantize");
      in = way_ == Way::kCalibrated ? examples::to_float8(in_, scale_, Format::kE4m3)
                                    : examples::quantize_float8(in_, Format::kE4m3, Scales::kOfTensor);
    }
    const ProfileRange range("product");
    out_ = examples::product(in, rounded_,
                             {.type = device().is_cuda() ? torch::kBFloat16 : torch::kFloat, .fast_sums = true});
  }

  bench::Work work() override {
    bench::Work work;
    work.samples = static_cast<double>(in_.size(0));
    work.flops = 2 * static_cast<double>(in_.numel()) * static_cast<double>(weight_.size(0));
    work.flops_type = examples::flops_type_of(float8() && device().is_cuda() ? torch::kFloat8_e4m3fn
                                              : float8()                     ? torch::kFloat
                                                                             : exact_.scalar_type());
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    if (!float8()) return {};
    return {{"relative_error", error()}, {"relative_error_of_worst_channel", worst_channel()}};
  }

 private:
  bool float8() const { return way_ != Way::kFloat && way_ != Way::kBFloat16; }

  void make() override {
    const Sizes sizes = kind_.sizes(size());
    in_ = torch::randn({sizes.rows, sizes.inner}).to(device(), kind_.type(device().is_cuda()));
    const torch::Tensor sizes_of_channels = torch::pow(10, kind_.decades * (torch::rand({sizes.outputs, 1}) - 0.5));
    weight_ = (torch::randn({sizes.outputs, sizes.inner}) * sizes_of_channels).to(device());
    if (!float8()) {
      exact_ = weight_.to(way_ == Way::kBFloat16 ? torch::kBFloat16 : in_.scalar_type());
      return;
    }
    rounded_ =
        examples::quantize_float8(weight_, Format::kE4m3, way_ == Way::kChannels ? Scales::kOfRows : Scales::kOfTensor);
    if (way_ == Way::kCalibrated) scale_ = torch::full({1}, calibrated_scale(sizes.inner)).to(device());
  }
  std::vector<NamedTensor> given() override { return {{"input", in_}, {"weight", weight_}}; }
  std::vector<NamedTensor> results() override {
    // Variants that both round would not show what is wrong with both.
    if (float8()) {
      const double bound = examples::product_error_bound(Format::kE4m3, Format::kE4m3);
      examples::require_error_below("the product in float8", error(), bound);
      // The worst of many channels of few elements, which do not come to their mean.
      if (way_ == Way::kChannels) examples::require_error_below("a channel in float8", worst_channel(), 1.25 * bound);
    }
    return {{"output", out_.to(torch::kFloat)}};
  }

  /// Beside float32, of as many rows as say it.
  std::int64_t compared() const { return std::min<std::int64_t>(in_.size(0), 256); }
  torch::Tensor reference() const {
    return at::mm(in_.narrow(0, 0, compared()).to(torch::kFloat), weight_.t()).to(torch::kDouble);
  }
  double error() const { return examples::relative_error(out_.narrow(0, 0, compared()), reference()); }
  /// Beside the size of a channel's terms: their sums are of any size where there are few of them.
  double worst_channel() const {
    const torch::Tensor off = out_.narrow(0, 0, compared()).to(torch::kDouble) - reference();
    const torch::Tensor in = in_.narrow(0, 0, compared()).to(torch::kDouble), weight = weight_.to(torch::kDouble);
    const torch::Tensor terms = at::mm(in.square(), weight.square().t()).sum(0).sqrt();
    return (off.norm(2, 0) / terms).max().item<double>();
  }

  Kind kind_;
  Way way_;
  torch::Tensor in_, weight_, exact_, scale_, out_;
  examples::Float8 rounded_;
};

bench::Benchmark benchmark_of(const std::string& name, const Kind& kind, Way baseline, Way optimized, double error) {
  bench::Benchmark benchmark;
  benchmark.name = name;
  benchmark.devices = {"cpu", "cuda"};
  const bench::Tolerance tolerance{.frobenius = error};
  benchmark.baseline = {[kind, baseline] { return std::make_unique<Product>(kind, baseline); }, tolerance, tolerance};
  benchmark.optimized = {[kind, optimized] { return std::make_unique<Product>(kind, optimized); }, tolerance,
                         tolerance};
  benchmark.check_size = "cpu";  // at size gpu outputs take hundreds of megabytes
  benchmark.estimate = [kind](const bench::Setup& setup) { return estimate(kind, setup); };
  benchmark.informational = true;  // no GPU has said yet what it brings
  benchmark.skip = [rows = optimized == Way::kChannels](const bench::Setup& setup) {
    return examples::float8_skip(setup, rows ? Scales::kOfRows : Scales::kOfTensor);
  };
  return benchmark;
}

/// Two variants in float8: each is that far from exact, and they are from each other what both are together.
double error_of_one() { return examples::product_error_bound(Format::kE4m3, Format::kE4m3); }
double error_of_both() { return error_of_one() * std::sqrt(2); }

bench::Benchmark calibrated() {
  bench::Benchmark benchmark = benchmark_of("fp8_static", {{32, 64, 64}, {512, 512, 512}, {16384, 4096, 4096}},
                                            Way::kCurrent, Way::kCalibrated, error_of_both());
  benchmark.purpose = "float8 activations scaled at each call, by a calibration file";
  return benchmark;
}

bench::Benchmark channels() {
  Kind kind{{64, 256, 64}, {256, 512, 512}, {4096, 4096, 4096}};
  kind.decades = 6;
  bench::Benchmark benchmark = benchmark_of("fp8_perchannel", kind, Way::kCurrent, Way::kChannels, error_of_both());
  benchmark.purpose = "float8 weights with one scale, with a scale for each channel";
  return benchmark;
}

bench::Benchmark padded(const std::string& name, Way baseline) {
  Kind kind{{32, 72, 56}, {256, 520, 512}, {8192, 8200, 8192}};
  kind.float32_inputs = true;
  bench::Benchmark benchmark = benchmark_of(name, kind, baseline, Way::kCurrent, error_of_one());
  benchmark.purpose = std::string("a product in ") + (baseline == Way::kFloat ? "float32" : "bfloat16") +
                      ", in float8 with a padded inner dimension";
  if (baseline == Way::kBFloat16) benchmark.devices = {"cuda"};
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(calibrated()) && bench::add_benchmark(channels()) &&
                                     bench::add_benchmark(padded("precisionfp8_pad_inner_matmul", Way::kFloat)) &&
                                     bench::add_benchmark(padded("precisionfp8_pad_inner_matmul_bf16", Way::kBFloat16));

}  // namespace workloads::fp8_static
