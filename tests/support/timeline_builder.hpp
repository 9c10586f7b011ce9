// SPDX-License-Identifier: MIT
#pragma once

#include "support/timeline_columns.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::testing {

/// Builds a Timeline by hand. Rows get their indices in the order of the calls.
///
///   const Timeline timeline = TimelineBuilder()
///                                 .range("step", 0, 100)
///                                 .launch(10).kernel(20, 40)              // on stream 7 of device 0
///                                 .on_stream(8).launch(12).kernel(30, 50)
///                                 .on_thread(2).launch(15).memcpy(60, 70, 4096)
///                                 .build();
///
/// Where rows go is set by on_process, on_thread, on_device and on_stream, and holds until it is set anew; the start is
/// process 1, thread 1, device 0, stream 7. An activity belongs to the launch before it; `without_launch` gives the
/// next ones none. What describes a range (`start_end`, `of_kind`, ...) is about the last one.
class TimelineBuilder {
 public:
  TimelineBuilder() { on_process(1); }

  // ---- places
  TimelineBuilder& on_process(std::int64_t pid) {
    process_ = find_or_add(timeline_.processes, [&](const ProcessInfo& info) { return info.pid == pid; });
    timeline_.processes[process_].pid = pid;
    return on_thread(pid).on_device(0);
  }
  /// The thread runs nodes of the autograd engine and nothing else.
  TimelineBuilder& engine() {
    timeline_.threads[thread_].is_engine = true;
    return *this;
  }
  TimelineBuilder& on_thread(std::int64_t tid) {
    thread_ = find_thread(tid);
    return *this;
  }
  TimelineBuilder& on_device(std::uint32_t id) {
    device_ = find_or_add(timeline_.devices,
                          [&](const DeviceInfo& info) { return info.process == process_ && info.id == id; });
    timeline_.devices[device_].process = process_;
    timeline_.devices[device_].id = id;
    return on_stream(7);
  }
  TimelineBuilder& on_stream(std::int64_t id) {
    stream_ =
        find_or_add(timeline_.streams, [&](const StreamInfo& info) { return info.device == device_ && info.id == id; });
    timeline_.streams[stream_].device = device_;
    timeline_.streams[stream_].context = 1;
    timeline_.streams[stream_].id = id;
    return *this;
  }

  // ---- ranges
  TimelineBuilder& range(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns) {
    RangeTable& ranges = timeline_.ranges;
    ranges.append({.name = timeline_.intern(name),
                   .thread = thread_,
                   .end_thread = thread_,
                   .begin_ns = begin_ns,
                   .end_ns = end_ns});
    return *this;
  }
  TimelineBuilder& start_end() {
    return change_range([](RangeRow& range) { range.style = RangeStyle::kStartEnd; });
  }
  TimelineBuilder& of_kind(RangeKind kind) {
    return change_range([&](RangeRow& range) { range.kind = kind; });
  }
  /// A value attached to the last range.
  TimelineBuilder& payload(std::uint64_t value) { return attach(Attachment::Type::kUnsigned, value); }
  TimelineBuilder& payload(std::int64_t value) {
    return attach(Attachment::Type::kSigned, static_cast<std::uint64_t>(value));
  }
  TimelineBuilder& payload(double value) {
    return attach(Attachment::Type::kDouble, std::bit_cast<std::uint64_t>(value));
  }
  TimelineBuilder& payload(const char* value) {
    return attach(Attachment::Type::kText, static_cast<std::uint64_t>(timeline_.intern(value)));
  }
  TimelineBuilder& in_domain(std::string_view name) {
    return change_range([&](RangeRow& range) { range.domain = timeline_.intern(name); });
  }
  TimelineBuilder& in_category(std::string_view name) {
    return change_range([&](RangeRow& range) { range.category = timeline_.intern(name); });
  }
  TimelineBuilder& flagged(std::uint8_t flags) {
    return change_range([&](RangeRow& range) { range.flags |= flags; });
  }
  TimelineBuilder& ended_on(std::int64_t tid) {
    change_range([&](RangeRow& range) { range.end_thread = find_thread(tid); });
    return flagged(kEndedElsewhere);
  }
  /// It goes on from one that began then.
  TimelineBuilder& resumed(std::int64_t opened_ns) {
    change_range([&](RangeRow& range) { range.opened_ns = opened_ns; });
    return flagged(kResumed);
  }
  TimelineBuilder& range_source_row(std::int64_t row) {
    return change_range([&](RangeRow& range) { range.source_row = row; });
  }

