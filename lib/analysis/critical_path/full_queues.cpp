// SPDX-License-Identifier: MIT
#include "analysis/critical_path/full_queues.hpp"

#include "analysis/medians.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::analysis::critical_path {
namespace {

/// Fewer launches are in no driver's full queue: with fewer a call takes what it usually takes.
constexpr std::int64_t kLeastQueued = 256;
/// A full queue holds as many launches every time, but for some that are taken while it is looked at; and within this
/// part as many as there ever were.
constexpr std::int64_t kAlike = 4;
constexpr std::int64_t kNearly = 16;
/// A call that took long took longer than nine in ten of its name usually do, and so much longer than their median.
constexpr std::int64_t kLeastWaitNs = 1000;
/// Fewer long calls may have had other causes. So may one in ten of them.
constexpr std::size_t kLeastHeldUp = 8;

/// A call that launched.
struct LaunchCall {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t queued;  ///< launches of the queue that were not done when it began
  CallIndex call;       ///< kNone: not recorded

  std::int64_t length_ns() const noexcept { return end_ns - begin_ns; }
};

/// How long calls of a name take where the queue cannot be full.
struct Usual {
  std::int64_t median_ns;
  std::int64_t nine_of_ten_ns;  ///< at most
};

/// An activity began or ended.
struct DeviceEvent {
  std::int64_t time_ns;
  ActivityIndex activity;
  bool is_begin;

  bool operator<(const DeviceEvent& other) const noexcept {
    return std::tie(time_ns, is_begin, activity) < std::tie(other.time_ns, other.is_begin, other.activity);
  }
};

template <typename Value>
void put_in_order(std::vector<Value>& values) {
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());
}

