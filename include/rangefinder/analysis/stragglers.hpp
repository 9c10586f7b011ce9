// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Which rank of a job is slow, by how much, and at what.
namespace rangefinder {

/// What a kernel does, by its name.
enum class KernelClass : std::uint8_t {
  kGemm,
  kAttention,
  kConvolution,
  kNormalization,  ///< layer norm, batch norm, softmax
  kReduction,
  kElementwise,  ///< pointwise work, optimizers
  kCopy,         ///< copies and memsets
  kOther,
};
inline constexpr std::size_t kKernelClasses = static_cast<std::size_t>(KernelClass::kOther) + 1;

enum class StragglerCause : std::uint8_t {
  kInput,          ///< ranges of the part `data` of its steps take longer (docs/how-to/watch-steps.md)
  kHost,           ///< its device was idle for longer; without a device, its host took longer for what is not input
  kDevice,         ///< all its kernels take longer
  kKernels,        ///< kernels of one class take longer, or it runs more of them
  kCommunication,  ///< collectives take longer in all its groups, and in no other group
};

/// One step of one rank. Times of ranks whose steps contain collectives of a device are of the device's step: from the
/// end of the last collective that the step before called to the end of the last one that this step called.
struct RankStep {
  std::int64_t step_ns = kNoTime;     ///< kNoTime: not recorded, and nothing else of the cell is known
  std::int64_t own_ns = 0;            ///< of that, the time in which it did not only wait or communicate
  std::int64_t waited_ns = kNoTime;   ///< waited for other ranks in matched collectives; kNoTime: none is matched
  std::int64_t communication_ns = 0;  ///< what is left of step_ns
  std::int64_t input_ns = 0;          ///< waited for data on the host, as the view `steps` has it
  std::int64_t idle_ns = 0;           ///< of own_ns, the time in which the device did nothing; without one, all of it
  std::array<std::int64_t, kKernelClasses> kernels_ns{};  ///< durations added up, without communication
  std::int64_t excess_ns = 0;                             ///< own_ns over that of the median rank in this step
  double excess_ratio = 0;                                ///< the same in median steps
  bool odd = false;                                       ///< far off in this step alone; see Stragglers::odd
};

/// One rank over all steps that were compared.
struct RankScore {
  ProcessIndex process{0};
  std::size_t steps = 0;  ///< that it has; fewer than StragglerOptions::fewest_steps: it has no score
  // Medians over its steps.
  std::int64_t step_ns = 0;
  std::int64_t own_ns = 0;
  std::int64_t waited_ns = kNoTime;
  std::int64_t excess_ns = 0;
  double excess_ratio = 0;  ///< 0.05: its own work takes 5 % of a step more than that of the median rank
  /// Of excess_ns. They need not add up: work on the device overlaps.
  std::int64_t input_excess_ns = 0;
  std::int64_t host_excess_ns = 0;
  std::array<std::int64_t, kKernelClasses> kernel_excess_ns{};
  /// Beside excess_ns: by how much longer the collectives of the least slow of its groups take, a step.
  std::int64_t communication_excess_ns = 0;
  /// Relative speed of its kernels: the ranks' median of a kernel's median duration over the rank's own, weighted by
  /// time. 0.5: they take twice as long; 0: no kernels to compare.
  double kernel_score = 0;
  std::array<double, kKernelClasses> class_score{};  ///< the same by class
  double p_value = 1;                                ///< see Straggler::p_value
};

struct Straggler {
  std::size_t rank = 0;             ///< row of Stragglers::ranks
  bool persistent = false;          ///< slow in at least three quarters of its steps; else in `steps`
  std::vector<std::int64_t> steps;  ///< numbers of the steps in which it was slow
  std::int64_t excess_ns = 0;       ///< a step: median over all steps, or over `steps` where it is not persistent
  double excess_ratio = 0;          ///< of the median rank's step
  StragglerCause cause = StragglerCause::kHost;
  KernelClass kernel_class = KernelClass::kOther;  ///< with kKernels
  double cause_ratio = 0;                          ///< how much of the excess the cause explains, 0 to 1
  /// Name of the range that takes longer than on other ranks by most of the excess: the shortest one that does; kEmpty:
  /// none does.
  StringId range = StringId::kEmpty;
  /// Probability that a rank which is like all others stands out as much, times the number of ranks (Bonferroni).
  double p_value = 1;
  double confidence() const noexcept { return p_value < 1 ? 1 - p_value : 0; }
};

struct Stragglers {
  std::vector<std::int64_t> steps;    ///< numbers of the steps that were compared: warm-up is left out
  std::vector<RankScore> ranks;       ///< in order of processes
  std::vector<RankStep> cells;        ///< rank after rank, a cell for each of `steps`
  std::vector<Straggler> stragglers;  ///< slow over the recording or again and again; the slowest first
  std::vector<Straggler> odd;         ///< single steps far off, of ranks that are not slow otherwise; in order of steps
  std::vector<std::int64_t> slow_steps;  ///< took all ranks half as long again as their median step, or longer
  std::string abstained;                 ///< why nobody was judged; empty: ranks were
  std::vector<std::string> notes;        ///< what was missing: collectives that were not matched

  const RankStep& cell(std::size_t rank, std::size_t step) const noexcept { return cells[rank * steps.size() + step]; }
};

struct StragglerOptions {
  /// A rank that takes less than this longer is not named, of the median rank's step; above 0.
  double least_excess = 0.03;
  /// Likewise for a single step.
  double least_step_excess = 0.10;
  /// Greatest p_value of a rank that is named; above 0, below 1.
  double significance = 0.001;
  /// At least 4.
  std::size_t fewest_steps = 8;
  /// As ReportOptions::step_names.
  std::string step_names;
};

/// Compares the ranks of a job: which one does the others wait for?
///
///   const auto found = rangefinder::find_stragglers(*timeline);
///   for (const Straggler& one : found->stragglers)
///     std::cout << timeline->processes[found->ranks[one.rank].process].rank << ": " << one.excess_ns << " ns a
///     step\n";
///
/// Where ranks wait for each other in every step, all steps take equally long. So a rank is judged by its own work: the
/// step without the time in which it only communicated or waited. Each rank's times are on its own clock, and clocks
/// are not compared.
///
/// A rank is named if its own work exceeds the median rank's by `least_excess` of a step, and by more than chance: both
/// over its steps (median over its standard error, Student's t) and over the ranks (the excess over the ranks' median
/// absolute deviation). It is also named if it is slow in more steps than chance allows, given how often other ranks
/// are (binomial). A rank is named for its link if the collectives of all its groups are slow and it is the only one in
/// all of them; with one group for all ranks, a slow link slows all alike, and nobody is named.
///
/// Errors:  kInvalidArgument for options out of their limits and for step_names.
/// Threads: any; a timeline is not changed.
/// Cost:    O(n log n) in activities, steps, collectives and ranges; does not grow faster with the number of ranks.
RANGEFINDER_EXPORT Result<Stragglers> find_stragglers(const Timeline& timeline, const StragglerOptions& options = {});

/// "GEMM", "attention"; static.
RANGEFINDER_EXPORT const char* to_string(KernelClass kernel_class) noexcept;
/// "input", "host", "device", "kernels", "communication"; static.
RANGEFINDER_EXPORT const char* to_string(StragglerCause cause) noexcept;
/// By the name of the kernel alone, so never kCopy.
RANGEFINDER_EXPORT KernelClass kernel_class_of(std::string_view kernel);

}  // namespace rangefinder
