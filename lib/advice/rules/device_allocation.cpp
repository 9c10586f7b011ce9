// SPDX-License-Identifier: MIT
#include "advice/allocators.hpp"
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

// cudaMalloc, cudaFree and the like inside of steps: each takes the host long, and cudaFree waits for the device.
namespace rangefinder::advice {

Judgement judge_device_allocation(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  if (timeline.calls.size() == 0) return Judgement::cannot_tell(kCallsAreMissing);
  if (!context.frames().know_warm_up()) return Judgement::cannot_tell(kStepsAreMissing);
  // The caching allocator's own calls when it tries again are allocator_retries.
  if (retries_of(context, analysis::counted_devices(timeline)) > 0) return Judgement::nothing();
  if (!recurs(context, context.host_causes().allocations)) return Judgement::nothing();
  Change change;
  skip(context, context.host_causes().allocations, WaitCause::kAllocation, change);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  EvidenceTable evidence(context);
  add_allocation_calls(context, evidence);
  return Judgement::found(
      finding_of(AdviceRule::kDeviceAllocation, gain_ns, evidence,
                 {"Memory is allocated and freed with CUDA's own calls " + counted(evidence.count(), "time") +
                      a_step(context) + in_range(evidence.main_range()),
                  "Allocate once and keep the buffer, or use the caching allocator (torch::empty, "
                  "c10::cuda::CUDACachingAllocator::raw_alloc) or cudaMallocAsync in extensions; no "
                  "torch.cuda.empty_cache() in the "
                  "loop; pin host memory once",
                  "`report --view allocations` shows no calls in steps"}));
}

}  // namespace rangefinder::advice
