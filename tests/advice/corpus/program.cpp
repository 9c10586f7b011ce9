// SPDX-License-Identifier: MIT
#include "advice/corpus/program.hpp"

#include "advice/corpus/device.hpp"
#include "timeline/activity_names.hpp"
#include "timeline/finish.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace rangefinder::testing::corpus {
namespace {

/// The order of recordings: by thread, then time, the outer one first.
template <typename Rows>
std::vector<std::size_t> in_order(const Rows& rows) {
  std::vector<std::size_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (rows[a].thread != rows[b].thread) return rows[a].thread < rows[b].thread;
    if (rows[a].begin_ns != rows[b].begin_ns) return rows[a].begin_ns < rows[b].begin_ns;
    return rows[a].end_ns > rows[b].end_ns;
  });
  return order;
}

/// Writes one process into a timeline.
class ProgramWriter {
 public:
  ProgramWriter(Timeline& timeline, const Program& program) : timeline_(timeline), program_(program) {}

  void write(ProcessGroupIndex group) {
    add_places();
    add_ranges();
    add_calls();
    add_collectives(group);
    add_works();
    add_syncs();
    add_rest();
  }

 private:
  ThreadIndex thread(std::size_t which) const { return ThreadIndex(first_thread_ + which); }
  StreamIndex stream(std::int64_t id) {
    const auto found = streams_.find(id);
    if (found != streams_.end()) return found->second;
    const StreamIndex index(timeline_.streams.size());
    StreamInfo info;
    info.device = device_;
    info.context = 1;
    info.id = id;
    timeline_.streams.push_back(info);
    return streams_.emplace(id, index).first->second;
  }

  void add_places() {
    process_ = ProcessIndex(timeline_.processes.size());
    ProcessInfo process;
    process.pid = 4000 + static_cast<std::int64_t>(timeline_.processes.size());
    process.name = "train";
    process.host = "node0";
    process.rank = program_.rank;
    process.world_size = program_.world_size;
    timeline_.processes.push_back(process);
    first_thread_ = timeline_.threads.size();
    for (std::size_t i = 0; i < program_.threads.size(); ++i) {
      ThreadInfo info;
      info.process = process_;
      info.tid = process.pid + static_cast<std::int64_t>(i);
      info.name = program_.threads[i];
      info.is_engine = info.name == kEngineName;
      timeline_.threads.push_back(info);
    }
    if (!program_.has_device) return;
    device_ = DeviceIndex(timeline_.devices.size());
    timeline_.devices.push_back(device_info(process_, std::max(program_.rank, 0)));
  }

  void add_ranges() {
    for (const std::size_t i : in_order(program_.ranges)) {
      const ProgramRange& range = program_.ranges[i];
      const RangeIndex row = timeline_.ranges.append({.name = timeline_.intern(range.name),
                                                      .kind = range.kind,
                                                      .thread = thread(range.thread),
                                                      .end_thread = thread(range.thread),
                                                      .begin_ns = range.begin_ns,
                                                      .end_ns = range.end_ns});
      if (!range.shapes.empty())
        timeline_.operators.append({.range = row,
                                    .shapes = timeline_.intern(range.shapes),
                                    .types = timeline_.intern(range.types),
                                    .values = timeline_.intern("[]")});
      if (range.cpu_ns < 0) continue;
      CpuCounterRow counted{.range = row};
      counted.counts[static_cast<std::size_t>(CpuEvent::kCpuTime)] = range.cpu_ns;
      timeline_.cpu_counters.append(counted);
    }
  }

  void add_calls() {
    for (const std::size_t i : in_order(program_.calls)) {
      const ProgramCall& call = program_.calls[i];
      const CallIndex row = timeline_.calls.append(
          {.name = timeline_.intern(call.name),
           .domain = call.name.rfind("cu", 0) == 0 && call.name.rfind("cuda", 0) != 0 ? CallDomain::kDriver
                                                                                      : CallDomain::kRuntime,
           .thread = thread(call.thread),
           .begin_ns = call.begin_ns,
           .end_ns = call.end_ns,
           .correlation = call.correlation,
           .result = call.result});
      calls_.emplace(call.correlation, row);
    }
  }

  /// A launch for each call that has work, noted as the call began.
  LaunchIndex launch_of(std::uint32_t correlation) {
    const auto call = calls_.find(correlation);
    if (call == calls_.end()) return kNone;
    const auto [found, added] = launches_.try_emplace(correlation, kNone);
    if (added)
      found->second = timeline_.launches.append({.process = process_,
                                                 .correlation = correlation,
                                                 .thread = timeline_.calls.thread[call->second],
                                                 .time_ns = timeline_.calls.begin_ns[call->second],
                                                 .source = LaunchSource::kCallback,
                                                 .call = call->second});
    return found->second;
  }

  void add_collectives(ProcessGroupIndex group) {
    first_collective_ = timeline_.collectives.size();
    for (const ProgramCollective& one : program_.collectives) {
      CollectiveRow row;
      row.kind = one.kind;
      row.name = timeline_.intern(one.name);
      row.process = process_;
      row.group = group;
      row.number = one.number;
      row.elements_in = one.elements_in;
      row.elements_out = one.elements_out;
      row.dtype = timeline_.intern(one.dtype);
      row.thread = thread(one.thread);
      row.begin_ns = one.begin_ns;
      row.end_ns = one.end_ns;
      row.started_ns = one.started_ns;
      row.completed_ns = one.completed_ns;
      if (one.wait_begin_ns != kNoTime) row.wait_thread = thread(one.thread);
      row.wait_begin_ns = one.wait_begin_ns;
      row.wait_end_ns = one.wait_end_ns;
      timeline_.collectives.append(row);
    }
  }

