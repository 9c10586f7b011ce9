// SPDX-License-Identifier: MIT
#include "analysis/stragglers_cells.hpp"

#include "analysis/collective_lanes.hpp"
#include "analysis/device_states.hpp"
#include "analysis/steps.hpp"
#include "analysis/stragglers_kernels.hpp"
#include "projection/figures.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace rangefinder::analysis {
namespace {

std::int64_t in_reach(std::int64_t time_ns) noexcept { return std::clamp(time_ns, -kFarthestNs, kFarthestNs); }

/// A rank's part of a collective.
struct OwnCollective {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t step;  ///< number of the step that called it; -1: none
  CollectiveIndex row;
};

/// What both have.
std::vector<Span> common_of(std::span<const Span> a, std::span<const Span> b) { return without(a, without(a, b)); }

/// The stretches in which a collective held up a thread of the program: its call, and the wait for it.
void add_call_and_wait(const CollectiveTable& table, CollectiveIndex row, std::vector<Span>& out) {
  if (table.begin_ns[row] != kNoTime && table.end_ns[row] != kNoTime)
    out.push_back({in_reach(table.begin_ns[row]), in_reach(table.end_ns[row])});
  if (table.wait_begin_ns[row] != kNoTime && table.wait_end_ns[row] != kNoTime)
    out.push_back({in_reach(table.wait_begin_ns[row]), in_reach(table.wait_end_ns[row])});
}

/// Likewise, of a collective that works on the host. Where nobody was seen to wait until its work was done, its work
/// counts.
void add_blocked(const CollectiveTable& table, const OwnCollective& one, std::vector<Span>& out) {
  const bool waited = table.wait_end_ns[one.row] != kNoTime;
  const bool returned = table.end_ns[one.row] != kNoTime && in_reach(table.end_ns[one.row]) >= one.end_ns;
  if (waited || returned)
    add_call_and_wait(table, one.row, out);
  else
    out.push_back({one.begin_ns, one.end_ns});
}

class CellBuilder {
 public:
  CellBuilder(const Timeline& timeline, const MatchedCollectives& matched, Stragglers& out)
      : timeline_(timeline), matched_(matched), out_(out), classes_(timeline), scores_(timeline) {}

  void run(const StepRules& rules, std::size_t fewest_steps) {
    // Recomputed work, for which a projection is needed, plays no part here.
    steps_ = analyse_steps(timeline_, Projection{}, rules).steps;
    if (!find_ranks(fewest_steps)) return;
    find_collectives();
    find_waits();
    find_activities();
    out_.cells.assign(out_.ranks.size() * out_.steps.size(), {});
    for (std::size_t rank = 0; rank < out_.ranks.size(); ++rank) fill_rank(rank);
    scores_.fill(out_.ranks, classes_);
  }

