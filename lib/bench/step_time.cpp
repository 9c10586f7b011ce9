// SPDX-License-Identifier: MIT
#include "bench/step_time.hpp"

#include "base/intervals.hpp"
#include "bench/device_stretches.hpp"
#include "bench/report_view.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::bench {
namespace {

/// From the begin of a launching call to that of its work on an idle device: 2 to 10 us, more for a graph.
constexpr std::int64_t kMaxLaunchLatencyNs = 20'000;
/// Host time between two ranges or calls that needs no name.
constexpr std::int64_t kMaxUnnamedNs = 1'000'000;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& each : out) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return out;
}

enum class RangeRole : std::uint8_t { kStep, kInput, kExchange, kOther };

/// Input: the commonest names of the part `data` of a step (lib/analysis/step_rules.hpp), and plain words.
RangeRole role_of(const std::string& name) {
  if (name == "step") return RangeRole::kStep;
  if (name == "data") return RangeRole::kInput;
  for (const char* begin :
       {"data_", "data.", "dataload", "enumerate(dataloader)", "next_batch", "load_batch", "input", "fetch"})
    if (name.starts_with(begin)) return RangeRole::kInput;
  for (const char* word :
       {"all_reduce", "allreduce", "all_gather", "allgather", "reduce_scatter", "all_to_all", "nccl", "communication"})
    if (name.find(word) != std::string::npos) return RangeRole::kExchange;
  return RangeRole::kOther;
}

/// Disjoint intervals, in order once `finish` was called.
class Spans {
 public:
  void add(std::int64_t begin_ns, std::int64_t end_ns) {
    if (begin_ns < end_ns) all_.push_back({begin_ns, end_ns});
  }
  void add(const Spans& other) { all_.insert(all_.end(), other.all_.begin(), other.all_.end()); }
  void finish() {
    std::sort(all_.begin(), all_.end(),
              [](const base::Interval& a, const base::Interval& b) { return a.begin < b.begin; });
    std::size_t kept = 0;
    for (const base::Interval& each : all_) {
      if (kept > 0 && each.begin <= all_[kept - 1].end)
        all_[kept - 1].end = std::max(all_[kept - 1].end, each.end);
      else
        all_[kept++] = each;
    }
    all_.resize(kept);
  }
  /// In order; those inside another one, or with its begin, are left out.
  std::vector<base::Interval> outermost() const {
    std::vector<base::Interval> out = all_;
    std::sort(out.begin(), out.end(), [](const base::Interval& a, const base::Interval& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::int64_t until_ns = std::numeric_limits<std::int64_t>::min();
    std::erase_if(out, [&](const base::Interval& each) {
      if (each.begin < until_ns) return true;
      until_ns = each.end;
      return false;
    });
    return out;
  }
  std::int64_t within(std::int64_t begin_ns, std::int64_t end_ns) const {
    auto at = std::upper_bound(all_.begin(), all_.end(), begin_ns,
                               [](std::int64_t time, const base::Interval& each) { return time < each.end; });
    std::int64_t sum = 0;
    for (; at != all_.end() && at->begin < end_ns; ++at)
      sum += std::min(at->end, end_ns) - std::max(at->begin, begin_ns);
    return sum;
  }

 private:
  std::vector<base::Interval> all_;
};

/// A time in which a host thread stood still for the device.
struct HostWait {
  std::int64_t begin_ns, end_ns;
  std::string thread;
};

/// "Name" or number, as reports have it.
std::string label_of(const Timeline& timeline, ThreadIndex thread) {
  if (thread >= timeline.threads.size()) return {};
  const ThreadInfo& info = timeline.threads[thread];
  return info.name.empty() ? std::to_string(info.tid) : info.name;
}

/// In order of begin.
Result<std::vector<HostWait>> waits_of(const Timeline& timeline) {
  ReportOptions options;
  options.view = "sync";
  options.instances = true;
  const Result<Json> view = report_view(timeline, options);
  if (!view) return view.error();
  std::vector<HostWait> waits;
  for (const JsonView row : JsonView(*view)["rows"].items()) {
    const std::string reason = row["reason"].text();
    if (reason == "query" || reason == "stream waits for event") continue;  // the host goes on
    const std::int64_t begin_ns = row["begin_ns"].integer();
    waits.push_back({begin_ns, begin_ns + row["duration_ns"].integer(), row["thread"].text()});
  }
  return waits;
}

/// What the thread of the steps, and those that launch, did.
struct Host {
  ThreadIndex thread = kNone;  // of the steps
  Spans input, input_or_exchange, not_working, named;
  std::vector<HostWait> waits;
  std::string input_range;
};

Result<Host> host_of(const Timeline& timeline, ThreadIndex thread) {
  Host host;
  host.thread = thread;
  Result<std::vector<HostWait>> waits = waits_of(timeline);
  if (!waits) return waits.error();
  host.waits = std::move(*waits);
  std::vector<bool> launches(timeline.threads.size());
  launches[thread] = true;
  for (LaunchIndex launch{0}; launch < timeline.launches.size(); ++launch)
    if (timeline.launches.thread[launch] < launches.size()) launches[timeline.launches.thread[launch]] = true;
  const RangeTable& ranges = timeline.ranges;
  Spans exchange;
  std::map<StringId, RangeRole> roles;
  std::int64_t longest_ns = 0;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if ((ranges.flags[range] & kBeforeRecording) != 0 || ranges.thread[range] >= launches.size()) continue;
    const auto [role, added] = roles.try_emplace(ranges.name[range], RangeRole::kOther);
    if (added) role->second = role_of(lower(timeline.text(ranges.name[range])));
    if (!launches[ranges.thread[range]] || role->second == RangeRole::kStep) continue;
    const std::int64_t begin_ns = ranges.begin_ns[range], end_ns = ranges.end_ns[range];
    host.named.add(begin_ns, end_ns);
    // A thread that reads ahead holds nobody up: only the thread of the steps waits for input.
    if (ranges.thread[range] != thread) continue;
    if (role->second == RangeRole::kExchange) exchange.add(begin_ns, end_ns);
    if (role->second != RangeRole::kInput) continue;
    host.input.add(begin_ns, end_ns);
    if (end_ns - begin_ns > longest_ns) host.input_range = timeline.text(ranges.name[range]);
    longest_ns = std::max(longest_ns, end_ns - begin_ns);
  }
  const CallTable& calls = timeline.calls;
  for (CallIndex call{0}; call < calls.size(); ++call)
    if (calls.thread[call] < launches.size() && launches[calls.thread[call]])
      host.named.add(calls.begin_ns[call], calls.end_ns[call]);
  host.input_or_exchange.add(host.input);
  host.input_or_exchange.add(exchange);
  host.not_working.add(host.input_or_exchange);
  const std::string label = label_of(timeline, thread);
  for (const HostWait& wait : host.waits)
    if (wait.thread == label) host.not_working.add(wait.begin_ns, wait.end_ns);
  for (Spans* spans : {&host.input, &host.input_or_exchange, &host.not_working, &host.named}) spans->finish();
  return host;
}

/// Adds up the time of steps.
class StepTimer {
 public:
  StepTimer(const Timeline& timeline, const Host& host) : timeline_(timeline), host_(host) {
    sum_.on_device = timeline.activities.size() != 0;
    sum_.input_range = host.input_range;
  }

