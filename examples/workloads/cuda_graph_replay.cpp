// SPDX-License-Identifier: MIT
// Tokens decoded for a few sequences, so little work that a device waits for the host: each operator launched by the
// host, and a token's operators as one graph, captured once for each number of sequences.
#include "workloads/graphs/graph_decoding.hpp"

#include <memory>

namespace workloads::cuda_graph_replay {

using examples::GraphDecoding;
using examples::Launching;
namespace bench = rangefinder::bench;

bench::Pair cuda_graph_replay() {
  bench::Pair pair;
  pair.name = "cuda_graph_replay";
  pair.purpose = "tokens decoded operator by operator, a graph for each batch size replayed";
  pair.devices = {"cuda"};
  pair.baseline = {[] { return std::make_unique<GraphDecoding>(Launching::kEager); }, {}, {1e-5, 1e-6}};
  pair.optimized = {[] { return std::make_unique<GraphDecoding>(Launching::kSharedPool); }, {}, {1e-5, 1e-6}};
  pair.verify_steps = 2;
  pair.skip = examples::skip_without_graphs;
  return pair;
}

[[maybe_unused]] const bool kAdded = bench::add_pair(cuda_graph_replay());

}  // namespace workloads::cuda_graph_replay
