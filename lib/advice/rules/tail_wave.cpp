// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/occupancy.hpp"

#include <rangefinder/timeline.hpp>

#include <cmath>
#include <optional>

// A grid takes as many waves as the device has to be filled: of 1.02 waves the second one leaves most of it idle.
namespace rangefinder::advice {
namespace {

// With blocks that take about as long as each other. From then on it is worth another tile size.
constexpr double kLeastIdle = 0.25;

/// Of kernels that the memory's bandwidth limits, part of the device reaches as much.
bool is_limited_by_memory(analysis::KernelFamily family) noexcept {
  using Family = analysis::KernelFamily;
  switch (family) {
    case Family::kGemm:
    case Family::kAttention:
    case Family::kConvolution:
    case Family::kOther:
      return false;
    default:
      return true;
  }
}

}  // namespace

Judgement judge_tail_wave(Context& context) {
  const Timeline& timeline = context.timeline();
  bool any = false, any_known = false;
  Change change;
  EvidenceTable evidence(context);
  for (const ActivityIndex kernel : context.work()) {
    const KernelDetail* const launch = launch_configuration(timeline, kernel);
    if (timeline.activities.kind[kernel] == ActivityKind::kKernel) any = true;
    if (launch == nullptr) continue;
    const std::optional<std::int64_t> hundredths = analysis::waves_of(device_of(timeline, kernel), *launch);
    if (!hundredths) continue;
    any_known = true;
    if (*hundredths <= 100 || length_of(timeline, kernel) < kShortestKernelNs) continue;
    if (is_limited_by_memory(context.families().of(kernel))) continue;
    const double waves = static_cast<double>(*hundredths) / 100;
    const double used = waves / std::ceil(waves);
    if (1 - used < kLeastIdle) continue;
    change.scale_activity(timeline, kernel, used);
    evidence.add_activity(kernel, length_of(timeline, kernel));
  }
  if (any && !any_known)
    return Judgement::cannot_tell(
        "launch configurations of kernels, or what the device has: record with cuda=on; "
        "torch.profiler's traces have them for NVIDIA's devices");
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kTailWave, gain_ns, evidence,
      {counted(evidence.count(), "launch", "launches") + a_step(context) + in_range(evidence.main_range()) +
           " leave a quarter of the device and more idle in the last wave of blocks",
       "Choose sizes whose number of blocks is just below a multiple of what fits at a time: batch or hidden size, or "
       "the tile of the kernel; of kernels of your own use a grid of as many blocks as fit, and a loop (grid stride, "
       "stream-K)",
       "`report --view launches` shows waves near a whole number for the kernel"}));
}

}  // namespace rangefinder::advice
