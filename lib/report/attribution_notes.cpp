// SPDX-License-Identifier: MIT
#include "report/attribution_notes.hpp"

#include "analysis/graph_replays.hpp"
#include "analysis/pass_split.hpp"
#include "base/text.hpp"
#include "report/units.hpp"

#include <algorithm>
#include <limits>

namespace rangefinder::report {
namespace {

void add_forward(const ProjectedTimeline& projected, std::vector<std::string>& notes) {
  const Projection& projection = projected.projection();
  if (projection.attribution != Attribution::kForward) {
    if (projected.projection_options().attribution == Attribution::kForward)
      notes.emplace_back(
          "the input has no autograd nodes: device work is on the ranges that launched it (attribution launch)");
    return;
  }
  const analysis::PassTimes times = analysis::pass_times_of_all(projected.timeline(), projection);
  const auto time = [&](Pass pass) { return readable_time(times[static_cast<std::size_t>(pass)]); };
  notes.push_back("forward: " + time(Pass::kBackward) +
                  " of backward work is on the ranges of its forward operators; gradient accumulation " +
                  time(Pass::kAccumulation) + ", recomputed " + time(Pass::kRecompute) +
                  ", nodes whose operator is not in the input " + time(Pass::kUnmatched) +
                  " (--attribute launch: on the ranges that launched it)");
}

std::string graph_operations(std::uint64_t count) {
  return base::with_thousands(count) + (count == 1 ? " operation" : " operations") + " of CUDA graphs ";
}

/// Why it is unknown where nodes were created.
std::string why_not_known(const Timeline& timeline) {
  if (timeline.format != InputFormat::kCapture) return "the input does not say where their nodes were created";
  const bool ring = std::any_of(timeline.processes.begin(), timeline.processes.end(),
                                [](const ProcessInfo& process) { return process.flight_recorder; });
  return std::string("their nodes were created before prepare(), or by hand outside this session") +
         (ring ? ", or the flight recorder has overwritten the records" : "");
}

void add_capture(const ProjectedTimeline& projected, std::vector<std::string>& notes) {
  const Attribution wanted = projected.projection_options().attribution;
  if (wanted != Attribution::kCapture && wanted != Attribution::kAuto) return;
  const Timeline& timeline = projected.timeline();
  const Projection& projection = projected.projection();
  std::uint64_t moved = 0;
  std::uint64_t outside = 0;
  std::uint64_t unknown = 0;
  bool any_whole = false;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    if (timeline.activities.kind[row] == ActivityKind::kGraph) {  // add_whole_graphs
      any_whole = true;
      continue;
    }
    if (projection.place_of(timeline, row) != timeline.activities.launch[row])
      ++moved;
    else if (timeline.activities.captured[row] != kNone)
      ++outside;
    else
      unknown += analysis::is_graph_work(timeline, row) ? 1 : 0;
  }
  if (moved + outside + unknown == 0) {
    if (wanted == Attribution::kCapture && !any_whole)
      notes.emplace_back("capture: the input has no work of CUDA graphs");
    return;
  }
  if (moved != 0)
    notes.push_back("capture: " + graph_operations(moved) +
                    "on the ranges that captured them (--attribute launch: on the ranges that replay them)");
  if (outside != 0)
    notes.push_back("capture: " + graph_operations(outside) +
                    "on the ranges that replay them: their nodes were created outside any recorded range");
  if (unknown != 0)
    notes.push_back("capture: " + graph_operations(unknown) +
                    "on the ranges that replay them: " + why_not_known(timeline));
}

void add_whole_graphs(const ProjectedTimeline& projected, std::vector<std::string>& notes) {
  const ActivityTable& activities = projected.timeline().activities;
  std::uint64_t whole = 0;
  std::int64_t estimated_ns = 0;
  std::int64_t whole_ns = 0;
  for (ActivityIndex row{0}; row < activities.size(); ++row) {
    if (activities.kind[row] != ActivityKind::kGraph) continue;
    const std::int64_t length = activities.end_ns[row] - activities.begin_ns[row];
    whole += activities.estimated[row] ? 0 : 1;
    std::int64_t& sum = activities.estimated[row] ? estimated_ns : whole_ns;
    if (__builtin_add_overflow(sum, length, &sum)) sum = std::numeric_limits<std::int64_t>::max();
  }
  if (estimated_ns != 0)
    notes.push_back(
        "estimated: " + readable_time(estimated_ns) +
        " of CUDA graphs was recorded as a whole and is divided among the ranges that captured them, by the "
        "shares of a launch recorded node by node; GPU ops counts one part per range");
  if (whole != 0)
    notes.push_back(base::with_thousands(whole) + (whole == 1 ? " launch" : " launches") +
                    " of CUDA graphs recorded as a whole, " + readable_time(whole_ns) +
                    ": on the ranges that replay them, one operation each");
}

}  // namespace

std::vector<std::string> attribution_notes(const ProjectedTimeline& projected) {
  std::vector<std::string> notes;
  add_forward(projected, notes);
  add_capture(projected, notes);
  add_whole_graphs(projected, notes);
  return notes;
}

}  // namespace rangefinder::report
