// SPDX-License-Identifier: MIT
// Tokens decoded for a few sequences, so little work that a device waits for the host: each operator launched by the
// host, and a token's operators as one graph, captured once for each number of sequences.
#include "workloads/graphs/graph_decoding.hpp"

#include <memory>

namespace workloads::cuda_graph_replay {

using examples::GraphDecoding;
using examples::Launching;
namespace bench = rangefinder::bench;

bench::Benchmark cuda_graph_replay() {
  bench::Benchmark benchmark;
  benchmark.name = "cuda_graph_replay";
  benchmark.estimate = examples::estimate_graph_decoding;
  benchmark.purpose = "tokens decoded operator by operator, a graph for each batch size replayed";
  benchmark.devices = {"cuda"};
  benchmark.baseline = {[] { return std::make_unique<GraphDecoding>(Launching::kEager); }, {}, {1e-5, 1e-6}};
  benchmark.optimized = {[] { return std::make_unique<GraphDecoding>(Launching::kSharedPool); }, {}, {1e-5, 1e-6}};
  benchmark.check_steps = 2;
  benchmark.least_ratio_cuda = 2;
  benchmark.skip = examples::skip_without_graphs;
  return benchmark;
}

[[maybe_unused]] const bool kAdded = bench::add_benchmark(cuda_graph_replay());

}  // namespace workloads::cuda_graph_replay
