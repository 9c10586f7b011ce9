// SPDX-License-Identifier: MIT
// What compiling gains a block with a mixture of experts, and one with a single network of as many products a token:
// operators, and the block as a package. Choosing and products are operators in the package too; what lies between is
// fused.
#include "common/decoder_parts.hpp"
#include "common/estimates.hpp"
#include "common/operator_count.hpp"
#include "common/packages.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace workloads::compiled_moe {

using examples::NamedTensor;
using rangefinder::ProfileRange;
using torch::Tensor;
namespace bench = rangefinder::bench;

constexpr std::int64_t kChosen = 2;  // experts of a token

struct Sizes {
  std::int64_t tokens, width, inner, experts;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {32, 32, 64, 4}, {256, 256, 512, 8}, {4096, 1024, 2816, 16});
}

double flops_of(const Sizes& sizes, bool mixture) {
  const double router = mixture ? examples::elements({sizes.experts, sizes.width}) : 0;
  return 2 * static_cast<double>(sizes.tokens) * (router + examples::elements({3 * kChosen, sizes.inner, sizes.width}));
}

bench::Estimate estimate(const bench::Setup& setup, bool mixture) {
  const Sizes sizes = sizes_of(setup.size);
  const double data = examples::elements({sizes.tokens, sizes.width});
  const double router = mixture ? examples::elements({sizes.experts, sizes.width}) : 0;
  const double networks = examples::elements({3, mixture ? sizes.experts : kChosen, sizes.inner, sizes.width});
  bench::Estimate out = examples::estimate_of_elements(data + static_cast<double>(sizes.width) + router + networks,
                                                       data, examples::kFloatBytes, flops_of(sizes, mixture));
  out.launches = mixture ? 40 : 12;
  return out;
}

std::string package_of(const std::string& size, bool mixture, torch::DeviceType device) {
  const Sizes sizes = sizes_of(size);
  examples::PackageSizes named{{"tokens", sizes.tokens}, {"width", sizes.width}};
  named.emplace_back("inner", mixture ? sizes.inner : kChosen * sizes.inner);
  if (mixture) named.emplace_back("experts", sizes.experts);
  return examples::package_name(mixture ? "experts" : "gated", device, torch::kFloat, named);
}

