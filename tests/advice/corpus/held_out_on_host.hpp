// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/held_out_jobs.hpp"
#include "advice/corpus/host_training.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// Programs without a device that only the held-out half has.
namespace rangefinder::testing::corpus {

/// A part of the work for each thread, all the same.
inline std::vector<double> even_shares(std::size_t threads) {
  return std::vector<double>(threads, 1 / static_cast<double>(threads));
}

/// Conjugate gradients: products of a sparse matrix with a vector.
inline ThreadedLoop sparse_solver() {
  ThreadedLoop loop;
  loop.data = "load_rhs";
  loop.whole = "cg_solve";
  loop.serial = "apply_preconditioner";
  loop.work = "spmv_rows";
  loop.processors = 20;
  loop.shares = even_shares(20);
  loop.phases = 9;
  loop.phase_us = 52'000;
  return loop;
}

/// Points go to their nearest of some centres, on a machine of two sockets.
inline ThreadedLoop clustering() {
  ThreadedLoop loop;
  loop.data = "next_chunk";
  loop.whole = "kmeans_fit";
  loop.serial = "update_centroids";
  loop.work = "assign_labels";
  loop.processors = 32;
  loop.shares = even_shares(32);
  loop.phases = 3;
  loop.phase_us = 118'000;
  return loop;
}

/// Sentences are classified by a small model.
inline HostLoop sentence_classifier() {
  HostLoop loop;
  loop.names = {"train_one_batch", "iter(dataloader)",         "model.forward",
                "loss.backward",   "Optimizer.step#Adam.step", ""};
  loop.layers = 5;
  loop.layer_us = 1'150;
  return loop;
}

/// Federated averaging: each rank trains a while on its own data, and then the models are averaged. `behind`: the
/// models of the round before, while the next is trained.
inline Program train_and_average(std::uint64_t seed, Meeting& meeting, bool behind) {
  Simulation run(seed, host_rank());
  std::vector<std::size_t> averaging;
  const auto wait = [&] {
    const auto range = run.range("aggregate");
    for (const std::size_t one : averaging) run.wait_for(one);
    averaging.clear();
  };
  for (int round = 0; round < 20; ++round) {
    run.begin_step();
    const auto whole = run.range("fedavg_round");
    for (int batch = 0; batch < 4; ++batch) {
      const auto local = run.range("local_step");
      run.compute("aten::mkldnn_convolution", shapes_of({{32, 32, 28, 28}, {64, 32, 3, 3}}), types_of("float", 2),
                  2'100);
      run.compute("aten::mkldnn_convolution_backward", shapes_of({{32, 64, 28, 28}, {64, 32, 3, 3}}),
                  types_of("float", 2), 4'400);
    }
    if (behind) wait();
    for (int part = 0; part < 3; ++part)
      averaging.push_back(run.collective(CollectiveKind::kAllReduce, 1'900'000, "Float", meeting));
    if (!behind) wait();
  }
  return run.finish();
}

}  // namespace rangefinder::testing::corpus
