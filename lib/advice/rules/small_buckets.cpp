// SPDX-License-Identifier: MIT
#include "advice/communication.hpp"
#include "advice/launches.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

// Collectives so small that each takes its latency: one of all of them would take little longer than one of them.
namespace rangefinder::advice {

Judgement judge_small_buckets(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<Communication> all = communications_of(context);
  const std::vector<bool> small = small_communications(timeline, all);
  const bool any_bytes =
      std::any_of(all.begin(), all.end(), [](const Communication& one) { return one.bytes.has_value(); });
  if (!all.empty() && !any_bytes)
    return Judgement::cannot_tell(
        "sizes of collectives: record with CollectiveRecording or NCCL's profiler plugin; "
        "torch.profiler has them since PyTorch 2.2");
  // The last of each kind in a step stays, for all of them: one of all cannot begin before.
  std::map<std::tuple<std::size_t, CollectiveKind>, std::size_t> last;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (small[i]) last[{all[i].frame, timeline.collectives.kind[all[i].collective]}] = i;
  std::vector<bool> stays(all.size());
  for (const auto& [key, row] : last) stays[row] = true;
  Change change;
  EvidenceTable evidence(context);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!small[i]) continue;
    add_evidence(timeline, all[i], evidence);
    if (stays[i]) continue;
    skip_communication(timeline, all[i], change);
    if (all[i].kernel == kNone) continue;
    const bool follows = i > 0 && small[i - 1] && all[i - 1].frame == all[i].frame && all[i - 1].kernel != kNone;
    change.skip_call_after(timeline, follows ? call_of(timeline, all[i - 1].kernel) : CallIndex(kNone),
                           call_of(timeline, all[i].kernel));
  }
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kSmallBuckets, gain_ns, evidence,
      {counted(evidence.count(), "collective") + " of at most 1 MiB" + a_step(context) +
           in_range(evidence.main_range()) + " could be few",
       "Reduce gradients in larger buckets: DistributedDataParallel's bucket_cap_mb (25 by default), coalesced "
       "collectives (torch.distributed.all_reduce_coalesced, in C++ allreduce_coalesced or one flat tensor)",
       "`report --view collectives` shows fewer and larger collectives"}));
}

}  // namespace rangefinder::advice
