// SPDX-License-Identifier: MIT
#include "advice/change.hpp"

#include "analysis/device_states.hpp"
#include "analysis/spread.hpp"

#include <algorithm>
#include <cmath>

namespace rangefinder::advice {
namespace {

std::int64_t length_between(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  std::int64_t length = 0;
  return begin_ns < end_ns && !__builtin_sub_overflow(end_ns, begin_ns, &length) ? length : 0;
}

}  // namespace

void Change::skip_wait(const Timeline& timeline, CallIndex call) {
  if (call >= timeline.calls.size()) return;
  waits_.push_back({call, length_between(timeline.calls.begin_ns[call], timeline.calls.end_ns[call])});
}

void Change::skip_call(const Timeline& timeline, CallIndex call) {
  if (call >= timeline.calls.size()) return;
  skip_wait(timeline, call);
  skip_host(timeline.calls.thread[call], timeline.calls.begin_ns[call], timeline.calls.end_ns[call]);
}

void Change::skip_call_after(const Timeline& timeline, CallIndex before, CallIndex call) {
  constexpr std::int64_t kLongestPauseNs = 100'000;
  skip_call(timeline, call);
  const CallTable& calls = timeline.calls;
  if (before >= calls.size() || call >= calls.size() || calls.thread[before] != calls.thread[call]) return;
  const std::int64_t pause_ns = length_between(calls.end_ns[before], calls.begin_ns[call]);
  if (pause_ns <= kLongestPauseNs) skip_host(calls.thread[call], calls.end_ns[before], calls.begin_ns[call]);
}

void Change::skip_host(ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) {
  host_.add(thread, begin_ns, end_ns);
}

void Change::scale_activity(const Timeline& timeline, ActivityIndex activity, double share) {
  const ActivityTable& activities = timeline.activities;
  activities_.push_back({activity, std::clamp(share, 0.0, 1.0),
                         length_between(activities.begin_ns[activity], activities.end_ns[activity])});
}

void Change::skip_transfer(std::int64_t done_ns, std::int64_t length_ns) {
  transfers_.push_back({std::clamp(done_ns, -analysis::kFarthestNs, analysis::kFarthestNs), length_ns});
}

void Change::add(const Change& other) {
  transfers_.insert(transfers_.end(), other.transfers_.begin(), other.transfers_.end());
  host_.add(other.host_);
  waits_.insert(waits_.end(), other.waits_.begin(), other.waits_.end());
  activities_.insert(activities_.end(), other.activities_.begin(), other.activities_.end());
  prompt_.insert(prompt_.end(), other.prompt_.begin(), other.prompt_.end());
  meetings_.insert(meetings_.end(), other.meetings_.begin(), other.meetings_.end());
}

void Change::finish() {
  host_.finish();
  std::sort(waits_.begin(), waits_.end(), [](const Skipped& a, const Skipped& b) { return a.call < b.call; });
  const auto same_call = [](const Skipped& a, const Skipped& b) { return a.call == b.call; };
  waits_.erase(std::unique(waits_.begin(), waits_.end(), same_call), waits_.end());
  std::sort(prompt_.begin(), prompt_.end());
  std::sort(meetings_.begin(), meetings_.end());
  std::sort(transfers_.begin(), transfers_.end(),
            [](const Transfer& a, const Transfer& b) { return a.done_ns < b.done_ns; });
  std::sort(activities_.begin(), activities_.end(), [](const Scaled& a, const Scaled& b) {
    return a.activity != b.activity ? a.activity < b.activity : a.share < b.share;
  });
  const auto same_activity = [](const Scaled& a, const Scaled& b) { return a.activity == b.activity; };
  activities_.erase(std::unique(activities_.begin(), activities_.end(), same_activity), activities_.end());
}

std::int64_t Change::most_ns() const noexcept {
  std::int64_t most = host_.total_ns();
  for (const Skipped& wait : waits_) most = analysis::saturating_add(most, wait.length_ns);
  for (const Transfer& one : transfers_) most = analysis::saturating_add(most, one.length_ns);
  for (const Scaled& one : activities_) {
    const double saved = static_cast<double>(one.length_ns) * (1 - one.share);
    most = analysis::saturating_add(most, static_cast<std::int64_t>(std::min(std::ceil(saved), 9e18)));
  }
  return most;
}

bool Change::waits_in(CallIndex call) const noexcept {
  const auto found = std::lower_bound(waits_.begin(), waits_.end(), call,
                                      [](const Skipped& wait, CallIndex wanted) { return wait.call < wanted; });
  return found != waits_.end() && found->call == call;
}

bool Change::skips_transfer(std::int64_t done_ns) const noexcept {
  const auto found = std::lower_bound(transfers_.begin(), transfers_.end(), done_ns,
                                      [](const Transfer& one, std::int64_t wanted) { return one.done_ns < wanted; });
  return found != transfers_.end() && found->done_ns == done_ns;
}

double Change::share_of(ActivityIndex activity) const noexcept {
  const auto found = std::lower_bound(activities_.begin(), activities_.end(), activity,
                                      [](const Scaled& one, ActivityIndex wanted) { return one.activity < wanted; });
  return found != activities_.end() && found->activity == activity ? found->share : 1;
}

bool Change::is_prompt(const CriticalSegment& segment) const noexcept {
  // Between kernels that follow each other are some microseconds at most. Longer ones have causes of their own.
  constexpr std::int64_t kLongestDelayNs = 10'000;
  return segment.length_ns() <= kLongestDelayNs && std::binary_search(prompt_.begin(), prompt_.end(), segment.activity);
}

double Change::scale(const CriticalSegment& segment) const noexcept {
  const bool of_host = segment.thread != kNone;
  if (segment.is_wait && !of_host && std::binary_search(meetings_.begin(), meetings_.end(), segment.activity)) return 0;
  if (segment.is_wait) return of_host && segment.call != kNone && waits_in(segment.call) ? 0 : 1;
  if (segment.reason == CriticalReason::kSynchronisation && waits_in(segment.call)) return 0;
  const bool before_device =
      segment.reason == CriticalReason::kStreamDelay || segment.reason == CriticalReason::kLaunchLatency;
  // What is not done needs no delay in front of it.
  if (before_device && segment.activity != kNone) return share_of(segment.activity) == 0 || is_prompt(segment) ? 0 : 1;
  const bool of_device = segment.reason == CriticalReason::kComputation || segment.reason == CriticalReason::kCopy ||
                         segment.reason == CriticalReason::kCommunication;
  if (of_device && segment.activity != kNone) return share_of(segment.activity);
  if (segment.reason == CriticalReason::kCommunication && !of_host && segment.activity == kNone)
    return skips_transfer(segment.end_ns) ? 0 : 1;
  const std::int64_t length_ns = segment.length_ns();
  // A latency has the launching thread, but it is no time of that thread.
  if (!of_host || segment.activity != kNone || length_ns <= 0 || host_.empty()) return 1;
  const std::int64_t covered_ns = host_.covered_ns(segment.thread, segment.begin_ns, segment.end_ns);
  return 1 - static_cast<double>(covered_ns) / static_cast<double>(length_ns);
}

}  // namespace rangefinder::advice
