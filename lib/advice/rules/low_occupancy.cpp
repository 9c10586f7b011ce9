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

}  // namespace

Judgement judge_low_occupancy(Context& context) {
  const Timeline& timeline = context.timeline();
  bool any = false, any_known = false;
  Change change;
  EvidenceTable evidence(context);
  std::string limit;
  std::int64_t most_ns = 0;
  for (const ActivityIndex kernel : context.work()) {
    const KernelDetail* const launch = launch_configuration(timeline, kernel);
    if (timeline.activities.kind[kernel] == ActivityKind::kKernel) any = true;
    if (launch == nullptr) continue;
    const DeviceInfo& device = device_of(timeline, kernel);
    const std::optional<analysis::Occupancy> occupancy = analysis::occupancy_of(device, *launch);
    if (!occupancy || occupancy->resident_warps == 0 || device.multiprocessors == 0) continue;
    any_known = true;
    const std::int64_t length_ns = length_of(timeline, kernel);
    if (length_ns < kShortestKernelNs || is_tuned(context.families().of(kernel))) continue;
    // A grid that does not fill the device leaves multiprocessors free, or those it has emptier.
    const double most_blocks =
        static_cast<double>(occupancy->resident_blocks) * static_cast<double>(device.multiprocessors);
    const double filled = std::min(1.0, static_cast<double>(analysis::blocks_of(*launch)) / most_blocks);
    const double share = static_cast<double>(occupancy->permille()) / 1000 * filled;
    if (share * 1000 >= static_cast<double>(kLowPermille)) continue;
    // At most as much faster as there are more warps.
    change.scale_activity(timeline, kernel, share);
    evidence.add_activity(kernel, length_ns);
    if (length_ns <= most_ns) continue;
    most_ns = length_ns;
    limit =
        percent(share) + " of the warps are resident: " +
        (filled < 1 ? "the grid is too small" : std::string(analysis::limit_text(occupancy->limit)) + " allow no more");
  }
  if (any && !any_known) return Judgement::cannot_tell(kLaunchConfigurationsAreMissing);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kLowOccupancy, gain_ns, evidence,
      {counted(evidence.count(), "launch", "launches") + a_step(context) + in_range(evidence.main_range()) +
           " fill less than a quarter of the multiprocessors; of the longest, " + limit,
       "Use larger blocks or more of them; fewer registers (__launch_bounds__, -maxrregcount) or less shared memory a "
       "block; more work a launch (a larger batch, or several launches in one)",
       "`report --view launches` shows more occupancy for the kernel, and `--view kernels` less time"}));
}

}  // namespace rangefinder::advice
