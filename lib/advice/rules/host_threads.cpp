// SPDX-License-Identifier: MIT
#include "advice/parallel_work.hpp"
#include "advice/rule.hpp"
#include "analysis/host_states.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

// Threads that share work, of which one has more than the others: all wait until it is done. And what one does alone.
namespace rangefinder::advice {
namespace {

// A program knows that the thread that hands out work does something itself. Of eight threads, a twentieth of the step
// on one of them costs a quarter of what they bring.
constexpr double kLeastSerialShare = 0.05;
// Equal parts of work end apart by some percent: caches, other programs, clocks. Of sixteen threads that differ by 3 %
// the last one ends 5 % later than the mean.
constexpr double kLeastUneven = 0.05;

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

/// Whether a work has so few threads that processors have nothing to do. Two processors can be one core: with half as
/// many threads, all cores work. More than that but fewer than three quarters are neither one for each core nor for
/// each processor.
bool are_few(std::size_t threads, std::size_t processors) noexcept {
  return threads * 2 < processors || (threads * 2 > processors && threads * 4 < processors * 3);
}

/// A work with when it could be done.
struct EvenWork {
  const ParallelWork* work;
  std::int64_t end_ns;
};

/// Works that could be done earlier, on more threads or with equal shares, where that is a fair part of all works of
/// the name.
std::vector<EvenWork> uneven_works(const Timeline& timeline, const std::vector<ParallelWork>& works) {
  const std::size_t processors = processors_of(timeline);
  std::vector<EvenWork> all;
  std::map<std::pair<ProcessIndex, StringId>, std::pair<double, double>> times;  // that could be saved, and all
  for (const ParallelWork& work : works) {
    const std::int64_t even_ns = work.even_end_ns(are_few(work.ranges.size(), processors) ? processors : 0);
    all.push_back({&work, even_ns});
    auto& [saved, taken] = times[{work.process, work.name}];
    saved += static_cast<double>(std::max<std::int64_t>(work.end_ns - even_ns, 0));
    taken += static_cast<double>(work.end_ns - work.begin_ns);
  }
  std::erase_if(all, [&](const EvenWork& one) {
    const auto& [saved, taken] = times[{one.work->process, one.work->name}];
    return one.end_ns >= one.work->end_ns || saved < kLeastUneven * taken;
  });
  return all;
}

/// As many threads as share the other work could share what one does alone.
void share_serial_work(Context& context, const std::vector<ParallelWork>& works, Change& change,
                       EvidenceTable& evidence) {
  const Timeline& timeline = context.timeline();
  const HostSpans serial = serial_work_of(context, works);
  const double share = static_cast<double>(serial.total_ns()) /
                       static_cast<double>(std::max<std::int64_t>(1, context.frames().total_ns()));
  if (share < kLeastSerialShare) return;
  std::map<ProcessIndex, std::size_t> threads;
  for (const ParallelWork& work : works) threads[work.process] = std::max(threads[work.process], work.ranges.size());
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread)
    for (const analysis::Span& span : serial.of(thread)) {
      const std::int64_t length_ns = detail::minus(span.end, span.begin);
      const auto parts = static_cast<std::int64_t>(threads[timeline.threads[thread].process]);
      change.skip_host(thread, span.begin, detail::minus(span.end, length_ns / std::max<std::int64_t>(1, parts)));
      evidence.add_host({thread, detail::plus(span.begin, length_ns / 2)}, "one thread alone", length_ns);
    }
}

}  // namespace

Judgement judge_host_threads(Context& context) {
  const Timeline& timeline = context.timeline();
  std::vector<bool> is_host_only(timeline.processes.size());
  const analysis::HostStates states(timeline);
  for (const ProcessIndex process : states.processes()) is_host_only[process] = true;
  if (states.processes().empty()) return Judgement::nothing();
  const std::vector<ParallelWork> works = parallel_works_of(context, is_host_only);
  if (works.empty())
    return Judgement::cannot_tell(
        "what threads do: open a range in each thread that works (those of OpenMP inside of "
        "operators are not recorded)");
  Change change;
  EvidenceTable evidence(context);
  for (const auto& [work, even_ns] : uneven_works(timeline, works)) {
    RangeIndex longest = work->ranges.front();
    for (const RangeIndex range : work->ranges) {
      change.skip_host(timeline.ranges.thread[range], even_ns, work->end_ns);
      if (timeline.ranges.end_ns[range] > timeline.ranges.end_ns[longest]) longest = range;
    }
    // The thread that waits for them.
    change.skip_host(work->waiter, even_ns, work->end_ns);
    evidence.add_host({timeline.ranges.thread[longest], timeline.ranges.begin_ns[longest]}, timeline.text(work->name),
                      work->end_ns - even_ns);
  }
  const std::int64_t uneven_ns = evidence.time_ns();
  share_serial_work(context, works, change, evidence);
  const std::int64_t gain_ns = context.gain_ns(change);
  if (gain_ns == 0) return Judgement::nothing();
  return Judgement::found(finding_of(
      AdviceRule::kHostThreads, gain_ns, evidence,
      {(evidence.time_ns() - uneven_ns > uneven_ns
            ? "One thread works alone while those that share its work stand still"
            : "Threads that share work end at different times, or are few, and the step waits for the last") +
           in_range(evidence.main_range()),
       "Divide the work by what it costs and not by its number, in more and smaller pieces that threads take when they "
       "are free (schedule(dynamic), at::parallel_for with a smaller grain size, a work-stealing pool)",
       "`report --view ranges --instances` shows the same length for the range on all threads"}));
}

}  // namespace rangefinder::advice