  // ---- autograd
  /// A node that ran here, made on thread `forward_tid` at `forward_ns`.
  TimelineBuilder& node(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t sequence, std::int64_t forward_tid,
                        std::int64_t forward_ns) {
    gradient_accumulation(begin_ns, end_ns);
    change_last(timeline_.autograd_nodes, [&](AutogradNodeRow& node) {
      node.sequence = sequence;
      node.forward_thread = find_thread(forward_tid);
      node.forward_ns = forward_ns;
    });
    return *this;
  }
  TimelineBuilder& gradient_accumulation(std::int64_t begin_ns, std::int64_t end_ns) {
    AutogradNodeTable& nodes = timeline_.autograd_nodes;
    nodes.append({.thread = thread_, .begin_ns = begin_ns, .end_ns = end_ns});
    return *this;
  }
  /// The last node's forward operator is not in the data.
  TimelineBuilder& made_elsewhere() {
    change_last(timeline_.autograd_nodes, [](AutogradNodeRow& node) {
      node.forward_thread = kNone;
      node.forward_ns = kNoTime;
    });
    return *this;
  }

  // ---- launches and API calls
  /// A launch noted by a callback.
  TimelineBuilder& launch(std::int64_t time_ns) {
    add_launch(time_ns, LaunchSource::kCallback, kNone);
    return *this;
  }
  /// A launch known from its API call.
  TimelineBuilder& launch_call(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns) {
    call(name, begin_ns, end_ns);
    add_launch(begin_ns, LaunchSource::kCall, static_cast<CallIndex>(timeline_.calls.size() - 1));
    return *this;
  }
  /// An API call that launches nothing. It takes a correlation id like every call.
  TimelineBuilder& call(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                        CallDomain domain = CallDomain::kRuntime) {
    CallTable& calls = timeline_.calls;
    calls.append({.name = timeline_.intern(name),
                  .domain = domain,
                  .thread = thread_,
                  .begin_ns = begin_ns,
                  .end_ns = end_ns,
                  .correlation = take_correlation()});
    return *this;
  }
  /// The correlation id of the next call or launch; later ones count on from it. The first is 1.
  TimelineBuilder& correlation(std::uint64_t id) {
    next_correlation_ = id;
    return *this;
  }
  /// The recorder noted the last launch in the last range of that name.
  TimelineBuilder& noted(std::string_view range_name) {
    change_last(timeline_.launches, [&](LaunchRow& launch) { launch.range = range_index(range_name); });
    return *this;
  }

  // ---- device activities
  TimelineBuilder& kernel(std::int64_t begin_ns, std::int64_t end_ns, std::string_view name = "kernel") {
    return activity(ActivityKind::kKernel, name, begin_ns, end_ns, 0);
  }
  TimelineBuilder& memcpy(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes,
                          std::uint32_t copy_kind = 1) {
    activity(ActivityKind::kMemcpy, "memcpy", begin_ns, end_ns, bytes);
    return detail_of_copy(copy_kind);
  }
  TimelineBuilder& memset(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes) {
    activity(ActivityKind::kMemset, "memset", begin_ns, end_ns, bytes);
    return detail_of_copy(0);
  }
  /// The last activity is of a graph's node, made by the launch `captured` (of kNone: not in the data).
  TimelineBuilder& of_graph(LaunchIndex captured, std::uint64_t node = 1) {
    change_last(timeline_.activities, [&](ActivityRow& activity) {
      activity.graph_node = node;
      activity.captured = captured;
    });
    return *this;
  }
  LaunchIndex last_launch() const noexcept { return launch_; }
  /// The next activities have this correlation id and no launch in the data.
  TimelineBuilder& without_launch(std::uint64_t correlation) {
    launch_ = kNone;
    activity_correlation_ = correlation;
    return *this;
  }

