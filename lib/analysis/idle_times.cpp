// SPDX-License-Identifier: MIT
#include "analysis/idle_times.hpp"

#include "analysis/host_spans.hpp"
#include "analysis/range_forest.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace rangefinder::analysis {
namespace {

/// One stretch of idle time of one device or stream.
struct Gap {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t place;  // number of the device or stream: gaps of one place are disjoint
  ActivityIndex next;   // ended the gap
  DeviceIdle reason;
  ThreadIndex thread;  // launched `next`; kNone: not known
};

class GapFinder {
 public:
  GapFinder(const Timeline& timeline, const Projection& projection, std::int64_t usual_gap_ns)
      : timeline_(timeline), states_(timeline, usual_gap_ns, [&projection](ActivityIndex activity) {
          return projection.owner[activity] == static_cast<std::uint32_t>(Unowned::kBefore);
        }) {}

  std::vector<Gap> of_devices() {
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device) {
      const auto activities = states_.activities_of(device);
      std::size_t next = 0;
      for (const Span& span : states_.of(device)) {
        if (is_work(span.kind) || span.kind == static_cast<std::uint8_t>(DeviceIdle::kNotRecorded)) continue;
        // One span is several gaps where activities without length lie in it. Before the first activity there is none.
        std::int64_t from_ns = std::max(span.begin, states_.begin_ns(activities.front()));
        while (from_ns < span.end) {
          while (next < activities.size() && states_.begin_ns(activities[next]) <= from_ns) ++next;
          if (next == activities.size()) break;
          std::size_t last = next;
          while (last < activities.size() && states_.begin_ns(activities[last]) == states_.begin_ns(activities[next]))
            ++last;
          const std::int64_t until_ns = std::min(states_.begin_ns(activities[next]), span.end);
          add(from_ns, until_ns, device, states_.first_launched(activities.subspan(next, last - next)),
              static_cast<DeviceIdle>(span.kind));
          from_ns = until_ns;
        }
      }
    }
    return std::move(gaps_);
  }

  std::vector<Gap> of_streams() {
    struct Last {
      bool any = false;
      std::int64_t end_ns = 0;
      std::int64_t launched_ns = kNoTime;
    };
    std::vector<Last> streams(timeline_.streams.size());
    for (DeviceIndex device{0}; device < timeline_.devices.size(); ++device) {
      for (const ActivityIndex activity : states_.activities_of(device)) {
        Last& last = streams[timeline_.activities.stream[activity]];
        const std::int64_t begin_ns = states_.begin_ns(activity);
        if (last.any && last.end_ns < begin_ns) {
          const DeviceIdle reason = states_.reason_before(activity, last.end_ns, last.launched_ns);
          const Span gap{last.end_ns, begin_ns};
          for (const Span& part : without({&gap, 1}, unrecorded_near(gap)))
            add(part.begin, part.end, timeline_.activities.stream[activity], activity, reason);
        }
        last = {true, std::max(last.any ? last.end_ns : begin_ns, states_.end_ns(activity)),
                states_.launch_ns(activity)};
      }
    }
    return std::move(gaps_);
  }

 private:
  std::span<const Span> unrecorded_near(const Span& gap) const {
    const std::vector<Span>& all = states_.unrecorded();
    const auto first =
        std::partition_point(all.begin(), all.end(), [&](const Span& off) { return off.end <= gap.begin; });
    const auto last = std::partition_point(first, all.end(), [&](const Span& off) { return off.begin < gap.end; });
    return {first, last};
  }
  void add(std::int64_t begin_ns, std::int64_t end_ns, std::uint32_t place, ActivityIndex next, DeviceIdle reason) {
    const LaunchIndex launch = timeline_.activities.launch[next];
    const ThreadIndex thread =
        launch < timeline_.launches.size() ? timeline_.launches.thread[launch] : ThreadIndex(kNone);
    gaps_.push_back({begin_ns, end_ns, place, next, reason, thread});
  }

  const Timeline& timeline_;
  DeviceStates states_;
  std::vector<Gap> gaps_;
};

/// Ranges that wait for data, and all inside them.
std::vector<bool> input_ranges(const Timeline& timeline, const Projection& projection, const StepRules& rules) {
  std::vector<signed char> known_names(timeline.string_count(), -1);
  std::vector<bool> input(timeline.ranges.size());
  const RangeForest forest(projection);
  for (const RangeIndex range : forest.order()) {
    const StringId name = timeline.ranges.name[range];
    signed char& known = known_names[static_cast<std::uint32_t>(name)];
    if (known < 0) known = rules.part_of(timeline.text(name)) == StepPart::kData ? 1 : 0;
    const RangeIndex parent = projection.parent[range];
    input[range] = known != 0 || (parent != kNone && input[parent]);
  }
  return input;
}

