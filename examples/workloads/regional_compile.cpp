// SPDX-License-Identifier: MIT
// A service that starts, with sequences of several lengths: each transformer block compiled whole, once for each
// length; and one region of it, the feed-forward net, compiled once for any length, the rest as it is. The first step
// counts.
#include "common/estimates.hpp"
#include "common/packaged_block.hpp"
#include "common/packages.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace workloads::regional_compile {

using examples::NamedTensor;
using examples::Package;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Sizes {
  std::int64_t batch, width, heads, inner, layers;
  std::vector<std::int64_t> lengths;
};

Sizes sizes_of(const std::string& size) {
  if (size == "smoke") return {2, 32, 2, 64, 2, {8, 16}};
  if (size == "gpu") return {16, 2048, 16, 16384, 4, {256, 512, 1024, 1536}};
  return {4, 256, 4, 1024, 6, {32, 64, 128, 192}};
}

/// Whether the first step of a process compiles what may be there already: at size smoke a check must not take minutes.
bool compiles(const std::string& size) { return size != "smoke"; }
constexpr double kCompile_s = 10;  // of a package, about

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  double tokens = 0;
  for (const std::int64_t length : sizes.lengths) tokens += examples::elements({sizes.batch, length});
  const double layer = examples::block_weight_elements(sizes.width, sizes.inner);
  const double weights = static_cast<double>(sizes.layers) * layer, data = tokens * static_cast<double>(sizes.width);
  bench::Estimate out =
      examples::estimate_of_elements(data + weights, data, examples::float_or_half_bytes(setup), 2 * weights * tokens);
  // One package for each length, and one of the region.
  out.launches = static_cast<double>(sizes.lengths.size()) * static_cast<double>(14 * sizes.layers);
  out.half = setup.device == "cuda";
  if (compiles(setup.size)) {
    out.waiting_s = kCompile_s * static_cast<double>(sizes.lengths.size() + 1);
    out.step_waiting_s = out.waiting_s / 2;  // of the two variants' mean
  }
  return out;
}

/// One for each length.
std::vector<std::string> whole_blocks(const Sizes& sizes, torch::DeviceType device) {
  std::vector<std::string> names;
  for (const std::int64_t length : sizes.lengths)
    names.push_back(examples::package_name("block", device, examples::package_type_on(device),
                                           {{"batch", sizes.batch},
                                            {"length", length},
                                            {"width", sizes.width},
                                            {"heads", sizes.heads},
                                            {"inner", sizes.inner}}));
  return names;
}

std::vector<std::string> region(const Sizes& sizes, torch::DeviceType device) {
  return {examples::package_name("ffn", device, examples::package_type_on(device),
                                 {{"width", sizes.width}, {"inner", sizes.inner}})};
}

constexpr std::size_t kOfAttention = 6;
using Weights = examples::BlockWeights;

/// Both variants. The first step of a process compiles what it needs; variants that are made later in a process, as
/// the correctness check makes them, find the packages of the first.
class Service : public examples::TensorVariant {
 public:
  void step() override {
    const torch::NoGradGuard no_grad;
    if (packages_.empty()) start();
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ProfileRange range("length." + std::to_string(sizes_.lengths[i]));
      outputs_[i] = inputs_[i];
      for (const Weights& weights : layers_) outputs_[i] = block(i, outputs_[i], weights);
    }
    synchronize();
    run_ms_ = ms_since(begin);
  }
  bench::Work work() override {
    bench::Work work;
    for (const Tensor& input : inputs_) work.tokens += static_cast<double>(input.size(0) * input.size(1));
    return work;
  }
  std::vector<bench::Metric> metrics() override {
    double compile_s = 0, runs = 0;
    for (const Package& package : packages_) {
      compile_s += package.compile_s();
      runs += static_cast<double>(package.runs());
    }
    const auto artifacts = static_cast<double>(packages_.size());
    return {{"artifacts", artifacts, bench::MetricKind::kCount},
            {"reuse_hits", runs - artifacts},
            {"compile_s", compile_s},
            {"load_ms", load_ms_},
            {"run_ms", run_ms_}};
  }

 protected:
  virtual std::vector<std::string> package_names() const = 0;
  /// Of sequences of the i-th length.
  virtual Tensor block(std::size_t i, const Tensor& x, const Weights& weights) = 0;

  const Sizes& sizes() const { return sizes_; }
  Package& package(std::size_t i) { return packages_.at(i); }

 private:
  void start() {
    std::vector<examples::StoredPackage> stored;
    {
      const ProfileRange range("compile");
      static std::set<std::string> compiled;
      const std::vector<std::string> names = package_names();
      const bool first = compiled.insert(names.front()).second;
      stored = examples::get_packages(size(), device().type(), names, first && compiles(size()));
    }
    const ProfileRange range("load");
    const Clock::time_point begin = Clock::now();
    for (const examples::StoredPackage& one : stored) packages_.emplace_back(one);
    load_ms_ = ms_since(begin);
  }
  void make() override {
    sizes_ = sizes_of(size());
    const auto options = torch::TensorOptions().device(device()).dtype(examples::package_type_on(device().type()));
    layers_ = examples::make_block_weights(sizes_.layers, sizes_.width, sizes_.inner, options);
    for (const std::int64_t length : sizes_.lengths)
      inputs_.push_back(torch::randn({sizes_.batch, length, sizes_.width}).to(options));
    outputs_.resize(inputs_.size());
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      all.push_back({"x." + std::to_string(sizes_.lengths[i]), inputs_[i]});
    examples::add_block_weights(all, layers_);
    return all;
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      all.push_back({"output." + std::to_string(sizes_.lengths[i]), outputs_[i]});
    return all;
  }

  Sizes sizes_;
  std::vector<Weights> layers_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<Package> packages_;
  double load_ms_ = 0, run_ms_ = 0;
};

