// SPDX-License-Identifier: MIT
#include "analysis/host_states.hpp"

#include "analysis/collective_times.hpp"
#include "analysis/device_states.hpp"

#include <algorithm>

namespace rangefinder::analysis {
namespace {

/// The work as its library told it, else what the program saw of it.
HostCommunication communication_of(const CollectiveTable& table, CollectiveIndex row) noexcept {
  if (table.started_ns[row] != kNoTime && table.completed_ns[row] != kNoTime)
    return {table.started_ns[row], table.completed_ns[row]};
  const std::int64_t wait_end = table.wait_end_ns[row], end = table.end_ns[row];
  return {table.begin_ns[row], std::max(wait_end, end)};  // kNoTime is less than any time
}

/// One list of both, with what lies between them.
std::vector<Span> put_together(const std::vector<Span>& computing, const std::vector<Span>& communicating) {
  std::vector<Span> states;
  const auto add = [&](std::int64_t begin, std::int64_t end, std::uint8_t kind) {
    if (begin >= end) return;
    if (!states.empty() && states.back().kind == kind) {
      states.back().end = end;
    } else {
      states.push_back({begin, end, kind});
    }
  };
  const auto idle = static_cast<std::uint8_t>(DeviceIdle::kOther);
  std::size_t a = 0, b = 0;
  std::int64_t now = kFarthestNs;
  if (!computing.empty()) now = std::min(now, computing.front().begin);
  if (!communicating.empty()) now = std::min(now, communicating.front().begin);
  while (a < computing.size() || b < communicating.size()) {
    std::int64_t until = kFarthestNs;
    std::uint8_t kind = 0;
    const auto look = [&](const std::vector<Span>& spans, std::size_t& at, std::uint8_t bit) {
      if (at == spans.size()) return;
      const bool running = spans[at].begin <= now;
      if (running) kind |= bit;
      until = std::min(until, running ? spans[at].end : spans[at].begin);
    };
    look(computing, a, kComputing);
    look(communicating, b, kCommunicating);
    add(now, until, kind != 0 ? kind : idle);
    now = until;
    if (a < computing.size() && computing[a].end <= now) ++a;
    if (b < communicating.size() && communicating[b].end <= now) ++b;
  }
  return states;
}

}  // namespace

HostStates::HostStates(const Timeline& timeline)
    : timeline_(timeline),
      host_only_(timeline.processes.size(), true),
      computing_(timeline.processes.size()),
      communications_(timeline.processes.size()) {
  find_host_only();
  if (std::find(host_only_.begin(), host_only_.end(), true) == host_only_.end()) return;
  find_communications();
  find_computing();
}

void HostStates::find_host_only() {
  for (const StreamIndex stream : timeline_.activities.stream) {
    if (stream >= timeline_.streams.size()) continue;
    const DeviceIndex device = timeline_.streams[stream].device;
    if (device < timeline_.devices.size() && timeline_.devices[device].process < host_only_.size())
      host_only_[timeline_.devices[device].process] = false;
  }
}

void HostStates::find_communications() {
  const CollectiveTable& table = timeline_.collectives;
  for (CollectiveIndex row{0}; row < table.size(); ++row) {
    if (!is_host_only(table.process[row])) continue;
    const HostCommunication work = communication_of(table, row);
    if (is_in_reach(work.begin_ns, work.end_ns)) communications_[table.process[row]].push_back(work);
  }
  for (std::vector<HostCommunication>& all : communications_)
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
}

/// Operators, of a process that has any: an annotation may be around a whole step. Else annotations.
std::vector<RangeKind> HostStates::kinds_that_compute() const {
  std::vector<RangeKind> kinds(timeline_.processes.size(), RangeKind::kAnnotation);
  const RangeTable& ranges = timeline_.ranges;
  for (RangeIndex row{0}; row < ranges.size(); ++row)
    if (ranges.kind[row] == RangeKind::kOperator && ranges.thread[row] < timeline_.threads.size())
      kinds[timeline_.threads[ranges.thread[row]].process] = RangeKind::kOperator;
  return kinds;
}

void HostStates::find_computing() {
  const RangeTable& ranges = timeline_.ranges;
  // By thread.
  std::vector<std::vector<Span>> in_ranges(timeline_.threads.size()), blocked = times_in_collectives(timeline_);
  std::vector<signed char> known_names(timeline_.string_count(), -1);
  const std::vector<RangeKind> wanted = kinds_that_compute();
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    const ThreadIndex thread = ranges.thread[row];
    if (thread >= in_ranges.size() || !is_host_only(timeline_.threads[thread].process)) continue;
    if (ranges.style[row] != RangeStyle::kScoped || ranges.kind[row] != wanted[timeline_.threads[thread].process])
      continue;
    if ((ranges.flags[row] & kBeforeRecording) != 0 || !is_in_reach(ranges.begin_ns[row], ranges.end_ns[row])) continue;
    signed char& is_backend = known_names[static_cast<std::uint32_t>(ranges.name[row])];
    if (is_backend < 0) is_backend = is_collective_work(timeline_.text(ranges.name[row])) ? 1 : 0;
    if (is_backend != 0) continue;
    std::vector<Span>& spans = in_ranges[thread];
    const Span span{ranges.begin_ns[row], ranges.end_ns[row]};
    if (spans.empty() || span.begin < spans.back().begin || span.end > spans.back().end) spans.push_back(span);
  }
  for (ThreadIndex thread{0}; thread < in_ranges.size(); ++thread) {
    if (in_ranges[thread].empty()) continue;
    make_disjoint(in_ranges[thread]);
    make_disjoint(blocked[thread]);
    const std::vector<Span> computing = without(in_ranges[thread], blocked[thread]);
    std::vector<Span>& all = computing_[timeline_.threads[thread].process];
    all.insert(all.end(), computing.begin(), computing.end());
  }
  for (ProcessIndex process{0}; process < computing_.size(); ++process) {
    make_disjoint(computing_[process]);
    if (is_host_only(process) && (!computing_[process].empty() || !communications_[process].empty()))
      processes_.push_back(process);
  }
}

std::vector<Span> HostStates::of(ProcessIndex process) const {
  std::vector<Span> communicating;
  for (const HostCommunication& work : communications_[process]) communicating.push_back({work.begin_ns, work.end_ns});
  make_disjoint(communicating);
  return put_together(computing_[process], communicating);
}

}  // namespace rangefinder::analysis
