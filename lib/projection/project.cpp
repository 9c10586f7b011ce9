// SPDX-License-Identifier: MIT
#include "projection/project.hpp"

#include "projection/account.hpp"
#include "projection/activity_set.hpp"
#include "projection/captured.hpp"
#include "projection/forward.hpp"
#include "projection/large_vector.hpp"
#include "projection/launch_order.hpp"
#include "projection/membership.hpp"
#include "projection/range_order.hpp"
#include "projection/result.hpp"
#include "projection/stretch_figures.hpp"
#include "projection/sweep.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace rangefinder {

namespace projection {
namespace {

// Rows that a timeline can need at depth 16; deeper nesting shares rows in practice.
std::uint64_t most_stream_rows(const Timeline& timeline) {
  const std::uint64_t rows = (std::uint64_t{1} << 24) + 16 * (timeline.activities.size() + timeline.ranges.size());
  return std::min<std::uint64_t>(rows, std::numeric_limits<std::uint32_t>::max());
}

// Parent and depth of every range that takes part, whatever its style.
void find_parents(const Timeline& timeline, const RangeOrder& order, Projection& projection) {
  assign_large(projection.parent, timeline.ranges.size(), RangeIndex(kNone));
  assign_large(projection.depth, timeline.ranges.size(), std::uint32_t{0});
  const auto by_order = [&](RangeIndex a, RangeIndex b) { return order.before(a, b); };
  std::vector<RangeIndex> merged;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    std::span<const RangeIndex> all = order.scoped(thread);
    if (const auto start_end = order.start_end(thread); !start_end.empty()) {
      merged.resize(all.size() + start_end.size());
      std::merge(all.begin(), all.end(), start_end.begin(), start_end.end(), merged.begin(), by_order);
      all = merged;
    }
    find_enclosers(order, all, projection.parent, [](RangeIndex) { return true; });
    for (const RangeIndex range : all)
      if (projection.parent[range] != kNone) projection.depth[range] = projection.depth[projection.parent[range]] + 1;
  }
}

// Exclusive figures of the ranges that no sweep could give: their activities gathered by owner.
void find_exclusive_by_owner(const Timeline& timeline, Output& output) {
  if (output.exclusive_by_owner.empty()) return;
  Projection& projection = output.projection;
  std::vector<std::uint32_t> offset(timeline.ranges.size() + 1, 0);  // kNone: not asked for
  std::vector<bool> wanted(timeline.ranges.size(), false);
  for (const RangeIndex range : output.exclusive_by_owner) wanted[range] = true;
  const auto owned = [&](std::uint32_t owner) { return owner < wanted.size() && wanted[owner]; };
  for (const std::uint32_t owner : projection.owner)
    if (owned(owner)) ++offset[owner + 1];
  for (std::size_t range = 0; range + 1 < offset.size(); ++range) offset[range + 1] += offset[range];
  std::vector<ActivityIndex> activities(offset.back());
  std::vector<std::uint32_t> next(offset.begin(), offset.end() - 1);
  for (ActivityIndex activity{0}; activity < projection.owner.size(); ++activity)
    if (owned(projection.owner[activity])) activities[next[projection.owner[activity]]++] = activity;
  for (RangeIndex range{0}; range < wanted.size(); ++range)
    if (wanted[range])
      projection.exclusive.set(
          range, figures_of_set(timeline, range,
                                std::span(activities).subspan(offset[range], offset[range + 1] - offset[range]),
                                output.exclusive_rows));
}

enum class Wanted : std::uint8_t { kOwners, kFigures, kFiguresByStream };

void project_launches(const Timeline& timeline, const LaunchTable& table, const RangeOrder& order, Output& output,
                      Members* members) {
  std::span<const LaunchIndex> place = output.projection.place;
  if (place.empty()) place = timeline.activities.launch;
  const LaunchOrder launches(timeline, table, place, order);
  Sweep sweep(timeline, order, launches, output);
  std::vector<RangeIndex> scratch;
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    if (launches.of(thread).size() == 0) continue;
    const OutputMark before(output);
    if (sweep.run(thread)) {
      if (!output.wants_figures) continue;
      const std::vector<Stretch>& stretches = sweep.overlapping().stretches();
      find_stretch_figures(timeline, launches, thread, stretches, output);
      for (const Stretch& stretch : stretches) output.exclusive_by_owner.push_back(stretch.range);
    } else {
      before.restore(output);
      scratch.resize(timeline.ranges.size());
      project_by_membership(timeline, order, launches, thread, scratch, output);
    }
  }
  find_exclusive_by_owner(timeline, output);
  if (members == nullptr) return;
  *members = {};
  for (ThreadIndex thread{0}; thread < timeline.threads.size(); ++thread) {
    if (launches.of(thread).size() == 0 || order.start_end(thread).empty()) continue;
    scratch.resize(timeline.ranges.size());
    find_members(order, launches, thread, scratch, *members);
  }
  members->sort();
}

