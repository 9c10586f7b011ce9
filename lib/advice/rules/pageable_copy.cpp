// SPDX-License-Identifier: MIT
#include "advice/copies.hpp"
#include "advice/launches.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

// Copies between the device and host memory that is not pinned: CUDA copies them through a buffer of its own, slowly,
// and the call returns when that is done.
namespace rangefinder::advice {
Judgement judge_pageable_copy(Context& context) {
  const Timeline& timeline = context.timeline();
  bool any = false;
  Change change;
  EvidenceTable evidence(context);
  for (const ActivityIndex copy : context.work()) {
    if (timeline.activities.kind[copy] != ActivityKind::kMemcpy) continue;
    any = true;
    if (!is_pageable(timeline, copy) || timeline.activities.bytes[copy] <= kStagedBytes) continue;
    // From pinned memory a copy runs beside kernels, and the host goes on.
    change.scale_activity(timeline, copy, 0);
    change.skip_call(timeline, call_of(timeline, copy));
    evidence.add_activity(copy, length_of(timeline, copy));
  }
  if (any && !tells_memory(timeline))
    return Judgement::cannot_tell(
        "the memory that copies are from and to: record with cuda=on, or with a "
        "torch.profiler that writes \"Memcpy HtoD (Pageable -> Device)\"");
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kPageableCopy, gain_ns, evidence,
      {counted(evidence.count(), "large copy", "large copies") + a_step(context) + in_range(evidence.main_range()) +
           (evidence.count() == 1 ? " uses" : " use") + " host memory that is not pinned",
       "Pin the host's side: DataLoader(pin_memory=True), tensor.pin_memory(), cudaHostAlloc or cudaHostRegister, and "
       "copy with non_blocking=True on a stream of its own while the step before computes",
       "`report --view memcpy` names the copies Pinned, with several times the throughput"}));
}

}  // namespace rangefinder::advice