  void add_step(const base::Interval& step, const std::vector<DeviceStretch>& stretches) {
    step_ = step;
    sum_.step_ns += step.end - step.begin;
    auto at = std::upper_bound(stretches.begin(), stretches.end(), step.begin,
                               [](std::int64_t time, const DeviceStretch& each) { return time < each.end_ns; });
    for (; at != stretches.end() && at->begin_ns < step.end; ++at) {
      const std::int64_t begin_ns = std::max(at->begin_ns, step.begin), end_ns = std::min(at->end_ns, step.end);
      switch (at->state) {
        case DeviceState::kComputing:
          sum_.computing_ns += end_ns - begin_ns;
          break;
        case DeviceState::kCommunicating:
          sum_.communicating_ns += end_ns - begin_ns;
          break;
        case DeviceState::kToDevice:
          sum_.to_device_ns += end_ns - begin_ns;
          break;
        case DeviceState::kToHost:
          sum_.to_host_ns += end_ns - begin_ns;
          break;
        case DeviceState::kIdle:
          add_gap(*at, begin_ns, end_ns);
      }
    }
  }

  StepTime sum() && { return std::move(sum_); }

 private:
  void add_gap(const DeviceStretch& gap, std::int64_t begin_ns, std::int64_t end_ns) {
    if (gap.next == kNone || gap.end_ns > step_.end) return add_tail(begin_ns, end_ns);
    const LaunchIndex launch = timeline_.activities.launch[gap.next];
    const bool known = launch < timeline_.launches.size();
    const std::int64_t launch_ns = known ? timeline_.launches.time_ns[launch] : begin_ns;
    const bool same_launch = known && gap.before != kNone && timeline_.activities.launch[gap.before] == launch;
    std::int64_t until_ns = end_ns;  // the host is to blame so far
    if (!known || same_launch || end_ns - launch_ns > kMaxLaunchLatencyNs)
      until_ns = known && !same_launch ? std::clamp(launch_ns, begin_ns, end_ns) : begin_ns;
    (known ? sum_.queued_ns : sum_.other_ns) += end_ns - until_ns;
    const std::int64_t left_ns = without_ranges(begin_ns, until_ns);
    if (left_ns == 0) return;
    // Without the wait the host would have come to this launch earlier, by as much as it waited. At the begin of a step
    // the device is idle since the harness waited at the end of the last one.
    const bool in_step = gap.begin_ns >= step_.begin;
    const std::int64_t waited_ns =
        in_step ? std::min(left_ns, wait_at(begin_ns, launch_ns, timeline_.launches.thread[launch])) : 0;
    sum_.waited_ns += waited_ns;
    add_host(left_ns - waited_ns, begin_ns, until_ns);
  }

