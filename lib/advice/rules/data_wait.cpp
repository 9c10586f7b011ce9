// SPDX-License-Identifier: MIT
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"
#include "analysis/spread.hpp"

#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

#include <vector>

// The step waits for its input.
namespace rangefinder::advice {
namespace {

// To hand a batch over that is there, a loader takes less: a queue, a few locks and Python. As much between launches
// counts for launch_bound.
constexpr std::int64_t kReadyBatchNs = 200'000;

/// By frame, whether its input takes longer than to hand a batch over.
std::vector<bool> waiting_frames(Context& context, const HostSpans& input) {
  const Timeline& timeline = context.timeline();
  const Frames& frames = context.frames();
  std::vector<std::int64_t> input_ns(frames.count());
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
    for (const analysis::Span& span : input.of(thread)) {
      const std::size_t frame = frames.at(timeline.threads[thread].process, span.begin);
      if (frame < input_ns.size())
        input_ns[frame] = analysis::saturating_add(input_ns[frame], detail::minus(span.end, span.begin));
    }
  std::vector<bool> waits;
  waits.reserve(input_ns.size());
  for (const std::int64_t time_ns : input_ns) waits.push_back(time_ns > kReadyBatchNs);
  return waits;
}

/// By process: whether the other ranks wait for its input, which is rank_imbalance.
std::vector<bool> slow_at_input(Context& context) {
  std::vector<bool> is_slow(context.timeline().processes.size());
  if (is_slow.size() < 2) return is_slow;
  const Stragglers& found = context.stragglers();
  for (const Straggler& one : found.stragglers)
    if (one.cause == StragglerCause::kInput) is_slow[found.ranks[one.rank].process] = true;
  return is_slow;
}

}  // namespace

Judgement judge_data_wait(Context& context) {
  const Timeline& timeline = context.timeline();
  const std::vector<RangeIndex>& inputs = context.host_causes().input_ranges;
  if (inputs.empty())
    return Judgement::cannot_tell(
        "a range around what gets the next batch: name it data, load_batch or the like (see "
        "docs/how-to/watch-steps.md)");
  const HostSpans& input = context.host_causes().input;
  Change change;
  EvidenceTable evidence(context);
  const std::vector<bool> is_slow = slow_at_input(context);
  const std::vector<bool> waits = waiting_frames(context, input);
  const auto is_waiting = [&](ThreadIndex thread, std::int64_t time_ns) {
    const ProcessIndex process = timeline.threads[thread].process;
    const std::size_t frame = context.frames().at(process, time_ns);
    return !is_slow[process] && frame < waits.size() && waits[frame];
  };
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
    for (const analysis::Span& span : input.of(thread))
      if (is_waiting(thread, span.begin)) change.skip_host(thread, span.begin, span.end);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  const RangeTable& ranges = timeline.ranges;
  for (const RangeIndex row : inputs) {
    if (!is_waiting(ranges.thread[row], ranges.begin_ns[row])) continue;
    const std::int64_t covered_ns = input.covered_ns(ranges.thread[row], ranges.begin_ns[row], ranges.end_ns[row]);
    if (covered_ns > 0)
      evidence.add_host({ranges.thread[row], ranges.begin_ns[row]}, timeline.text(ranges.name[row]), covered_ns);
  }
  return Judgement::found(finding_of(AdviceRule::kDataWait, gain_ns, evidence,
                                     {"Steps wait for their input" + in_range(evidence.main_range()),
                                      "Load batches ahead of the step: DataLoader with num_workers above 0, "
                                      "prefetch_factor and persistent_workers (in "
                                      "C++ workers() and max_jobs()); move decoding and augmentation to workers or to "
                                      "the device; store data in fewer, "
                                      "larger files",
                                      "`report --view steps` shows less time in the part data"}));
}

}  // namespace rangefinder::advice