 private:
  bool abstain(std::string reason) {
    out_.abstained = std::move(reason);
    return false;
  }
  bool find_ranks(std::size_t fewest_steps);
  void find_collectives();
  void find_waits();
  void find_activities();
  /// Of one rank, disjoint and in order.
  struct RankTime {
    std::vector<ActivityIndex> work;  ///< all but communication
    std::vector<Span> computing;
    std::vector<Span> communicating;  ///< while it did not compute
    std::vector<Span> waiting;        ///< of that, for others
    bool any_matched = false;
  };
  RankTime time_of(std::size_t rank);
  void fill_times(std::size_t rank, const std::vector<StepFrame>& frames, const RankTime& time);
  void fill_rank(std::size_t rank);
  std::vector<StepFrame> frames_of(std::size_t rank) const;
  std::vector<StepFrame> device_frames_of(std::size_t rank) const;
  void fill_kernels(std::size_t rank, std::span<const StepFrame> frames, std::span<const ActivityIndex> work);
  std::span<const StepFigures> steps_of(std::size_t rank) const noexcept {
    return {steps_.data() + first_step_[rank], first_step_[rank + 1] - first_step_[rank]};
  }
  std::size_t column_of(std::int64_t number) const noexcept {
    const auto found = std::lower_bound(out_.steps.begin(), out_.steps.end(), number);
    return found != out_.steps.end() && *found == number ? static_cast<std::size_t>(found - out_.steps.begin())
                                                         : kNowhere;
  }
  RankStep& cell(std::size_t rank, std::size_t column) noexcept {
    return out_.cells[rank * out_.steps.size() + column];
  }

  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();
  const Timeline& timeline_;
  const MatchedCollectives& matched_;
  Stragglers& out_;
  KernelClasses classes_;
  KernelScores scores_;
  std::vector<StepFigures> steps_;                       // by process, then time
  std::vector<std::size_t> first_step_;                  // of each rank in steps_, and the end
  std::vector<std::size_t> rank_of_;                     // by process; kNowhere
  std::vector<std::vector<OwnCollective>> collectives_;  // by rank
  std::vector<bool> on_device_;                          // by collective
  std::vector<std::int64_t> latency_;                    // by collective; kNoTime: not matched
  std::vector<ActivityIndex> activities_;                // by rank
  std::vector<std::size_t> first_activity_;              // of each rank, and the end
};

bool CellBuilder::find_ranks(std::size_t fewest_steps) {
  rank_of_.assign(timeline_.processes.size(), kNowhere);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (rank_of_[steps_[i].process] != kNowhere) continue;
    rank_of_[steps_[i].process] = out_.ranks.size();
    out_.ranks.emplace_back().process = steps_[i].process;
    first_step_.push_back(i);
  }
  first_step_.push_back(steps_.size());
  const std::size_t ranks = out_.ranks.size();
  if (ranks == 0) return abstain("no process has steps (call session.step())");
  if (ranks == 1) return abstain("only one process has steps: there is no other rank to compare it with");

  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> counts;  // by number: ranks, and of those in warm-up
  for (const StepFigures& step : steps_) {
    auto& [all, warm] = counts[step.number];
    ++all;
    warm += step.warm_up ? 1 : 0;
  }
  std::size_t warm_up = 0;
  for (const auto& [number, count] : counts) {
    if (count.first * 2 < ranks || count.first < 2) continue;
    if (count.second * 2 >= count.first)
      ++warm_up;
    else
      out_.steps.push_back(number);
  }
  if (out_.steps.size() >= fewest_steps) return true;
  return abstain("the ranks have " + std::to_string(out_.steps.size()) + " steps in common" +
                 (warm_up != 0 ? " (" + std::to_string(warm_up) + " more are warm-up)" : "") + "; at least " +
                 std::to_string(fewest_steps) + " are needed");
}

void CellBuilder::find_collectives() {
  collectives_.resize(out_.ranks.size());
  for (const auto& [key, lanes] : collective_lanes(timeline_)) {
    for (const auto& [process, lane] : lanes) {
      if (rank_of_[process] == kNowhere) continue;
      for (const LaneEntry& entry : lane)
        collectives_[rank_of_[process]].push_back(
            {in_reach(entry.begin_ns), in_reach(entry.end_ns), entry.step, entry.collective});
    }
  }
}

void CellBuilder::find_waits() {
  latency_.assign(timeline_.collectives.size(), kNoTime);
  for (const MatchedCollective& one : matched_.collectives)
    for (std::size_t i = one.first_part; one.part_count > 1 && i < one.first_part + one.part_count; ++i)
      latency_[matched_.parts[i].collective] = one.latency_ns;
}

