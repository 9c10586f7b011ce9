// SPDX-License-Identifier: MIT
#include "advice/parallel_work.hpp"

#include "advice/communication.hpp"
#include "advice/host_causes.hpp"
#include "analysis/device_states.hpp"
#include "analysis/spread.hpp"

#include <string_view>
#include <tuple>
#include <utility>

namespace rangefinder::advice {
namespace {

bool is_countable(const Timeline& timeline, RangeIndex row) noexcept {
  const RangeTable& ranges = timeline.ranges;
  return (ranges.kind[row] == RangeKind::kAnnotation || ranges.kind[row] == RangeKind::kOperator) &&
         ranges.style[row] == RangeStyle::kScoped && (ranges.flags[row] & kBeforeRecording) == 0 &&
         ranges.thread[row] < timeline.threads.size() && ranges.begin_ns[row] >= -analysis::kFarthestNs &&
         ranges.end_ns[row] <= analysis::kFarthestNs && ranges.begin_ns[row] < ranges.end_ns[row];
}

/// Threads of c10d are in these while others communicate.
bool is_collective(std::string_view range) noexcept {
  for (const std::string_view prefix : {"gloo:", "nccl:", "mpi:", "ucc:", "c10d::", "record_param_comms"})
    if (range.starts_with(prefix)) return true;
  return false;
}

class ParallelFinder {
 public:
  ParallelFinder(Context& context, const std::vector<bool>& is_host_only)
      : context_(context), timeline_(context.timeline()), is_host_only_(is_host_only) {}

  std::vector<ParallelWork> run() {
    std::vector<RangeIndex> rows;
    const RangeTable& ranges = timeline_.ranges;
    for (RangeIndex row{0}; row < ranges.size(); ++row)
      if (is_countable(timeline_, row) && is_host_only_[process_of(row)] &&
          !is_collective(timeline_.text(ranges.name[row])) &&
          context_.frames().holds(timeline_, ranges.thread[row], ranges.begin_ns[row]))
        rows.push_back(row);
    std::sort(rows.begin(), rows.end(), [&](RangeIndex a, RangeIndex b) {
      return std::tuple(process_of(a), ranges.name[a], ranges.begin_ns[a], a) <
             std::tuple(process_of(b), ranges.name[b], ranges.begin_ns[b], b);
    });
    for (const RangeIndex row : rows) take(row);
    close();
    return std::move(out_);
  }

 private:
  ProcessIndex process_of(RangeIndex row) const { return timeline_.threads[timeline_.ranges.thread[row]].process; }

  void take(RangeIndex row) {
    const RangeTable& ranges = timeline_.ranges;
    // They are handed out together: one that begins when another is half done is other work.
    const bool joins = !open_.ranges.empty() && open_.name == ranges.name[row] && open_.process == process_of(row) &&
                       ranges.begin_ns[row] < open_.end_ns &&
                       std::none_of(open_.ranges.begin(), open_.ranges.end(),
                                    [&](RangeIndex other) { return ranges.thread[other] == ranges.thread[row]; });
    if (!joins) {
      close();
      open_ = {};
      open_.name = ranges.name[row];
      open_.process = process_of(row);
      open_.begin_ns = ranges.begin_ns[row];
      open_.end_ns = ranges.end_ns[row];
    }
    open_.ranges.push_back(row);
    open_.end_ns = std::max(open_.end_ns, ranges.end_ns[row]);
    open_.total_ns = analysis::saturating_add(open_.total_ns, ranges.end_ns[row] - ranges.begin_ns[row]);
  }
  void close() {
    if (open_.ranges.size() >= 2) out_.push_back(std::move(open_));
    open_ = {};
  }

  Context& context_;
  const Timeline& timeline_;
  const std::vector<bool>& is_host_only_;
  ParallelWork open_;
  std::vector<ParallelWork> out_;
};

/// By thread: when its ranges begin, in order.
std::vector<std::vector<std::int64_t>> begins_of_ranges(const Timeline& timeline) {
  std::vector<std::vector<std::int64_t>> begins(timeline.threads.size());
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    if (is_countable(timeline, row)) begins[timeline.ranges.thread[row]].push_back(timeline.ranges.begin_ns[row]);
  for (std::vector<std::int64_t>& times : begins) std::sort(times.begin(), times.end());
  return begins;
}

/// Whether a thread takes part in the work, or opens no range meanwhile but that in which it waits.
bool waits_for(const Timeline& timeline, ThreadIndex thread, const std::vector<std::int64_t>& begins,
               const ParallelWork& work) {
  const auto is_own = [&](RangeIndex range) { return timeline.ranges.thread[range] == thread; };
  if (std::any_of(work.ranges.begin(), work.ranges.end(), is_own)) return true;
  const auto first = std::upper_bound(begins.begin(), begins.end(), work.begin_ns);
  const auto last = std::lower_bound(first, begins.end(), work.end_ns);
  return last - first <= 1;
}

/// What a thread does that is no work alone: input, and waits for collectives.
HostSpans waits_of_threads(Context& context) {
  HostSpans out;
  out.add(context.host_causes().input);
  for (const Communication& one : communications_of(context))
    if (one.kernel == kNone) out.add(one.thread, one.blocked_begin_ns, one.blocked_end_ns);
  return out;
}

}  // namespace

std::vector<ParallelWork> parallel_works_of(Context& context, const std::vector<bool>& is_host_only) {
  return ParallelFinder(context, is_host_only).run();
}

/// By process: the thread that marks its steps; kNone without.
std::map<ProcessIndex, ThreadIndex> step_threads(const Timeline& timeline) {
  std::map<ProcessIndex, ThreadIndex> out;
  for (const ThreadIndex thread : timeline.steps.thread)
    if (thread < timeline.threads.size()) out.try_emplace(timeline.threads[thread].process, thread);
  return out;
}

HostSpans serial_work_of(Context& context, const std::vector<ParallelWork>& works) {
  const Timeline& timeline = context.timeline();
  const std::map<ProcessIndex, ThreadIndex> steppers = step_threads(timeline);
  const std::vector<std::vector<std::int64_t>> begins = begins_of_ranges(timeline);
  std::vector<bool> shares(timeline.processes.size());
  HostSpans other = waits_of_threads(context);
  for (const ParallelWork& work : works) {
    const auto stepper = steppers.find(work.process);
    if (stepper == steppers.end() || !waits_for(timeline, stepper->second, begins[stepper->second], work)) continue;
    shares[work.process] = true;
    other.add(stepper->second, work.begin_ns, work.end_ns);
  }
  other.finish();
  HostSpans frames;
  for (const Frame& frame : context.frames().all())
    if (const auto stepper = steppers.find(frame.process); stepper != steppers.end() && shares[frame.process])
      frames.add(stepper->second, frame.begin_ns, frame.end_ns);
  frames.finish();
  HostSpans serial;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
    for (const analysis::Span& span : analysis::without(frames.of(thread), other.of(thread)))
      serial.add(thread, span.begin, span.end);
  serial.finish();
  return serial;
}

}  // namespace rangefinder::advice
