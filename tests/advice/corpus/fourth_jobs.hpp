// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_job.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

// Jobs that only the fourth part has.
namespace rangefinder::testing::corpus {

inline std::uint64_t fourth_seed(std::uint64_t seed, int rank) {
  return seed * 1000 + 900 + static_cast<std::uint64_t>(rank);
}

/// Tensor parallelism: after each layer, forward and backward, its result is summed up over the ranks. `interleaved`:
/// two halves of a batch take turns, and one is computed while the other is summed up; else the next layer waits.
inline void sum_layers(Loop& loop, Meeting& meeting, std::int64_t elements, bool interleaved) {
  const auto sum = [=, &meeting](Simulation& run, int, std::size_t) {
    // The other half's sum, of which the next layer is.
    if (interleaved) run.wait_event(kComputeStream, kNcclStream);
    run.collective(CollectiveKind::kAllReduce, elements, "BFloat16", meeting);
    if (!interleaved) run.wait_event(kComputeStream, kNcclStream);
  };
  loop.after_layer = sum;
  loop.after_layer_backward = sum;
  loop.after_backward = [](Simulation& run, int) { run.wait_event(kComputeStream, kNcclStream); };
}

/// Each rank has a part of the optimizer's state: gradients are scattered as they come, and the parameters gathered
/// when they are new. `ahead`: those of a layer while the layer before is computed; else all of them, and the next step
/// waits.
inline void shard_optimizer(Loop& loop, Meeting& meeting, bool ahead) {
  const auto model = std::make_shared<const Model>(loop.model);
  for (Layer& layer : loop.model.layers) layer.parameters /= meeting.ranks();
  const auto gather = [=, &meeting](Simulation& run, std::size_t layer) {
    if (layer < model->layers.size())
      run.collective(CollectiveKind::kAllGather, model->layers[layer].parameters, "BFloat16", meeting);
  };
  const auto wait = [](Simulation& run) { run.wait_event(kComputeStream, kNcclStream); };
  loop.after_layer_backward = [=, &meeting](Simulation& run, int, std::size_t layer) {
    run.collective(CollectiveKind::kReduceScatter, model->layers[layer].parameters, "BFloat16", meeting);
  };
  loop.after_backward = [=](Simulation& run, int) { wait(run); };
  loop.after_step = [=](Simulation& run, int) {
    const auto range = run.range("gather_parameters");
    gather(run, 0);
    if (ahead) wait(run);
    gather(run, 1);
    for (std::size_t layer = 2; !ahead && layer < model->layers.size(); ++layer) gather(run, layer);
    if (!ahead) wait(run);
  };
  if (!ahead) return;
  loop.after_layer = [=](Simulation& run, int step, std::size_t layer) {
    if (step == 0) return;  // they are as they were made
    wait(run);
    gather(run, layer + 2);
  };
}

}  // namespace rangefinder::testing::corpus