class QueueWaits {
 public:
  QueueWaits(const Timeline& timeline, const StreamLanes& lanes, Waits& waits)
      : timeline_(timeline),
        lanes_(lanes),
        waits_(waits),
        of_stream_(timeline.streams.size()),
        of_device_(timeline.devices.size()) {
    const ActivityTable& activities = timeline.activities;
    done_ns_.assign(timeline.launches.size(), kNoTime);
    std::vector<StreamIndex> stream(timeline.launches.size(), kNone);  // of the first activity
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const LaunchIndex launch = activities.launch[row];
      if (launch >= timeline.launches.size()) continue;
      done_ns_[launch] = std::max(done_ns_[launch], end_of(timeline, row));
      if (stream[launch] == kNone) stream[launch] = activities.stream[row];
    }
    std::vector<std::pair<std::int64_t, LaunchIndex>> launches;
    launches.reserve(timeline.launches.size());
    for (LaunchIndex launch{0}; launch < timeline.launches.size(); ++launch)
      if (stream[launch] != kNone) launches.emplace_back(clamped(timeline.launches.time_ns[launch]), launch);
    put_in_order(launches);
    for (const auto& [time_ns, launch] : launches) {
      of_stream_[stream[launch]].push_back(launch);
      of_device_[timeline.streams[stream[launch]].device].push_back(launch);
    }
  }

  void add() {
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device) {
      const std::vector<StreamIndex>& streams = lanes_.streams_of(device);
      std::vector<RoomWait> of_streams;
      for (const StreamIndex& stream : streams) {
        const std::vector<RoomWait> waits = waits_of(of_stream_[stream], {&stream, 1});
        of_streams.insert(of_streams.end(), waits.begin(), waits.end());
      }
      std::vector<RoomWait> of_all;
      if (streams.size() > 1) of_all = waits_of(of_device_[device], streams);
      // What is true of more calls.
      for (const RoomWait& one : of_all.size() > of_streams.size() ? of_all : of_streams) add(one);
    }
  }

 private:
  struct RoomWait {
    CallIndex call;
    std::int64_t room_ns;
    ActivityIndex awaited;
    bool until_begin;
  };

  void add(const RoomWait& one) {
    const CallTable& calls = timeline_.calls;
    HostWait wait{calls.thread[one.call], clamped(calls.begin_ns[one.call]), one.room_ns,
                  clamped(calls.end_ns[one.call])};
    wait.for_room = true;
    wait.until_begin = one.until_begin;
    wait.first_awaited = static_cast<std::uint32_t>(waits_.awaited.size());
    wait.awaited_count = 1;
    waits_.awaited.push_back(one.awaited);
    waits_.host.push_back(wait);
  }

  /// Of the queue of these streams, on which these launches put work.
  std::vector<RoomWait> waits_of(const std::vector<LaunchIndex>& launches, std::span<const StreamIndex> streams) {
    std::vector<RoomWait> waits;
    if (launches.size() <= static_cast<std::size_t>(kLeastQueued)) return waits;
    const std::vector<LaunchCall> calls = calls_of(launches);
    std::int64_t most = 0;
    for (const LaunchCall& one : calls) most = std::max(most, one.queued);
    if (most < kLeastQueued) return waits;
    find_usual(calls);
    const std::optional<std::int64_t> full = full_from(calls, most);
    if (!full) return waits;
    const std::vector<DeviceEvent> events = events_of(streams);
    for (const LaunchCall& one : calls) {
      const std::int64_t room_ns = one.end_ns - usual_of(one).median_ns;
      if (one.queued < *full - kAlike || room_ns <= one.begin_ns) continue;
      // Other calls take places as well, those for events for example. Where they are fewer there are more launches.
      if (one.queued > *full + kAlike && !is_long(one)) continue;
      const DeviceEvent* const awaited = event_at(room_ns, one, events);
      if (awaited != nullptr) waits.push_back({one.call, room_ns, awaited->activity, awaited->is_begin});
    }
    return waits;
  }

  std::vector<LaunchCall> calls_of(const std::vector<LaunchIndex>& launches) const {
    std::vector<std::int64_t> ends;
    ends.reserve(launches.size());
    for (const LaunchIndex launch : launches) ends.push_back(done_ns_[launch]);
    put_in_order(ends);
    std::vector<LaunchCall> calls;
    calls.reserve(launches.size());
    std::size_t ended = 0;
    for (std::size_t before = 0; before < launches.size(); ++before) {
      const std::int64_t launched = clamped(timeline_.launches.time_ns[launches[before]]);
      while (ended < ends.size() && ends[ended] <= launched) ++ended;
      calls.push_back(call_of(launches[before]));
      calls.back().queued = static_cast<std::int64_t>(before) - static_cast<std::int64_t>(ended);
    }
    return calls;
  }
  LaunchCall call_of(LaunchIndex launch) const {
    const CallTable& calls = timeline_.calls;
    const CallIndex call = timeline_.launches.call[launch];
    if (call >= calls.size() || calls.thread[call] != timeline_.launches.thread[launch] ||
        calls.thread[call] >= timeline_.threads.size())
      return {0, 0, 0, kNone};
    const std::int64_t begin = clamped(calls.begin_ns[call]);
    return {begin, std::max(begin, clamped(calls.end_ns[call])), 0, call};
  }

  /// What calls of a name take where the queue cannot be full.
  void find_usual(const std::vector<LaunchCall>& calls) {
    std::map<StringId, std::vector<double>> lengths;
    for (const LaunchCall& one : calls)
      if (one.call != kNone && one.queued < kLeastQueued)
        lengths[timeline_.calls.name[one.call]].push_back(static_cast<double>(one.length_ns()));
    usual_.clear();
    for (auto& [name, of_name] : lengths) {
      const auto ninth = of_name.begin() + static_cast<std::ptrdiff_t>(of_name.size() * 9 / 10);
      std::nth_element(of_name.begin(), ninth, of_name.end());
      const auto nine_of_ten = static_cast<std::int64_t>(*ninth);
      usual_[name] = {static_cast<std::int64_t>(median_of(of_name)), nine_of_ten};
    }
  }
  /// Where it is not known, longer than anything.
  Usual usual_of(const LaunchCall& one) const {
    const auto found = one.call == kNone ? usual_.end() : usual_.find(timeline_.calls.name[one.call]);
    return found == usual_.end() ? Usual{kFarthestNs, kFarthestNs} : found->second;
  }
  bool is_long(const LaunchCall& one) const {
    const Usual usual = usual_of(one);
    return one.length_ns() > usual.nine_of_ten_ns && one.length_ns() - usual.median_ns >= kLeastWaitNs;
  }

  /// With how many launches in it the queue is full. Nothing where no queue was full. `most`: that any call met.
  std::optional<std::int64_t> full_from(const std::vector<LaunchCall>& calls, std::int64_t most) const {
    const std::int64_t least = std::max(kLeastQueued, most - most / kNearly);
    std::vector<std::int64_t> met;  // by calls that seem to have been held up
    for (std::size_t at = 0; at < calls.size(); ++at)
      if (calls[at].queued >= least && does_not_grow(calls, at) && is_long(calls[at])) met.push_back(calls[at].queued);
    const auto [full, alike] = most_alike(met);
    if (alike < kLeastHeldUp || alike < met.size() - met.size() / 3) return std::nullopt;
    // Where as many were met, much less than all taking long is chance.
    std::size_t all = 0, held_up = 0;
    for (std::size_t at = 0; at < calls.size(); ++at) {
      if (calls[at].queued < full || !does_not_grow(calls, at)) continue;
      ++all;
      held_up += is_long(calls[at]) ? 1 : 0;
    }
    return held_up >= all / 3 ? std::optional(full) : std::nullopt;
  }
  /// A call that waits for room puts in one launch for one that is taken out.
  static bool does_not_grow(const std::vector<LaunchCall>& calls, std::size_t at) {
    return at + 1 < calls.size() && calls[at + 1].queued <= calls[at].queued;
  }
  /// The least of the largest group of values that differ by kAlike at most, and the size of that group.
  static std::pair<std::int64_t, std::size_t> most_alike(std::vector<std::int64_t>& values) {
    put_in_order(values);
    std::pair<std::int64_t, std::size_t> found{};
    for (std::size_t first = 0, last = 0; first < values.size(); ++first) {
      while (last < values.size() && values[last] - values[first] <= kAlike) ++last;
      if (last - first > found.second) found = {values[first], last - first};
    }
    return found;
  }

  std::vector<DeviceEvent> events_of(std::span<const StreamIndex> streams) const {
    std::vector<DeviceEvent> events;
    for (const StreamIndex stream : streams)
      for (const ActivityIndex activity : lanes_.of(stream)) {
        events.push_back({begin_of(timeline_, activity), activity, true});
        events.push_back({end_of(timeline_, activity), activity, false});
      }
    put_in_order(events);
    return events;
  }

  /// The begin or end next to that time, within what clocks can be apart, of what was launched before the call.
  const DeviceEvent* event_at(std::int64_t time_ns, const LaunchCall& one,
                              const std::vector<DeviceEvent>& events) const {
    constexpr int kLook = 32;  // at each side: little else runs that was launched later
    const auto apart = [&](const DeviceEvent& event) { return std::abs(event.time_ns - time_ns); };
    const auto fits = [&](const DeviceEvent& event) { return launch_ns(timeline_, event.activity) < one.begin_ns; };
    const DeviceEvent* found = nullptr;
    const auto after = std::partition_point(events.begin(), events.end(),
                                            [&](const DeviceEvent& event) { return event.time_ns <= time_ns; });
    const auto consider = [&](const DeviceEvent& event) {
      if (apart(event) > lanes_.slack_ns() || (found != nullptr && apart(event) >= apart(*found))) return true;
      if (!fits(event)) return false;
      found = &event;
      return true;
    };
    auto before = after;
    for (int looked = 0; looked < kLook && before != events.begin(); ++looked)
      if (consider(*--before)) break;
    auto later = after;
    for (int looked = 0; looked < kLook && later != events.end(); ++looked)
      if (consider(*later++)) break;
    return found;
  }

  const Timeline& timeline_;
  const StreamLanes& lanes_;
  Waits& waits_;
  std::vector<std::vector<LaunchIndex>> of_stream_;  // in order of time
  std::vector<std::vector<LaunchIndex>> of_device_;
  std::vector<std::int64_t> done_ns_;  // by launch: when all of it was done
  std::map<StringId, Usual> usual_;    // by name of call, of the queue in question
};

}  // namespace

void add_queue_waits(const Timeline& timeline, const StreamLanes& lanes, Waits& waits) {
  QueueWaits(timeline, lanes, waits).add();
}

}  // namespace rangefinder::analysis::critical_path
