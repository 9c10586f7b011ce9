// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/bench/harness.hpp>
#include <rangefinder/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

// What a run would take, by the estimates of its benchmarks.
namespace rangefinder::bench {

/// A benchmark as it would be run.
struct PlannedBenchmark {
  std::string name;
  std::int64_t iterations = 0;
  std::int64_t warmup = 0;
  std::int64_t setups_of_check = 0;
  std::int64_t steps_of_check = 0;
  std::string check_size;
  std::string skipped;  ///< why it would not run whatever the machine: "size_not_offered", ...; empty: it may
  unsigned ranks = 1;   ///< processes of a variant
  Estimate timed;       ///< at the size that is timed, of a rank
  Estimate checked;     ///< at the size whose outputs are compared
};

/// Asks the worker for the estimates.
Result<std::vector<PlannedBenchmark>> planned(const std::vector<Benchmark>& benchmarks, const Setup& setup,
                                              const RunOptions& options);

/// How fast steps are assumed to be.
struct AssumedRate {
  double flops_per_s = 0;
  std::string source;           ///< "--assume-flops", a file of peaks, "by default"
  double half_flops_per_s = 0;  ///< of products in fp16 or bf16
  double bytes_per_s = 0;
  double launch_s = 0;  ///< the host's time for an operator
};

/// By options, peaks, or default, in this order. `peaks`: of `options.peaks`; null: there are none. `gpu`: the name of
/// the worker's device.
Result<AssumedRate> assumed_rate(const RunOptions& options, const MachinePeaks* peaks, const std::string& device,
                                 const std::string& gpu);

/// Seconds of a correctness check: set-ups that draw random numbers, FLOPs of its steps, waiting; 0: none is known.
double check_seconds(const PlannedBenchmark& benchmark, const AssumedRate& rate) noexcept;

/// Seconds of the timed steps of both variants with those that warm up, and of a set-up of each; 0: not known.
double timing_seconds(const PlannedBenchmark& benchmark, const AssumedRate& rate) noexcept;

/// Text and JSON of a plan, and whether it keeps to the limits.
PlanOutcome plan_outcome(const std::vector<PlannedBenchmark>& rows, const Setup& setup, const RunOptions& options,
                         const AssumedRate& rate);

}  // namespace rangefinder::bench
