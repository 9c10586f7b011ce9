// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/training_job.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

// Jobs that only the held-out half has.
namespace rangefinder::testing::corpus {

inline std::uint64_t held_out_seed(std::uint64_t seed, int rank) {
  return seed * 1000 + 300 + static_cast<std::uint64_t>(rank);
}

/// Sequence parallelism: activations are gathered before a layer and their sums scattered after it, forward and
/// backward. `hidden`: a layer's parts are computed while others are on their way; else the next layer waits.
inline void gather_and_scatter_sequences(Loop& loop, Meeting& meeting, std::int64_t elements, bool hidden) {
  const auto exchange = [=, &meeting](Simulation& run, int, std::size_t) {
    if (hidden) run.wait_event(kComputeStream, kNcclStream);
    run.collective(CollectiveKind::kReduceScatter, elements, "BFloat16", meeting);
    run.collective(CollectiveKind::kAllGather, elements, "BFloat16", meeting);
    if (!hidden) run.wait_event(kComputeStream, kNcclStream);
  };
  loop.after_layer = exchange;
  loop.after_layer_backward = exchange;
  loop.after_backward = [](Simulation& run, int) { run.wait_event(kComputeStream, kNcclStream); };
}

/// Every norm's sums are those of all ranks.
inline void synchronize_norms(Loop& loop, Meeting& meeting) {
  const auto sum = [&meeting](Simulation& run, const char* name, CollectiveKind kind) {
    for (int norm = 0; norm < 3; ++norm) {
      const auto range = run.range(name);
      run.collective(kind, std::int64_t{1025} * meeting.ranks(), "Float", meeting);
      run.wait_event(kComputeStream, kNcclStream);
    }
  };
  loop.after_layer = [sum](Simulation& run, int, std::size_t) {
    sum(run, "SyncBatchNorm", CollectiveKind::kAllGather);
  };
  const auto reduce = loop.after_layer_backward;
  loop.after_layer_backward = [sum, reduce](Simulation& run, int step, std::size_t layer) {
    if (reduce) reduce(run, step, layer);
    sum(run, "SyncBatchNormBackward", CollectiveKind::kAllReduce);
  };
}

/// Vectors of a recommender come from the ranks that have their tables, while so many dense layers are computed.
inline void exchange_vectors(Loop& loop, Meeting& meeting, std::int64_t elements, std::size_t hidden_by) {
  const std::size_t last = loop.model.layers.size() - 1;
  const auto exchange = [=, &meeting](Simulation& run) {
    const auto range = run.range("## alltoall_fwd_single ##");
    run.collective(CollectiveKind::kAllToAll, elements, "BFloat16", meeting);
  };
  loop.after_layer = [=](Simulation& run, int, std::size_t layer) {
    if (layer == 0) exchange(run);
    if (layer == hidden_by) run.wait_event(kComputeStream, kNcclStream);
  };
  loop.after_layer_backward = [=](Simulation& run, int, std::size_t layer) {
    if (layer == last) exchange(run);
    if (layer == last - hidden_by) run.wait_event(kComputeStream, kNcclStream);
  };
}

/// Gradients of so many small batches are summed up before a step; those of the last are reduced as they come.
inline Program accumulate_gradients(std::uint64_t seed, const Loop& loop, int batches) {
  Loop quiet = loop;
  quiet.after_layer_backward = nullptr;
  Simulation run(seed);
  TwoStepsAhead ahead;
  for (int step = 0; step < loop.steps; ++step) {
    run.begin_step();
    const auto whole = run.range("train_batch");
    ahead.wait(run);
    for (int batch = 0; batch < batches; ++batch) {
      const Loop& one = batch + 1 < batches ? quiet : loop;
      in_range(run, loop.names.data, [&] { default_data(run, loop.model); });
      run_forward(run, one, step);
      run_backward(run, one, step);
    }
    loop.after_backward(run, step);
    run_optimizer(run, loop.model, loop.names.optimizer);
    ahead.mark(run);
  }
  return run.finish();
}

}  // namespace rangefinder::testing::corpus
