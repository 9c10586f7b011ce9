// SPDX-License-Identifier: MIT
#pragma once

#include "bench/json.hpp"

#include <rangefinder/result.hpp>

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace rangefinder::bench {

struct StackSample {
  std::int64_t time_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t cpu_ns = 0;   ///< CPU time of the thread since its sample before
  pid_t thread = 0;
  std::vector<std::uintptr_t> frames;  ///< addresses of instructions, innermost first
};

struct StackSamples {
  std::vector<StackSample> samples;
  std::size_t lost = 0;  ///< for which there was no room
};

/// Samples the stacks of this process's threads while it lives: of each thread that works, about once a millisecond of
/// its CPU time. The threads read their own stacks, in a handler of SIGPROF that stays installed for the life of the
/// process; system calls that it interrupts are started again. For profiled steps, never for timed ones.
///
/// What has no unwind tables (code made at run time, some hand-written kernels) ends a stack: its callers are missing.
class StackSampler {
 public:
  /// kBusy while another one lives, or where somebody else handles SIGPROF.
  static Result<StackSampler> start();
  StackSampler(StackSampler&&) noexcept;
  StackSampler& operator=(StackSampler&&) = delete;
  ~StackSampler();

  /// Ends sampling.
  StackSamples stop();

 private:
  struct Impl;
  explicit StackSampler(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

/// With names in the place of addresses:
///   {"functions": [name, ...], "stacks": [[function, ... innermost first], ...],
///    "samples": [[time_ns, thread, cpu_ns, stack], ...], "lost": N}
Json to_json(const StackSamples& samples);

}  // namespace rangefinder::bench
