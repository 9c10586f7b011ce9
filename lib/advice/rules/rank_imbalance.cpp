// SPDX-License-Identifier: MIT
#include "advice/rule.hpp"

#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <string>

// One rank has more to do, or is slower at it, and all others wait for it.
namespace rangefinder::advice {
namespace {

std::string rank_text(const Timeline& timeline, const RankScore& score) {
  const std::int32_t rank = timeline.processes[score.process].rank;
  return rank >= 0 ? "rank " + std::to_string(rank)
                   : "process " + std::to_string(timeline.processes[score.process].pid);
}

/// A step, over all that were compared.
std::int64_t mean_excess_ns(const Stragglers& found, const Straggler& one) {
  if (one.persistent || found.steps.empty()) return one.excess_ns;
  return static_cast<std::int64_t>(static_cast<double>(one.excess_ns) * static_cast<double>(one.steps.size()) /
                                   static_cast<double>(found.steps.size()));
}

std::string cause_text(const Straggler& one) {
  return one.cause == StragglerCause::kKernels ? std::string(to_string(one.kernel_class)) + " kernels"
                                               : to_string(one.cause);
}

}  // namespace

Judgement judge_rank_imbalance(Context& context) {
  const Timeline& timeline = context.timeline();
  if (timeline.processes.size() < 2) {
    const bool has_others = std::any_of(timeline.processes.begin(), timeline.processes.end(),
                                        [](const ProcessInfo& process) { return process.world_size > 1; });
    return has_others ? Judgement::cannot_tell("the other ranks: record each into one folder and give the folder")
                      : Judgement::nothing();
  }
  const Stragglers& found = context.stragglers();
  if (!found.abstained.empty()) return Judgement::cannot_tell("what it takes to compare ranks: " + found.abstained);
  if (found.stragglers.empty()) return Judgement::nothing();
  EvidenceTable none(context);
  std::int64_t gain_ns = 0;
  const Straggler* worst = nullptr;
  std::vector<AdviceEvidence> rows;
  for (const Straggler& one : found.stragglers) {
    const std::int64_t excess_ns = mean_excess_ns(found, one);
    AdviceEvidence row;
    row.where = rank_text(timeline, found.ranks[one.rank]);
    row.what = "more than the median rank: " + cause_text(one);
    row.count = 1;
    row.time_ns = excess_ns;
    rows.push_back(std::move(row));
    // Once the worst is like the others, the next one is waited for: the gains do not add up.
    if (worst != nullptr && excess_ns <= gain_ns) continue;
    gain_ns = excess_ns;
    worst = &one;
  }
  if (gain_ns < context.least_gain_ns()) return Judgement::nothing();
  AdviceFinding finding = finding_of(
      AdviceRule::kRankImbalance, gain_ns, none,
      {"The other ranks wait for " + rank_text(timeline, found.ranks[worst->rank]) + ", whose own work takes " +
           percent(worst->excess_ratio) + " of a step longer: " + cause_text(*worst) +
           (worst->range != StringId::kEmpty ? " in " + std::string(timeline.text(worst->range)) : ""),
       "Give ranks equal work (sort or pack sequences by length, shard files evenly, balance experts); if the work is "
       "equal, look at that machine: clocks, temperature, other processes, its storage",
       "`report --view stragglers` names nobody, and `--view ranks` is even"});
  finding.evidence = std::move(rows);
  if (worst->range != StringId::kEmpty) finding.range = timeline.text(worst->range);
  return Judgement::found(std::move(finding));
}

}  // namespace rangefinder::advice
