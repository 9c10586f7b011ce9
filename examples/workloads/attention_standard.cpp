// SPDX-License-Identifier: MIT
// Attention that writes its scores, S x S, to memory and reads them twice again; and the fused kernel, which never
// does.
#include "common/attention.hpp"
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <memory>
#include <string>

namespace workloads::attention_standard {

using examples::NamedTensor;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t batch, heads, sequence, width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {1, 2, 64, 32}, {1, 8, 1024, 64}, {2, 8, 8192, 128});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double query = examples::elements({sizes.batch, sizes.heads, sizes.sequence, sizes.width});
  bench::Estimate out = examples::estimate_of_elements(3 * query, query, examples::float_or_half_bytes(setup),
                                                       4 * query * static_cast<double>(sizes.sequence));
  // Scores are written, scaled, made to shares and read.
  out.bytes = 6 * examples::float_or_half_bytes(setup) *
              examples::elements({sizes.batch, sizes.heads, sizes.sequence, sizes.sequence});
  out.launches = 4;
  out.half = setup.device == "cuda";
  return out;
}

class Attention : public examples::TensorVariant {
 public:
  explicit Attention(bool fused) : fused_(fused) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    out_ =
        fused_ ? examples::fused_attention(query_, key_, value_) : examples::explicit_attention(query_, key_, value_);
  }

  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(query_.size(0) * query_.size(2));
    work.flops = 4.0 * static_cast<double>(query_.numel()) * static_cast<double>(query_.size(2));
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    if (!fused_) return {};
    return {{"sdp_backend", static_cast<double>(backend_)}};
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kHalf : torch::kFloat;
    const auto random = [&] {
      return torch::randn({sizes.batch, sizes.heads, sizes.sequence, sizes.width}).to(device(), type);
    };
    query_ = random();
    key_ = random();
    value_ = random();
    if (fused_) backend_ = examples::fused_backend(size(), query_, key_, value_);
  }
  std::vector<NamedTensor> given() override { return {{"query", query_}, {"key", key_}, {"value", value_}}; }
  std::vector<NamedTensor> results() override { return {{"attention", out_}}; }

  bool fused_;
  std::int64_t backend_ = 0;
  torch::Tensor query_, key_, value_, out_;
};

bench::Benchmark attention_standard() {
  bench::Benchmark benchmark;
  benchmark.name = "attention_standard";
  benchmark.estimate = estimate;
  benchmark.purpose = "explicit softmax attention, the fused kernel";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Attention>(false); }, {1e-5, 1e-5}, {2e-3, 2e-3}};
  benchmark.optimized = {[] { return std::make_unique<Attention>(true); }, {1e-5, 1e-5}, {2e-3, 2e-3}};
  benchmark.least_ratio_cpu = 2;
  benchmark.least_ratio_cuda = 1.8;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(attention_standard());

}  // namespace workloads::attention_standard
