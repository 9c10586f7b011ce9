// SPDX-License-Identifier: MIT
#include "analysis/collective_lanes.hpp"

#include "analysis/collective_work.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// Steps of each process in order of time.
class Steps {
 public:
  explicit Steps(const Timeline& timeline) : timeline_(timeline), rows_(timeline.processes.size()) {
    const StepTable& steps = timeline.steps;
    for (std::uint32_t row = 0; row < steps.size(); ++row)
      rows_[timeline.threads[steps.thread[row]].process].push_back(row);
    for (std::vector<std::uint32_t>& rows : rows_)
      std::stable_sort(rows.begin(), rows.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return steps.begin_ns[a] < steps.begin_ns[b]; });
  }
  std::int64_t at(ProcessIndex process, std::int64_t time_ns) const {
    const StepTable& steps = timeline_.steps;
    const std::vector<std::uint32_t>& rows = rows_[process];
    const auto after = std::upper_bound(rows.begin(), rows.end(), time_ns, [&](std::int64_t time, std::uint32_t row) {
      return time < steps.begin_ns[row];
    });
    return after == rows.begin() || time_ns >= steps.end_ns[after[-1]] ? -1 : steps.number[after[-1]];
  }

 private:
  const Timeline& timeline_;
  std::vector<std::vector<std::uint32_t>> rows_;
};

/// Position of the process in the group; -1: not known.
std::int32_t rank_in(const ProcessGroupInfo& group, const ProcessInfo& process) {
  const auto found = std::find(group.ranks.begin(), group.ranks.end(), process.rank);
  return found == group.ranks.end() ? -1 : static_cast<std::int32_t>(found - group.ranks.begin());
}

class Collector {
 public:
  explicit Collector(const Timeline& timeline)
      : timeline_(timeline), table_(timeline.collectives), work_(collective_works(timeline)), steps_(timeline) {}

  std::map<LaneKey, std::map<ProcessIndex, Lane>> run() {
    number_streams();
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      if (work_[row].begin_ns == kNoTime || work_[row].end_ns == kNoTime) continue;
      LaneEntry entry{row, work_[row].begin_ns, work_[row].end_ns};
      const std::int64_t called_ns = table_.begin_ns[row];
      entry.step = steps_.at(table_.process[row], called_ns != kNoTime ? called_ns : entry.begin_ns);
      lanes_[key_of(row)][table_.process[row]].push_back(entry);
    }
    for (auto& [key, processes] : lanes_)
      for (auto& [process, lane] : processes)
        std::stable_sort(lane.begin(), lane.end(),
                         [](const LaneEntry& a, const LaneEntry& b) { return a.begin_ns < b.begin_ns; });
    return std::move(lanes_);
  }

 private:
  /// Of processes that tell no groups: streams with collectives, in the order of the first one on each.
  void number_streams() {
    std::map<ProcessIndex, std::vector<std::pair<std::int64_t, StreamIndex>>> first;
    std::map<StreamIndex, std::int64_t> begin;
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      if (table_.group[row] != kNone || work_[row].stream == kNone) continue;
      const auto [found, added] = begin.try_emplace(work_[row].stream, work_[row].begin_ns);
      found->second = std::min(found->second, work_[row].begin_ns);
    }
    for (const auto& [stream, begin_ns] : begin)
      first[timeline_.devices[timeline_.streams[stream].device].process].emplace_back(begin_ns, stream);
    for (auto& [process, streams] : first) {
      std::sort(streams.begin(), streams.end());
      for (std::uint32_t i = 0; i < streams.size(); ++i) stream_number_[streams[i].second] = i;
    }
  }

  LaneKey key_of(CollectiveIndex row) const {
    LaneKey key;
    key.group = table_.group[row];
    if (table_.group[row] == kNone && work_[row].stream != kNone)
      key.stream = stream_number_.find(work_[row].stream)->second;
    const bool sends = table_.kind[row] == CollectiveKind::kSend,
               receives = table_.kind[row] == CollectiveKind::kReceive;
    if (!sends && !receives) return key;
    const std::int32_t own = table_.group[row] == kNone ? timeline_.processes[table_.process[row]].rank
                                                        : rank_in(timeline_.process_groups[table_.group[row]],
                                                                  timeline_.processes[table_.process[row]]);
    key.sender = sends ? own : table_.peer[row];
    key.receiver = sends ? table_.peer[row] : own;
    return key;
  }

  const Timeline& timeline_;
  const CollectiveTable& table_;
  std::vector<CollectiveWork> work_;
  Steps steps_;
  std::map<StreamIndex, std::uint32_t> stream_number_;
  std::map<LaneKey, std::map<ProcessIndex, Lane>> lanes_;
};

}  // namespace

std::map<LaneKey, std::map<ProcessIndex, Lane>> collective_lanes(const Timeline& timeline) {
  return Collector(timeline).run();
}

}  // namespace rangefinder::analysis
