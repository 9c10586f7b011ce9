// SPDX-License-Identifier: MIT
#include "analysis/collective_lanes.hpp"
#include "analysis/collective_work.hpp"
#include "analysis/range_at.hpp"
#include "projection/figures.hpp"
#include "timeline/words.hpp"

#include <rangefinder/analysis/collectives.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

using analysis::counted_bytes;
using analysis::counted_elements;
using analysis::Lane;
using analysis::LaneEntry;
using analysis::LaneKey;
using projection::minus;
using projection::plus;

/// Wall clocks of machines of one job agree that well, at least.
constexpr std::int64_t kWallClockError_ns = 1'000'000'000;

/// No rank leaves it before the last one has come.
bool waits_for_all(CollectiveKind kind) noexcept {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kAllGather ||
         kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll ||
         kind == CollectiveKind::kBarrier;
}

double bus_factor(CollectiveKind kind, double ranks) noexcept {
  if (ranks < 2) return 0;
  if (kind == CollectiveKind::kAllReduce) return 2 * (ranks - 1) / ranks;
  const bool of_parts =
      kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll;
  return of_parts ? (ranks - 1) / ranks : 1;
}

/// What has to be the same in all parts, in words for a refusal; empty: it is.
class Matcher {
 public:
  Matcher(const Timeline& timeline, MatchedCollectives& out)
      : timeline_(timeline), table_(timeline.collectives), out_(out) {}

  void match(const LaneKey& key, const std::map<ProcessIndex, Lane>& lanes) {
    key_ = key;
    if (lanes.size() == 1) return add_alone(lanes.begin()->first, lanes.begin()->second);
    if (has_numbers(lanes)) return match_by_number(lanes);
    if (has_steps(lanes)) return match_by_step(lanes);
    match_in_order(lanes);
  }

 private:
  using Parts = std::vector<std::pair<ProcessIndex, const LaneEntry*>>;

  // ---- three ways to tell which are the same
  bool has_numbers(const std::map<ProcessIndex, Lane>& lanes) const {
    return std::all_of(lanes.begin(), lanes.end(), [&](const auto& of_process) {
      return std::all_of(of_process.second.begin(), of_process.second.end(),
                         [&](const LaneEntry& entry) { return table_.number[entry.collective] >= 0; });
    });
  }
  void match_by_number(const std::map<ProcessIndex, Lane>& lanes) {
    // Calls that are made as one may share a number: their order among themselves tells.
    std::map<std::pair<std::int64_t, int>, Parts> found;
    for (const auto& [process, lane] : lanes) {
      std::map<std::int64_t, int> times;
      for (const LaneEntry& entry : lane) {
        const std::int64_t number = table_.number[entry.collective];
        found[{number, times[number]++}].emplace_back(process, &entry);
      }
    }
    for (const auto& [key, parts] : found) {
      const std::string reason = disagreement(parts);
      if (reason.empty())
        add(parts, key.first);
      else
        refuse(parts.size(), "number " + std::to_string(key.first) + ": " + reason);
    }
  }

  static bool has_steps(const std::map<ProcessIndex, Lane>& lanes) {
    return std::all_of(lanes.begin(), lanes.end(), [](const auto& of_process) {
      return std::any_of(of_process.second.begin(), of_process.second.end(),
                         [](const LaneEntry& entry) { return entry.step >= 0; });
    });
  }
  /// Steps that some rank did not record, and what is in no step, cannot be told apart.
  void match_by_step(const std::map<ProcessIndex, Lane>& lanes) {
    std::map<std::int64_t, std::map<ProcessIndex, std::vector<const LaneEntry*>>> steps;
    for (const auto& [process, lane] : lanes)
      for (const LaneEntry& entry : lane) steps[entry.step][process].push_back(&entry);
    std::int64_t number = 0;
    for (const auto& [step, processes] : steps) {
      const std::string where = step < 0 ? "outside of steps: " : "step " + std::to_string(step) + ": ";
      if (step < 0 && processes.size() != lanes.size())
        refuse(count(processes), where + "not in all recordings");
      else
        match_places(processes, where, number);
    }
  }
  void match_in_order(const std::map<ProcessIndex, Lane>& lanes) {
    std::map<ProcessIndex, std::vector<const LaneEntry*>> all;
    for (const auto& [process, lane] : lanes)
      for (const LaneEntry& entry : lane) all[process].push_back(&entry);
    std::int64_t number = 0;
    match_places(all, "", number);
  }
  /// The i-th of each are one, where all have as many. One that disagrees puts all of them in doubt.
  void match_places(const std::map<ProcessIndex, std::vector<const LaneEntry*>>& processes, const std::string& where,
                    std::int64_t& number) {
    const std::size_t size = processes.begin()->second.size();
    for (const auto& [process, entries] : processes) {
      if (entries.size() == size) continue;
      return refuse(count(processes), where + "recordings hold different numbers of them (" + std::to_string(size) +
                                          " and " + std::to_string(entries.size()) +
                                          "), and nothing tells which are the same");
    }
    std::vector<Parts> found(size);
    for (const auto& [process, entries] : processes)
      for (std::size_t i = 0; i < size; ++i) found[i].emplace_back(process, entries[i]);
    for (std::size_t i = 0; i < size; ++i)
      if (const std::string reason = disagreement(found[i]); !reason.empty())
        return refuse(count(processes), where + "the one at place " + std::to_string(i + 1) + ": " + reason);
    for (const Parts& parts : found) add(parts, number++);
  }
  template <typename Processes>
  static std::uint64_t count(const Processes& processes) noexcept {
    std::uint64_t entries = 0;
    for (const auto& [process, of_process] : processes) entries += of_process.size();
    return entries;
  }

