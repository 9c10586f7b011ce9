// SPDX-License-Identifier: MIT
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

// CUDA graphs are captured or instantiated inside of steps that are not the first, where replaying them would do.
namespace rangefinder::advice {

Judgement judge_graph_capture(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  if (timeline.calls.size() == 0) return Judgement::cannot_tell(kCallsAreMissing);
  if (!context.frames().know_warm_up()) return Judgement::cannot_tell(kStepsAreMissing);
  const HostSpans& spans = context.host_causes().capture;
  if (!recurs(context, spans)) return Judgement::nothing();
  Change change;
  skip(context, spans, WaitCause::kCapture, change);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  EvidenceTable evidence(context);
  add_spans(context, spans, evidence);
  return Judgement::found(finding_of(
      AdviceRule::kGraphCapture, gain_ns, evidence,
      {"CUDA graphs are captured or instantiated " + counted(evidence.count(), "time") + a_step(context) +
           in_range(evidence.main_range()),
       "Capture once and replay: copy inputs into fixed tensors before graph.replay(); keep a graph for each shape; "
       "change parameters with cudaGraphExecUpdate or cudaGraphExecKernelNodeSetParams",
       "`report --view api` shows cudaGraphInstantiate in the first steps alone"}));
}

}  // namespace rangefinder::advice
