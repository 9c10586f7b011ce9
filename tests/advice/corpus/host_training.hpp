// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/kernels.hpp"
#include "advice/corpus/meeting.hpp"
#include "advice/corpus/training_job.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Training on CPUs, alone or with Gloo.
namespace rangefinder::testing::corpus {

struct HostLoop {
  int steps = 24;
  std::size_t layers = 8;
  double layer_us = 900;              ///< forward; backward takes twice as long
  double data_us = 40;                ///< of waiting for a batch
  Meeting* meeting = nullptr;         ///< null: no other ranks
  std::int64_t parameters = 400'000;  ///< of a layer
  bool overlapped = true;             ///< gradients of a layer are reduced while those of the next are computed
  LoopNames names{};
};

inline void run_backward_on_host(Simulation& run, const HostLoop& loop) {
  std::vector<std::size_t> reducing;
  for (std::size_t i = 0; i < loop.layers; ++i) {
    run.compute("aten::mm", shapes_of({{1024, 64}, {64, 1024}}), types_of("float", 2), 2 * loop.layer_us);
    if (loop.meeting != nullptr && loop.overlapped)
      reducing.push_back(run.collective(CollectiveKind::kAllReduce, loop.parameters, "Float", *loop.meeting));
  }
  for (std::size_t i = 0; loop.meeting != nullptr && !loop.overlapped && i < loop.layers; ++i)
    reducing.push_back(run.collective(CollectiveKind::kAllReduce, loop.parameters, "Float", *loop.meeting));
  for (const std::size_t one : reducing) run.wait_for(one);
}

/// PyTorch's operators use OpenMP, whose threads no recording has.
inline Program run_on_host(std::uint64_t seed, const HostLoop& loop) {
  Simulation run(seed, host_rank());
  const std::string shapes = shapes_of({{1024}, {64, 1024}, {1024, 1024}, {}, {}}), types = types_of("float", 3, 2);
  for (int step = 0; step < loop.steps; ++step) {
    run.begin_step();
    in_range(run, loop.names.step, [&] {
      in_range(run, loop.names.data, [&] { run.host(loop.data_us); });
      in_range(run, loop.names.forward, [&] {
        for (std::size_t i = 0; i < loop.layers; ++i) run.compute("aten::addmm", shapes, types, loop.layer_us);
      });
      in_range(run, loop.names.backward, [&] { run_backward_on_host(run, loop); });
      in_range(run, loop.names.optimizer, [&] {
        run.compute("aten::_fused_adamw_", "[[],[],[]]", "[\"TensorList\",\"TensorList\",\"TensorList\"]", 350);
      });
    });
  }
  return run.finish();
}

/// Threads that decode batches ahead, beside everything else that the program does: each is busy most of the time, and
/// one batch takes longer than another.
inline void add_loader_threads(Program& program, std::uint64_t seed, std::size_t threads, double batch_us) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> length(0.6 * batch_us, 1.4 * batch_us);
  for (std::size_t loader = 0; loader < threads; ++loader) {
    const std::size_t thread = program.threads.size();
    program.threads.push_back("loader_" + std::to_string(loader));
    std::int64_t at_ns = program.steps.front().begin_ns + static_cast<std::int64_t>(loader) * 700'000;
    for (;;) {
      ProgramRange range;
      range.name = "decode_batch";
      range.thread = thread;
      range.begin_ns = at_ns;
      range.cpu_ns = static_cast<std::int64_t>(length(random) * 1000);
      range.end_ns = at_ns + range.cpu_ns;
      if (range.end_ns >= program.steps.back().end_ns) break;
      at_ns = range.end_ns + 900'000;
      program.ranges.push_back(std::move(range));
    }
  }
}

/// A program that divides its work among threads of its own.
struct ThreadedLoop {
  int steps = 24;
  std::uint32_t processors = 8;
  std::vector<double> shares = std::vector<double>(8, 0.125);  ///< of the work of a phase, by thread
  int phases = 6;
  double phase_us = 24'000;  ///< of work, by all threads together
  double serial_us = 60;     ///< on the main thread, before each phase
  double data_us = 50;
  std::string data = "data", whole = "solve", serial = "prepare_phase", work = "relax_cells";  ///< names of its ranges
};

inline Program run_threaded(std::uint64_t seed, const ThreadedLoop& loop) {
  Program program = host_rank();
  program.processors = loop.processors;
  Simulation run(seed, std::move(program));
  for (int step = 0; step < loop.steps; ++step) {
    run.begin_step();
    in_range(run, loop.data, [&] { run.host(loop.data_us); });
    in_range(run, loop.whole, [&] {
      for (int phase = 0; phase < loop.phases; ++phase) {
        in_range(run, loop.serial, [&] { run.host(loop.serial_us); });
        std::vector<double> us;
        for (const double share : loop.shares) us.push_back(share * loop.phase_us);
        run.in_parallel(loop.work, us);
      }
    });
  }
  return run.finish();
}

}  // namespace rangefinder::testing::corpus
