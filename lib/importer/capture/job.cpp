// SPDX-License-Identifier: MIT
#include "importer/capture/job.hpp"

#include "clock/clock_table.hpp"
#include "importer/capture/host_alignment.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace rangefinder::importer {
namespace {

std::string counted(std::uint64_t count, std::string_view what, std::string_view plural) {
  return std::to_string(count) + " " + std::string(what) + std::string(count == 1 ? "" : plural);
}

std::string microseconds(std::int64_t ns) {
  const std::int64_t tenths = (std::abs(ns) + 50) / 100;
  return (ns < 0 ? "-" : "") + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

/// "0, 2-5, 7"
std::string ranges_text(const std::set<std::int32_t>& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const std::int32_t first = *at;
    std::int32_t last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (last != first) text += (last == first + 1 ? ", " : "-") + std::to_string(last);
  }
  return text;
}

/// Within the times that a clock table gives, if it was.
std::int64_t aligned(const HostShift& shift, std::int64_t time_ns) {
  constexpr std::int64_t kLatest_ns = clock::ClockTable::kLatestNs;
  if (time_ns < -kLatest_ns || time_ns > kLatest_ns) return time_ns;
  const __int128 sum = static_cast<__int128>(time_ns) + shift.beyond_wall_clock(time_ns);
  return static_cast<std::int64_t>(std::clamp<__int128>(sum, -kLatest_ns, kLatest_ns));
}

/// First and last time of the ranges and activities of each process.
std::vector<std::pair<std::int64_t, std::int64_t>> extents(const Timeline& timeline) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all(timeline.processes.size(), {kNoTime, kNoTime});
  const auto widen = [&](ProcessIndex process, std::int64_t begin, std::int64_t end) {
    auto& [first, last] = all[process];
    first = first == kNoTime ? begin : std::min(first, begin);
    last = last == kNoTime ? end : std::max(last, end);
  };
  const RangeTable& ranges = timeline.ranges;
  for (RangeIndex row{0}; row < ranges.size(); ++row)
    if ((ranges.flags[row] & kBeforeRecording) == 0)
      widen(timeline.threads[ranges.thread[row]].process, ranges.begin_ns[row], ranges.end_ns[row]);
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    widen(timeline.devices[timeline.streams[activities.stream[row]].device].process, activities.begin_ns[row],
          activities.end_ns[row]);
  return all;
}

}  // namespace

void JobHosts::add(const capture::CaptureReader& reader) {
  add(std::string(reader.metadata("host")), std::string(reader.metadata("boot")), reader.clock().realtime_offset_ns());
}

void JobHosts::add(const std::string& name, const std::string& boot, std::int64_t realtime_offset_ns) {
  const auto same = [&](const Host& host) {
    return !boot.empty() && !host.boot.empty() ? host.boot == boot : host.info.name == name;
  };
  const auto found = std::find_if(hosts_.begin(), hosts_.end(), same);
  of_process_.push_back(static_cast<std::uint32_t>(found - hosts_.begin()));
  if (found != hosts_.end()) return;
  const std::int64_t behind = hosts_.empty() ? 0 : realtime_offset_ns - hosts_.front().realtime_offset_ns;
  Host host{boot, realtime_offset_ns, HostShift(behind), {}};
  host.info.name = name;
  if (hosts_.empty()) host.info.error_ns = 0;
  hosts_.push_back(std::move(host));
}

void JobHosts::note_rows(const Timeline& timeline) {
  rows_.push_back({of_process_.back(), timeline::count_rows(timeline)});
}

void JobHosts::align(Timeline& timeline) {
  if (hosts_.size() < 2) return;
  std::vector<HostAlignment> found = align_hosts(timeline, of_process_, static_cast<std::uint32_t>(hosts_.size()));
  for (std::size_t i = 1; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    HostAlignment& alignment = found[i];
    host.contradiction = alignment.contradiction;
    if (alignment.knots.empty()) continue;
    host.info.shift_ns = alignment.knots[alignment.knots.size() / 2].shift_ns;
    host.info.error_ns = alignment.error_ns;
    host.info.collectives = alignment.matched;
    host.shift.set_knots(std::move(alignment.knots));
  }
  timeline::RowCounts begin;
  for (const Rows& rows : rows_) {
    const Host& host = hosts_[rows.host];
    if (host.info.collectives != 0)
      timeline::move_times(timeline, begin, rows.end,
                           [&](std::int64_t time_ns) { return aligned(host.shift, time_ns); });
    begin = rows.end;
  }
}

void JobHosts::describe(Timeline& timeline) const {
  if (of_process_.size() < 2) return;
  for (std::size_t i = 0; i < of_process_.size() && i < timeline.processes.size(); ++i)
    timeline.processes[i].clock = of_process_[i];
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const Host& host = hosts_[i];
    timeline.hosts.push_back(host.info);
    if (i == 0) continue;
    const auto processes = static_cast<std::uint64_t>(std::count(of_process_.begin(), of_process_.end(), i));
    std::string note = "host " + host.info.name + " (" + counted(processes, "process", "es") + "): ";
    if (host.info.collectives != 0) {
      note += "aligned to host " + hosts_.front().info.name + " within " + microseconds(host.info.error_ns) + " by " +
              counted(host.info.collectives, "collective", "s") + ", " + microseconds(host.info.shift_ns) +
              " from where the wall clocks put it";
    } else {
      note += std::string("aligned by wall clock, as well as those agree") +
              (host.contradiction ? "; its collectives do not match those of host " + hosts_.front().info.name : "");
    }
    timeline.notes.push_back(std::move(note));
  }
}

void note_ranks(Timeline& timeline) {
  if (timeline.processes.size() < 2) return;
  std::map<std::int32_t, std::vector<ProcessIndex>> ranks;
  std::set<std::int32_t> sizes;
  for (ProcessIndex i{0}; i < timeline.processes.size(); ++i) {
    const ProcessInfo& process = timeline.processes[i];
    if (process.rank >= 0) ranks[process.rank].push_back(i);
    if (process.world_size > 0) sizes.insert(process.world_size);
  }
  if (sizes.size() > 1) {
    timeline.notes.push_back("captures of jobs of different sizes: " + ranges_text(sizes) + " ranks");
    return;
  }
  if (sizes.size() == 1 && !ranks.empty()) {
    constexpr std::int32_t kMaxListed = 1 << 20;
    std::set<std::int32_t> missing;
    for (std::int32_t rank = 0; rank < std::min(*sizes.begin(), kMaxListed); ++rank)
      if (!ranks.contains(rank)) missing.insert(rank);
    if (!missing.empty())
      timeline.notes.push_back("of " + std::to_string(*sizes.begin()) +
                               " ranks these are missing: " + ranges_text(missing));
  }
  // A rank's children have its number, and live beside it.
  const auto times = extents(timeline);
  for (const auto& [rank, processes] : ranks) {
    for (std::size_t i = 1; i < processes.size(); ++i) {
      const auto& [first_begin, first_end] = times[processes[0]];
      const auto& [begin, end] = times[processes[i]];
      if (first_begin == kNoTime || begin == kNoTime || (begin < first_end && first_begin < end)) continue;
      timeline.notes.push_back("rank " + std::to_string(rank) +
                               " is there more than once, one after the other: captures of several runs?");
      break;
    }
  }
}

}  // namespace rangefinder::importer
