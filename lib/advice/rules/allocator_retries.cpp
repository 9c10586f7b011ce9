// SPDX-License-Identifier: MIT
#include "advice/allocators.hpp"
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

// The caching allocator found no room, gave its free memory back to CUDA and asked again.
namespace rangefinder::advice {

Judgement judge_allocator_retries(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  const std::vector<analysis::CountedDevice> devices = analysis::counted_devices(timeline);
  if (!counts_retries(devices))
    return Judgement::cannot_tell(
        "counts of the caching allocator: call rangefinder::torch::count_device_memory() "
        "once a step");
  const std::int64_t retries = retries_of(context, devices);
  if (retries == 0) return Judgement::nothing();
  Change change;
  skip(context, context.host_causes().allocations, WaitCause::kAllocation, change);
  EvidenceTable evidence(context);
  add_allocation_calls(context, evidence);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kAllocatorRetries, gain_ns, evidence,
      {"The caching allocator gave its memory back and tried again " +
           counted(static_cast<std::uint64_t>(retries), "time") + " in the judged steps" +
           in_range(evidence.main_range()),
       "Leave it more room: a smaller batch, activation checkpointing, no references to old outputs and losses; "
       "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True or max_split_size_mb; no other process on the device",
       "`report --view memory_fragmentation` shows no more retries, and `--view allocations` no cudaMalloc in steps"}));
}

}  // namespace rangefinder::advice