class WholeBlocks : public Service {
  std::vector<std::string> package_names() const override { return whole_blocks(sizes(), device().type()); }
  Tensor block(std::size_t i, const Tensor& x, const Weights& weights) override {
    std::vector<Tensor> arguments{x};
    arguments.insert(arguments.end(), weights.begin(), weights.end());
    return package(i).run(arguments).at(0);
  }
};

class OneRegion : public Service {
  std::vector<std::string> package_names() const override { return region(sizes(), device().type()); }
  Tensor block(std::size_t, const Tensor& x, const Weights& weights) override {
    const Tensor middle = attention(x, weights);
    std::vector<Tensor> arguments{middle.flatten(0, 1)};
    arguments.insert(arguments.end(), weights.begin() + kOfAttention, weights.end());
    const ProfileRange range("feed_forward");
    return package(0).run(arguments).at(0).view(x.sizes());
  }
  Tensor attention(const Tensor& x, const Weights& weights) const {
    const ProfileRange range("attention");
    const std::int64_t width = sizes().width, heads = sizes().heads;
    const Tensor normal = torch::layer_norm(x, {width}, weights[0], weights[1]);
    const Tensor qkv = torch::linear(normal, weights[2], weights[3])
                           .view({x.size(0), x.size(1), 3, heads, width / heads})
                           .permute({2, 0, 3, 1, 4});
    const Tensor mixed = at::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0.0, /*is_causal=*/true);
    return x + torch::linear(mixed.transpose(1, 2).reshape(x.sizes()), weights[4], weights[5]);
  }
};

/// Of both variants.
std::vector<std::string> all_packages(const std::string& size, torch::DeviceType device) {
  std::vector<std::string> names = whole_blocks(sizes_of(size), device);
  names.push_back(region(sizes_of(size), device).front());
  return names;
}

bench::Benchmark regional_compile() {
  examples::add_smoke_packages([](torch::DeviceType device) { return all_packages("smoke", device); });
  bench::Benchmark benchmark;
  benchmark.name = "regional_compile";
  benchmark.estimate = estimate;
  benchmark.purpose = "blocks compiled whole for each length; one region compiled for all, compilation counted";
  benchmark.goal = bench::Goal::kThroughput;  // by wall time: compilers are other processes
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<WholeBlocks>(); }, {1e-5, 1e-5}, {2e-2, 2e-2}};
  benchmark.optimized = {[] { return std::make_unique<OneRegion>(); }, {1e-5, 1e-5}, {2e-2, 2e-2}};
  benchmark.check_size = "smoke";  // where packages of an earlier run will do: others are compiled for a minute
  benchmark.iterations = 1;
  benchmark.warmup = 0;
  benchmark.least_ratio_cpu = 1.05;
  benchmark.least_ratio_cuda = 1.05;
  benchmark.skip = [](const bench::Setup& setup) {
    const torch::DeviceType device = setup.device == "cuda" ? torch::kCUDA : torch::kCPU;
    return examples::skip_without_packages(device, all_packages(setup.size, device), compiles(setup.size));
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(regional_compile());

}  // namespace workloads::regional_compile
