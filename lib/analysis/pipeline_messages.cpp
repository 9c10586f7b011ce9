// SPDX-License-Identifier: MIT
#include "analysis/pipeline_messages.hpp"

#include "analysis/collective_work.hpp"
#include "analysis/device_states.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace rangefinder::analysis {
namespace {

/// From the first to the last record of each process that has any.
PipelineWindows whole_recordings(const Timeline& timeline) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  std::vector<std::pair<std::int64_t, std::int64_t>> extents(timeline.processes.size(), {kLast, kNoTime});
  const auto add = [&](ProcessIndex process, std::int64_t begin_ns, std::int64_t end_ns) {
    if (process >= extents.size() || begin_ns == kNoTime) return;
    begin_ns = std::clamp(begin_ns, -kFarthestNs, kFarthestNs - 1);
    end_ns = std::min(end_ns, kFarthestNs - 1);
    auto& [first, last] = extents[process];
    first = std::min(first, begin_ns);
    last = std::max({last, begin_ns, end_ns});
  };
  const auto process_of = [&](ThreadIndex thread) {
    return thread < timeline.threads.size() ? timeline.threads[thread].process : ProcessIndex(kNone);
  };
  for (RangeIndex row{0}; row < timeline.ranges.size(); ++row)
    add(process_of(timeline.ranges.thread[row]), timeline.ranges.begin_ns[row], timeline.ranges.end_ns[row]);
  for (LaunchIndex row{0}; row < timeline.launches.size(); ++row)
    add(process_of(timeline.launches.thread[row]), timeline.launches.time_ns[row], timeline.launches.time_ns[row]);
  const CollectiveTable& table = timeline.collectives;
  for (CollectiveIndex row{0}; row < table.size(); ++row)
    add(table.process[row], table.begin_ns[row],
        std::max({table.end_ns[row], table.completed_ns[row], table.wait_end_ns[row]}));
  const ActivityTable& activities = timeline.activities;
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    add(timeline.devices[timeline.streams[activities.stream[row]].device].process, activities.begin_ns[row],
        activities.end_ns[row]);
  PipelineWindows windows(extents.size());
  for (std::size_t process = 0; process < extents.size(); ++process)
    if (extents[process].first <= extents[process].second)
      windows[process].push_back({0, extents[process].first, extents[process].second + 1});
  return windows;
}

/// The rank of the job at that position of the group; nothing: not told.
std::optional<std::int64_t> rank_at(const Timeline& timeline, ProcessGroupIndex group, std::int32_t position,
                                    std::int32_t world_size) {
  if (position < 0) return std::nullopt;
  if (group == kNone) return position;
  const ProcessGroupInfo& info = timeline.process_groups[group];
  if (static_cast<std::size_t>(position) < info.ranks.size()) return info.ranks[static_cast<std::size_t>(position)];
  // A group of all ranks need not list them.
  const bool of_all = info.ranks.empty() && (info.size == 0 || info.size == world_size);
  return of_all ? std::optional<std::int64_t>(position) : std::nullopt;
}

class MessageReader {
 public:
  MessageReader(const Timeline& timeline, const PipelineWindows& windows)
      : timeline_(timeline), table_(timeline.collectives), windows_(windows), works_(collective_works(timeline)) {}

  PipelineMessages read() {
    std::vector<std::vector<CollectiveIndex>> rows(timeline_.processes.size());
    for (CollectiveIndex row{0}; row < table_.size(); ++row)
      if (is_message(row)) rows[table_.process[row]].push_back(row);
    find_launches(rows);
    out_.by_process.resize(rows.size());
    for (ProcessIndex process{0}; process < rows.size(); ++process) read_process(process, rows[process]);
    return std::move(out_);
  }

 private:
  /// Sorts by these, in order.
  using Order = std::tuple<std::int64_t, bool, std::int64_t>;

  bool is_message(CollectiveIndex row) const {
    const CollectiveKind kind = table_.kind[row];
    return (kind == CollectiveKind::kSend || kind == CollectiveKind::kReceive) &&
           table_.process[row] < timeline_.processes.size();
  }
  bool is_send(CollectiveIndex row) const { return table_.kind[row] == CollectiveKind::kSend; }

