// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder {

/// What allocators gave less what came back.
struct AllocatedBytes {
  std::int64_t host = 0;
  std::int64_t device = 0;
};

/// The operators of one name, their figures added up, nanoseconds. Total: with all that ran inside; an operator inside
/// one of its own name counts twice, as in torch.profiler. Self: without operators, ranges and CUDA calls inside.
struct OperatorGroup {
  StringId name = StringId::kEmpty;
  StringId shapes = StringId::kEmpty;  ///< of the inputs, as in OperatorTable; empty unless grouped by them
  std::uint64_t calls = 0;
  /// Floating point operations, a multiplication and an addition as two, of calls for which they are known. An operator
  /// that calls others has theirs too where it is counted itself (scaled_dot_product_attention, conv2d).
  std::uint64_t flops = 0;
  std::int64_t cpu_total_ns = 0;
  std::int64_t cpu_self_ns = 0;
  std::int64_t device_total_ns = 0;  ///< of activities launched inside, durations added up
  std::int64_t device_self_ns = 0;
  /// While they ran, by any thread: so torch.profiler counts.
  AllocatedBytes memory_total;
  AllocatedBytes memory_self;
  std::uint64_t calls_without_flops = 0;  ///< whose FLOPs are not known: no formula, or no shapes
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
///
///   // A program that records (rangefinder/torch/operators.hpp), of itself, so far:
///   session.flush();
///   rangefinder::LoadOptions load;
///   load.operator_inputs = true;
///   const auto timeline = rangefinder::load_timeline(session.output(), load);
///   if (timeline.ok())
///     std::cout << rangefinder::key_averages_table(*timeline, rangefinder::key_averages(*timeline));
///
/// Threads: any; a timeline is not changed.
/// Cost:    sorts the timeline's ranges, calls and launches.
RANGEFINDER_EXPORT KeyAverages key_averages(const Timeline& timeline, bool by_shape = false);

/// What key_averages_table sorts by, the greatest first.
enum class KeyAveragesOrder : std::uint8_t {
  kFirst,  ///< not at all
  kCpuTotal,
  kCpuSelf,
  kDeviceTotal,
  kDeviceSelf,
  kCalls,
  kFlops,
};

/// As text, in the columns of torch.profiler's `key_averages().table()`, with its headings and units, so that what
/// reads those tables reads these. Columns of devices, memory, FLOPs and shapes are there where any row has some. FLOPs
/// are of the operators that torch.profiler counts, and of scaled dot product attention.
RANGEFINDER_EXPORT std::string key_averages_table(const Timeline& timeline, const KeyAverages& averages,
                                                  KeyAveragesOrder order = KeyAveragesOrder::kFirst,
                                                  std::size_t row_limit = 100);

}  // namespace rangefinder
