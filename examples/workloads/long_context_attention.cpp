// SPDX-License-Identifier: MIT
// Causal attention over a long sequence: a mask and scores of S x S elements, half of them computed to be hidden; and
// the fused kernel, which knows which blocks a query cannot see.
#include "common/attention.hpp"
#include "common/estimates.hpp"
#include "common/tensor_variant.hpp"

#include <memory>
#include <string>

namespace workloads::long_context_attention {

using examples::NamedTensor;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t heads, sequence, width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {2, 64, 32}, {8, 1024, 64}, {4, 12288, 128});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const Sizes sizes = sizes_of(setup.size);
  const double query = examples::elements({sizes.heads, sizes.sequence, sizes.width});
  bench::Estimate out = examples::estimate_of_elements(3 * query, query, examples::float_or_half_bytes(setup),
                                                       2 * query * static_cast<double>(sizes.sequence + 1));
  // Scores are written, scaled, masked, made to shares and read.
  out.bytes =
      8 * examples::float_or_half_bytes(setup) * examples::elements({sizes.heads, sizes.sequence, sizes.sequence});
  out.launches = 5;
  out.half = setup.device == "cuda";
  return out;
}

class LongContext : public examples::TensorVariant {
 public:
  explicit LongContext(bool fused) : fused_(fused) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    out_ = fused_ ? examples::fused_attention(query_, key_, value_, {.causal = true})
                  : examples::explicit_attention(query_, key_, value_, hidden_);
  }

  bench::Work work() override {
    const auto sequence = static_cast<double>(query_.size(2));
    bench::Work work;
    work.tokens = sequence;
    work.flops = 2.0 * static_cast<double>(query_.numel()) * (sequence + 1);  // of scores that count
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    if (fused_) return {{"sdp_backend", static_cast<double>(backend_)}};
    return {{"mask_bytes", static_cast<double>(hidden_.nbytes()), bench::MetricKind::kBytes}};
  }

 private:
  void make() override {
    const Sizes sizes = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kBFloat16 : torch::kFloat;
    const auto random = [&] { return torch::randn({1, sizes.heads, sizes.sequence, sizes.width}).to(device(), type); };
    query_ = random();
    key_ = random();
    value_ = random();
    if (fused_)
      backend_ = examples::fused_backend(size(), query_, key_, value_, {.causal = true});
    else
      hidden_ = examples::band(sizes.sequence, sizes.sequence, sizes.sequence, device()).logical_not_();
  }
  // Values first: the middle element, which the harness changes, is of a head's first token. That one sees itself
  // alone, and then its query does not matter.
  std::vector<NamedTensor> given() override { return {{"value", value_}, {"query", query_}, {"key", key_}}; }
  std::vector<NamedTensor> results() override { return {{"attention", out_}}; }

  bool fused_;
  std::int64_t backend_ = 0;
  torch::Tensor query_, key_, value_, hidden_, out_;
};

bench::Benchmark long_context_attention() {
  bench::Benchmark benchmark;
  benchmark.name = "long_context_attention";
  benchmark.estimate = estimate;
  benchmark.purpose = "causal attention with a mask tensor, the fused kernel";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<LongContext>(false); }, {1e-5, 1e-5}, {1e-2, 1e-2}};
  benchmark.optimized = {[] { return std::make_unique<LongContext>(true); }, {1e-5, 1e-5}, {1e-2, 1e-2}};
  benchmark.least_ratio_cpu = 2.5;
  benchmark.least_ratio_cuda = 2.5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(long_context_attention());

}  // namespace workloads::long_context_attention
