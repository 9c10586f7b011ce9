// SPDX-License-Identifier: MIT
// A prompt that is all known: read a token at a time, or in blocks that attention sees at once.
#include "common/cached_decoder.hpp"

#include <memory>

namespace workloads::kv_cache_flash_blockwise {

using examples::CacheShape;
using examples::ConcatenatedCache;
using examples::make_cache;
namespace bench = rangefinder::bench;

bench::Benchmark kv_cache_flash_blockwise() {
  bench::Benchmark benchmark = examples::cache_benchmark(
      {.cache = make_cache<ConcatenatedCache>}, {.cache = make_cache<examples::PooledCache>, .block_wise = true});
  benchmark.name = "kv_cache_flash_blockwise";
  benchmark.purpose = "a prompt token by token, in blocks into a pool";
  // Activations of a block eat what the pool saves: shown, no promise.
  benchmark.informational = true;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(kv_cache_flash_blockwise());

}  // namespace workloads::kv_cache_flash_blockwise