  /// Where the host waits for nothing, launches between calls tell what could depend on what.
  void find_launches(const std::vector<std::vector<CollectiveIndex>>& rows) {
    launched_.resize(rows.size());
    const ActivityTable& activities = timeline_.activities;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const LaunchIndex launch = activities.launch[row];
      if (activities.collective[row] != kNone || launch >= timeline_.launches.size()) continue;
      const ProcessIndex process = timeline_.launches.process[launch];
      if (process < rows.size() && !rows[process].empty())
        launched_[process].push_back(timeline_.launches.time_ns[launch]);
    }
    for (std::vector<std::int64_t>& times : launched_) std::sort(times.begin(), times.end());
  }

  /// When the host knew that it was there; kNoTime: not known.
  std::int64_t arrived_ns(CollectiveIndex row) const {
    return table_.wait_end_ns[row] != kNoTime ? table_.wait_end_ns[row] : table_.completed_ns[row];
  }

  std::optional<Order> order_of(CollectiveIndex row, bool on_device, bool knows_arrival) const {
    const CollectiveWork& work = works_[row];
    if (on_device) return Order(is_send(row) ? work.begin_ns : work.end_ns, !is_send(row), 0);
    const std::int64_t called_ns = table_.begin_ns[row];
    if (called_ns == kNoTime) return std::nullopt;
    if (knows_arrival) {
      const std::int64_t time_ns = is_send(row) ? called_ns : arrived_ns(row);
      return time_ns == kNoTime ? std::nullopt : std::optional(Order(time_ns, !is_send(row), 0));
    }
    const std::vector<std::int64_t>& launched = launched_[table_.process[row]];
    if (launched.empty()) return Order(called_ns, !is_send(row), 0);
    const auto before = std::lower_bound(launched.begin(), launched.end(), called_ns) - launched.begin();
    return Order(before, !is_send(row), called_ns);
  }

  void read_process(ProcessIndex process, const std::vector<CollectiveIndex>& rows) {
    const bool on_device = std::all_of(rows.begin(), rows.end(), [&](CollectiveIndex row) {
      return works_[row].kernels != 0 && works_[row].end_ns != kNoTime;
    });
    const bool knows_arrival = launched_[process].empty() && std::any_of(rows.begin(), rows.end(), [&](auto row) {
                                 return !is_send(row) && arrived_ns(row) != kNoTime;
                               });
    std::vector<std::pair<Order, PipelineMessage>> found;
    for (const CollectiveIndex row : rows) {
      const std::optional<Order> order = order_of(row, on_device, knows_arrival);
      const std::int64_t called_ns = table_.begin_ns[row] != kNoTime ? table_.begin_ns[row] : works_[row].begin_ns;
      const PipelineWindow* const window = window_at(windows_[process], called_ns);
      if (!order || window == nullptr) continue;  // it did not arrive, or is in no step
      const ProcessInfo& info = timeline_.processes[process];
      const auto peer = rank_at(timeline_, table_.group[row], table_.peer[row], info.world_size);
      if (info.rank < 0 || !peer || *peer == info.rank) {
        ++out_.unknown;
        continue;
      }
      found.emplace_back(*order, PipelineMessage{info.rank, *peer, table_.group[row], is_send(row), window->number});
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [order, message] : found) out_.by_process[process].push_back(message);
  }

  const Timeline& timeline_;
  const CollectiveTable& table_;
  const PipelineWindows& windows_;
  std::vector<CollectiveWork> works_;
  std::vector<std::vector<std::int64_t>> launched_;  // by process: launches of what is no collective, in order
  PipelineMessages out_;
};

}  // namespace

PipelineWindows pipeline_windows(const Timeline& timeline) {
  const StepTable& steps = timeline.steps;
  if (steps.empty()) return whole_recordings(timeline);
  PipelineWindows windows(timeline.processes.size());
  for (std::size_t row = 0; row < steps.size(); ++row) {
    if (steps.thread[row] >= timeline.threads.size() || steps.end_ns[row] < steps.begin_ns[row]) continue;
    if (steps.begin_ns[row] < -kFarthestNs || steps.end_ns[row] > kFarthestNs) continue;
    windows[timeline.threads[steps.thread[row]].process].push_back(
        {steps.number[row], steps.begin_ns[row], steps.end_ns[row]});
  }
  for (std::vector<PipelineWindow>& of_process : windows) {
    std::stable_sort(of_process.begin(), of_process.end(),
                     [](const PipelineWindow& a, const PipelineWindow& b) { return a.begin_ns < b.begin_ns; });
    for (std::size_t i = 1; i < of_process.size(); ++i)
      of_process[i - 1].end_ns = std::min(of_process[i - 1].end_ns, of_process[i].begin_ns);
  }
  return windows;
}

const PipelineWindow* window_at(const std::vector<PipelineWindow>& windows, std::int64_t time_ns) noexcept {
  const auto after =
      std::upper_bound(windows.begin(), windows.end(), time_ns,
                       [](std::int64_t time, const PipelineWindow& window) { return time < window.begin_ns; });
  return after == windows.begin() || time_ns >= after[-1].end_ns ? nullptr : &after[-1];
}

PipelineMessages pipeline_messages(const Timeline& timeline, const PipelineWindows& windows) {
  return MessageReader(timeline, windows).read();
}

}  // namespace rangefinder::analysis
