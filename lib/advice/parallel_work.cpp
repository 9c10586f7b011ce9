// SPDX-License-Identifier: MIT
#include "advice/parallel_work.hpp"

#include "advice/communication.hpp"
#include "advice/host_causes.hpp"
#include "analysis/device_states.hpp"
#include "analysis/spread.hpp"

#include <map>
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
    keep_what_is_waited_for();
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

  void keep_what_is_waited_for();

  Context& context_;
  const Timeline& timeline_;
  const std::vector<bool>& is_host_only_;
  ParallelWork open_;
  std::vector<ParallelWork> out_;
};

/// When ranges of threads begin, and when any begins or ends.
class ThreadEvents {
 public:
  explicit ThreadEvents(const Timeline& timeline) : begins_(timeline.threads.size()), all_(timeline.threads.size()) {
    const RangeTable& ranges = timeline.ranges;
    for (RangeIndex row{0}; row < ranges.size(); ++row) {
      if (!is_countable(timeline, row)) continue;
      begins_[ranges.thread[row]].push_back(ranges.begin_ns[row]);
      all_[ranges.thread[row]].insert(all_[ranges.thread[row]].end(), {ranges.begin_ns[row], ranges.end_ns[row]});
    }
    for (std::vector<std::int64_t>& times : begins_) std::sort(times.begin(), times.end());
    for (std::vector<std::int64_t>& times : all_) std::sort(times.begin(), times.end());
  }
  std::size_t begins_between(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) const {
    const std::vector<std::int64_t>& times = begins_[thread];
    const auto first = std::upper_bound(times.begin(), times.end(), begin_ns);
    return static_cast<std::size_t>(std::lower_bound(first, times.end(), end_ns) - first);
  }
  /// The first that is not before; kNoTime.
  std::int64_t next(ThreadIndex thread, std::int64_t time_ns) const {
    const auto found = std::lower_bound(all_[thread].begin(), all_[thread].end(), time_ns);
    return found != all_[thread].end() ? *found : kNoTime;
  }

 private:
  std::vector<std::vector<std::int64_t>> begins_, all_;
};

/// Whether a thread takes part in the work, or waits for it: it opens no range meanwhile but that in which it does, and
/// goes on as the work is done. A range that ends later has a reason of its own.
bool waits_for(const Timeline& timeline, ThreadIndex thread, const ThreadEvents& events, const ParallelWork& work) {
  // To wake a thread up takes some 50 us, and longer where processors sleep.
  constexpr std::int64_t kWakeUpNs = 200'000;
  const auto is_own = [&](RangeIndex range) { return timeline.ranges.thread[range] == thread; };
  if (std::any_of(work.ranges.begin(), work.ranges.end(), is_own)) return true;
  const std::int64_t next_ns = events.next(thread, work.end_ns);
  return next_ns != kNoTime && next_ns - work.end_ns <= kWakeUpNs &&
         events.begins_between(thread, work.begin_ns, work.end_ns) <= 1;
}

/// Drops names for most of whose work the thread that marks the steps does not wait, and of others that for which it
/// does not.
void ParallelFinder::keep_what_is_waited_for() {
  if (out_.empty()) return;
  const std::map<ProcessIndex, ThreadIndex> steppers = step_threads(timeline_);
  const ThreadEvents events(timeline_);
  const HostSpans& input = context_.host_causes().input;
  std::map<std::pair<ProcessIndex, StringId>, std::pair<std::size_t, std::size_t>> waited;  // and all
  std::vector<bool> is_waited_for;
  for (ParallelWork& work : out_) {
    const auto stepper = steppers.find(work.process);
    bool waits = true;
    if (stepper != steppers.end()) {
      work.waiter = stepper->second;
      const std::int64_t input_ns = input.covered_ns(work.waiter, work.begin_ns, work.end_ns);
      waits = input_ns <= (work.end_ns - work.begin_ns) / 2 && waits_for(timeline_, work.waiter, events, work);
    }
    is_waited_for.push_back(waits);
    auto& [some, all] = waited[{work.process, work.name}];
    some += waits ? 1 : 0;
    ++all;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out_.size(); ++i) {
    const auto& [some, all] = waited[{out_[i].process, out_[i].name}];
    if (is_waited_for[i] && some * 2 > all) std::swap(out_[kept++], out_[i]);
  }
  out_.resize(kept);
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

std::map<ProcessIndex, ThreadIndex> step_threads(const Timeline& timeline) {
  std::map<ProcessIndex, ThreadIndex> out;
  for (const ThreadIndex thread : timeline.steps.thread)
    if (thread < timeline.threads.size()) out.try_emplace(timeline.threads[thread].process, thread);
  return out;
}

std::vector<ParallelWork> parallel_works_of(Context& context, const std::vector<bool>& is_host_only) {
  return ParallelFinder(context, is_host_only).run();
}

HostSpans serial_work_of(Context& context, const std::vector<ParallelWork>& works) {
  const Timeline& timeline = context.timeline();
  std::map<ProcessIndex, ThreadIndex> waiters;
  HostSpans other = waits_of_threads(context);
  for (const ParallelWork& work : works) {
    if (work.waiter == kNone) continue;
    waiters[work.process] = work.waiter;
    other.add(work.waiter, work.begin_ns, work.end_ns);
  }
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    if (timeline.ranges.kind[row] == RangeKind::kOperator && is_countable(timeline, row))
      other.add(timeline.ranges.thread[row], timeline.ranges.begin_ns[row], timeline.ranges.end_ns[row]);
  other.finish();
  HostSpans frames;
  for (const Frame& frame : context.frames().all())
    if (const auto waiter = waiters.find(frame.process); waiter != waiters.end())
      frames.add(waiter->second, frame.begin_ns, frame.end_ns);
  frames.finish();
  HostSpans serial;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
    for (const analysis::Span& span : analysis::without(frames.of(thread), other.of(thread)))
      serial.add(thread, span.begin, span.end);
  serial.finish();
  return serial;
}

}  // namespace rangefinder::advice