Projection project_by(const Timeline& timeline, const LaunchTable& table, const RangeOrder& order,
                      std::vector<LaunchIndex> place, Wanted wanted, Members* members) {
  Projection result;
  result.place = std::move(place);
  const std::size_t ranges = timeline.ranges.size();
  result.exclusive = RangeFigures(ranges);
  result.inclusive = RangeFigures(ranges);
  assign_large(result.owner, timeline.activities.size(), static_cast<std::uint32_t>(Unowned::kUnknown));
  find_parents(timeline, order, result);
  const bool by_stream = wanted == Wanted::kFiguresByStream;
  const auto rows = [&] { return by_stream ? StreamRows(ranges, most_stream_rows(timeline)) : StreamRows(); };
  Output output{result, rows(), rows(), wanted != Wanted::kOwners, {}};
  project_launches(timeline, table, order, output, members);
  if (!by_stream) return result;
  result.omitted_stream_rows = output.exclusive_rows.omitted() + output.inclusive_rows.omitted();
  output.exclusive_rows.arrange(result.exclusive, result.exclusive_streams, result.exclusive_offset);
  output.inclusive_rows.arrange(result.inclusive, result.inclusive_streams, result.inclusive_offset);
  return result;
}

Projection project(const Timeline& timeline, const ProjectionOptions& options, Wanted wanted, Members* members) {
  const RangeOrder order(timeline, options);
  const bool is_auto = options.attribution == Attribution::kAuto;
  const bool forward = (is_auto || options.attribution == Attribution::kForward) && timeline.autograd_nodes.size() != 0;
  ForwardLaunches moved;
  if (forward) moved = launches_of_forward(timeline, order);
  const LaunchTable& launches = forward ? moved.launches : timeline.launches;

  std::vector<LaunchIndex> place;
  if (is_auto || options.attribution == Attribution::kCapture) place = places_of_captured(timeline);
  Projection result = project_by(timeline, launches, order, std::move(place), wanted, members);
  if (give_back_unowned(timeline, result.owner, result.place))
    result = project_by(timeline, launches, order, std::move(result.place), wanted, members);
  if (forward)
    result.attribution = Attribution::kForward;
  else if (!result.place.empty())
    result.attribution = Attribution::kCapture;
  result.pass = std::move(moved.pass);
  settle_account(timeline, result);
  return result;
}

}  // namespace

Projection project_without_streams(const Timeline& timeline, const ProjectionOptions& options, Members* members) {
  return project(timeline, options, Wanted::kFigures, members);
}

Projection project_owners(const Timeline& timeline, const ProjectionOptions& options) {
  return project(timeline, options, Wanted::kOwners, nullptr);
}

}  // namespace projection

Projection project(const Timeline& timeline, const ProjectionOptions& options) {
  return projection::project(timeline, options, projection::Wanted::kFiguresByStream, nullptr);
}

void RangeFigures::add_block() {
  projection::reserve_large(blocks_.emplace_back(), rows_ < kLargeRows ? kSmallRows : kLargeRows);
}

}  // namespace rangefinder
