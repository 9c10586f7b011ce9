// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>

namespace rangefinder::testing {

/// What the slow rank of a synthetic job is slow at.
enum class Planted {
  kNothing,
  kInput,   ///< its data range takes longer
  kHost,    ///< it launches its forward pass late
  kGemm,    ///< its matrix products take longer
  kDevice,  ///< all its kernels do
  kLink,    ///< all its collectives do, for all that take part
};

/// A data parallel training job, in which all ranks wait for each other in every step.
struct SyntheticJob {
  std::uint64_t seed = 1;
  int ranks = 8;
  int steps = 30;
  Planted planted = Planted::kNothing;
  int slow_rank = 0;
  double slowdown = 0.1;  ///< of the step
  /// The slow rank is slow in each such step; 1: in all.
  int every = 1;
  int first_slow_step = 0;
  /// False: the host computes, and collectives are Gloo's, on a thread of their own.
  bool on_device = true;
  /// Gradients are reduced in hosts and then between them, by groups of both kinds; false: by one group for all.
  bool in_two_levels = false;
  bool with_collectives = true;

  // Noise, standard deviations as shares.
  double step_noise = 0.015;               ///< of a step, lognormal, the same for all ranks
  double work_noise = 0.010;               ///< of each kernel and host range
  double rank_noise = 0.005;               ///< of all kernels of a rank over the whole job: no two devices are alike
  double link_noise = 0.030;               ///< of each collective
  double spikes = 0.002;                   ///< chance that a rank loses 20 to 50 % of a step
  std::int64_t clock_offset_ns = 100'000;  ///< most that a host's clock is off, either way
  double clock_drift = 20e-6;              ///< most that it is faster or slower
  int ranks_per_host = 8;
};

/// Its recording: 16 activities a step and rank on devices, 3 collectives, 4 ranges. Step 0 is warm-up.
Timeline make_job(const SyntheticJob& job);

}  // namespace rangefinder::testing