void CellBuilder::find_activities() {
  const ActivityTable& activities = timeline_.activities;
  on_device_.assign(timeline_.collectives.size(), false);
  const auto rank_of = [&](ActivityIndex row) {
    if (activities.stream[row] >= timeline_.streams.size()) return kNowhere;
    const DeviceIndex device = timeline_.streams[activities.stream[row]].device;
    return device < timeline_.devices.size() ? rank_of_[timeline_.devices[device].process] : kNowhere;
  };
  first_activity_.assign(out_.ranks.size() + 1, 0);
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.collective[row] < on_device_.size()) on_device_[activities.collective[row]] = true;
    if (const std::size_t rank = rank_of(row); rank != kNowhere) ++first_activity_[rank + 1];
  }
  for (std::size_t rank = 1; rank < first_activity_.size(); ++rank) first_activity_[rank] += first_activity_[rank - 1];
  activities_.resize(first_activity_.back());
  std::vector<std::size_t> next(first_activity_);
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (const std::size_t rank = rank_of(row); rank != kNowhere) activities_[next[rank]++] = row;
}

std::vector<StepFrame> CellBuilder::frames_of(std::size_t rank) const {
  const auto& own = collectives_[rank];
  if (std::any_of(own.begin(), own.end(), [&](const OwnCollective& one) { return on_device_[one.row]; }))
    return device_frames_of(rank);
  std::vector<StepFrame> frames;
  std::vector<bool> taken(out_.steps.size());
  for (const StepFigures& step : steps_of(rank)) {
    const std::size_t column = column_of(step.number);
    if (column == kNowhere || taken[column] || step.step_ns() <= 0) continue;
    taken[column] = true;
    frames.push_back({step.begin_ns, step.end_ns, column});
  }
  return frames;
}

/// The host runs ahead of its device, so its step says when work was asked for. On the device all ranks leave the last
/// collective of a step together: there one step ends and the next begins.
std::vector<StepFrame> CellBuilder::device_frames_of(std::size_t rank) const {
  std::map<std::int64_t, std::int64_t> last_end;  // by number
  for (const OwnCollective& one : collectives_[rank]) {
    if (one.step < 0 || !on_device_[one.row]) continue;
    const auto [found, added] = last_end.try_emplace(one.step, one.end_ns);
    found->second = std::max(found->second, one.end_ns);
  }
  std::vector<StepFrame> frames;
  std::int64_t begin_ns = kNoTime;
  const StepFigures* before = nullptr;
  for (const StepFigures& step : steps_of(rank)) {
    // What was not recorded between two steps belongs to neither.
    if (before != nullptr && step.number != before->number + 1) begin_ns = kNoTime;
    before = &step;
    const auto found = last_end.find(step.number);
    if (found == last_end.end()) continue;  // accumulates gradients: the next step with a collective holds it
    const std::size_t column = column_of(step.number);
    if (column != kNowhere && begin_ns != kNoTime && begin_ns < found->second)
      frames.push_back({begin_ns, found->second, column});
    begin_ns = std::max(begin_ns, found->second);
  }
  return frames;
}

void CellBuilder::fill_kernels(std::size_t rank, std::span<const StepFrame> frames,
                               std::span<const ActivityIndex> work) {
  const ActivityTable& activities = timeline_.activities;
  for (const ActivityIndex row : work) {
    const std::int64_t begin_ns = in_reach(activities.begin_ns[row]), end_ns = in_reach(activities.end_ns[row]);
    const auto after =
        std::upper_bound(frames.begin(), frames.end(), begin_ns,
                         [](std::int64_t time, const StepFrame& frame) { return time < frame.begin_ns; });
    if (after == frames.begin() || begin_ns >= after[-1].end_ns || end_ns <= begin_ns) continue;
    std::int64_t& of_class = cell(rank, after[-1].column).kernels_ns[static_cast<std::size_t>(classes_.of(row))];
    of_class = projection::plus(of_class, end_ns - begin_ns);
  }
}

