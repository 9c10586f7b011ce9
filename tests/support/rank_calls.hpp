// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_at.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// What the ranks of tests/source/torch/rank_job.cpp wrote down of their own calls, to compare recordings with.
namespace rangefinder::testing {

struct RankCall {
  std::string group;
  std::int64_t number = -1;  ///< of collectives: their place in the group; -1: a send or receive
  std::string kind;
  std::int64_t in = -1, out = -1;
  std::string dtype;
  int peer = -1;                      ///< within the group
  std::string in_splits, out_splits;  ///< "[1,2]"; "-": none
  std::string range;                  ///< called in the range "call <this>", waited for in "wait <this>"
};

inline std::vector<RankCall> read_rank_calls(const std::string& path) {
  std::ifstream file(path);
  std::vector<RankCall> calls;
  RankCall call;
  while (file >> call.group >> call.number >> call.kind >> call.in >> call.out >> call.dtype >> call.peer >>
         call.in_splits >> call.out_splits >> call.range)
    calls.push_back(call);
  return calls;
}

/// A job's recording beside what its ranks wrote. Whatever differs is a text in `differences`.
class RankCalls {
 public:
  RankCalls(const Timeline& timeline, std::map<int, std::vector<RankCall>> calls)
      : timeline_(timeline), table_(timeline.collectives), calls_(std::move(calls)) {
    std::map<int, std::size_t> next;
    call_of_.resize(table_.size());
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      const int rank = timeline.processes[table_.process[row]].rank;
      const std::size_t place = next[rank]++;
      if (place < calls_[rank].size()) call_of_[row] = &calls_[rank][place];
    }
    for (const auto& [rank, told] : calls_)
      if (next[rank] != told.size())
        differ(rank, std::to_string(told.size()) + " calls, recorded " + std::to_string(next[rank]));
  }

  std::vector<std::string> differences;
  std::size_t matched = 0, matched_messages = 0;  ///< collectives of all their ranks; sends with their receives
  std::size_t alone = 0;                          ///< of which one part was found
  std::uint64_t refused_parts = 0;

