// SPDX-License-Identifier: MIT
#include "analysis/step_rules.hpp"
#include "analysis/stragglers_cells.hpp"
#include "analysis/stragglers_judge.hpp"
#include "analysis/stragglers_links.hpp"
#include "analysis/stragglers_ranges.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/analysis/stragglers.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace rangefinder {
namespace {

constexpr std::size_t kFewestStepsOfAll = 4;

Status check(const StragglerOptions& options) {
  const auto wrong = [](const char* what) { return Error(ErrorCode::kInvalidArgument, what); };
  if (!(options.least_excess > 0)) return wrong("stragglers: least_excess is not above 0");
  if (!(options.least_step_excess > 0)) return wrong("stragglers: least_step_excess is not above 0");
  if (!(options.significance > 0 && options.significance < 1))
    return wrong("stragglers: significance is not between 0 and 1");
  if (options.fewest_steps < kFewestStepsOfAll) return wrong("stragglers: fewest_steps is less than 4");
  return {};
}

void note_missing(const Timeline& timeline, const MatchedCollectives& matched, Stragglers& out) {
  if (timeline.collectives.size() == 0) {
    out.notes.push_back(
        "the input has no collectives, so it does not tell when a rank waited for others; ranks are compared by the "
        "time "
        "in which their devices worked and in which they waited for data");
    return;
  }
  const bool any = std::any_of(matched.collectives.begin(), matched.collectives.end(),
                               [](const MatchedCollective& one) { return one.part_count > 1; });
  std::uint64_t refused = 0;
  for (const RefusedCollectives& one : matched.refused) refused += one.parts;
  if (!any)
    out.notes.push_back("no collective could be matched over ranks" +
                        (matched.refused.empty() ? std::string() : " (" + matched.refused.front().reason + ")") +
                        "; all time in collectives counts as waiting, and links are not compared");
  else if (refused != 0)
    out.notes.push_back(std::to_string(refused) + " parts of collectives could not be matched (" +
                        matched.refused.front().reason + "); how long they waited is not known");
  const auto judged =
      std::count_if(out.ranks.begin(), out.ranks.end(), [](const RankScore& one) { return one.steps != 0; });
  if (static_cast<std::size_t>(judged) < out.ranks.size())
    out.notes.push_back(std::to_string(out.ranks.size() - static_cast<std::size_t>(judged)) +
                        " ranks have none of the steps that the others have");
}

}  // namespace

Result<Stragglers> find_stragglers(const Timeline& timeline, const StragglerOptions& options) {
  if (Status status = check(options); !status.ok()) return std::move(status).error();
  analysis::StepRules rules;
  if (Status status = rules.apply(options.step_names); !status.ok()) return std::move(status).error();
  Stragglers out;
  const MatchedCollectives matched = match_collectives(timeline);
  analysis::fill_straggler_cells(timeline, matched, rules, options.fewest_steps, out);
  if (!out.abstained.empty()) return out;
  note_missing(timeline, matched, out);
  analysis::judge_ranks(options, out);
  analysis::find_slow_links(timeline, matched, options, out);
  std::stable_sort(out.stragglers.begin(), out.stragglers.end(), [](const Straggler& a, const Straggler& b) {
    return a.persistent != b.persistent ? a.persistent : a.excess_ns > b.excess_ns;
  });
  analysis::find_slow_ranges(timeline, out);
  return out;
}

const char* to_string(StragglerCause cause) noexcept {
  switch (cause) {
    case StragglerCause::kInput:
      return "input";
    case StragglerCause::kHost:
      return "host";
    case StragglerCause::kDevice:
      return "device";
    case StragglerCause::kKernels:
      return "kernels";
    case StragglerCause::kCommunication:
      return "communication";
  }
  return "";
}

}  // namespace rangefinder