  // ---- the rest
  TimelineBuilder& window(std::int64_t begin_ns, std::int64_t end_ns) {
    timeline_.windows.push_back({begin_ns, end_ns});
    return *this;
  }
  TimelineBuilder& step(std::int64_t number, std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t items = 0) {
    timeline_.steps.append(
        {.number = number, .thread = thread_, .begin_ns = begin_ns, .end_ns = end_ns, .items = items});
    return *this;
  }
  /// What an allocator did here; device -1: the host. `in_memory` says more of it.
  TimelineBuilder& memory(MemoryAction action, std::int64_t time_ns, std::uint64_t address, std::uint64_t bytes,
                          std::int32_t device = -1) {
    AllocatorEventTable& memory = timeline_.allocator_events;
    memory.append({.thread = thread_,
                   .time_ns = time_ns,
                   .action = action,
                   .device = device,
                   .address = address,
                   .bytes = bytes});
    return *this;
  }
  TimelineBuilder& in_memory(std::int64_t allocated, std::int64_t reserved = -1, std::uint64_t pool = 0) {
    change_last(timeline_.allocator_events, [&](AllocatorEventRow& event) {
      event.allocated = allocated;
      event.reserved = reserved;
      event.pool = pool;
    });
    return *this;
  }
  /// What the device's power sensor said; `sensed` says more of it.
  TimelineBuilder& power(std::int64_t time_ns, std::uint32_t milliwatts) {
    timeline_.sensor_samples.append(
        {.device = device_, .time_ns = time_ns, .present = kHasPower, .power_mw = milliwatts});
    return *this;
  }
  TimelineBuilder& sensed(std::uint32_t sm_clock_mhz, std::uint64_t throttle_reasons = 0) {
    change_last(timeline_.sensor_samples, [&](SensorSampleRow& sample) {
      sample.present |= kHasSmClock | kHasThrottleReasons;
      sample.sm_clock_mhz = sm_clock_mhz;
      sample.throttle_reasons = throttle_reasons;
    });
    return *this;
  }
  TimelineBuilder& energy_counter(std::uint64_t millijoules) {
    change_last(timeline_.sensor_samples, [&](SensorSampleRow& sample) {
      sample.present |= kHasEnergy;
      sample.energy_mj = millijoules;
    });
    return *this;
  }
  /// What the last range, an operator, was given; as OperatorTable has it.
  TimelineBuilder& given(std::string_view shapes, std::string_view types, std::string_view values = {}) {
    OperatorTable& operators = timeline_.operators;
    operators.append({.range = static_cast<RangeIndex>(timeline_.ranges.size() - 1),
                      .shapes = timeline_.intern(shapes),
                      .types = timeline_.intern(types),
                      .values = timeline_.intern(values)});
    return of_kind(RangeKind::kOperator);
  }
  /// What CPU events the last range had; those that are not given were not counted.
  TimelineBuilder& cpu_counts(std::initializer_list<std::pair<CpuEvent, std::int64_t>> counts) {
    CpuCounterRow row{.range = static_cast<RangeIndex>(timeline_.ranges.size() - 1)};
    for (const auto& [event, count] : counts) row.counts[static_cast<std::size_t>(event)] = count;
    timeline_.cpu_counters.append(row);
    return *this;
  }
  TimelineBuilder& counter(std::string_view name, std::int64_t time_ns, std::int64_t value) {
    CounterTable& counters = timeline_.counters;
    counters.append({.name = timeline_.intern(name),
                     .thread = thread_,
                     .time_ns = time_ns,
                     .number = static_cast<double>(value),
                     .integer = value,
                     .is_integer = true});
    return *this;
  }
  TimelineBuilder& mark(std::string_view name, std::int64_t time_ns) {
    timeline_.marks.append({.name = timeline_.intern(name), .thread = thread_, .time_ns = time_ns});
    return *this;
  }
  TimelineBuilder& closed_ends() { return timeline_.range_end = RangeEnd::kClosed, *this; }
  TimelineBuilder& clock_error(std::int64_t ns) { return timeline_.clock_error_ns = ns, *this; }

  /// The timeline under construction, for what has no function here.
  Timeline& timeline() noexcept { return timeline_; }