  /// Nothing more begins in the step. The last wait is the harness's own.
  void add_tail(std::int64_t begin_ns, std::int64_t end_ns) {
    const std::int64_t left_ns = without_ranges(begin_ns, end_ns);
    const std::int64_t waits_ns = std::min(
        left_ns, host_.not_working.within(begin_ns, end_ns) - host_.input_or_exchange.within(begin_ns, end_ns));
    sum_.other_ns += waits_ns;
    add_host(left_ns - waits_ns, begin_ns, end_ns);
  }

  /// Counts ranges that get input or communicate; returns what is left.
  std::int64_t without_ranges(std::int64_t begin_ns, std::int64_t end_ns) {
    const std::int64_t input_ns = host_.input.within(begin_ns, end_ns);
    const std::int64_t both_ns = host_.input_or_exchange.within(begin_ns, end_ns);
    sum_.input_ns += input_ns;
    sum_.exchange_ns += both_ns - input_ns;
    return end_ns - begin_ns - both_ns;
  }

  /// How long the wait lasted in which the device ran out of work, of the thread that then launched more, or of that of
  /// the steps; 0: there was none.
  std::int64_t wait_at(std::int64_t idle_ns, std::int64_t launch_ns, ThreadIndex thread) const {
    const std::string label = label_of(timeline_, thread), of_steps = label_of(timeline_, host_.thread);
    const std::int64_t slack_ns = timeline_.clock_error_ns;
    auto after = std::upper_bound(host_.waits.begin(), host_.waits.end(), idle_ns + slack_ns,
                                  [](std::int64_t time, const HostWait& wait) { return time < wait.begin_ns; });
    while (after != host_.waits.begin()) {
      const HostWait& wait = *--after;
      if (wait.begin_ns < step_.begin) break;
      if (wait.thread != label && wait.thread != of_steps) continue;
      if (wait.end_ns < idle_ns - slack_ns) break;  // waits of a thread do not overlap
      if (wait.end_ns <= launch_ns) return wait.end_ns - wait.begin_ns;
    }
    return 0;
  }

  void add_host(std::int64_t host_ns, std::int64_t begin_ns, std::int64_t end_ns) {
    const std::int64_t silent_ns = std::min(host_ns, end_ns - begin_ns - host_.named.within(begin_ns, end_ns));
    const bool unnamed = sum_.on_device && silent_ns > kMaxUnnamedNs;
    (unnamed ? sum_.unnamed_ns : sum_.host_ns) += silent_ns;
    sum_.host_ns += host_ns - silent_ns;
  }

  const Timeline& timeline_;
  const Host& host_;
  base::Interval step_;
  StepTime sum_;
};

/// The outermost ranges named "step" of the first thread that has any, in order.
std::pair<ThreadIndex, std::vector<base::Interval>> steps_of(const Timeline& timeline) {
  const RangeTable& ranges = timeline.ranges;
  ThreadIndex thread = kNone;
  Spans steps;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (timeline.text(ranges.name[range]) != "step" || ranges.thread[range] >= timeline.threads.size()) continue;
    if (!ranges.is_run(range)) continue;
    if (thread == kNone) thread = ranges.thread[range];
    if (ranges.thread[range] == thread) steps.add(ranges.begin_ns[range], ranges.end_ns[range]);
  }
  return {thread, steps.outermost()};
}

}  // namespace

Result<StepTime> step_time(const Timeline& timeline) {
  const auto [thread, steps] = steps_of(timeline);
  if (steps.empty()) return StepTime{};
  const Result<Host> host = host_of(timeline, thread);
  if (!host) return host.error();
  const std::vector<DeviceStretch> stretches = device_stretches(timeline);
  StepTimer timer(timeline, *host);
  for (const base::Interval& step : steps) timer.add_step(step, stretches);
  return std::move(timer).sum();
}

}  // namespace rangefinder::bench
