// SPDX-License-Identifier: MIT
#include "analysis/stragglers_links.hpp"

#include "analysis/medians.hpp"
#include "analysis/stragglers_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::analysis {
namespace {

constexpr std::size_t kFewestGroups = 3;
/// A group is slow if its collectives take this much longer, at least: distances between hosts differ by some percent.
constexpr double kLeastSlowdown = 0.15;
/// Standard deviation of groups' latencies that is taken to be usual, at least.
constexpr double kLeastGroupDeviation = 0.03;

/// Collectives that should take equally long in all groups: by kind, bytes and ranks.
using LinkClass = std::tuple<CollectiveKind, std::uint64_t, std::uint32_t>;

struct GroupLatency {
  std::vector<double> latencies_ns;
  std::set<ProcessIndex> ranks;
  double median_ns = 0;
};

/// How slow one group is in one class.
struct SlowGroup {
  double excess_ns = 0;  ///< of all its collectives of the class
  double slowdown = 0;
  double p_value = 1;
};

class LinkFinder {
 public:
  LinkFinder(const Timeline& timeline, const StragglerOptions& options, Stragglers& out)
      : timeline_(timeline), options_(options), out_(out) {}

  void run(const MatchedCollectives& matched) {
    for (const MatchedCollective& one : matched.collectives) {
      if (one.part_count < 2 || one.part_count != one.ranks || one.group == kNone || one.latency_ns <= 0) continue;
      GroupLatency& group = classes_[{one.kind, one.bytes, one.ranks}][one.group];
      group.latencies_ns.push_back(static_cast<double>(one.latency_ns));
      for (std::uint32_t i = 0; i < one.part_count; ++i) group.ranks.insert(matched.parts[one.first_part + i].process);
    }
    for (auto& [key, groups] : classes_)
      if (groups.size() >= kFewestGroups) judge(groups);
    name_ranks();
  }

 private:
  using Groups = std::map<ProcessGroupIndex, GroupLatency>;

  void judge(Groups& groups) {
    std::vector<double> medians, deviations;
    for (auto& [index, group] : groups) {
      std::vector<double> latencies = group.latencies_ns;
      group.median_ns = median_of(latencies);
      medians.push_back(group.median_ns);
      for (const double latency : group.latencies_ns) deviations.push_back(latency / group.median_ns - 1);
    }
    const double usual_ns = median_of(medians);
    for (double& median : medians) median = median / usual_ns - 1;
    const double between = std::max(kLeastGroupDeviation, robust_deviation(medians, 0));
    const double within = std::max(kLeastGroupDeviation, robust_deviation(deviations, 0));
    for (const auto& [index, group] : groups) {
      const auto count = static_cast<double>(group.latencies_ns.size());
      SlowGroup one;
      one.slowdown = group.median_ns / usual_ns - 1;
      one.excess_ns = (group.median_ns - usual_ns) * count;
      const double chance =
          std::max(normal_tail(one.slowdown / between), normal_tail(one.slowdown / median_error(within, count)));
      one.p_value = std::min(1.0, chance * static_cast<double>(groups.size()));
      for (const ProcessIndex rank : group.ranks) of_rank_[rank].emplace_back(index, one);
    }
  }
  bool is_slow(const SlowGroup& group) const noexcept {
    return group.slowdown >= kLeastSlowdown && group.p_value < options_.significance;
  }

  /// The least slow of a rank's groups, where it has two or more; several classes of one group count together.
  struct Evidence {
    std::set<ProcessGroupIndex> groups;
    double total_ns = 0;  ///< over all its groups and the whole recording
    double p_value = 0;
    bool all_slow = true;
  };
  Evidence evidence_of(ProcessIndex process) const {
    Evidence evidence;
    const auto found = of_rank_.find(process);
    if (found == of_rank_.end()) return evidence;
    for (const auto& [index, group] : found->second) {
      evidence.groups.insert(index);
      evidence.total_ns += group.excess_ns;
      evidence.p_value = std::max(evidence.p_value, group.p_value);
      evidence.all_slow = evidence.all_slow && is_slow(group);
    }
    return evidence;
  }

  void name_ranks() {
    std::map<std::set<ProcessGroupIndex>, std::vector<std::pair<std::size_t, Evidence>>> suspects;
    const double steps =
        std::max(1.0, static_cast<double>(timeline_.steps.size()) / static_cast<double>(out_.ranks.size()));
    for (std::size_t rank = 0; rank < out_.ranks.size(); ++rank) {
      Evidence evidence = evidence_of(out_.ranks[rank].process);
      if (evidence.groups.size() < 2 || !evidence.all_slow) continue;
      out_.ranks[rank].communication_excess_ns = std::llround(evidence.total_ns / steps);
      suspects[evidence.groups].emplace_back(rank, std::move(evidence));
    }
    std::set<ProcessGroupIndex> explained;
    for (const auto& [groups, ranks] : suspects) {
      if (ranks.size() != 1) continue;  // they share all their groups: nothing tells which of them it is
      add(ranks.front().first, ranks.front().second.p_value);
      explained.insert(groups.begin(), groups.end());
    }
    note_others(explained);
  }
  void add(std::size_t rank, double p_value) {
    const RankScore& score = out_.ranks[rank];
    Straggler one;
    one.rank = rank;
    one.persistent = true;
    one.excess_ns = score.communication_excess_ns;
    one.excess_ratio = score.step_ns > 0 ? static_cast<double>(one.excess_ns) / static_cast<double>(score.step_ns) : 0;
    one.cause = StragglerCause::kCommunication;
    one.cause_ratio = 1;
    one.p_value = p_value;
    one.steps = out_.steps;
    if (one.excess_ratio >= options_.least_excess) out_.stragglers.push_back(std::move(one));
  }
  void note_others(const std::set<ProcessGroupIndex>& explained) {
    std::map<ProcessGroupIndex, double> slow;
    for (const auto& [process, groups] : of_rank_)
      for (const auto& [index, group] : groups)
        if (is_slow(group) && explained.count(index) == 0) slow[index] = std::max(slow[index], group.slowdown);
    constexpr std::size_t kMostNotes = 4;
    std::size_t count = 0;
    for (const auto& [index, slowdown] : slow) {
      if (++count > kMostNotes) break;
      out_.notes.push_back("collectives of group " + timeline_.process_groups[index].name + " take " +
                           std::to_string(std::lround(slowdown * 100)) +
                           " % longer than those of other groups; which of its ranks or links is slow cannot be told");
    }
  }

  const Timeline& timeline_;
  const StragglerOptions& options_;
  Stragglers& out_;
  std::map<LinkClass, Groups> classes_;
  std::map<ProcessIndex, std::vector<std::pair<ProcessGroupIndex, SlowGroup>>> of_rank_;
};

}  // namespace

void find_slow_links(const Timeline& timeline, const MatchedCollectives& matched, const StragglerOptions& options,
                     Stragglers& out) {
  LinkFinder(timeline, options, out).run(matched);
}

}  // namespace rangefinder::analysis