  /// Leaves the builder empty.
  Timeline build() {
    bool any = false;
    const auto cover = [&](const auto& begin, const auto& end) {
      for (std::size_t row = 0; row < begin.size(); ++row) {
        timeline_.begin_ns = any ? std::min(timeline_.begin_ns, begin[row]) : begin[row];
        timeline_.end_ns = any ? std::max(timeline_.end_ns, end[row]) : end[row];
        any = true;
      }
    };
    cover(timeline_.ranges.begin_ns, timeline_.ranges.end_ns);
    cover(timeline_.calls.begin_ns, timeline_.calls.end_ns);
    cover(timeline_.launches.time_ns, timeline_.launches.time_ns);
    cover(timeline_.activities.begin_ns, timeline_.activities.end_ns);
    cover(timeline_.marks.time_ns, timeline_.marks.time_ns);
    return std::exchange(*this, TimelineBuilder()).timeline_;
  }

  /// The last range of that name.
  RangeIndex range_index(std::string_view name) const { return range_named(timeline_, name); }
  static RangeIndex range_named(const Timeline& timeline, std::string_view name) {
    for (std::size_t row = timeline.ranges.size(); row-- > 0;)
      if (timeline.text(timeline.ranges.name[row]) == name) return static_cast<RangeIndex>(row);
    throw std::invalid_argument("no range is named " + std::string(name));
  }

 private:
  template <typename Row, typename Matches>
  static Index<Row> find_or_add(std::vector<Row>& rows, Matches&& matches) {
    const auto found = std::find_if(rows.begin(), rows.end(), matches);
    const Index<Row> index(found - rows.begin());
    if (found == rows.end()) rows.emplace_back();
    return index;
  }
  template <typename Change>
  TimelineBuilder& change_range(Change change) {
    change_last(timeline_.ranges, change);
    return *this;
  }
  TimelineBuilder& attach(Attachment::Type type, std::uint64_t bits) {
    const auto row = static_cast<std::uint32_t>(timeline_.ranges.size() - 1);
    timeline_.attachments.push_back({Attachment::Target::kRange, type, row, bits});
    return *this;
  }
  ThreadIndex find_thread(std::int64_t tid) {
    const ThreadIndex index = find_or_add(
        timeline_.threads, [&](const ThreadInfo& info) { return info.process == process_ && info.tid == tid; });
    timeline_.threads[index].process = process_;
    timeline_.threads[index].tid = tid;
    return index;
  }
  std::uint64_t take_correlation() noexcept { return activity_correlation_ = next_correlation_++; }

  void add_launch(std::int64_t time_ns, LaunchSource source, CallIndex call) {
    LaunchTable& launches = timeline_.launches;
    launch_ = launches.append({.process = process_,
                               .correlation = call == kNone ? take_correlation() : timeline_.calls.correlation[call],
                               .thread = thread_,
                               .time_ns = time_ns,
                               .source = source,
                               .call = call});
  }

  TimelineBuilder& activity(ActivityKind kind, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                            std::uint64_t bytes) {
    ActivityTable& activities = timeline_.activities;
    activities.append({.kind = kind,
                       .name = timeline_.intern(name),
                       .stream = stream_,
                       .begin_ns = begin_ns,
                       .end_ns = end_ns,
                       .correlation = activity_correlation_,
                       .launch = launch_,
                       .bytes = bytes});
    if (kind == ActivityKind::kKernel) {
      change_last(activities,
                  [&](ActivityRow& row) { row.detail = static_cast<std::uint32_t>(timeline_.kernel_details.size()); });
      timeline_.kernel_details.emplace_back();
    }
    return *this;
  }
  TimelineBuilder& detail_of_copy(std::uint32_t copy_kind) {
    change_last(timeline_.activities,
                [&](ActivityRow& row) { row.detail = static_cast<std::uint32_t>(timeline_.copy_details.size()); });
    timeline_.copy_details.emplace_back().copy_kind = copy_kind;
    return *this;
  }

  Timeline timeline_;
  ProcessIndex process_{0};
  ThreadIndex thread_{0};
  DeviceIndex device_{0};
  StreamIndex stream_{0};
  LaunchIndex launch_ = kNone;
  std::uint64_t activity_correlation_ = 0;
  std::uint64_t next_correlation_ = 1;
};

}  // namespace rangefinder::testing
