// SPDX-License-Identifier: MIT
#include "analysis/unattributed.hpp"

#include "base/descending.hpp"
#include "projection/figures.hpp"
#include "projection/project.hpp"
#include "report/view.hpp"
#include "report/views/common_columns.hpp"
#include "report/views/places.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// `unattributed`: device work that no range owns, by why that is so. The rows add up to the account's parts outside,
// before and unknown.
namespace rangefinder::report {
namespace {

using analysis::UnattributedReason;

struct Wording {
  std::string_view part;  ///< of the account, as JSON has it
  std::string_view text;
};

Wording wording_of(UnattributedReason reason) {
  switch (reason) {
    case UnattributedReason::kOwned:
      break;
    case UnattributedReason::kMadeOutside:
      return {"outside", "backward of operators outside of any range"};
    case UnattributedReason::kUnmatched:
      return {"outside", "backward of operators that are not in the input"};
    case UnattributedReason::kAccumulation:
      return {"outside", "gradient accumulation outside of any range"};
    case UnattributedReason::kNoNumber:
      return {"outside", "by an autograd node without a sequence number"};
    case UnattributedReason::kDuringNode:
      return {"outside", "by autograd (try --attribute forward)"};
    case UnattributedReason::kNoRanges:
      return {"outside", "on a thread without ranges"};
    case UnattributedReason::kAheadOfRanges:
      return {"outside", "before the first range of its thread"};
    case UnattributedReason::kBetweenRanges:
      return {"outside", "between ranges of its thread"};
    case UnattributedReason::kBehindRanges:
      return {"outside", "after the last range of its thread"};
    case UnattributedReason::kBefore:
      return {"before", "launched before the recording"};
    case UnattributedReason::kNoCorrelation:
      return {"unknown", "no correlation id"};
    case UnattributedReason::kNoCall:
      return {"unknown", "the launching call is not in the input"};
  }
  return {};
}

struct UnattributedGroup {
  UnattributedReason reason = UnattributedReason::kOwned;
  StringId name = StringId::kEmpty;
  std::uint64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t longest_ns = -1;
  ActivityIndex longest{0};
};

/// By reason and name, or by reason; the reason with the longest time first, and the longest names in it.
std::vector<UnattributedGroup> groups_of(const ProjectedTimeline& projected, bool by_name) {
  const ActivityTable& activities = projected.timeline().activities;
  const std::vector<UnattributedReason> reasons =
      analysis::unattributed_reasons(projected.timeline(), projected.projection(), projected.projection_options());
  std::map<std::pair<UnattributedReason, StringId>, UnattributedGroup> found;
  std::array<std::int64_t, analysis::kUnattributedReasons> total{};
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    const UnattributedReason reason = reasons[row];
    if (reason == UnattributedReason::kOwned) continue;
    const StringId name = by_name ? activities.name[row] : StringId::kEmpty;
    UnattributedGroup& group = found[{reason, name}];
    const std::int64_t length = projection::Interval(activities.begin_ns[row], activities.end_ns[row]).length();
    group.reason = reason;
    group.name = name;
    ++group.count;
    group.sum_ns = projection::plus(group.sum_ns, length);
    if (length > group.longest_ns) {
      group.longest_ns = length;
      group.longest = row;
    }
    std::int64_t& of_reason = total[static_cast<std::size_t>(reason)];
    of_reason = projection::plus(of_reason, length);
  }
  std::vector<UnattributedGroup> groups;
  for (const auto& [key, group] : found) groups.push_back(group);
  const auto rank = [&](const UnattributedGroup& group) {
    return std::tuple(base::Descending{total[static_cast<std::size_t>(group.reason)]}, group.reason,
                      base::Descending{group.sum_ns});
  };
  std::stable_sort(groups.begin(), groups.end(),
                   [&](const UnattributedGroup& a, const UnattributedGroup& b) { return rank(a) < rank(b); });
  return groups;
}

/// What launched each activity, as operators go: an owner by row, which is no range where none was running.
std::vector<std::uint32_t> operators_of(const Timeline& timeline) {
  const auto& kinds = timeline.ranges.kind;
  if (std::find(kinds.begin(), kinds.end(), RangeKind::kOperator) == kinds.end()) return {};
  ProjectionOptions options;
  options.attribution = Attribution::kLaunch;
  options.annotations = false;
  options.operators = true;
  return projection::project_owners(timeline, options).owner;
}

/// Operator, or call, and thread of the launch.
std::string launched_by(const Timeline& timeline, const std::vector<std::uint32_t>& operators, ActivityIndex row) {
  const LaunchIndex launch = timeline.activities.launch[row];
  if (launch >= timeline.launches.size()) return {};
  std::string out;
  const CallIndex call = timeline.launches.call[launch];
  if (row < operators.size() && operators[row] < timeline.ranges.size())
    out = timeline.text(timeline.ranges.name[operators[row]]);
  else if (call < timeline.calls.size())
    out = timeline.text(timeline.calls.name[call]);
  const ThreadIndex thread = timeline.launches.thread[launch];
  if (thread >= timeline.threads.size()) return out;
  return out + (out.empty() ? "on " : " on ") + thread_label(timeline, thread);
}

}  // namespace

Result<Table> make_unattributed(const ProjectedTimeline& projected, const ViewOptions& options) {
  using Row = UnattributedGroup;
  const Timeline& timeline = projected.timeline();
  const std::vector<Row> groups = groups_of(projected, !options.is(kSummary));
  const std::vector<std::uint32_t> operators = groups.empty() ? std::vector<std::uint32_t>{} : operators_of(timeline);
  const std::int64_t all = projected.projection().account.total.gpu_sum_ns;
  const auto longest_begins = [&](const Row& row) { return timeline.activities.begin_ns[row.longest]; };
  const auto launcher = [&](const Row& row) { return launched_by(timeline, operators, row.longest); };
  ColumnsOf<Row> columns(timeline);
  columns.text("Reason", [](const Row& row) { return wording_of(row.reason).text; });
  columns.count("Operations", &Row::count);
  columns.time("Total", &Row::sum_ns);
  columns.percent("Share", [all](const Row& row) { return common::share(row.sum_ns, all); });
  columns.time("Longest", &Row::longest_ns).if_room(1);
  columns.timestamp("Longest begins", longest_begins).if_room(3);
  columns.text("Longest launched by", launcher).if_room(2);
  columns.kernel("Operation", &Row::name).if_any();  // can be longer than a line: comes last
  columns.text("Part", [](const Row& row) { return wording_of(row.reason).part; }).for_programs();
  return columns.table_of(groups);
}

}  // namespace rangefinder::report
