// SPDX-License-Identifier: MIT
// Tokens one by one: a cache that is made anew for each, a token longer; and buffers of pages that double.
#include "common/cached_decoder.hpp"

#include <map>
#include <memory>
#include <vector>
namespace workloads::kv_cache_naive {

using examples::CacheShape;
using examples::ConcatenatedCache;
using examples::make_cache;
namespace bench = rangefinder::bench;

/// Contiguous buffers of whole pages, which double and copy when they are full. A buffer that is done with goes to a
/// list of its size, for the next sequence that grows to it. One row.
class DoublingCache : public examples::KvCache {
 public:
  using KvCache::KvCache;

  void begin(std::int64_t rows) override {
    TORCH_CHECK(rows == 1, "a doubling cache has one row, not ", rows);
    tokens_ = 0;
    for (std::int64_t layer = 0; layer < shape().layers; ++layer) {
      torch::Tensor keys = take(shape().page);
      buffers_.emplace_back(keys, take(shape().page));
    }
  }

  KeysAndValues append(std::int64_t layer, const torch::Tensor& keys, const torch::Tensor& values) override {
    auto& [all_keys, all_values] = buffers_[static_cast<std::size_t>(layer)];
    return {add(all_keys, keys), add(all_values, values)};
  }

  std::int64_t advance(std::int64_t tokens, std::int64_t live) override {
    tokens_ += tokens;
    return live;
  }

  void end() override {
    for (const auto& [keys, values] : buffers_) {
      give_back(keys);
      give_back(values);
    }
    buffers_.clear();
  }

 private:
  torch::Tensor add(torch::Tensor& all, const torch::Tensor& tokens) {
    const std::int64_t needed = tokens_ + tokens.size(2);
    if (needed > all.size(2)) {
      std::int64_t capacity = all.size(2);
      while (capacity < needed) capacity *= 2;
      const torch::Tensor longer = take(capacity), kept = all.narrow(2, 0, tokens_);
      longer.narrow(2, 0, tokens_).copy_(kept);
      wrote(kept);
      give_back(all);
      all = longer;
    }
    all.narrow(2, tokens_, tokens.size(2)).copy_(tokens);
    wrote(tokens);
    return all.narrow(2, 0, needed);
  }

  torch::Tensor take(std::int64_t capacity) {
    std::vector<torch::Tensor>& free = free_[capacity];
    if (free.empty()) return allocate({1, shape().heads, capacity, shape().width});
    torch::Tensor buffer = free.back();
    free.pop_back();
    return buffer;
  }
  void give_back(const torch::Tensor& buffer) { free_[buffer.size(2)].push_back(buffer); }

  std::int64_t tokens_ = 0;
  std::vector<KeysAndValues> buffers_;
  std::map<std::int64_t, std::vector<torch::Tensor>> free_;  // by tokens
};

bench::Benchmark kv_cache_naive() {
  bench::Benchmark benchmark =
      examples::cache_benchmark({.cache = make_cache<ConcatenatedCache>}, {.cache = make_cache<DoublingCache>});
  benchmark.name = "kv_cache_naive";
  benchmark.purpose = "a cache concatenated for each token, buffers of pages that double";
  benchmark.least_ratio_cpu = 1.1;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(kv_cache_naive());

}  // namespace workloads::kv_cache_naive
