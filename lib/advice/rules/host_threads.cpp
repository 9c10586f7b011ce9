// SPDX-License-Identifier: MIT
#include "advice/rule.hpp"
#include "analysis/device_states.hpp"
#include "analysis/host_states.hpp"
#include "analysis/spread.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

// Threads that share work, of which one has more than the others: all wait until it is done.
namespace rangefinder::advice {
namespace {

/// Ranges of one name that ran at the same time, each on a thread of its own.
struct ParallelWork {
  StringId name = StringId::kEmpty;
  ProcessIndex process{0};
  std::vector<RangeIndex> ranges;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t total_ns = 0;

  /// When it would be done if each thread had as much, and there were so many threads at least.
  std::int64_t even_end_ns(std::size_t threads) const noexcept {
    return begin_ns + total_ns / static_cast<std::int64_t>(std::max(ranges.size(), threads));
  }
};

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
  ParallelFinder(Context& context, std::vector<bool> is_host_only)
      : context_(context), timeline_(context.timeline()), is_host_only_(std::move(is_host_only)) {}

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
  std::vector<bool> is_host_only_;
  ParallelWork open_;
  std::vector<ParallelWork> out_;
};

/// By process: the thread that marks its steps; kNone without.
std::map<ProcessIndex, ThreadIndex> step_threads(const Timeline& timeline) {
  std::map<ProcessIndex, ThreadIndex> out;
  for (const ThreadIndex thread : timeline.steps.thread)
    if (thread < timeline.threads.size()) out.try_emplace(timeline.threads[thread].process, thread);
  return out;
}

/// That a process of the recording can use: "cpu_amd_epyc_9654_16t" says 16; 0: not known.
std::size_t processors_of(const Timeline& timeline) {
  std::size_t processors = 0;
  for (const auto& [key, value] : timeline.metadata) {
    if (key != "cpu_key" || !value.ends_with("t\"")) continue;
    const std::string_view number = std::string_view(value).substr(value.rfind('_') + 1);
    std::from_chars(number.data(), number.data() + number.size(), processors);
  }
  return processors / std::max<std::size_t>(1, timeline.processes.size());
}

}  // namespace

Judgement judge_host_threads(Context& context) {
  const Timeline& timeline = context.timeline();
  std::vector<bool> is_host_only(timeline.processes.size());
  const analysis::HostStates states(timeline);
  for (const ProcessIndex process : states.processes()) is_host_only[process] = true;
  if (states.processes().empty()) return Judgement::nothing();
  const std::vector<ParallelWork> works = ParallelFinder(context, std::move(is_host_only)).run();
  if (works.empty())
    return Judgement::cannot_tell(
        "what threads do: open a range in each thread that works (those of OpenMP inside of "
        "operators are not recorded)");
  const std::map<ProcessIndex, ThreadIndex> steppers = step_threads(timeline);
  Change change;
  EvidenceTable evidence(context);
  const std::size_t processors = processors_of(timeline);
  for (const ParallelWork& work : works) {
    // Two processors can be one core: with half of them, all cores work.
    const bool few = work.ranges.size() * 2 < processors;
    const std::int64_t even_ns = work.even_end_ns(few ? processors / 2 : 0);
    if (even_ns >= work.end_ns) continue;
    RangeIndex longest = work.ranges.front();
    for (const RangeIndex range : work.ranges) {
      change.skip_host(timeline.ranges.thread[range], even_ns, work.end_ns);
      if (timeline.ranges.end_ns[range] > timeline.ranges.end_ns[longest]) longest = range;
    }
    // The thread that waits for them.
    const auto stepper = steppers.find(work.process);
    if (stepper != steppers.end()) change.skip_host(stepper->second, even_ns, work.end_ns);
    evidence.add_host({timeline.ranges.thread[longest], timeline.ranges.begin_ns[longest]}, timeline.text(work.name),
                      work.end_ns - even_ns);
  }
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kHostThreads, gain_ns, evidence,
      {"Threads that share work end at different times, or are few, and the step waits for the last" +
           in_range(evidence.main_range()),
       "Divide the work by what it costs and not by its number, in more and smaller pieces that threads take when they "
       "are free (schedule(dynamic), at::parallel_for with a smaller grain size, a work-stealing pool)",
       "`report --view ranges --instances` shows the same length for the range on all threads"}));
}

}  // namespace rangefinder::advice
