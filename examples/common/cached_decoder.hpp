// SPDX-License-Identifier: MIT
#pragma once

#include "common/kv_cache.hpp"
#include "common/serving.hpp"
#include "common/tensor_variant.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace examples {

struct DecoderOptions {
  std::function<std::unique_ptr<KvCache>(const CacheShape&)> cache;
  bool batched = false;     ///< all sequences at once, not one after the other
  bool block_wise = false;  ///< many tokens at a time: they are a prompt, all known
};

/// Sequences of known tokens through two layers of causal attention that keep their keys and values.
class CachedDecoder : public TensorVariant {
 public:
  explicit CachedDecoder(DecoderOptions options) : options_(std::move(options)) {}
  void step() override;
  bench::Work work() override;
  std::vector<bench::Metric> metrics() override;

 private:
  struct Layer {
    torch::Tensor qkv, out;
  };
  struct Sequence {
    std::int64_t first, tokens;  // of all tokens
  };

  void make() override;
  std::vector<NamedTensor> given() override;
  std::vector<NamedTensor> results() override { return {{"hidden", out_}}; }
  /// Calls `request` with all sequences, or with one after the other.
  void each_request(const std::function<void(const std::vector<Sequence>&)>& request) const;
  /// `prompt` tokens of each sequence are known and may be read in blocks; the others come one by one. After the
  /// prompt `prompt_read` is called, if there is one.
  void decode(const std::vector<Sequence>& batch, std::int64_t prompt, const std::function<void()>& prompt_read = {});
  void serve(RequestClock& clock);
  torch::Tensor forward(torch::Tensor x);
  torch::Tensor tokens_at(const std::vector<Sequence>& batch, std::int64_t rows, std::int64_t at,
                          std::int64_t count) const;
  void sort_for_batch();
  std::int64_t most_live_tokens() const;

  DecoderOptions options_;
  std::unique_ptr<KvCache> cache_;
  CacheShape shape_;
  std::int64_t block_ = 1, prompt_ = 0, computed_tokens_ = 0;
  std::vector<Sequence> sequences_;
  std::vector<Layer> layers_;
  torch::Tensor in_, out_;
};

template <typename Cache>
std::unique_ptr<KvCache> make_cache(const CacheShape& shape) {
  return std::make_unique<Cache>(shape);
}

/// A benchmark of two caches, still without a name. The goal is memory: bytes that steps add to what set-up made.
bench::Benchmark cache_benchmark(const DecoderOptions& baseline, const DecoderOptions& optimized);

}  // namespace examples
