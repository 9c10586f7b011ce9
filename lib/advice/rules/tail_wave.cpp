// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/occupancy.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>

// A grid takes as many waves as the device has to be filled: of 1.02 waves the second one leaves most of it idle.
namespace rangefinder::advice {
namespace {

// With blocks that take about as long as each other. From then on it is worth another tile size.
constexpr double kLeastIdle = 0.25;

// So much of the device can take all of the memory's bandwidth. A multiprocessor takes 64 bytes a clock at most: of the
// V100's 80 it takes 10 at least, of the A100's 108 18, of the H100's 132 30. A last wave of fewer waits for its own
// blocks, whatever they do.
constexpr double kEnoughForMemory = 0.25;

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

/// How much of its waves a grid fills, where the last one leaves much of the device idle. Exactly: of 265 blocks, 264
/// of which fit, one is left over.
std::optional<double> used_share(const KernelDetail& launch, std::uint64_t at_once, analysis::KernelFamily family) {
  const std::uint64_t blocks = analysis::blocks_of(launch);
  const std::uint64_t full = blocks / at_once, left = blocks % at_once;
  if (full == 0 || left == 0) return std::nullopt;
  const double last = static_cast<double>(left) / static_cast<double>(at_once);
  const double used = (static_cast<double>(full) + last) / (static_cast<double>(full) + 1);
  if (1 - used < kLeastIdle || (last >= kEnoughForMemory && is_limited_by_memory(family))) return std::nullopt;
  return used;
}

}  // namespace

Judgement judge_tail_wave(Context& context) {
  const Timeline& timeline = context.timeline();
  Change change;
  EvidenceTable evidence(context);
  const bool known = judge_kernels(context, [&](ActivityIndex kernel, const KernelDetail& launch) {
    const std::optional<std::uint64_t> at_once = analysis::blocks_at_once(device_of(timeline, kernel), launch);
    if (!at_once) return false;
    if (length_of(timeline, kernel) < kShortestKernelNs) return true;
    const std::optional<double> used = used_share(launch, *at_once, context.families().of(kernel));
    if (!used) return true;
    change.scale_activity(timeline, kernel, *used);
    evidence.add_activity(kernel, length_of(timeline, kernel));
    return true;
  });
  if (!known) return Judgement::cannot_tell(kLaunchConfigurationsAreMissing);
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
