// SPDX-License-Identifier: MIT
#include "advice/copies.hpp"
#include "advice/host_causes.hpp"
#include "advice/launches.hpp"
#include "advice/rule.hpp"
#include "analysis/communication_names.hpp"
#include "analysis/range_at.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The host waits for the device inside of steps. The device is then idle until the host has launched anew.
namespace rangefinder::advice {
namespace {

// A program that reads its loss or the time at the end of a step knows that it waits there: it is told only where that
// costs more.
constexpr std::int64_t kLeastPermilleOfOneWait = 50;

/// By process: its last launch. What waits behind it costs nothing: the program ends, or the recording.
std::vector<std::int64_t> last_launches(const Timeline& timeline) {
  std::vector<std::int64_t> last(timeline.processes.size(), kNoTime);
  for (std::size_t row = 0; row < timeline.launches.size(); ++row) {
    const ThreadIndex thread = timeline.launches.thread[row];
    if (thread >= timeline.threads.size()) continue;
    std::int64_t& of_process = last[timeline.threads[thread].process];
    of_process = std::max(of_process, timeline.launches.time_ns[row]);
  }
  return last;
}

/// Finds waits that pace the host: behind what they wait for, the device has more to do. A program that stays two steps
/// ahead waits so.
class PacedWaits {
 public:
  explicit PacedWaits(const Timeline& timeline) : processes_(timeline.processes.size()) {
    analysis::CommunicationNames communication(timeline);
    for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
      const LaunchIndex launch = timeline.activities.launch[row];
      if (timeline.activities.kind[row] == ActivityKind::kMemcpy || launch >= timeline.launches.size()) continue;
      if (communication.has(timeline.activities.name[row])) continue;
      const ThreadIndex thread = timeline.launches.thread[launch];
      if (thread >= timeline.threads.size()) continue;
      processes_[timeline.threads[thread].process].push_back(
          {timeline.launches.time_ns[launch], timeline.activities.end_ns[row]});
    }
    for (std::vector<Launched>& all : processes_) {
      std::sort(all.begin(), all.end(), [](const Launched& a, const Launched& b) { return a.time_ns < b.time_ns; });
      for (std::size_t i = 1; i < all.size(); ++i)
        all[i].last_end_ns = std::max(all[i].last_end_ns, all[i - 1].last_end_ns);
    }
  }
  bool has(const analysis::Wait& wait, ProcessIndex process) const {
    const std::vector<Launched>& all = processes_[process];
    const auto after =
        std::partition_point(all.begin(), all.end(), [&](const Launched& one) { return one.time_ns < wait.begin_ns; });
    return after != all.begin() && (after - 1)->last_end_ns > wait.end_ns;
  }

 private:
  struct Launched {
    std::int64_t time_ns;
    std::int64_t last_end_ns;  ///< of all that was launched until then
  };
  std::vector<std::vector<Launched>> processes_;
};

/// Whether there was nothing to wait for. A call that has something to wait for hears of it over PCIe, and takes
/// longer.
bool returns_at_once(const analysis::Wait& wait) {
  constexpr std::int64_t kAtOnceNs = 5'000;
  return wait.last == kNone && wait.length_ns() < kAtOnceNs;
}

/// Whether each frame has one wait at most, after which it launches nothing.
bool waits_at_ends(Context& context, const std::vector<std::size_t>& waits) {
  const Timeline& timeline = context.timeline();
  const Frames& frames = context.frames();
  std::vector<std::int64_t> last_launch(frames.count(), kNoTime);
  for (const ActivityIndex activity : context.work()) {
    const LaunchIndex launch = timeline.activities.launch[activity];
    if (launch >= timeline.launches.size()) continue;
    const std::size_t frame =
        frames.at(timeline.threads[timeline.launches.thread[launch]].process, timeline.launches.time_ns[launch]);
    if (frame < last_launch.size())
      last_launch[frame] = std::max(last_launch[frame], timeline.launches.time_ns[launch]);
  }
  std::vector<bool> has_wait(frames.count());
  for (const std::size_t i : waits) {
    const analysis::Wait& wait = context.waits()[i];
    if (returns_at_once(wait)) continue;
    const std::size_t frame = frames.at(timeline.threads[wait.thread].process, wait.begin_ns);
    if (frame >= has_wait.size() || has_wait[frame] || last_launch[frame] > wait.begin_ns) return false;
    has_wait[frame] = true;
  }
  return frames.are_steps();
}

/// Whether what was waited for last is a copy to the host.
bool is_for_value(const Timeline& timeline, const analysis::Wait& wait) {
  return wait.last != kNone && direction_of(timeline, wait.last) == CopyDirection::kToHost;
}

/// The copy of the value that was waited for, its call, and what lies between that and the wait.
void skip_copies_of_values(Context& context, const std::vector<std::size_t>& waits, Change& change) {
  const Timeline& timeline = context.timeline();
  for (const std::size_t i : waits) {
    const analysis::Wait& wait = context.waits()[i];
    change.scale_activity(timeline, wait.last, 0);
    const CallIndex call = call_of(timeline, wait.last);
    if (call >= timeline.calls.size() || timeline.calls.thread[call] != wait.thread) continue;
    change.skip_call(timeline, call);
    change.skip_host(wait.thread, timeline.calls.begin_ns[call], wait.begin_ns);
  }
}

/// What the host does with what it waited for, in the range in which it did, until it launches again.
void skip_use_of_values(Context& context, const std::vector<std::size_t>& waits, Change& change) {
  const Timeline& timeline = context.timeline();
  std::vector<std::vector<std::int64_t>> launches(timeline.threads.size());
  for (std::size_t row = 0; row < timeline.launches.size(); ++row)
    if (timeline.launches.thread[row] < launches.size())
      launches[timeline.launches.thread[row]].push_back(timeline.launches.time_ns[row]);
  for (std::vector<std::int64_t>& times : launches) std::sort(times.begin(), times.end());
  std::vector<analysis::HostMoment> moments;
  for (const std::size_t i : waits) moments.push_back({context.waits()[i].thread, context.waits()[i].begin_ns});
  const std::vector<RangeIndex> ranges = analysis::ranges_at(timeline, {Attribution::kLaunch, true, false}, moments);
  for (std::size_t at = 0; at < waits.size(); ++at) {
    const analysis::Wait& wait = context.waits()[waits[at]];
    if (ranges[at] == kNone) continue;
    const std::vector<std::int64_t>& times = launches[wait.thread];
    const auto next = std::lower_bound(times.begin(), times.end(), wait.end_ns);
    const std::int64_t end_ns = timeline.ranges.end_ns[ranges[at]];
    change.skip_host(wait.thread, wait.end_ns, next != times.end() ? std::min(*next, end_ns) : end_ns);
  }
}

}  // namespace

