// SPDX-License-Identifier: MIT
// A service whose transformer blocks are compiled packages. Its package is loaded for each request, or once. And a net
// of identical blocks: one package with the code of all of them, or of one, which runs once for each.
#include "common/estimates.hpp"
#include "common/packaged_block.hpp"
#include "common/packages.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace workloads::package_service {

using examples::NamedTensor;
using examples::Package;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;

/// Requests are short: a package that is loaded for one takes a share of its time. At size smoke a block of
/// regional_compile, whose package is there.
struct Sizes {
  std::int64_t batch, length, width, heads, inner, layers, requests;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {2, 8, 32, 2, 64, 3, 2}, {1, 16, 256, 4, 1024, 6, 8},
                                  {1, 128, 2048, 16, 16384, 4, 8});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double tokens = examples::elements({sizes.requests, sizes.batch, sizes.length});
  const double layer = examples::block_weight_elements(sizes.width, sizes.inner);
  const double weights = static_cast<double>(sizes.layers) * layer, data = tokens * static_cast<double>(sizes.width);
  bench::Estimate out =
      examples::estimate_of_elements(data + weights, data, examples::float_or_half_bytes(setup), 2 * weights * tokens);
  out.launches = static_cast<double>(14 * sizes.layers * sizes.requests);
  out.half = setup.device == "cuda";
  return out;
}

/// The package of a block, or of all blocks.
std::string package_of(const std::string& size, bool whole, torch::DeviceType device) {
  const Sizes sizes = sizes_of(size);
  examples::PackageSizes named{{"batch", sizes.batch},
                               {"length", sizes.length},
                               {"width", sizes.width},
                               {"heads", sizes.heads},
                               {"inner", sizes.inner}};
  if (whole) named.emplace_back("layers", sizes.layers);
  return examples::package_name(whole ? "blocks" : "block", device, examples::package_type_on(device), named);
}

/// When a package is loaded.
enum class Loads : std::uint8_t { kAtSetup, kEachStep, kEachRequest };

class Service : public examples::TensorVariant {
 public:
  Service(bool whole, Loads loads) : whole_(whole), loads_(loads) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    if (loads_ == Loads::kEachStep) load();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (loads_ == Loads::kEachRequest) load();
      const ProfileRange range("request");
      outputs_[i] = answer(inputs_[i]);
    }
    if (loads_ == Loads::kAtSetup) return;
    synchronize();  // the device may still run its code
    package_.reset();
  }

  bench::Work work() override {
    bench::Work work;
    work.requests = static_cast<double>(inputs_.size());
    work.tokens = static_cast<double>(inputs_.size()) * examples::elements({inputs_[0].size(0), inputs_[0].size(1)});
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    const auto bytes = static_cast<double>(std::filesystem::file_size(stored_.path));
    return {{"load_ms", load_ms_ / static_cast<double>(times_loaded_)},
            {"loads", static_cast<double>(times_loaded_)},
            {"package_bytes", bytes, bench::MetricKind::kBytes},
            {"compile_s", stored_.compile_s}};
  }

 private:
  void load() {
    using Clock = std::chrono::steady_clock;
    const ProfileRange range("load");
    if (package_) synchronize();
    package_.reset();
    const Clock::time_point begin = Clock::now();
    package_.emplace(stored_);
    load_ms_ += std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    ++times_loaded_;
  }

  Tensor answer(Tensor x) {
    std::vector<Tensor> arguments{std::move(x)};
    if (whole_) {
      for (const std::vector<Tensor>& weights : layers_)
        arguments.insert(arguments.end(), weights.begin(), weights.end());
      return package_->run(arguments).at(0);
    }
    for (const std::vector<Tensor>& weights : layers_) {
      arguments.resize(1);
      arguments.insert(arguments.end(), weights.begin(), weights.end());
      arguments[0] = package_->run(arguments).at(0);
    }
    return arguments[0];
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    const auto options = torch::TensorOptions().device(device()).dtype(examples::package_type_on(device().type()));
    layers_ = examples::make_block_weights(sizes.layers, sizes.width, sizes.inner, options);
    for (std::int64_t i = 0; i < sizes.requests; ++i)
      inputs_.push_back(torch::randn({sizes.batch, sizes.length, sizes.width}).to(options));
    outputs_.resize(inputs_.size());
    const torch::DeviceType type = device().type();
    stored_ = examples::get_packages(size(), type, {package_of(size(), whole_, type)}).front();
    if (loads_ == Loads::kAtSetup) load();
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all;
    for (std::size_t i = 0; i < inputs_.size(); ++i) all.push_back({"x." + std::to_string(i), inputs_[i]});
    examples::add_block_weights(all, layers_);
    return all;
  }
  std::vector<NamedTensor> results() override {
    std::vector<NamedTensor> all;
    for (std::size_t i = 0; i < outputs_.size(); ++i) all.push_back({"output." + std::to_string(i), outputs_[i]});
    return all;
  }

  bool whole_;
  Loads loads_;
  std::vector<examples::BlockWeights> layers_;
  std::vector<Tensor> inputs_, outputs_;
  examples::StoredPackage stored_;
  std::optional<Package> package_;
  double load_ms_ = 0;
  std::int64_t times_loaded_ = 0;
};

bench::Benchmark service(const std::string& name, const std::string& purpose, bool baseline_is_whole, Loads baseline,
                         Loads optimized) {
  const auto names = [baseline_is_whole](const std::string& size, torch::DeviceType device) {
    std::vector<std::string> out{package_of(size, false, device)};
    if (baseline_is_whole) out.push_back(package_of(size, true, device));
    return out;
  };
  examples::add_smoke_packages([names](torch::DeviceType device) { return names("smoke", device); });
  bench::Benchmark benchmark;
  benchmark.name = name;
  benchmark.purpose = purpose;
  benchmark.estimate = estimate;
  benchmark.goal = bench::Goal::kThroughput;  // by wall time: files are read
  benchmark.devices = {"cpu", "cuda"};
  benchmark.check_size = "smoke";  // weights of size gpu take gigabytes
  benchmark.baseline = {
      [baseline_is_whole, baseline] { return std::make_unique<Service>(baseline_is_whole, baseline); },
      {1e-5, 1e-5},
      {2e-2, 2e-2}};
  benchmark.optimized = {
      [optimized] { return std::make_unique<Service>(false, optimized); }, {1e-5, 1e-5}, {2e-2, 2e-2}};
  benchmark.informational = true;
  benchmark.skip = [names](const bench::Setup& setup) {
    const torch::DeviceType device = setup.device == "cuda" ? torch::kCUDA : torch::kCPU;
    return examples::skip_without_packages(device, names(setup.size, device));
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(service("package_cold_start", "a package loaded for each request; loaded once", false,
                                 Loads::kEachRequest, Loads::kAtSetup)) &&
    bench::add_benchmark(service("package_shared_blocks",
                                 "a package with all identical blocks; one of a block, run once for each", true,
                                 Loads::kEachStep, Loads::kEachStep));

}  // namespace workloads::package_service
