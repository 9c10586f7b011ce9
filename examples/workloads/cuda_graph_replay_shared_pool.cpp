// SPDX-License-Identifier: MIT
// Graphs for several numbers of sequences: a pool of memory for each, and one for all, where each takes what a larger
// one has left. `graph_pool_bytes` tells what that saves; replays take the same time.
#include "workloads/graphs/graph_decoding.hpp"

#include <memory>

namespace workloads::cuda_graph_replay_shared_pool {

using examples::GraphDecoding;
using examples::Launching;
namespace bench = rangefinder::bench;

bench::Benchmark cuda_graph_replay_shared_pool() {
  bench::Benchmark benchmark;
  benchmark.name = "cuda_graph_replay_shared_pool";
  benchmark.estimate = examples::estimate_graph_decoding;
  benchmark.purpose = "graphs with a pool of memory each, with one for all, largest first: graph_pool_bytes";
  benchmark.devices = {"cuda"};
  benchmark.baseline = {[] { return std::make_unique<GraphDecoding>(Launching::kPrivatePools); }, {}, {1e-5, 1e-6}};
  benchmark.optimized = {[] { return std::make_unique<GraphDecoding>(Launching::kSharedPool); }, {}, {1e-5, 1e-6}};
  benchmark.check_steps = 2;
  benchmark.skip = examples::skip_without_graphs;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(cuda_graph_replay_shared_pool());

}  // namespace workloads::cuda_graph_replay_shared_pool
