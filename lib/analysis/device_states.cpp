// SPDX-License-Identifier: MIT
#include "analysis/device_states.hpp"

#include <algorithm>

namespace rangefinder::analysis {
namespace {

constexpr std::uint32_t kStreamWaitsForEvent = 2;  // CUpti_ActivitySynchronizationType

std::int64_t within(std::int64_t time_ns) noexcept { return std::clamp(time_ns, -kFarthestNs, kFarthestNs); }

}  // namespace

DeviceStates::DeviceStates(const Timeline& timeline, std::int64_t usual_gap_ns,
                           std::function<bool(ActivityIndex)> is_before)
    : timeline_(timeline), usual_gap_ns_(usual_gap_ns), is_before_(std::move(is_before)), communication_(timeline) {
  launched_ns_.assign(timeline.streams.size(), kNoTime);
  find_order();
  find_unrecorded();
  find_stream_waits();
}

void DeviceStates::find_order() {
  const ActivityTable& activities = timeline_.activities;
  const auto device_of = [&](ActivityIndex row) { return timeline_.streams[activities.stream[row]].device; };
  first_.assign(timeline_.devices.size() + 1, 0);
  for (ActivityIndex row{0}; row < activities.size(); ++row) ++first_[device_of(row) + 1];
  for (std::size_t device = 1; device < first_.size(); ++device) first_[device] += first_[device - 1];
  order_.resize(activities.size());
  std::vector<std::size_t> next(first_);
  for (ActivityIndex row{0}; row < activities.size(); ++row) order_[next[device_of(row)]++] = row;
  const auto earlier = [this](ActivityIndex a, ActivityIndex b) {
    const std::int64_t begin_a = begin_ns(a), begin_b = begin_ns(b);
    return begin_a != begin_b ? begin_a < begin_b : a < b;
  };
  for (std::size_t device = 0; device + 1 < first_.size(); ++device) {
    const auto first = order_.begin() + static_cast<std::ptrdiff_t>(first_[device]);
    const auto last = order_.begin() + static_cast<std::ptrdiff_t>(first_[device + 1]);
    if (!std::is_sorted(first, last, earlier)) std::sort(first, last, earlier);
  }
}

void DeviceStates::find_unrecorded() {
  if (timeline_.windows.empty()) return;
  std::vector<Span> recorded;
  for (const Window& window : timeline_.windows) recorded.push_back({within(window.begin_ns), within(window.end_ns)});
  make_disjoint(recorded);
  const Span always{-kFarthestNs, kFarthestNs};
  unrecorded_ = without({&always, 1}, recorded);
}

void DeviceStates::find_stream_waits() {
  const SyncTable& syncs = timeline_.syncs;
  for (std::size_t row = 0; row < syncs.size(); ++row)
    if (syncs.type[row] == kStreamWaitsForEvent && syncs.stream[row] < timeline_.streams.size())
      stream_waits_.emplace_back(syncs.stream[row], syncs.begin_ns[row]);
  std::sort(stream_waits_.begin(), stream_waits_.end());
}

std::uint8_t DeviceStates::work_of(ActivityIndex activity) const {
  const ActivityTable& activities = timeline_.activities;
  const std::uint8_t orphan = launch_ns(activity) == kNoTime ? kOrphan : 0;
  switch (activities.kind[activity]) {
    case ActivityKind::kMemcpy:
      return kCopying | orphan;
    case ActivityKind::kGraph:
      return kComputing | kGraph | orphan;
    case ActivityKind::kMemset:
      return kComputing | orphan;
    case ActivityKind::kKernel:
      break;
  }
  return (communication_.has(activities.name[activity]) ? kCommunicating : kComputing) | orphan;
}

std::int64_t DeviceStates::begin_ns(ActivityIndex activity) const noexcept {
  return within(timeline_.activities.begin_ns[activity]);
}
std::int64_t DeviceStates::end_ns(ActivityIndex activity) const noexcept {
  return std::max(begin_ns(activity), within(timeline_.activities.end_ns[activity]));
}

std::int64_t DeviceStates::launch_ns(ActivityIndex activity) const noexcept {
  const LaunchIndex launch = timeline_.activities.launch[activity];
  return launch < timeline_.launches.size() ? within(timeline_.launches.time_ns[launch]) : kNoTime;
}

bool DeviceStates::waits_for_event(StreamIndex stream, std::int64_t after_ns, std::int64_t until_ns) const {
  const auto wait = std::lower_bound(stream_waits_.begin(), stream_waits_.end(), std::pair(stream, after_ns));
  return wait != stream_waits_.end() && wait->first == stream && wait->second <= until_ns;
}

DeviceIdle DeviceStates::reason_before(ActivityIndex next, std::int64_t gap_ns, std::int64_t previous_ns) const {
  const std::int64_t launched = launch_ns(next);
  if (launched == kNoTime && !is_before_(next)) return DeviceIdle::kOther;
  if (launched > gap_ns) return DeviceIdle::kHostWait;
  if (begin_ns(next) - gap_ns <= usual_gap_ns_) return DeviceIdle::kKernelWait;
  const StreamIndex stream = timeline_.activities.stream[next];
  const bool waited = launched != kNoTime && waits_for_event(stream, previous_ns, launched);
  return waited ? DeviceIdle::kSyncWait : DeviceIdle::kOther;
}

ActivityIndex DeviceStates::first_launched(std::span<const ActivityIndex> next) const noexcept {
  ActivityIndex first = next.front();
  std::int64_t launched = launch_ns(first);
  for (const ActivityIndex activity : next) {
    const std::int64_t time = launch_ns(activity);
    if (time == kNoTime || (launched != kNoTime && launched <= time)) continue;
    launched = time;
    first = activity;
  }
  return first;
}

/// Why the device did nothing since `gap_ns`. `next` begin at one time and end the gap.
DeviceIdle DeviceStates::reason_of(std::int64_t gap_ns, std::span<const ActivityIndex> next) const {
  const ActivityIndex first = first_launched(next);
  return reason_before(first, gap_ns, launched_ns_[timeline_.activities.stream[first]]);
}

std::span<const Span> DeviceStates::of(DeviceIndex device) {
  const std::span<const ActivityIndex> activities = activities_of(device);
  spans_.clear();
  ends_.clear();
  if (activities.empty()) return spans_;
  for (const ActivityIndex activity : activities) {
    launched_ns_[timeline_.activities.stream[activity]] = kNoTime;
    if (begin_ns(activity) < end_ns(activity)) ends_.emplace_back(end_ns(activity), work_of(activity));
  }
  std::sort(ends_.begin(), ends_.end());
  next_end_ = next_unrecorded_ = 0;
  now_ns_ = -kFarthestNs;
  for (std::size_t i = 0; i < activities.size();) {
    const std::int64_t time_ns = begin_ns(activities[i]);
    std::size_t after = i + 1;
    while (after < activities.size() && begin_ns(activities[after]) == time_ns) ++after;
    const std::span<const ActivityIndex> next = activities.subspan(i, after - i);
    advance(time_ns);
    if (now_ns_ < time_ns) add_idle(time_ns, reason_of(now_ns_, next));
    for (const ActivityIndex activity : next) begin(activity);
    i = after;
  }
  advance(kFarthestNs);
  add_idle(kFarthestNs, DeviceIdle::kOther);
  return spans_;
}

void DeviceStates::begin(ActivityIndex activity) {
  launched_ns_[timeline_.activities.stream[activity]] = launch_ns(activity);
  // One without length ends the gap before it and begins one; it has no time of its own.
  if (begin_ns(activity) < end_ns(activity)) count(work_of(activity), 1);
}

void DeviceStates::count(std::uint8_t work, std::uint32_t by) noexcept {
  for (unsigned bit = 0; bit < kWorkBits; ++bit)
    if ((work >> bit & 1) != 0) running_[bit] += by;
}

std::uint8_t DeviceStates::state() const noexcept {
  unsigned kind = 0;
  for (unsigned bit = 0; bit < kWorkBits; ++bit) kind |= (running_[bit] != 0 ? 1u : 0u) << bit;
  return static_cast<std::uint8_t>(kind);
}

/// To that time, or to the end of the last activity that runs until then.
void DeviceStates::advance(std::int64_t to_ns) {
  for (; next_end_ < ends_.size() && ends_[next_end_].first <= to_ns; ++next_end_) {
    add(ends_[next_end_].first, state());
    count(ends_[next_end_].second, ~std::uint32_t{0});  // one less
  }
  if (const std::uint8_t kind = state(); kind != 0) add(to_ns, kind);
}

void DeviceStates::add(std::int64_t end_ns, std::uint8_t kind) {
  if (end_ns <= now_ns_) return;
  if (!spans_.empty() && spans_.back().kind == kind)
    spans_.back().end = end_ns;
  else
    spans_.push_back({now_ns_, end_ns, kind});
  now_ns_ = end_ns;
}

void DeviceStates::add_idle(std::int64_t end_ns, DeviceIdle reason) {
  const auto kind = static_cast<std::uint8_t>(reason);
  for (; next_unrecorded_ < unrecorded_.size(); ++next_unrecorded_) {
    const Span& off = unrecorded_[next_unrecorded_];
    if (off.begin >= end_ns) break;
    add(off.begin, kind);
    add(std::min(off.end, end_ns), static_cast<std::uint8_t>(DeviceIdle::kNotRecorded));
    if (off.end > end_ns) break;
  }
  add(end_ns, kind);
}

}  // namespace rangefinder::analysis
