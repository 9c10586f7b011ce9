// SPDX-License-Identifier: MIT
#include "analysis/collective_work.hpp"
#include "analysis/range_at.hpp"

#include <rangefinder/analysis/hang.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

/// What one rank called of one group, by number. Sends and receives are between two, and stand apart.
using Calls = std::map<std::int64_t, CollectiveIndex>;

bool is_of_all(CollectiveKind kind) noexcept {
  return kind != CollectiveKind::kSend && kind != CollectiveKind::kReceive;
}

class HangFinder {
 public:
  explicit HangFinder(const Timeline& timeline) : timeline_(timeline), table_(timeline.collectives) {
    find_done();
    find_open_ranges();
    for (ProcessIndex process{0}; process < timeline.processes.size(); ++process)
      process_of_rank_[timeline.processes[process].rank] = process;
  }

  std::vector<Hang> run() {
    std::map<ProcessGroupIndex, std::map<ProcessIndex, Calls>> groups;
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      if (!is_call(row)) continue;
      Calls& calls = groups[table_.group[row]][table_.process[row]];
      const std::int64_t told = table_.number[row];
      calls[told >= 0 ? told : static_cast<std::int64_t>(calls.size())] = row;
    }
    std::vector<Hang> hangs;
    for (const auto& [group, ranks] : groups) find(group, ranks, hangs);
    std::stable_sort(hangs.begin(), hangs.end(), [](const Hang& a, const Hang& b) { return a.since_ns < b.since_ns; });
    find_ranges(hangs);
    return hangs;
  }

 private:
  bool is_call(CollectiveIndex row) const noexcept {
    return table_.thread[row] != kNone && table_.group[row] != kNone && is_of_all(table_.kind[row]);
  }

  // ---- what is over
  /// When work was done: as its library told, else when its last kernel ended.
  void find_done() {
    const std::vector<analysis::CollectiveWork> works = analysis::collective_works(timeline_);
    done_ns_.assign(table_.size(), kNoTime);
    knows_done_.assign(timeline_.process_groups.size(), false);
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      const bool told = table_.completed_ns[row] != kNoTime;
      done_ns_[row] = !told && works[row].kernels != 0 ? works[row].end_ns : table_.completed_ns[row];
      if (is_call(row) && done_ns_[row] != kNoTime) knows_done_[table_.group[row]] = true;
    }
  }
  /// kNoTime: it has not been left.
  std::int64_t left_ns(CollectiveIndex row) const noexcept {
    return knows_done_[table_.group[row]] ? done_ns_[row] : table_.end_ns[row];
  }
  bool has_left(CollectiveIndex row) const noexcept { return left_ns(row) != kNoTime; }
  bool waits_somewhere(const Calls& calls) const noexcept {
    return !calls.empty() && !has_left(calls.rbegin()->second);
  }

  // ---- which collective
  void find(ProcessGroupIndex group, const std::map<ProcessIndex, Calls>& ranks, std::vector<Hang>& hangs) const {
    std::set<std::int64_t> waited_for;
    for (const auto& [process, calls] : ranks)
      for (auto call = calls.rbegin(); call != calls.rend() && !has_left(call->second); ++call)
        waited_for.insert(call->first);
    if (waited_for.empty()) return;
    // The first that a rank did not come to. Where all came to all of them, the first: the others follow from it.
    const auto blamed = std::find_if(waited_for.begin(), waited_for.end(),
                                     [&](std::int64_t number) { return is_anyone_elsewhere(ranks, number); });
    hangs.push_back(hang_at(group, ranks, blamed != waited_for.end() ? *blamed : *waited_for.begin()));
  }
  /// Whether a rank called something else in that place, or nothing although it waits for nothing before it.
  bool is_anyone_elsewhere(const std::map<ProcessIndex, Calls>& ranks, std::int64_t number) const {
    const CollectiveIndex agreed = most_called(ranks, number);
    return std::any_of(ranks.begin(), ranks.end(), [&](const auto& of_process) {
      const auto call = of_process.second.find(number);
      if (call == of_process.second.end()) return !waits_somewhere(of_process.second);
      return !agrees(call->second, agreed);
    });
  }
  Hang hang_at(ProcessGroupIndex group, const std::map<ProcessIndex, Calls>& ranks, std::int64_t number) const {
    Hang hang;
    hang.group = group;
    hang.number = number;
    const CollectiveIndex agreed = most_called(ranks, number);
    hang.kind = table_.kind[agreed];
    hang.elements_in = table_.elements_in[agreed];
    hang.dtype = table_.dtype[agreed];
    for (const auto& [process, calls] : ranks) hang.ranks.push_back(rank_of(process, calls, number, agreed));
    for (const HangRank& rank : hang.ranks)
      if (rank.state == HangState::kWaits && (hang.since_ns == kNoTime || rank.since_ns < hang.since_ns))
        hang.since_ns = rank.since_ns;
    add_others(hang);
    std::stable_sort(hang.ranks.begin(), hang.ranks.end(),
                     [](const HangRank& a, const HangRank& b) { return a.rank < b.rank; });
    return hang;
  }

  /// Ranks that disagree are fewer than those that they disagree with; of as many, who called first is right.
  CollectiveIndex most_called(const std::map<ProcessIndex, Calls>& ranks, std::int64_t number) const {
    struct Called {
      std::size_t ranks = 0;
      CollectiveIndex first = kNone;
    };
    std::map<Meant, Called> called;
    for (const auto& [process, calls] : ranks) {
      const auto call = calls.find(number);
      if (call == calls.end()) continue;
      Called& same = called[meant(call->second)];
      ++same.ranks;
      if (same.first == kNone || is_before(call->second, same.first)) same.first = call->second;
    }
    Called best;
    for (const auto& [what, one] : called)
      if (one.ranks > best.ranks || (one.ranks == best.ranks && is_before(one.first, best.first))) best = one;
    return best.first;
  }
  /// Of two calls of different ranks.
  bool is_before(CollectiveIndex a, CollectiveIndex b) const noexcept {
    return std::pair(table_.begin_ns[a], table_.process[a]) < std::pair(table_.begin_ns[b], table_.process[b]);
  }
  /// What all ranks have to call alike: the kind and a number of elements.
  using Meant = std::pair<CollectiveKind, std::int64_t>;
  Meant meant(CollectiveIndex row) const noexcept {
    const CollectiveKind kind = table_.kind[row];
    // What ranks give may differ in these, or only the root gives or gets anything.
    if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter)
      return {kind, 0};
    return {kind, kind == CollectiveKind::kAllGather ? table_.elements_out[row] : table_.elements_in[row]};
  }
  bool agrees(CollectiveIndex a, CollectiveIndex b) const noexcept { return meant(a) == meant(b); }

  // ---- the ranks
  HangRank rank_of(ProcessIndex process, const Calls& calls, std::int64_t number, CollectiveIndex agreed) const {
    HangRank rank;
    rank.process = process;
    rank.rank = timeline_.processes[process].rank;
    for (const auto& [at, row] : calls) {
      rank.last_called = row;
      if (has_left(row)) rank.last_left = row;
    }
    const auto call = calls.find(number);
    if (call == calls.end()) {
      rank.state = HangState::kNeverCame;
      if (rank.last_left != kNone) rank.since_ns = left_ns(rank.last_left);
      return rank;
    }
    const CollectiveIndex row = call->second;
    rank.since_ns = table_.begin_ns[row];
    if (!agrees(row, agreed))
      rank.state = HangState::kDisagrees;
    else
      rank.state = has_left(row) ? HangState::kLeft : HangState::kWaits;
    return rank;
  }
  /// Members of the group that called nothing in it.
  void add_others(Hang& hang) const {
    std::set<std::int64_t> there;
    for (const HangRank& rank : hang.ranks) there.insert(rank.rank);
    for (const std::int64_t member : timeline_.process_groups[hang.group].ranks) {
      if (there.contains(member)) continue;
      HangRank rank;
      rank.rank = static_cast<std::int32_t>(member);
      rank.state = HangState::kMissing;
      if (const auto known = process_of_rank_.find(member); known != process_of_rank_.end()) {
        rank.process = known->second;
        rank.state = HangState::kNeverCame;
        rank.since_ns = timeline_.processes[rank.process].start_ns;
      }
      hang.ranks.push_back(rank);
    }
  }

  // ---- where they are
  /// By thread and by process, the range that was opened last of those that are still open. Operators are inside them.
  void find_open_ranges() {
    open_.assign(timeline_.threads.size(), kNone);
    const RangeTable& ranges = timeline_.ranges;
    for (RangeIndex range{0}; range < ranges.size(); ++range) {
      if ((ranges.flags[range] & kUnfinished) == 0 || ranges.kind[range] == RangeKind::kOperator) continue;
      if (ranges.thread[range] == kNone) continue;
      RangeIndex& open = open_[ranges.thread[range]];
      if (open == kNone || ranges.begin_ns[range] >= ranges.begin_ns[open]) open = range;
    }
    open_in_.assign(timeline_.processes.size(), kNone);
    for (ThreadIndex thread{0}; thread < open_.size(); ++thread) {
      const RangeIndex open = open_[thread];
      const ProcessIndex process = timeline_.threads[thread].process;
      if (open == kNone || process >= open_in_.size()) continue;
      RangeIndex& last = open_in_[process];
      if (last == kNone || ranges.begin_ns[open] > ranges.begin_ns[last]) last = open;
    }
  }
  void find_ranges(std::vector<Hang>& hangs) const {
    std::vector<analysis::HostMoment> calls;
    std::vector<HangRank*> of_calls;
    for (Hang& hang : hangs)
      for (HangRank& rank : hang.ranks) {
        if (rank.last_called != kNone)
          rank.range = open_[table_.thread[rank.last_called]];
        else if (rank.process != kNone)
          rank.range = open_in_[rank.process];
        // One that came and has no range open any more: it has ended, by an error perhaps.
        if (rank.range != kNone || rank.last_called == kNone || rank.state == HangState::kNeverCame) continue;
        calls.push_back({table_.thread[rank.last_called], table_.begin_ns[rank.last_called]});
        of_calls.push_back(&rank);
      }
    const std::vector<RangeIndex> found = analysis::ranges_at(timeline_, {}, calls);
    for (std::size_t i = 0; i < of_calls.size(); ++i) of_calls[i]->range = found[i];
  }

  const Timeline& timeline_;
  const CollectiveTable& table_;
  std::vector<std::int64_t> done_ns_;  // by collective
  std::vector<bool> knows_done_;       // by group: the recordings tell when work was done
  std::vector<RangeIndex> open_;       // by thread
  std::vector<RangeIndex> open_in_;    // by process
  std::map<std::int64_t, ProcessIndex> process_of_rank_;
};

}  // namespace

std::vector<Hang> find_hangs(const Timeline& timeline) { return HangFinder(timeline).run(); }

const char* to_string(HangState state) noexcept {
  switch (state) {
    case HangState::kWaits:
      return "waits";
    case HangState::kLeft:
      return "left";
    case HangState::kNeverCame:
      return "never came";
    case HangState::kDisagrees:
      return "called something else";
    case HangState::kMissing:
      return "no recording";
  }
  return "";
}

}  // namespace rangefinder