class Block : public examples::TensorVariant {
 public:
  Block(bool mixture, bool compiled) : mixture_(mixture), compiled_(compiled) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    if (package_) {
      const ProfileRange range("package");
      std::vector<Tensor> arguments{x_};
      arguments.insert(arguments.end(), weights_.begin(), weights_.end());
      out_ = package_->run(arguments).at(0);
      return;
    }
    const ProfileRange range(mixture_ ? "experts" : "gated");
    const Tensor normal = examples::root_mean_square_norm(x_, weights_[0]);
    out_ = x_ + (mixture_ ? mix(normal) : examples::swiglu(normal, weights_[1], weights_[2], weights_[3]));
  }

  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(x_.size(0));
    work.flops = flops_of(sizes_of(size()), mixture_);
    work.flops_type = "fp32";
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    const auto operators = static_cast<double>(examples::operators_of([this] { step(); }));
    std::vector<bench::Metric> all{{"operators_per_step", operators, bench::MetricKind::kCount}};
    if (package_) all.push_back({"compile_s", package_->compile_s()});
    return all;
  }

 private:
  /// Each expert has as many places as twice its share of the tokens: shapes do not depend on who is chosen, so that a
  /// compiler knows them. A token without a place goes without that expert.
  Tensor mix(const Tensor& tokens) const {
    const Tensor &router = weights_[1], &gates = weights_[2], &ups = weights_[3], &downs = weights_[4];
    const std::int64_t count = router.size(0), capacity = 2 * kChosen * tokens.size(0) / count, width = tokens.size(1);
    const auto [scores, chosen] = torch::sigmoid(torch::linear(tokens, router)).topk(kChosen, -1);
    const Tensor shares = scores / scores.sum(-1, /*keepdim=*/true), flat = chosen.flatten();
    const Tensor is_chosen = flat.unsqueeze(-1).eq(torch::arange(count, flat.options())).to(torch::kInt64);
    const Tensor place = (is_chosen.cumsum(0) * is_chosen).sum(-1) - 1;
    const Tensor slot = torch::where(place < capacity, flat * capacity + place, count * capacity);
    const Tensor given = torch::zeros({count * capacity + 1, width}, tokens.options())
                             .index_copy(0, slot, tokens.repeat_interleave(kChosen, 0));
    const Tensor rows = given.narrow(0, 0, count * capacity).view({count, capacity, width});
    const auto product = [](const Tensor& of, const Tensor& weights) {
      return torch::bmm(of, weights.transpose(1, 2));
    };
    const Tensor out = product(torch::silu(product(rows, gates)) * product(rows, ups), downs).view({-1, width});
    const Tensor none = torch::zeros({1, width}, tokens.options());
    const Tensor found = torch::cat({out, none}).index_select(0, slot).view({tokens.size(0), kChosen, width});
    return (found * shares.unsqueeze(-1)).sum(1);
  }

  void make() override {
    const Sizes sizes = sizes_of(size());
    const auto add = [this](at::IntArrayRef extents) {
      weights_.push_back((extents.size() == 1 ? torch::ones(extents) : examples::random_weight(extents)).to(device()));
    };
    x_ = torch::randn({sizes.tokens, sizes.width}).to(device());
    add({sizes.width});
    if (mixture_) {
      add({sizes.experts, sizes.width});
      add({sizes.experts, sizes.inner, sizes.width});
      add({sizes.experts, sizes.inner, sizes.width});
      add({sizes.experts, sizes.width, sizes.inner});
    } else {
      add({kChosen * sizes.inner, sizes.width});
      add({kChosen * sizes.inner, sizes.width});
      add({sizes.width, kChosen * sizes.inner});
    }
    if (!compiled_) return;
    const torch::DeviceType type = device().type();
    package_.emplace(examples::get_packages(size(), type, {package_of(size(), mixture_, type)}).front());
  }
  std::vector<NamedTensor> given() override {
    std::vector<NamedTensor> all{{"x", x_}};
    for (std::size_t i = 0; i < weights_.size(); ++i) all.push_back({"weight." + std::to_string(i), weights_[i]});
    return all;
  }
  std::vector<NamedTensor> results() override { return {{"output", out_}}; }

  bool mixture_, compiled_;
  Tensor x_, out_;
  std::vector<Tensor> weights_;
  std::optional<examples::Package> package_;
};

bench::Benchmark compiled_block(bool mixture) {
  examples::add_smoke_packages(
      [mixture](torch::DeviceType device) { return std::vector<std::string>{package_of("smoke", mixture, device)}; });
  bench::Benchmark benchmark;
  benchmark.name = mixture ? "compiled_moe" : "compiled_moe_dense";
  benchmark.purpose = mixture ? "a block with a mixture of experts by operators; as a package"
                              : "a block with one network of as many products a token by operators; as a package";
  benchmark.estimate = [mixture](const bench::Setup& setup) { return estimate(setup, mixture); };
  benchmark.devices = {"cpu", "cuda"};
  benchmark.check_size = "smoke";  // at size gpu all experts are drawn anew for each of its set-ups, a second each
  benchmark.baseline = {[mixture] { return std::make_unique<Block>(mixture, false); }, {1e-5, 1e-5}, {1e-4, 1e-4}};
  benchmark.optimized = {[mixture] { return std::make_unique<Block>(mixture, true); }, {1e-5, 1e-5}, {1e-4, 1e-4}};
  benchmark.informational = true;
  benchmark.skip = [mixture](const bench::Setup& setup) {
    const torch::DeviceType device = setup.device == "cuda" ? torch::kCUDA : torch::kCPU;
    return examples::skip_without_packages(device, {package_of(setup.size, mixture, device)});
  };
  return benchmark;
}

[[maybe_unused]] const bool kAdded =
    bench::add_benchmark(compiled_block(true)) && bench::add_benchmark(compiled_block(false));

}  // namespace workloads::compiled_moe
