// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/analysis/machine_peaks.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What to change so that a step gets shorter, with the evidence and an upper bound of what it gains.
namespace rangefinder {

/// What a finding is about. docs/reference/advice.md has the trigger, the evidence and the bound of each.
enum class AdviceRule : std::uint8_t {
  kImplicitSynchronization,  ///< the host waits for the device inside of steps: .item(), .cpu(), a copy to the host
  kLaunchBound,              ///< the device waits for launches of short kernels
  kElementwiseChain,         ///< elementwise kernels one after the other that could be one
  kDataWait,                 ///< the step waits for its input
  kPageableCopy,             ///< copies from or to host memory that is not pinned
  kSmallCopies,              ///< many copies that could be one
  kLowOccupancy,             ///< kernels that fill too little of a multiprocessor
  kTailWave,                 ///< the last wave of blocks leaves most of the device idle
  kNoTensorCores,            ///< products that tensor cores could do run without them
  kGemmAlignment,            ///< sizes of products that are not multiples of 16 bytes
  kFp32Math,                 ///< 32-bit products where a lower precision is usual
  kAllocatorRetries,         ///< the caching allocator frees its memory and tries again
  kAllocatorFragmentation,   ///< reserved memory that no block can use
  kDeviceAllocation,         ///< cudaMalloc, cudaFree and the like inside of steps
  kExposedCommunication,     ///< communication while the device does nothing else
  kSmallBuckets,             ///< many small collectives that could be few
  kRankImbalance,            ///< ranks wait for a slow one
  kCompilation,              ///< compiling and loading of code inside of steps
  kGraphCapture,             ///< CUDA graphs are captured or instantiated inside of steps
  kClocks,                   ///< the device's clock is held back by heat or power
  kProfilerOverhead,         ///< what profiling itself costs
  kHostThreads,              ///< work on the processors that does not use the threads it could
};
inline constexpr std::size_t kAdviceRules = 22;

/// What takes the largest part of a step that something else could not have used.
enum class AdviceBound : std::uint8_t {
  kUnknown,
  kHost,           ///< the host: it launches too late, or without a device it computes
  kDevice,         ///< kernels
  kCommunication,  ///< collectives that nothing hides
  kInput,          ///< waiting for data
  kCopies,         ///< copies that nothing hides
};

/// A row of figures on which a finding rests.
struct AdviceEvidence {
  std::string where;         ///< path of the ranges that were open, a rank or a device; may be empty
  std::string what;          ///< a call, kernel, range, or figure: "cudaStreamSynchronize"
  std::string op;            ///< the operator that made the call or launched the kernel: "aten::item"; may be empty
  std::uint64_t count = 0;   ///< a step, rounded up; of all that was recorded where there are no steps
  std::int64_t time_ns = 0;  ///< a step
};

struct AdviceFinding {
  AdviceRule rule{};
  std::string headline;      ///< one sentence
  std::string range;         ///< path of the range that it is about most; empty: none
  std::int64_t gain_ns = 0;  ///< upper bound of what it saves of a step (of the whole where there are no steps)
  /// Of that, what is left when the causes that explain it better are gone: the host launches late after a wait for
  /// data, too. At most gain_ns. The order of findings.
  std::int64_t own_gain_ns = 0;
  std::int64_t gain_bytes = 0;           ///< of findings about memory: what it frees; else 0
  std::vector<AdviceEvidence> evidence;  ///< most time first
  std::string change;                    ///< what to change, in terms of LibTorch, PyTorch and CUDA
  std::string check;                     ///< how to see that it worked
};

/// A rule that could not be judged.
struct AdviceAbstention {
  AdviceRule rule{};
  std::string missing;  ///< what is not in the data, and what to record
};

struct Advice {
  std::string verdict;  ///< one sentence: what bounds the step, and the first finding
  AdviceBound bound = AdviceBound::kUnknown;
  /// Mean of the steps without the first quarter, in which the host fills the queue; of all that was recorded where
  /// there are none. Gains are of these steps, too.
  std::int64_t step_ns = 0;
  std::uint64_t steps = 0;              ///< those, of all ranks; 0: there are none, the whole was judged
  std::vector<AdviceFinding> findings;  ///< greatest own gain first
  std::vector<AdviceAbstention> abstentions;
};

struct AdviceOptions {
  /// Findings that gain less than this share of a step are left out. Thousandths, 0 to 1000.
  std::int64_t least_gain_permille = 10;
  /// Null: rules that need peaks compare with the recording itself.
  const MachinePeaks* peaks = nullptr;
  ProjectionOptions projection;
};

/// Finds what makes steps longer than they have to be.
///
///   const rangefinder::Advice advice = rangefinder::advise(*timeline);
///   std::cout << advice.verdict << '\n';
///   for (const AdviceFinding& finding : advice.findings)
///     std::cout << to_string(finding.rule) << ": up to " << finding.gain_ns << " ns a step\n";
///
/// Steps are those after the warm-up, of all ranks; the first quarter of all is not counted. A gain is an upper bound:
/// by how much a step gets shorter if what the finding names takes no time (of kernels: as little as the rule says),
/// found by computing the critical path anew. Two gains can be the same time, so they are not to be added up. A rule
/// whose inputs are missing abstains and says what to record; shapes of operators need LoadOptions::operator_inputs.
///
/// Units:   nanoseconds a step, bytes.
/// Threads: any; a timeline is not changed.
/// Cost:    O(n log n) in activities, calls and ranges, and the critical path once for each rule that finds something.
RANGEFINDER_EXPORT Advice advise(const Timeline& timeline, const AdviceOptions& options = {});

/// "data_wait"; static.
RANGEFINDER_EXPORT const char* to_string(AdviceRule rule) noexcept;
/// "host", "device", "communication", "input", "copies", "unknown"; static.
RANGEFINDER_EXPORT const char* to_string(AdviceBound bound) noexcept;

}  // namespace rangefinder
