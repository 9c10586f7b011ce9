// SPDX-License-Identifier: MIT
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/occupancy.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

// Elementwise kernels one after the other. Each reads from memory what the one before wrote there.
namespace rangefinder::advice {
namespace {

// A pair is what a residual connection or a scaled activation is; from three on fusing is worth the work.
constexpr std::size_t kShortestChain = 3;

/// Kernels by stream, in the order in which they ran.
std::vector<std::vector<ActivityIndex>> work_by_stream(Context& context) {
  const Timeline& timeline = context.timeline();
  std::vector<std::vector<ActivityIndex>> streams(timeline.streams.size());
  for (const ActivityIndex activity : context.work()) streams[timeline.activities.stream[activity]].push_back(activity);
  for (std::vector<ActivityIndex>& stream : streams)
    std::stable_sort(stream.begin(), stream.end(), [&](ActivityIndex a, ActivityIndex b) {
      return timeline.activities.begin_ns[a] < timeline.activities.begin_ns[b];
    });
  return streams;
}

/// Kernels of one chain work on tensors of one size. How many elements a thread takes differs by kernel, from 1 to 8.
bool may_follow(const Timeline& timeline, ActivityIndex first, ActivityIndex next) {
  constexpr std::uint64_t kMostDifference = 8;
  const auto threads = [&](ActivityIndex kernel) -> std::uint64_t {
    const KernelDetail* const launch = launch_configuration(timeline, kernel);
    return launch != nullptr ? analysis::blocks_of(*launch) * analysis::threads_of(*launch) : 0;
  };
  const std::uint64_t a = threads(first), b = threads(next);
  return a == 0 || b == 0 || (a / kMostDifference <= b && b / kMostDifference <= a);
}

}  // namespace

Judgement judge_elementwise_chain(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  Change change;
  EvidenceTable evidence(context);
  std::uint64_t chains = 0;
  const auto take = [&](std::span<const ActivityIndex> chain) {
    if (chain.size() < kShortestChain) return;
    ++chains;
    // One kernel reads and writes what the longest of them does.
    const ActivityIndex longest = *std::max_element(chain.begin(), chain.end(), [&](ActivityIndex a, ActivityIndex b) {
      return length_of(timeline, a) < length_of(timeline, b);
    });
    for (const ActivityIndex kernel : chain) {
      evidence.add_activity(kernel, length_of(timeline, kernel));
      if (kernel != longest) change.scale_activity(timeline, kernel, 0);
    }
  };
  for (const std::vector<ActivityIndex>& stream : work_by_stream(context)) {
    std::size_t first = 0;
    for (std::size_t i = 0; i <= stream.size(); ++i) {
      const bool is_elementwise = i < stream.size() && timeline.activities.kind[stream[i]] == ActivityKind::kKernel &&
                                  context.families().of(stream[i]) == analysis::KernelFamily::kElementwise;
      if (is_elementwise && (first == i || may_follow(timeline, stream[first], stream[i]))) continue;
      take(std::span(stream).subspan(first, i - first));
      first = is_elementwise ? i : i + 1;
    }
  }
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  const std::uint64_t frames = context.frames().count();
  return Judgement::found(finding_of(
      AdviceRule::kElementwiseChain, gain_ns, evidence,
      {counted(evidence.count(), "elementwise kernel") + a_step(context) + in_range(evidence.main_range()) +
           " are in " + counted((chains + frames - 1) / frames, "chain") + " of " + std::to_string(kShortestChain) +
           " and more that each could be one kernel",
       "Fuse them: torch.compile or TorchScript's fuser, an operator that does it all (gelu, silu, layer_norm, "
       "scaled_dot_product_attention), foreach=True or fused=True for an optimizer; in C++ a kernel of your own, or "
       "TensorIterator with one lambda",
       "`report --view kernels` shows fewer elementwise kernels with less time in all"}));
}

}  // namespace rangefinder::advice
