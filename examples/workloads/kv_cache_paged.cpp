// SPDX-License-Identifier: MIT
// Sequences of unlike length at once: a batch padded to the longest, concatenated for each token; and pages, which a
// sequence that ends leaves to the others.
#include "common/cached_decoder.hpp"

#include <memory>
#include <vector>
namespace workloads::kv_cache_paged {

using examples::CacheShape;
using examples::ConcatenatedCache;
using examples::make_cache;
namespace bench = rangefinder::bench;

/// Pages of a few tokens of a row, for keys and for values of each layer, and tables that say which pages a row has.
/// Pages of a row that is done are free for the others. Attention wants its keys in a row: they are gathered.
class PagedCache : public examples::KvCache {
 public:
  using KvCache::KvCache;

  void begin(std::int64_t rows) override {
    const std::int64_t pages = shape().live_tokens / shape().page;
    while (static_cast<std::int64_t>(pools_.size()) < shape().layers) {
      // A page is [token, head, width], so that pages one after the other are tokens one after the other.
      const std::vector<std::int64_t> sizes{pages, shape().page, shape().heads, shape().width};
      torch::Tensor keys = allocate(sizes);
      pools_.emplace_back(keys, allocate(sizes));
    }
    free_.clear();
    for (std::int64_t page = pages; page-- > 0;) free_.push_back(page);
    tables_.assign(static_cast<std::size_t>(rows), {});
    tokens_ = 0;
  }

  KeysAndValues append(std::int64_t layer, const torch::Tensor& keys, const torch::Tensor& values) override {
    TORCH_CHECK(keys.size(2) == 1, "a paged cache takes a token at a time, not ", keys.size(2));
    if (layer == 0) make_room();
    const auto& [all_keys, all_values] = pools_[static_cast<std::size_t>(layer)];
    write(all_keys, keys);
    write(all_values, values);
    return {gather(all_keys), gather(all_values)};
  }

  std::int64_t advance(std::int64_t tokens, std::int64_t live) override {
    tokens_ += tokens;
    for (; static_cast<std::int64_t>(tables_.size()) > live; tables_.pop_back())
      free_.insert(free_.end(), tables_.back().rbegin(), tables_.back().rend());
    return live;
  }

  void end() override {}

 private:
  /// All layers have the same tables: a row's page has the same number in each.
  void make_room() {
    if (tokens_ % shape().page == 0) {
      for (std::vector<std::int64_t>& table : tables_) {
        TORCH_CHECK(!free_.empty(), "no free page");
        table.push_back(free_.back());
        free_.pop_back();
      }
    }
    std::vector<std::int64_t> pages;
    for (const std::vector<std::int64_t>& table : tables_) pages.insert(pages.end(), table.begin(), table.end());
    index_ = torch::tensor(pages, torch::kInt64).to(shape().options.device());
  }

  void write(const torch::Tensor& pool, const torch::Tensor& tokens) {
    for (std::size_t row = 0; row < tables_.size(); ++row)
      pool[tables_[row].back()][tokens_ % shape().page].copy_(tokens[static_cast<std::int64_t>(row)].squeeze(1));
    wrote(tokens);
  }

  torch::Tensor gather(const torch::Tensor& pool) {
    const auto rows = static_cast<std::int64_t>(tables_.size());
    const torch::Tensor pages = pool.index_select(0, index_);
    wrote(pages);
    return pages.view({rows, -1, shape().heads, shape().width}).narrow(1, 0, tokens_ + 1).transpose(1, 2);
  }

  std::int64_t tokens_ = 0;
  std::vector<KeysAndValues> pools_;
  std::vector<std::int64_t> free_;
  std::vector<std::vector<std::int64_t>> tables_;  // pages of each row
  torch::Tensor index_;                            // all tables, one after the other
};

bench::Benchmark kv_cache_paged() {
  bench::Benchmark benchmark = examples::cache_benchmark({.cache = make_cache<ConcatenatedCache>, .batched = true},
                                                         {.cache = make_cache<PagedCache>, .batched = true});
  benchmark.name = "kv_cache_paged";
  benchmark.purpose = "a padded batch concatenated for each token, tables of pages";
  benchmark.least_ratio_cpu = 1.8;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(kv_cache_paged());

}  // namespace workloads::kv_cache_paged