  /// Row by row: all that was recorded of each call.
  void compare_rows() {
    std::vector<analysis::HostMoment> moments;
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      moments.push_back({table_.thread[row], table_.begin_ns[row]});
      moments.push_back({table_.wait_thread[row], table_.wait_begin_ns[row]});
    }
    const std::vector<RangeIndex> ranges = analysis::ranges_at(timeline_, {}, moments);
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      if (call_of_[row] == nullptr) continue;
      const RankCall& call = *call_of_[row];
      compare_inputs(row, call);
      compare_times(row);
      check(row, name_of(ranges[2 * row]) == "call " + call.range, "called in " + name_of(ranges[2 * row]));
      check(row, name_of(ranges[2 * row + 1]) == "wait " + call.range, "waited in " + name_of(ranges[2 * row + 1]));
    }
  }

  /// The matches: parts of one are calls that the ranks count alike.
  void compare_matches() {
    const MatchedCollectives found = match_collectives(timeline_);
    const std::map<CollectiveIndex, std::size_t> places = places_of_messages();
    for (const MatchedCollective& one : found.collectives) {
      const CollectivePart* const parts = &found.parts[one.first_part];
      const RankCall* const first = call_of_[parts[0].collective];
      if (first == nullptr) continue;
      for (std::uint32_t i = 1; i < one.part_count; ++i) {
        const CollectiveIndex row = parts[i].collective;
        const RankCall* const other = call_of_[row];
        const bool same = other != nullptr && other->group == first->group && other->number == first->number &&
                          (first->number >= 0 || are_ends(parts[0].collective, row, places));
        check(row, same, "matched with " + first->kind + " " + std::to_string(first->number) + " of " + first->group);
      }
      if (one.part_count < one.ranks)
        ++alone;
      else
        ++(first->number >= 0 ? matched : matched_messages);
    }
    for (const RefusedCollectives& one : found.refused) refused_parts += one.parts;
  }

 private:
  using Message = std::tuple<std::string, std::int64_t, std::int64_t>;  // group, sender and receiver of the job

  void differ(int rank, const std::string& what) {
    differences.push_back("rank " + std::to_string(rank) + ": " + what);
  }
  void check(CollectiveIndex row, bool right, const std::string& what) {
    if (right) return;
    const RankCall& call = *call_of_[row];
    differ(timeline_.processes[table_.process[row]].rank, call.kind + " " + std::to_string(call.number) + " of group " +
                                                              call.group + " (" + call.range + "): " + what);
  }
  std::string name_of(RangeIndex range) const {
    return range == kNone ? "no range" : std::string(timeline_.text(timeline_.ranges.name[range]));
  }
  /// "[1, 2]" -> "[1,2]"
  std::string parts_of(StringId text) const {
    std::string parts(timeline_.text(text));
    parts.erase(std::remove(parts.begin(), parts.end(), ' '), parts.end());
    return parts.empty() ? "-" : parts;
  }

  void compare_inputs(CollectiveIndex row, const RankCall& call) {
    check(row, to_string(table_.kind[row]) == call.kind, std::string("recorded as ") + to_string(table_.kind[row]));
    check(row, table_.elements_in[row] == call.in, "elements in " + std::to_string(table_.elements_in[row]));
    check(row, table_.elements_out[row] == call.out, "elements out " + std::to_string(table_.elements_out[row]));
    const std::string dtype(timeline_.text(table_.dtype[row]));
    check(row, (dtype.empty() ? "-" : dtype) == call.dtype, "type " + dtype);
    check(row, table_.peer[row] == call.peer, "peer " + std::to_string(table_.peer[row]));
    check(row, parts_of(table_.in_splits[row]) == call.in_splits, "parts in " + parts_of(table_.in_splits[row]));
    check(row, parts_of(table_.out_splits[row]) == call.out_splits, "parts out " + parts_of(table_.out_splits[row]));
    check(row, (table_.number[row] >= 0) == (call.number >= 0), "number " + std::to_string(table_.number[row]));
    if (table_.group[row] == kNone) return check(row, false, "no group");
    const ProcessGroupInfo& group = timeline_.process_groups[table_.group[row]];
    std::vector<std::int64_t> ranks;
    for (const auto& [rank, told] : calls_)
      if (std::any_of(told.begin(), told.end(), [&](const RankCall& one) { return one.group == call.group; }))
        ranks.push_back(rank);
    check(row, group.name == call.group, "group " + group.name);
    check(row, group.ranks == ranks && group.size == static_cast<std::int32_t>(ranks.size()), "other ranks");
    check(row, group.description == (call.group == "0" ? "default_pg" : "pair"), "group " + group.description);
  }
  void compare_times(CollectiveIndex row) {
    const std::int64_t begin = table_.begin_ns[row], end = table_.end_ns[row], started = table_.started_ns[row],
                       completed = table_.completed_ns[row], wait = table_.wait_begin_ns[row],
                       waited = table_.wait_end_ns[row];
    check(row, begin != kNoTime && begin <= end, "the call ends before it begins");
    check(row, begin <= started && started <= completed, "its work ends before it begins");
    check(row, end <= wait && wait <= waited, "waiting ends before it begins");
    check(row, completed <= waited, "waiting ends before the work");
  }

  /// Of each send and receive whose ends are both known: how many there were before it between the two.
  std::map<CollectiveIndex, std::size_t> places_of_messages() const {
    std::map<std::pair<Message, std::string>, std::size_t> count;
    std::map<CollectiveIndex, std::size_t> places;
    for (CollectiveIndex row{0}; row < table_.size(); ++row) {
      if (call_of_[row] == nullptr || call_of_[row]->number >= 0 || call_of_[row]->peer < 0) continue;
      places[row] = count[{message_of(row), call_of_[row]->kind}]++;
    }
    return places;
  }
  Message message_of(CollectiveIndex row) const {
    const RankCall& call = *call_of_[row];
    const std::int64_t me = timeline_.processes[table_.process[row]].rank;
    const std::int64_t other = timeline_.process_groups[table_.group[row]].ranks[static_cast<std::size_t>(call.peer)];
    return call.kind == "send" ? Message{call.group, me, other} : Message{call.group, other, me};
  }
  bool are_ends(CollectiveIndex a, CollectiveIndex b, const std::map<CollectiveIndex, std::size_t>& places) const {
    const auto of_a = places.find(a), of_b = places.find(b);
    return of_a != places.end() && of_b != places.end() && of_a->second == of_b->second &&
           call_of_[a]->kind != call_of_[b]->kind && message_of(a) == message_of(b);
  }

  const Timeline& timeline_;
  const CollectiveTable& table_;
  std::map<int, std::vector<RankCall>> calls_;
  std::vector<const RankCall*> call_of_;  // by row
};

}  // namespace rangefinder::testing
