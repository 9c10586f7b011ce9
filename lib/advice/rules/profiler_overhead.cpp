// SPDX-License-Identifier: MIT
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"

#include <rangefinder/timeline.hpp>

// The profiler holds up the program. Without it the step is shorter, and other findings may be smaller or larger.
namespace rangefinder::advice {

Judgement judge_profiler_overhead(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  if (timeline.overheads.size() == 0) return Judgement::cannot_tell("overhead records: record with cuda_overhead=on");
  const HostSpans& spans = context.host_causes().profiler;
  Change change;
  skip(context, spans, WaitCause::kNone, change);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  EvidenceTable evidence(context);
  for (std::size_t row = 0; row < timeline.overheads.size(); ++row) {
    const std::int64_t begin_ns = timeline.overheads.begin_ns[row];
    const ThreadIndex thread = timeline.overheads.thread[row];
    const std::int64_t covered_ns = spans.covered_ns(thread, begin_ns, timeline.overheads.end_ns[row]);
    if (covered_ns > 0) evidence.add_host({thread, begin_ns}, timeline.text(timeline.overheads.name[row]), covered_ns);
  }
  return Judgement::found(finding_of(
      AdviceRule::kProfilerOverhead, gain_ns, evidence,
      {"Profiling itself holds the program up " + counted(evidence.count(), "time") + a_step(context),
       "Record less: a schedule with few active steps, cuda_api=off or cuda_latency=off, graph_tracing=whole; of "
       "torch.profiler without with_stack and record_shapes; leave out steps in which buffers are flushed",
       "`report --view overhead` shows less of the profiler's time"}));
}

}  // namespace rangefinder::advice
