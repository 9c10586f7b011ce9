// SPDX-License-Identifier: MIT
#include "analysis/attribution_totals.hpp"

#include "analysis/graph_replays.hpp"
#include "analysis/spread.hpp"

#include <algorithm>

namespace rangefinder::analysis {
namespace {

/// Where no node has run so far, all is forward.
PassTimes passes_of_window(const Timeline& timeline, const Projection& projection) {
  if (!projection.pass.empty()) return pass_times_of_all(timeline, projection);
  PassTimes times{};
  const ActivityTable& activities = timeline.activities;
  std::int64_t& forward_ns = times[static_cast<std::size_t>(Pass::kForward)];
  for (ActivityIndex row{0}; row < activities.size(); ++row)
    if (projection.place_of(timeline, row) < timeline.launches.size())
      forward_ns =
          saturating_add(forward_ns, std::max<std::int64_t>(0, activities.end_ns[row] - activities.begin_ns[row]));
  return times;
}

}  // namespace

void AttributionTotals::add(const Timeline& timeline, const Projection& projection) {
  is_forward = is_forward || projection.attribution == Attribution::kForward;
  const PassTimes times = passes_of_window(timeline, projection);
  for (std::size_t pass = 0; pass < kPasses; ++pass) passes[pass] = saturating_add(passes[pass], times[pass]);
  const ActivityTable& table = timeline.activities;
  activities += table.size();
  for (ActivityIndex row{0}; row < table.size(); ++row) {
    if (table.kind[row] == ActivityKind::kGraph) {
      const std::int64_t length = table.end_ns[row] - table.begin_ns[row];
      any_whole = true;
      whole += table.estimated[row] ? 0 : 1;
      std::int64_t& sum = table.estimated[row] ? estimated_ns : whole_ns;
      sum = saturating_add(sum, length);
    } else if (projection.place_of(timeline, row) != table.launch[row]) {
      ++captured;
    } else if (table.captured[row] != kNone) {
      ++outside;
    } else {
      not_known += is_graph_work(timeline, row) ? 1 : 0;
    }
  }
}

}  // namespace rangefinder::analysis
