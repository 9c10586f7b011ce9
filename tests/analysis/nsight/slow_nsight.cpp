// SPDX-License-Identifier: MIT
#include "analysis/nsight/slow_nsight.hpp"

#include "support/timeline_builder.hpp"

#include <algorithm>

namespace rangefinder::testing {
namespace {

// The call's interval when the launch's thread is known.
bool cause_of(const Timeline& timeline, std::uint32_t launch, std::int64_t& begin, std::int64_t& end) {
  if (launch == kNone) return false;
  const LaunchTable& launches = timeline.launches;
  if (launches.source[launch] == LaunchSource::kUnknown) return false;
  const CallIndex call = launches.call[launch];
  begin = call == kNone ? launches.time_ns[launch] : timeline.calls.begin_ns[call];
  end = call == kNone ? launches.time_ns[launch] : timeline.calls.end_ns[call];
  return true;
}

std::vector<RangeIndex> ranges_around(const Timeline& timeline, std::uint32_t launch) {
  std::vector<RangeIndex> out;
  std::int64_t begin = 0, end = 0;
  if (!cause_of(timeline, launch, begin, end)) return out;
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (ranges.kind[range] != RangeKind::kAnnotation) continue;
    if ((ranges.flags[range] & (kEndedElsewhere | kOwnerless)) != 0) continue;
    if (ranges.thread[range] != timeline.launches.thread[launch]) continue;
    if (ranges.begin_ns[range] <= begin && end <= ranges.end_ns[range]) out.push_back(range);
  }
  return out;
}

void add_work(const Timeline& timeline, ActivityIndex activity, SlowProjected& to) {
  const std::int64_t begin = timeline.activities.begin_ns[activity], end = timeline.activities.end_ns[activity];
  to.first_ns = to.correlations.empty() ? begin : std::min(to.first_ns, begin);
  to.last_ns = to.correlations.empty() ? end : std::max(to.last_ns, end);
  to.correlations.insert(timeline.activities.correlation[activity]);
}

}  // namespace

Timeline random_nsight_timeline(std::mt19937_64& random) {
  const auto up_to = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % (most + 1)); };
  TimelineBuilder builder;
  const auto somewhere = [&] { builder.on_process(1 + up_to(1)).on_thread(1 + up_to(1)); };
  const char* const names[] = {"a", "b", "c"};
  const bool nested = up_to(1) == 0;
  for (std::int64_t left = up_to(14); left > 0; --left) {
    somewhere();
    // Multiples nest: what begins and ends on a coarse grid is never crossed by what lies inside one cell of it.
    const std::int64_t grid = nested ? std::int64_t{1} << (1 + up_to(4)) : 1;
    const std::int64_t begin = up_to(40) / grid * grid;
    builder.range(names[up_to(2)], begin, nested ? begin + grid : begin + up_to(30));
    if (up_to(3) == 0) builder.start_end();
    if (up_to(9) == 0) builder.flagged(kOwnerless);
    if (up_to(9) == 0) builder.ended_on(2);
    if (up_to(9) == 0) builder.of_kind(RangeKind::kOperator);
    if (up_to(5) == 0) builder.in_domain("lib");
  }
  for (std::int64_t left = up_to(20); left > 0; --left) {
    somewhere();
    const std::int64_t time = up_to(60);
    if (up_to(4) == 0)
      builder.launch(time);
    else
      builder.launch_call("cudaLaunchKernel_v7000", time, time + up_to(6));
    if (up_to(9) == 0) builder.without_launch(1000);
    for (std::int64_t activities = up_to(3); activities > 0; --activities) {
      const std::int64_t begin = up_to(90);
      if (up_to(2) == 0)
        builder.memcpy(begin, begin + up_to(9), 64);
      else
        builder.kernel(begin, begin + up_to(9), names[up_to(2)]);
    }
  }
  return builder.build();
}

std::map<RangeIndex, SlowProjected> slow_gpu_projection(const Timeline& timeline, SlowProjected& outside) {
  std::map<RangeIndex, SlowProjected> out;
  for (ActivityIndex activity{0}; activity < timeline.activities.size(); ++activity) {
    const std::uint32_t launch = timeline.activities.launch[activity];
    const std::vector<RangeIndex> around = ranges_around(timeline, launch);
    for (const RangeIndex range : around) add_work(timeline, activity, out[range]);
    std::int64_t begin = 0, end = 0;
    if (around.empty() && cause_of(timeline, launch, begin, end)) add_work(timeline, activity, outside);
  }
  return out;
}

std::map<SlowKernelKey, SlowKernelGroup> slow_kernels_in_ranges(const Timeline& timeline) {
  std::map<SlowKernelKey, SlowKernelGroup> out;
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex activity{0}; activity < activities.size(); ++activity) {
    if (activities.kind[activity] != ActivityKind::kKernel) continue;
    const std::uint32_t launch = activities.launch[activity];
    const std::int64_t duration = activities.end_ns[activity] - activities.begin_ns[activity];
    const std::string kernel(timeline.text(activities.name[activity]));
    const std::vector<RangeIndex> around = ranges_around(timeline, launch);
    const ThreadIndex thread = launch == kNone ? kNone : timeline.launches.thread[launch];
    if (around.empty()) out[{"", "", thread, kernel}].durations.push_back(duration);
    for (const RangeIndex range : around) {
      const std::string domain(timeline.text(timeline.ranges.domain[range]));
      const std::string name(timeline.text(timeline.ranges.name[range]));
      const std::string style = timeline.ranges.style[range] == RangeStyle::kScoped ? "PushPop" : "StartEnd";
      SlowKernelGroup& group = out[{domain.empty() ? name : domain + ":" + name, style, thread, kernel}];
      group.durations.push_back(duration);
      group.ranges.insert(range);
    }
  }
  return out;
}

}  // namespace rangefinder::testing