  // ---- whether they can be the same
  std::string disagreement(const Parts& parts) const {
    const CollectiveIndex first = parts.front().second->collective;
    for (const auto& [process, entry] : parts) {
      const CollectiveIndex row = entry->collective;
      if (std::string reason = difference(first, row); !reason.empty()) return reason;
    }
    return overlap_reason(parts);
  }
  std::string difference(CollectiveIndex a, CollectiveIndex b) const {
    const CollectiveKind kind = table_.kind[a];
    const bool pair = key_.sender >= 0 || key_.receiver >= 0;
    if (!pair && kind != table_.kind[b])
      return std::string("a rank calls ") + to_string(kind) + ", another one " + to_string(table_.kind[b]);
    if (table_.dtype[a] != table_.dtype[b] && table_.dtype[a] != StringId::kEmpty &&
        table_.dtype[b] != StringId::kEmpty)
      return "elements are " + std::string(timeline_.text(table_.dtype[a])) + " and " +
             std::string(timeline_.text(table_.dtype[b]));
    const std::int64_t of_a = comparable_elements(a), of_b = comparable_elements(b);
    const bool equal_parts = kind != CollectiveKind::kAllToAll && kind != CollectiveKind::kAllGather;
    if (equal_parts && of_a >= 0 && of_b >= 0 && of_a != of_b)
      return "a rank gives " + std::to_string(of_a) + " elements, another one " + std::to_string(of_b);
    return {};
  }
  /// What all ranks have alike: the root alone has all of a gather or scatter.
  std::int64_t comparable_elements(CollectiveIndex row) const noexcept {
    if (table_.kind[row] == CollectiveKind::kGather) return table_.elements_in[row];
    if (table_.kind[row] == CollectiveKind::kScatter) return table_.elements_out[row];
    return counted_elements(table_, row, 1);
  }
  std::string overlap_reason(const Parts& parts) const {
    if (!waits_for_all(table_.kind[parts.front().second->collective])) return {};
    std::int64_t last_begin = std::numeric_limits<std::int64_t>::min(), first_end = -(last_begin + 1);
    for (const auto& [process, entry] : parts) {
      last_begin = std::max(last_begin, entry->begin_ns);
      first_end = std::min(first_end, entry->end_ns);
    }
    const std::int64_t error = clock_error(parts);
    const std::int64_t slack = error == kNoTime ? kWallClockError_ns : error;
    if (static_cast<__int128>(last_begin) - first_end <= slack) return {};
    return "a rank left before another one came, by more than the clocks can be off";
  }
  /// Most that times of the parts can be off against each other; kNoTime: not known.
  std::int64_t clock_error(const Parts& parts) const {
    std::set<std::uint32_t> clocks;
    for (const auto& [process, entry] : parts) clocks.insert(timeline_.processes[process].clock);
    std::int64_t error = 0;
    for (const std::uint32_t clock : clocks) {
      if (clocks.size() == 1 || clock >= timeline_.hosts.size()) continue;
      const std::int64_t of_host = timeline_.hosts[clock].error_ns;
      if (of_host == kNoTime) return kNoTime;
      error = plus(error, of_host);
    }
    return plus(error, plus(timeline_.clock_error_ns, timeline_.clock_error_ns));
  }

