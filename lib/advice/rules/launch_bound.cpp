// SPDX-License-Identifier: MIT
#include "advice/host_causes.hpp"
#include "advice/rule.hpp"
#include "advice/small_copies.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

// The host launches kernels more slowly than the device runs them.
namespace rangefinder::advice {
namespace {

// An operator takes 5 to 20 us of PyTorch's host time, several times that with a profiler that notes shapes and stacks.
// A longer pause between two launches is work of the program's own.
constexpr std::int64_t kLongestPauseNs = 200'000;

struct HostLaunch {
  ThreadIndex thread;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  ActivityIndex activity;
};

/// Launches of kernels in frames, by thread and time; one of several activities (a CUDA graph) counts once.
std::vector<HostLaunch> launches_of(Context& context) {
  const Timeline& timeline = context.timeline();
  std::vector<HostLaunch> out;
  for (const ActivityIndex activity : context.work()) {
    const LaunchIndex launch = timeline.activities.launch[activity];
    if (launch >= timeline.launches.size()) continue;
    const CallIndex call = timeline.launches.call[launch];
    const std::int64_t begin_ns = timeline.launches.time_ns[launch];
    const std::int64_t end_ns = call < timeline.calls.size() ? timeline.calls.end_ns[call] : begin_ns;
    out.push_back({timeline.launches.thread[launch], begin_ns, std::max(begin_ns, end_ns), activity});
  }
  std::sort(out.begin(), out.end(), [](const HostLaunch& a, const HostLaunch& b) {
    return std::tuple(a.thread, a.begin_ns, a.activity) < std::tuple(b.thread, b.begin_ns, b.activity);
  });
  const auto same = [](const HostLaunch& a, const HostLaunch& b) {
    return a.thread == b.thread && a.begin_ns == b.begin_ns;
  };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

}  // namespace

Judgement judge_launch_bound(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.activities.size() == 0) return Judgement::nothing();
  const std::vector<HostLaunch> launches = launches_of(context);
  if (launches.empty())
    return Judgement::cannot_tell(
        "launches of the device's work: record with cuda=on, or with torch.profiler's "
        "ProfilerActivity.CPU beside CUDA");
  Change change;
  EvidenceTable evidence(context);
  for (std::size_t i = 1; i < launches.size(); ++i) {
    const HostLaunch &before = launches[i - 1], &launch = launches[i];
    if (before.thread != launch.thread || detail::minus(launch.begin_ns, before.end_ns) > kLongestPauseNs) continue;
    change.skip_host(launch.thread, before.begin_ns, launch.end_ns);
    evidence.add_activity(launch.activity, detail::minus(launch.end_ns, before.end_ns), "launches");
  }
  // What is left when the host neither waits nor does what other rules are about.
  Change others = without_causes(context);
  const std::vector<WaitCause>& causes = context.host_causes().waits;
  for (std::size_t i = 0; i < causes.size(); ++i)
    if (causes[i] == WaitCause::kProgram) others.skip_wait(timeline, context.waits()[i].call);
  for (const SmallCopies& copies : context.small_copies()) merge_copies(timeline, copies, others);
  if (context.gain_ns(change) == 0) return Judgement::nothing();
  const bool is_alone = others.empty();
  if (!is_alone && context.gain_beside_ns(others, change) == 0) return Judgement::nothing();
  // In a graph a kernel begins right after the one before. By itself that is no reason: it delays long kernels, too.
  for (const HostLaunch& launch : launches) change.skip_delay(launch.activity);
  const std::int64_t gain_ns = context.gain_ns(change);
  AdviceFinding finding = finding_of(
      AdviceRule::kLaunchBound, gain_ns, evidence,
      {"The device waits for the host, which makes " +
           counted(launches.size() / context.frames().count(), "launch", "launches") + a_step(context) +
           in_range(evidence.main_range()),
       "Launch less often: capture the step in a CUDA graph (torch.cuda.graph, at::cuda::CUDAGraph) or compile it "
       "(torch.compile with mode=\"reduce-overhead\"); fuse small operators (foreach=True or fused=True for the "
       "optimizer, fused layers); use larger batches",
       "`report --view breakdown` shows less idle time for the reason host wait, and `--view launches` fewer "
       "launches"});
  if (!is_alone) finding.own_gain_ns = std::min(gain_ns, context.gain_beside_ns(others, change));
  return Judgement::found(std::move(finding));
}

}  // namespace rangefinder::advice
