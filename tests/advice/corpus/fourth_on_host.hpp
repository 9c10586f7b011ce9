// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/fourth_jobs.hpp"
#include "advice/corpus/host_training.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

// Programs without a device that only the fourth part has.
namespace rangefinder::testing::corpus {

/// Of the ranks of a job without devices.
inline std::uint64_t host_job_seed(std::uint64_t seed, int rank) { return fourth_seed(seed, 40 + rank); }

/// Blocks of a matrix are updated by twelve threads.
inline ThreadedLoop factorization_loop() {
  ThreadedLoop loop;
  loop.data = "read_panel";
  loop.whole = "factorize";
  loop.serial = "scale_panel";
  loop.work = "update_block";
  loop.processors = 12;
  loop.shares = std::vector<double>(12, 1.0 / 12);
  loop.phases = 7;
  loop.phase_us = 45'000;
  return loop;
}

/// Paths of prices, by sixteen threads.
inline ThreadedLoop pricing_loop() {
  ThreadedLoop loop;
  loop.data = "market_data";
  loop.whole = "price_portfolio";
  loop.serial = "draw_paths";
  loop.work = "simulate_paths";
  loop.processors = 16;
  loop.shares = std::vector<double>(16, 1.0 / 16);
  loop.phases = 4;
  loop.phase_us = 62'000;
  return loop;
}

inline HostLoop ranking_loop() {
  HostLoop loop;
  loop.names.step = "ranker_step";
  loop.names.data = "parquet_reader.next";
  loop.names.forward = "score";
  loop.names.backward = "loss_gradients";
  loop.names.optimizer = "adagrad";
  loop.layers = 7;
  loop.layer_us = 830;
  return loop;
}

/// Boosted trees on several hosts. The histograms of a level are built for a fourth of the columns at a time, and
/// summed up over the ranks; `hidden`: while the next ones are built.
inline Program boost_trees(std::uint64_t seed, Meeting& meeting, bool hidden) {
  Simulation run(seed, host_rank());
  for (int round = 0; round < 22; ++round) {
    run.begin_step();
    const auto whole = run.range("boosting_round");
    run.compute("gbdt::gradients", shapes_of({{2'000'000}, {2'000'000}}), types_of("float", 2), 1'900);
    for (int level = 0; level < 4; ++level) {
      const auto grow = run.range("grow_level");
      std::vector<std::size_t> summing;
      for (int part = 0; part < 4; ++part) {
        const auto build = run.range("build_histograms");
        run.compute("gbdt::histogram", shapes_of({{2'000'000, 16}, {2'000'000}}), types_of("float", 2), 1'700);
        summing.push_back(run.collective(CollectiveKind::kAllReduce, 1'100'000, "Float", meeting));
        if (!hidden) run.wait_for(summing.back());
      }
      for (std::size_t i = 0; hidden && i < summing.size(); ++i) run.wait_for(summing[i]);
      const auto find = run.range("find_splits");
      run.compute("gbdt::best_split", shapes_of({{64, 64, 256}}), types_of("float", 1), 420);
    }
  }
  return run.finish();
}

}  // namespace rangefinder::testing::corpus