class IdleSums {
 public:
  IdleSums(const Timeline& timeline, std::vector<bool> input) : timeline_(timeline), input_(std::move(input)) {}

  /// Gaps of one place whose next activities one thread launched, and what it did.
  void add(std::span<const Gap> gaps, std::span<const HostSpan> host) {
    std::size_t first = 0;
    for (const Gap& gap : gaps) {
      ++gap_number_;
      const LaunchIndex launch = timeline_.activities.launch[gap.next];
      // From the launch on the host has done its part.
      const std::int64_t launched_ns = launch < timeline_.launches.size() && gap.reason == DeviceIdle::kHostWait
                                           ? std::clamp(timeline_.launches.time_ns[launch], gap.begin_ns, gap.end_ns)
                                           : gap.end_ns;
      while (first < host.size() && host[first].end_ns <= gap.begin_ns) ++first;
      std::int64_t now = gap.begin_ns;
      for (std::size_t at = first; at < host.size() && host[at].begin_ns < launched_ns; ++at) {
        take(gap, nullptr, std::max(now, host[at].begin_ns) - now);
        now = std::max(now, host[at].begin_ns);
        const std::int64_t until = std::min(host[at].end_ns, launched_ns);
        take(gap, &host[at], until - now);
        now = std::max(now, until);
      }
      take(gap, nullptr, launched_ns - now);
      if (launched_ns < gap.end_ns) take_latency(gap, launched_ns, host);
    }
  }

  std::vector<IdleTime> sorted() && {
    std::vector<IdleTime> out;
    out.reserve(sums_.size());
    for (const auto& [key, sum] : sums_) out.push_back(sum.time);
    std::stable_sort(out.begin(), out.end(),
                     [](const IdleTime& a, const IdleTime& b) { return a.idle_ns > b.idle_ns; });
    return out;
  }

 private:
  struct Sum {
    IdleTime time;
    std::uint64_t gap = 0;  // the last one that had a part
    std::int64_t of_gap_ns = 0;
  };

  void take(const Gap& gap, const HostSpan* span, std::int64_t length_ns) {
    const RangeIndex range = span != nullptr ? span->range : RangeIndex(kNone);
    const IdleCause cause = gap.reason == DeviceIdle::kHostWait ? cause_of(span) : cause_of(gap.reason);
    const auto wait = span != nullptr && cause == IdleCause::kSynchronisation ? span->wait : std::nullopt;
    add_time(gap, cause, wait, range, length_ns);
  }
  /// The launch was too late, and this is what it took on top.
  void take_latency(const Gap& gap, std::int64_t launched_ns, std::span<const HostSpan> host) {
    const auto span =
        std::partition_point(host.begin(), host.end(), [&](const HostSpan& one) { return one.end_ns <= launched_ns; });
    const bool inside = span != host.end() && span->begin_ns <= launched_ns;
    add_time(gap, IdleCause::kLaunchLatency, std::nullopt, inside ? span->range : RangeIndex(kNone),
             gap.end_ns - launched_ns);
  }
  void add_time(const Gap& gap, IdleCause cause, std::optional<WaitReason> wait, RangeIndex range,
                std::int64_t length_ns) {
    if (length_ns <= 0) return;
    const StreamIndex stream = timeline_.activities.stream[gap.next];
    const StringId name = range < timeline_.ranges.size() ? timeline_.ranges.name[range] : StringId::kEmpty;
    Sum& sum = sums_[{gap.place, stream, cause, wait ? static_cast<int>(*wait) : -1, name}];
    IdleTime& time = sum.time;
    if (sum.gap != gap_number_) {
      time.device = timeline_.streams[stream].device;
      time.stream = stream;
      time.cause = cause;
      time.wait = wait;
      time.range = name;
      ++time.gaps;
      sum.gap = gap_number_;
      sum.of_gap_ns = 0;
    }
    time.idle_ns += length_ns;
    sum.of_gap_ns += length_ns;
    time.longest_ns = std::max(time.longest_ns, sum.of_gap_ns);
  }

  IdleCause cause_of(const HostSpan* span) const {
    if (span == nullptr) return IdleCause::kHostLate;
    switch (span->state) {
      case HostState::kDeviceWait:
        return IdleCause::kSynchronisation;
      case HostState::kCollective:
      case HostState::kBesideCollective:
        return IdleCause::kCommunication;
      case HostState::kEngineWait:
        return IdleCause::kEngine;
      case HostState::kOperator:
      case HostState::kRange:
        break;
    }
    return span->range < input_.size() && input_[span->range] ? IdleCause::kInput : IdleCause::kHostLate;
  }
  static IdleCause cause_of(DeviceIdle reason) noexcept {
    if (reason == DeviceIdle::kKernelWait) return IdleCause::kLaunchLatency;
    return reason == DeviceIdle::kSyncWait ? IdleCause::kEvent : IdleCause::kOther;
  }