  // ---- results
  void refuse(std::uint64_t parts, std::string reason) {
    out_.refused.push_back({ProcessGroupIndex(key_.group), parts, std::move(reason)});
  }
  /// Of a job of which one rank was recorded.
  void add_alone(ProcessIndex process, const Lane& lane) {
    std::int64_t number = 0;
    for (const LaneEntry& entry : lane) {
      const std::int64_t told = table_.number[entry.collective];
      add({{process, &entry}}, told >= 0 ? told : number);
      ++number;
    }
  }
  std::uint32_t ranks_of(const Parts& parts) const {
    std::int64_t ranks = static_cast<std::int64_t>(parts.size());
    if (key_.sender >= 0 || key_.receiver >= 0) return 2;
    if (key_.group != kNone)
      ranks = std::max<std::int64_t>(ranks, timeline_.process_groups[key_.group].size);
    else
      ranks = std::max<std::int64_t>(ranks, timeline_.processes[parts.front().first].world_size);
    return static_cast<std::uint32_t>(ranks);
  }
  void add(const Parts& parts, std::int64_t number) {
    MatchedCollective one;
    const CollectiveIndex first = parts.front().second->collective;
    one.kind = table_.kind[first];
    one.group = ProcessGroupIndex(key_.group);
    one.number = number;
    one.first_part = out_.parts.size();
    one.part_count = static_cast<std::uint32_t>(parts.size());
    one.ranks = ranks_of(parts);
    one.clock_error_ns = clock_error(parts);
    one.latency_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t first_begin = std::numeric_limits<std::int64_t>::max(), last_begin = kNoTime;
    for (const auto& [process, entry] : parts) {
      if (entry->begin_ns > last_begin) one.last_part = static_cast<std::uint32_t>(out_.parts.size() - one.first_part);
      first_begin = std::min(first_begin, entry->begin_ns);
      last_begin = std::max(last_begin, entry->begin_ns);
      const std::int64_t length_ns = minus(entry->end_ns, entry->begin_ns);
      one.latency_ns = std::min(one.latency_ns, length_ns);
      one.longest_ns = std::max(one.longest_ns, length_ns);
      out_.parts.push_back({entry->collective, process, entry->begin_ns, entry->end_ns});
    }
    const bool comparable = one.clock_error_ns != kNoTime && parts.size() > 1;
    if (comparable) {
      one.skew_ns = minus(last_begin, first_begin);
      for (std::size_t i = one.first_part; i < out_.parts.size(); ++i)
        out_.parts[i].wait_ns = minus(last_begin, out_.parts[i].begin_ns);
    } else {
      one.last_part = kNone;
    }
    measure(parts, one);
    out_.collectives.push_back(one);
  }
  void measure(const Parts& parts, MatchedCollective& one) const {
    double most = 0, sum = 0;
    std::size_t known = 0;
    for (const auto& [process, entry] : parts) {
      const std::optional<std::uint64_t> bytes = counted_bytes(timeline_, entry->collective, one.ranks);
      if (!bytes) continue;
      ++known;
      one.bytes = std::max(one.bytes, *bytes);
      most = std::max(most, static_cast<double>(*bytes));
      sum += static_cast<double>(*bytes);
    }
    if (one.kind == CollectiveKind::kAllToAll && known == parts.size() && sum > 0)
      one.imbalance = most * static_cast<double>(known) / sum;
    if (one.latency_ns <= 0) return;
    one.algorithm_bandwidth = static_cast<double>(one.bytes) * 1e9 / static_cast<double>(one.latency_ns);
    one.bus_bandwidth = one.algorithm_bandwidth * bus_factor(one.kind, one.ranks);
  }

  const Timeline& timeline_;
  const CollectiveTable& table_;
  MatchedCollectives& out_;
  LaneKey key_;
};

/// In which range of its rank the last part was called.
void find_ranges(const Timeline& timeline, MatchedCollectives& matched) {
  std::vector<analysis::HostMoment> moments;
  for (const MatchedCollective& one : matched.collectives) {
    if (one.last_part == kNone) continue;
    const CollectiveIndex row = matched.parts[one.first_part + one.last_part].collective;
    moments.push_back({timeline.collectives.thread[row], timeline.collectives.begin_ns[row]});
  }
  const std::vector<RangeIndex> ranges = analysis::ranges_at(timeline, {}, moments);
  std::size_t next = 0;
  for (MatchedCollective& one : matched.collectives)
    if (one.last_part != kNone) one.last_range = ranges[next++];
}

}  // namespace

MatchedCollectives match_collectives(const Timeline& timeline) {
  MatchedCollectives matched;
  Matcher matcher(timeline, matched);
  for (const auto& [key, lanes] : analysis::collective_lanes(timeline)) matcher.match(key, lanes);
  const auto begin_of = [&](const MatchedCollective& one) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = 0; i < one.part_count; ++i)
      begin = std::min(begin, matched.parts[one.first_part + i].begin_ns);
    return begin;
  };
  std::stable_sort(matched.collectives.begin(), matched.collectives.end(),
                   [&](const MatchedCollective& a, const MatchedCollective& b) { return begin_of(a) < begin_of(b); });
  find_ranges(timeline, matched);
  return matched;
}

const char* to_string(CollectiveKind kind) noexcept { return word_of(kind).data(); }

}  // namespace rangefinder