  void add_works() {
    for (const ProgramWork& work : program_.works) {
      ActivityRow row;
      row.kind = work.kind;
      row.stream = stream(work.stream);
      row.begin_ns = work.begin_ns;
      row.end_ns = work.end_ns;
      row.correlation = work.correlation;
      row.launch = launch_of(work.correlation);
      row.bytes = work.bytes;
      row.graph = work.graph;
      row.graph_node = work.graph_node;
      if (work.collective >= 0)
        row.collective = CollectiveIndex(first_collective_ + static_cast<std::size_t>(work.collective));
      if (work.kind == ActivityKind::kKernel) {
        row.name = timeline_.intern(work.name);
        row.detail = static_cast<std::uint32_t>(timeline_.kernel_details.size());
        timeline_.kernel_details.push_back(work.kernel);
      } else {
        row.name = timeline_.intern(work.kind == ActivityKind::kMemset ? timeline::memset_name(work.copy)
                                                                       : timeline::memcpy_name(work.copy));
        row.detail = static_cast<std::uint32_t>(timeline_.copy_details.size());
        timeline_.copy_details.push_back(work.copy);
      }
      timeline_.activities.append(row);
    }
  }

  void add_syncs() {
    for (const ProgramSync& sync : program_.syncs)
      timeline_.syncs.append({.type = sync.type,
                              .stream = sync.type == 2 || sync.type == 3 ? stream(sync.stream) : StreamIndex(kNone),
                              .device = device_,
                              .begin_ns = sync.begin_ns,
                              .end_ns = sync.end_ns,
                              .correlation = sync.correlation,
                              .event_stream = sync.type <= 2 ? stream(sync.event.stream) : StreamIndex(kNone)});
  }

  void add_rest() {
    std::int64_t number = 0;
    for (const ProgramStep& step : program_.steps)
      timeline_.steps.append(
          {.number = number++, .thread = thread(0), .begin_ns = step.begin_ns, .end_ns = step.end_ns});
    for (const ProgramAllocation& one : program_.allocations)
      timeline_.cuda_allocations.append({.process = process_,
                                         .time_ns = one.time_ns,
                                         .freed = one.freed,
                                         .memory = 3,
                                         .device = device_,
                                         .address = one.address,
                                         .bytes = one.bytes,
                                         .correlation = one.correlation});
    for (const ProgramMemory& one : program_.memory)
      timeline_.allocator_events.append({.thread = thread(one.thread),
                                         .time_ns = one.time_ns,
                                         .action = one.action,
                                         .device = 0,
                                         .address = one.address,
                                         .bytes = one.bytes,
                                         .allocated = one.allocated,
                                         .reserved = one.reserved});
    for (const ProgramCounter& one : program_.counters)
      timeline_.counters.append({.name = timeline_.intern(one.name),
                                 .thread = thread(0),
                                 .time_ns = one.time_ns,
                                 .number = static_cast<double>(one.value),
                                 .integer = one.value,
                                 .is_integer = true});
    for (const ProgramSensor& one : program_.sensors)
      timeline_.sensor_samples.append(
          {.device = device_,
           .time_ns = one.time_ns,
           .present = kHasUtilisation | kHasSmClock | kHasPower | kHasTemperature | kHasThrottleReasons,
           .gpu_utilisation_percent = one.utilisation_percent,
           .sm_clock_mhz = one.sm_clock_mhz,
           .power_mw = one.power_mw,
           .temperature_c = one.temperature_c,
           .throttle_reasons = one.throttle_reasons});
    for (const ProgramOverhead& one : program_.overheads)
      timeline_.overheads.append({.name = timeline_.intern(one.name),
                                  .thread = thread(one.thread),
                                  .begin_ns = one.begin_ns,
                                  .end_ns = one.end_ns});
  }

  Timeline& timeline_;
  const Program& program_;
  ProcessIndex process_{0};
  DeviceIndex device_ = kNone;
  std::size_t first_thread_ = 0, first_collective_ = 0;
  std::unordered_map<std::int64_t, StreamIndex> streams_;
  std::unordered_map<std::uint32_t, CallIndex> calls_;
  std::unordered_map<std::uint32_t, LaunchIndex> launches_;
};

}  // namespace

std::int64_t mean_step_ns(const Program& program) {
  const std::size_t first = program.steps.size() / 4;
  if (first == program.steps.size()) return 0;
  const std::int64_t whole = program.steps.back().end_ns - program.steps[first].begin_ns;
  return whole / static_cast<std::int64_t>(program.steps.size() - first);
}

Timeline timeline_of(const std::vector<Program>& job) {
  Timeline timeline;
  ProcessGroupIndex group = kNone;
  if (job.size() > 1) {
    ProcessGroupInfo info;
    info.name = "0";
    info.description = "default_pg";
    info.size = static_cast<std::int32_t>(job.size());
    for (const Program& program : job) info.ranks.push_back(program.rank);
    group = ProcessGroupIndex(timeline.process_groups.size());
    timeline.process_groups.push_back(info);
  }
  for (const Program& program : job) ProgramWriter(timeline, program).write(group);
  // As a recording of the machine says it.
  timeline.metadata.emplace_back("cpu_key", "\"cpu_amd_epyc_9654_" + std::to_string(job.front().processors) + "t\"");
  timeline::measure_extent(timeline);
  return timeline;
}

}  // namespace rangefinder::testing::corpus
