// SPDX-License-Identifier: MIT
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

// Code is compiled or loaded inside of steps that are not the first.
namespace rangefinder::advice {

Judgement judge_compilation(Context& context) {
  if (!context.frames().know_warm_up()) return Judgement::cannot_tell(kStepsAreMissing);
  const HostSpans& spans = context.host_causes().compilation;
  if (!recurs(context, spans)) return Judgement::nothing();
  Change change;
  skip(context, spans, WaitCause::kCompilation, change);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  EvidenceTable evidence(context);
  add_spans(context, spans, evidence);
  return Judgement::found(finding_of(
      AdviceRule::kCompilation, gain_ns, evidence,
      {"Code is compiled or loaded inside of steps after the warm-up" + in_range(evidence.main_range()),
       "Avoid compiling anew: pad inputs to few shapes or mark dimensions as dynamic (torch.compile(dynamic=True), "
       "torch._dynamo.mark_dynamic), see TORCH_LOGS=recompiles; load modules early (CUDA_MODULE_LOADING=EAGER, a "
       "warm-up "
       "for each shape); keep compiled code in a cache",
       "`report --view overhead` and `--view steps` show no compilation after the first steps"}));
}

}  // namespace rangefinder::advice
