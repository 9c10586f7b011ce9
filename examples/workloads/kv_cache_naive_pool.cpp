// SPDX-License-Identifier: MIT
// Tokens one by one: a cache that is made anew for each, a token longer; and buffers of full length, made once.
#include "common/cached_decoder.hpp"

#include <memory>

namespace workloads::kv_cache_naive_pool {

using examples::CacheShape;
using examples::ConcatenatedCache;
using examples::make_cache;
namespace bench = rangefinder::bench;

bench::Benchmark kv_cache_naive_pool() {
  bench::Benchmark benchmark =
      examples::cache_benchmark({.cache = make_cache<ConcatenatedCache>}, {.cache = make_cache<examples::PooledCache>});
  benchmark.name = "kv_cache_naive_pool";
  benchmark.purpose = "a cache concatenated for each token, a pool of full length";
  benchmark.least_ratio_cpu = 1.5;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(kv_cache_naive_pool());

}  // namespace workloads::kv_cache_naive_pool