  const Timeline& timeline_;
  std::vector<bool> input_;  // by range
  std::map<std::tuple<std::uint32_t, StreamIndex, IdleCause, int, StringId>, Sum> sums_;
  std::uint64_t gap_number_ = 0;
};

/// When threads waited for the autograd engine that ran on this one; disjoint, in order.
std::vector<HostSpan> waits_for(ThreadIndex engine, const Timeline& timeline, const HostSpans& host) {
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  std::vector<bool> made_nodes(timeline.threads.size());
  for (AutogradNodeIndex node{0}; node < nodes.size(); ++node)
    if (nodes.thread[node] == engine && nodes.forward_thread[node] < made_nodes.size())
      made_nodes[nodes.forward_thread[node]] = true;
  std::vector<HostSpan> waits;
  for (ThreadIndex thread{0}; thread < made_nodes.size(); ++thread) {
    if (!made_nodes[thread] || thread == engine) continue;
    for (const HostSpan& span : host.of(thread))
      if (span.state == HostState::kEngineWait && span.range != kNone) waits.push_back(span);
  }
  std::sort(waits.begin(), waits.end(), [](const HostSpan& a, const HostSpan& b) { return a.begin_ns < b.begin_ns; });
  std::int64_t until_ns = -kFarthestNs;
  std::erase_if(waits, [&until_ns](const HostSpan& wait) {
    if (wait.begin_ns < until_ns) return true;
    until_ns = wait.end_ns;
    return false;
  });
  return waits;
}

/// What a thread of the engine did. Where it was in no range, the range is that of the thread that waited for it.
std::vector<HostSpan> with_ranges_of(const std::vector<HostSpan>& waits, const std::vector<HostSpan>& spans) {
  if (waits.empty()) return spans;
  std::vector<HostSpan> out;
  // A part of the time in which it was in no range; `recorded`: something tells what it did.
  const auto add = [&](HostSpan span, bool recorded) {
    auto wait = std::partition_point(waits.begin(), waits.end(),
                                     [&](const HostSpan& one) { return one.end_ns <= span.begin_ns; });
    while (span.begin_ns < span.end_ns) {
      const bool inside = wait != waits.end() && wait->begin_ns <= span.begin_ns;
      HostSpan part = span;
      if (wait != waits.end()) part.end_ns = std::min(span.end_ns, inside ? wait->end_ns : wait->begin_ns);
      if (inside) part.range = wait->range;
      if (inside || recorded) out.push_back(part);
      if (inside) ++wait;
      span.begin_ns = part.end_ns;
    }
  };
  std::int64_t now_ns = -kFarthestNs;
  for (const HostSpan& span : spans) {
    add({now_ns, span.begin_ns}, false);
    if (span.range == kNone)
      add(span, true);
    else
      out.push_back(span);
    now_ns = span.end_ns;
  }
  add({now_ns, kFarthestNs}, false);
  return out;
}

}  // namespace

std::vector<IdleTime> idle_times(const Timeline& timeline, const Projection& projection, const StepRules& rules,
                                 const IdleTimesOptions& options) {
  std::vector<Gap> gaps;
  {
    GapFinder finder(timeline, projection, options.usual_gap_ns);
    gaps = options.of == IdleOf::kDevices ? finder.of_devices() : finder.of_streams();
  }
  std::sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) {
    return std::tie(a.thread, a.place, a.begin_ns) < std::tie(b.thread, b.place, b.begin_ns);
  });
  IdleSums sums(timeline, input_ranges(timeline, projection, rules));
  const HostSpans host(timeline, options.projection);
  for (std::size_t first = 0; first < gaps.size();) {
    const ThreadIndex thread = gaps[first].thread;
    const std::vector<HostSpan> spans = with_ranges_of(waits_for(thread, timeline, host), host.of(thread));
    while (first < gaps.size() && gaps[first].thread == thread) {
      std::size_t last = first;
      while (last < gaps.size() && gaps[last].thread == thread && gaps[last].place == gaps[first].place) ++last;
      const auto begin = std::partition_point(
          spans.begin(), spans.end(), [&](const HostSpan& span) { return span.end_ns <= gaps[first].begin_ns; });
      sums.add({gaps.data() + first, last - first}, {begin, spans.end()});
      first = last;
    }
  }
  return std::move(sums).sorted();
}

}  // namespace rangefinder::analysis