Judgement judge_implicit_synchronization(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  if (timeline.syncs.size() == 0 && timeline.calls.size() == 0)
    return Judgement::cannot_tell(
        "waits of the host: record with cuda_sync and cuda_api, or with torch.profiler's "
        "ProfilerActivity.CUDA");
  const std::vector<analysis::Wait>& waits = context.waits();
  const std::vector<WaitCause>& causes = context.host_causes().waits;
  Change change;
  EvidenceTable evidence(context);
  std::vector<std::size_t> skipped;
  const std::vector<std::int64_t> last_launch = last_launches(timeline);
  const PacedWaits paced(timeline);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    if (causes[i] != WaitCause::kProgram) continue;
    const ProcessIndex process = timeline.threads[waits[i].thread].process;
    if (waits[i].begin_ns >= last_launch[process] || paced.has(waits[i], process)) continue;
    change.skip_wait(timeline, waits[i].call);
    skipped.push_back(i);
    evidence.add_host({waits[i].thread, waits[i].begin_ns}, timeline.text(timeline.calls.name[waits[i].call]),
                      waits[i].length_ns());
  }
  // Without the waits the host would do what other rules are about while the device works. That is no gain of this one.
  Change others = without_causes(context);
  std::vector<std::size_t> for_values = skipped;
  std::erase_if(for_values, [&](std::size_t i) { return !is_for_value(timeline, waits[i]); });
  skip_copies_of_values(context, for_values, change);
  // A host that launches late waits for little. What it does with the value still keeps it from launching.
  skip_use_of_values(context, for_values, change);
  const std::int64_t values_ns = context.gain_ns(change);
  if (values_ns == 0) return Judgement::nothing();
  const std::int64_t own_ns = others.empty() ? values_ns : context.gain_beside_ns(others, change);
  const std::int64_t least_ns =
      waits_at_ends(context, skipped) ? context.step_ns() / 1000 * kLeastPermilleOfOneWait : 1;
  if (own_ns < least_ns) return Judgement::nothing();
  skip_use_of_values(context, skipped, change);
  const std::int64_t gain_ns = context.gain_ns(change);
  return Judgement::found(finding_of(
      AdviceRule::kImplicitSynchronization, gain_ns, evidence,
      {"The host waits for the device " + counted(evidence.count(), "time") + a_step(context) + ", mostly in " +
           evidence.main_operator() + in_range(evidence.main_range()) + ", and the device then waits for launches",
       "Keep results on the device: no .item(), .cpu(), .nonzero(), print or `if` on a tensor inside of the step; add "
       "losses up in a tensor and read it every N steps; copy with non_blocking=True into pinned memory and wait for "
       "an "
       "event later",
       "`report --view sync` shows fewer waits, and `--view breakdown --by step` less idle time of the device"}));
}

}  // namespace rangefinder::advice
