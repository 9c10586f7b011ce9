// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/meeting.hpp"
#include "advice/corpus/training_loop.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

// Loops of several ranks.
namespace rangefinder::testing::corpus {

/// How a data parallel job reduces its gradients.
struct Buckets {
  std::size_t of_layer = 1;  ///< collectives for a layer
  bool at_end = false;       ///< all of them after the backward pass
  double slower = 1;         ///< than the link could
};

/// Gradients of a layer are reduced while those of the next are computed; the optimizer waits for all of them. The
/// embedding's are left where they are.
inline void reduce_gradients(Loop& loop, Meeting& meeting, Buckets buckets) {
  const auto reduce = [&meeting, buckets](Simulation& run, const Layer& layer) {
    const auto elements = layer.parameters / static_cast<std::int64_t>(buckets.of_layer);
    for (std::size_t i = 0; i < buckets.of_layer; ++i)
      run.collective(CollectiveKind::kAllReduce, elements, "BFloat16", meeting, buckets.slower);
  };
  const auto counts = [](const Layer& layer) { return layer.parameters > 0 && layer.name != "embedding"; };
  const auto model = std::make_shared<const Model>(loop.model);
  if (!buckets.at_end)
    loop.after_layer_backward = [=](Simulation& run, int, std::size_t layer) {
      if (counts(model->layers[layer])) reduce(run, model->layers[layer]);
    };
  loop.after_backward = [=](Simulation& run, int) {
    if (buckets.at_end)
      for (std::size_t i = model->layers.size(); i-- > 0;)
        if (counts(model->layers[i])) reduce(run, model->layers[i]);
    run.wait_event(kComputeStream, kNcclStream);
  };
}

/// The parameters of a layer are gathered before it is computed, forward and backward, and its gradients scattered:
/// fully sharded data parallelism. `ahead`: they are gathered while the layer before is computed. The embedding is not
/// sharded.
inline void shard_parameters(Loop& loop, Meeting& meeting, bool ahead) {
  const auto model = std::make_shared<const Model>(loop.model);
  const auto is_sharded = [model](std::ptrdiff_t layer) {
    if (layer < 0 || layer >= std::ssize(model->layers)) return false;
    const Layer& one = model->layers[static_cast<std::size_t>(layer)];
    return one.parameters > 0 && one.name != "embedding";
  };
  const auto gather = [=, &meeting](Simulation& run, std::ptrdiff_t layer, std::ptrdiff_t step) {
    // What was gathered ahead has to be there now.
    if (ahead) run.wait_event(kComputeStream, kNcclStream);
    const std::ptrdiff_t wanted = layer + (ahead ? 2 * step : step);
    if (is_sharded(wanted)) {
      const auto range = run.range("FSDP::all_gather");
      run.collective(CollectiveKind::kAllGather, model->layers[static_cast<std::size_t>(wanted)].parameters, "BFloat16",
                     meeting);
    }
    if (!ahead) run.wait_event(kComputeStream, kNcclStream);
  };
  loop.after_layer = [=](Simulation& run, int, std::size_t layer) {
    gather(run, static_cast<std::ptrdiff_t>(layer), 1);
  };
  loop.after_layer_backward = [=, &meeting](Simulation& run, int, std::size_t layer) {
    gather(run, static_cast<std::ptrdiff_t>(layer), -1);
    if (is_sharded(static_cast<std::ptrdiff_t>(layer)))
      run.collective(CollectiveKind::kReduceScatter, model->layers[layer].parameters, "BFloat16", meeting);
  };
  loop.after_backward = [](Simulation& run, int) { run.wait_event(kComputeStream, kNcclStream); };
}

/// A rank is on the host alone: a Gloo job.
inline Program host_rank() {
  Program program;
  program.has_device = false;
  return program;
}

}  // namespace rangefinder::testing::corpus
