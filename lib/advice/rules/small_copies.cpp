// SPDX-License-Identifier: MIT
#include "advice/small_copies.hpp"

#include "advice/launches.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>

// Many copies so small that each costs its launch and not its bytes: one copy of all of them would do.
namespace rangefinder::advice {

Judgement judge_small_copies(Context& context) {
  const Timeline& timeline = context.timeline();
  Change change;
  EvidenceTable evidence(context);
  for (const SmallCopies& copies : context.small_copies()) {
    merge_copies(timeline, copies, change);
    for (const ActivityIndex copy : copies) {
      const CallIndex call = call_of(timeline, copy);
      std::int64_t time_ns = length_of(timeline, copy);
      if (call < timeline.calls.size())
        time_ns = std::max(time_ns, detail::minus(timeline.calls.end_ns[call], timeline.calls.begin_ns[call]));
      evidence.add_activity(copy, time_ns);
    }
  }
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(
      finding_of(AdviceRule::kSmallCopies, gain_ns, evidence,
                 {counted(evidence.count(), "copy", "copies") + " of at most 64 KiB" + a_step(context) +
                      in_range(evidence.main_range()) + " could be one",
                  "Put the small tensors into one pinned buffer on the host and copy that; build them on the device "
                  "(torch.arange(..., device=\"cuda\")); keep constants there",
                  "`report --view memcpy` shows fewer copies"}));
}

}  // namespace rangefinder::advice
