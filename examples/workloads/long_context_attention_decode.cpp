// SPDX-License-Identifier: MIT
// Tokens decoded one by one over a long cache, in which groups of heads share keys: repeated for each head, or read in
// place by a kernel that knows of groups.
#include "common/attention.hpp"
#include "common/estimates.hpp"
#include "common/serving.hpp"
#include "common/tensor_variant.hpp"

#include <rangefinder/range.hpp>

#include <memory>
#include <string>

namespace workloads::long_context_attention_decode {

using examples::NamedTensor;
using rangefinder::ProfileRange;
namespace bench = rangefinder::bench;

struct Sizes {
  std::int64_t heads, key_heads, context, tokens, width;
};

Sizes sizes_of(const std::string& size) {
  return examples::of_size<Sizes>(size, {4, 2, 48, 4, 32}, {8, 2, 2048, 16, 64}, {32, 8, 12288, 64, 128});
}

bench::Estimate estimate(const bench::Setup& setup) {
  const auto [heads, key_heads, context, tokens, width] = sizes_of(setup.size);
  const double query = examples::elements({heads, tokens, width});
  const double new_keys = examples::elements({key_heads, tokens, width});
  const double cached = examples::elements({key_heads, context, width});
  bench::Estimate out = examples::estimate_of_elements(
      query + 2 * new_keys + 2 * cached, query + 2 * (cached + new_keys), examples::float_or_half_bytes(setup),
      4 * query * static_cast<double>(context));  // and a few more: the cache grows
  out.random_numbers += 2 * new_keys;             // in the places that a step writes over
  // Keys and values are read, written for each head, and read again.
  out.bytes =
      2 * examples::float_or_half_bytes(setup) * examples::elements({tokens, context, width, key_heads + 2 * heads});
  out.launches = 8 * static_cast<double>(tokens);
  out.half = setup.device == "cuda";
  return out;
}

class Decode : public examples::TensorVariant {
 public:
  explicit Decode(bool grouped) : grouped_(grouped) {}

  void step() override {
    const torch::NoGradGuard no_grad;
    for (std::int64_t token = 0; token < sizes_.tokens; ++token) decode(token);
  }

  bench::Work work() override {
    bench::Work work;
    work.tokens = static_cast<double>(sizes_.tokens);
    return work;
  }

  std::vector<bench::Metric> metrics() override {
    const double row = static_cast<double>(sizes_.width * (sizes_.heads + sizes_.heads) * query_.element_size());
    const double rows = static_cast<double>(sizes_.tokens * sizes_.context + sizes_.tokens * (sizes_.tokens + 1) / 2);
    std::vector<bench::Metric> all =
        examples::serving_metrics([this] { synchronize(); }, [this](examples::RequestClock& clock) { serve(clock); });
    all.push_back({"repeated_bytes", grouped_ ? 0 : row * rows, bench::MetricKind::kBytes});
    all.push_back({"sdp_backend", static_cast<double>(backend_)});
    return all;
  }

 private:
  void decode(std::int64_t token) {
    const std::int64_t length = sizes_.context + token + 1;
    {
      const ProfileRange range("append");
      keys_.select(2, length - 1).copy_(new_keys_.select(2, token));
      values_.select(2, length - 1).copy_(new_values_.select(2, token));
    }
    out_.narrow(2, token, 1)
        .copy_(attend(query_.narrow(2, token, 1), keys_.narrow(2, 0, length), values_.narrow(2, 0, length)));
  }

  /// The context is in the cache: the first token is the first that is decoded.
  void serve(examples::RequestClock& clock) {
    const torch::NoGradGuard no_grad;
    clock.begin();
    decode(0);
    clock.first_token();
    for (std::int64_t token = 1; token < sizes_.tokens; ++token) decode(token);
    clock.end(sizes_.tokens - 1);
  }

  torch::Tensor attend(const torch::Tensor& query, const torch::Tensor& keys, const torch::Tensor& values) const {
    if (grouped_) return examples::fused_attention(query, keys, values, {.grouped = true});
    torch::Tensor all_keys, all_values;
    {
      const ProfileRange range("repeat");
      all_keys = keys.repeat_interleave(sizes_.heads / sizes_.key_heads, 1);
      all_values = values.repeat_interleave(sizes_.heads / sizes_.key_heads, 1);
    }
    return examples::fused_attention(query, all_keys, all_values);
  }

  void make() override {
    sizes_ = sizes_of(size());
    const auto type = device().is_cuda() ? torch::kBFloat16 : torch::kFloat;
    const auto random = [&](std::int64_t heads, std::int64_t length) {
      return torch::randn({1, heads, length, sizes_.width}).to(device(), type);
    };
    query_ = random(sizes_.heads, sizes_.tokens);
    new_keys_ = random(sizes_.key_heads, sizes_.tokens);
    new_values_ = random(sizes_.key_heads, sizes_.tokens);
    // The pool has room for what is decoded; a step writes over what the step before decoded.
    keys_ = random(sizes_.key_heads, sizes_.context + sizes_.tokens);
    values_ = random(sizes_.key_heads, sizes_.context + sizes_.tokens);
    out_ = torch::zeros_like(query_);
    const std::int64_t group = grouped_ ? 1 : sizes_.heads / sizes_.key_heads;
    backend_ = examples::fused_backend(size(), query_.narrow(2, 0, 1), keys_.repeat_interleave(group, 1),
                                       values_.repeat_interleave(group, 1), {.grouped = grouped_});
  }
  std::vector<NamedTensor> given() override {
    return {{"query", query_},
            {"new keys", new_keys_},
            {"new values", new_values_},
            {"cached keys", keys_.narrow(2, 0, sizes_.context)},
            {"cached values", values_.narrow(2, 0, sizes_.context)}};
  }
  std::vector<NamedTensor> results() override { return {{"attention", out_}, {"keys", keys_}, {"values", values_}}; }

  bool grouped_;
  Sizes sizes_{};
  std::int64_t backend_ = 0;
  torch::Tensor query_, new_keys_, new_values_, keys_, values_, out_;
};

bench::Benchmark long_context_attention_decode() {
  bench::Benchmark benchmark;
  benchmark.name = "long_context_attention_decode";
  benchmark.estimate = estimate;
  benchmark.purpose = "decoding with heads that share keys: repeated keys, keys in place";
  benchmark.devices = {"cpu", "cuda"};
  benchmark.baseline = {[] { return std::make_unique<Decode>(false); }, {1e-5, 1e-5}, {1e-2, 1e-2}};
  benchmark.optimized = {[] { return std::make_unique<Decode>(true); }, {1e-5, 1e-5}, {1e-2, 1e-2}};
  benchmark.least_ratio_cpu = 1.5;  // x1.92 to x2.71 by processor
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(long_context_attention_decode());

}  // namespace workloads::long_context_attention_decode
