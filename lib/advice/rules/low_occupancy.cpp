// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/occupancy.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <optional>

// Kernels of which a multiprocessor holds so few warps that it cannot hide the latency of memory.
namespace rangefinder::advice {
namespace {

// Below a quarter of its warps a multiprocessor has fewer than 4 for each of its 4 schedulers to choose from on any
// device since compute capability 5.0, of 16 and 12.
constexpr std::int64_t kLowPermille = 250;

/// Libraries' products keep operands in registers and shared memory, and hide latency within a warp: their occupancy is
/// low by design. Fused optimizers give each block a long piece of the parameters.
bool is_tuned(analysis::KernelFamily family) noexcept {
  using Family = analysis::KernelFamily;
  return family == Family::kGemm || family == Family::kAttention || family == Family::kConvolution ||
         family == Family::kOptimizer || family == Family::kCommunication;
}

/// Of the warps that a device can hold, how many a launch has there. A grid that does not fill the device leaves
/// multiprocessors free, or those it has emptier.
struct ResidentWarps {
  double share = 0;
  bool is_small_grid = false;
  analysis::OccupancyLimit limit{};

  std::string text() const {
    return percent(share) + " of the warps are resident: " +
           (is_small_grid ? "the grid is too small" : std::string(analysis::limit_text(limit)) + " allow no more");
  }
};

std::optional<ResidentWarps> resident_warps(const DeviceInfo& device, const KernelDetail& launch) {
  const std::optional<analysis::Occupancy> occupancy = analysis::occupancy_of(device, launch);
  if (!occupancy || occupancy->resident_warps == 0 || device.multiprocessors == 0) return std::nullopt;
  const double most_blocks =
      static_cast<double>(occupancy->resident_blocks) * static_cast<double>(device.multiprocessors);
  const double filled = std::min(1.0, static_cast<double>(analysis::blocks_of(launch)) / most_blocks);
  return ResidentWarps{static_cast<double>(occupancy->permille()) / 1000 * filled, filled < 1, occupancy->limit};
}

}  // namespace

Judgement judge_low_occupancy(Context& context) {
  const Timeline& timeline = context.timeline();
  Change change;
  EvidenceTable evidence(context);
  ResidentWarps of_longest;
  std::int64_t most_ns = 0;
  const bool known = judge_kernels(context, [&](ActivityIndex kernel, const KernelDetail& launch) {
    const std::optional<ResidentWarps> warps = resident_warps(device_of(timeline, kernel), launch);
    if (!warps) return false;
    const std::int64_t length_ns = length_of(timeline, kernel);
    if (length_ns < kShortestKernelNs || is_tuned(context.families().of(kernel))) return true;
    if (warps->share * 1000 >= static_cast<double>(kLowPermille)) return true;
    // At most as much faster as there are more warps.
    change.scale_activity(timeline, kernel, warps->share);
    evidence.add_activity(kernel, length_ns);
    if (length_ns > most_ns) of_longest = *warps;
    most_ns = std::max(most_ns, length_ns);
    return true;
  });
  if (!known) return Judgement::cannot_tell(kLaunchConfigurationsAreMissing);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kLowOccupancy, gain_ns, evidence,
      {counted(evidence.count(), "launch", "launches") + a_step(context) + in_range(evidence.main_range()) +
           " fill less than a quarter of the multiprocessors; of the longest, " + of_longest.text(),
       "Use larger blocks or more of them; fewer registers (__launch_bounds__, -maxrregcount) or less shared memory a "
       "block; more work a launch (a larger batch, or several launches in one)",
       "`report --view launches` shows more occupancy for the kernel, and `--view kernels` less time"}));
}

}  // namespace rangefinder::advice