CellBuilder::RankTime CellBuilder::time_of(std::size_t rank) {
  RankTime time;
  for (std::size_t i = first_activity_[rank]; i < first_activity_[rank + 1]; ++i) {
    const ActivityIndex row = activities_[i];
    if (classes_.is_communication(row)) continue;
    time.work.push_back(row);
    time.computing.push_back(
        {in_reach(timeline_.activities.begin_ns[row]), in_reach(timeline_.activities.end_ns[row])});
  }
  std::vector<Span> communicating, waiting;
  for (const OwnCollective& one : collectives_[rank]) {
    if (on_device_[one.row])
      communicating.push_back({one.begin_ns, one.end_ns});
    else
      add_blocked(timeline_.collectives, one, communicating);
    if (latency_[one.row] == kNoTime) continue;
    time.any_matched = true;
    const std::int64_t latency_ns = std::min(latency_[one.row], one.end_ns - one.begin_ns);
    waiting.push_back({one.begin_ns, one.end_ns - std::max<std::int64_t>(0, latency_ns)});
  }
  make_disjoint(time.computing);
  make_disjoint(communicating);
  make_disjoint(waiting);
  time.communicating = without(communicating, time.computing);
  time.waiting = common_of(waiting, time.communicating);
  return time;
}

void CellBuilder::fill_times(std::size_t rank, const std::vector<StepFrame>& frames, const RankTime& time) {
  const auto overlap = [&](const std::vector<Span>& spans, auto add) {
    for_each_overlap(
        std::span<const StepFrame>(frames), std::span<const Span>(spans),
        [&](std::size_t i, const Span&, std::int64_t length) { add(cell(rank, frames[i].column), length); });
  };
  for (const StepFrame& frame : frames) {
    RankStep& one = cell(rank, frame.column);
    one.step_ns = one.own_ns = frame.end_ns - frame.begin_ns;
    if (time.any_matched) one.waited_ns = 0;
  }
  overlap(time.communicating, [](RankStep& one, std::int64_t length) {
    one.own_ns -= length;
    one.communication_ns += length;
  });
  overlap(time.waiting, [](RankStep& one, std::int64_t length) {
    one.waited_ns += length;
    one.communication_ns -= length;
  });
  for (const StepFrame& frame : frames) cell(rank, frame.column).idle_ns = cell(rank, frame.column).own_ns;
  overlap(time.computing, [](RankStep& one, std::int64_t length) { one.idle_ns -= length; });
  for (const StepFigures& step : steps_of(rank))
    if (const std::size_t column = column_of(step.number); column != kNowhere)
      cell(rank, column).input_ns = step.part(StepPart::kData);
}

void CellBuilder::fill_rank(std::size_t rank) {
  const std::vector<StepFrame> frames = frames_of(rank);
  const RankTime time = time_of(rank);
  fill_times(rank, frames, time);
  // Without collectives in the data nothing tells which time was spent waiting: only what is surely work counts.
  if (collectives_[rank].empty() && !time.computing.empty())
    for (const StepFrame& frame : frames) {
      RankStep& one = cell(rank, frame.column);
      const std::int64_t busy_ns = one.own_ns - one.idle_ns;
      one.own_ns = std::min(one.step_ns, busy_ns + one.input_ns);
      one.communication_ns = one.step_ns - one.own_ns;
      one.idle_ns = one.own_ns - busy_ns;
    }
  fill_kernels(rank, frames, time.work);
  scores_.add_rank(time.work);
  out_.ranks[rank].steps = frames.size();
}

}  // namespace

void fill_straggler_cells(const Timeline& timeline, const MatchedCollectives& matched, const StepRules& rules,
                          std::size_t fewest_steps, Stragglers& out) {
  CellBuilder(timeline, matched, out).run(rules, fewest_steps);
}

std::map<ProcessIndex, std::vector<Span>> blocked_by_collectives(const Timeline& timeline) {
  std::map<ProcessIndex, std::vector<Span>> blocked;
  for (CollectiveIndex row{0}; row < timeline.collectives.size(); ++row)
    add_call_and_wait(timeline.collectives, row, blocked[timeline.collectives.process[row]]);
  for (auto& [process, spans] : blocked) make_disjoint(spans);
  return blocked;
}

}  // namespace rangefinder::analysis
