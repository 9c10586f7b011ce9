// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/memory.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// The operators of one name, their figures added up, nanoseconds. Total: with all that ran inside; an operator inside
/// one of its own name counts twice, as in torch.profiler. Self: without operators, ranges and CUDA calls inside.
struct OperatorGroup {
  StringId name = StringId::kEmpty;
  StringId shapes = StringId::kEmpty;  ///< of the inputs, as in OperatorTable; empty unless grouped by them
  std::uint64_t calls = 0;
  std::uint64_t flops = 0;  ///< see operator_flops
  std::int64_t cpu_total_ns = 0;
  std::int64_t cpu_self_ns = 0;
  std::int64_t device_total_ns = 0;  ///< of activities launched inside, durations added up
  std::int64_t device_self_ns = 0;
  /// Bytes allocated less bytes freed meanwhile, by any thread: so torch.profiler counts.
  MemoryByTime::Sum memory_total;
  MemoryByTime::Sum memory_self;
};

struct KeyAverages {
  std::vector<OperatorGroup> groups;  ///< in order of the first of each
  /// What shares are of: self time of all operators, ranges and CUDA calls; all device time.
  std::int64_t cpu_ns = 0;
  std::int64_t device_ns = 0;
};

/// Operators by name, with the rules of torch.profiler's key_averages(): nesting is by time within a thread, what
/// overlaps its neighbour in part is inside neither; of two operators of one name of which the outer has nothing else
/// inside, one is counted. Device work belongs to the innermost operator that launched it.
///
/// `by_shape`: operators of one name and different shapes are groups of their own. FLOPs and shapes need
/// LoadOptions::operator_inputs.
KeyAverages key_averages(const Timeline& timeline, bool by_shape = false);

}  // namespace rangefinder::analysis
