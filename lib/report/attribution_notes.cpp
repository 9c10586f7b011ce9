// SPDX-License-Identifier: MIT
#include "report/attribution_notes.hpp"

#include "analysis/pass_split.hpp"
#include "base/text.hpp"
#include "report/units.hpp"

namespace rangefinder::report {
namespace {

void add_forward(const Subject& subject, std::vector<std::string>& notes) {
  const Projection& projection = subject.projection();
  if (projection.attribution != Attribution::kForward) {
    if (subject.projection_options().attribution == Attribution::kForward)
      notes.emplace_back(
          "the input does not say which nodes of autograd ran: device work is on the ranges that launched it (launch)");
    return;
  }
  const analysis::PassTimes times = analysis::pass_times_of_all(subject.timeline(), projection);
  const auto time = [&](Pass pass) { return readable_time(times[static_cast<std::size_t>(pass)]); };
  notes.push_back("forward: " + time(Pass::kBackward) +
                  " of backward counts where its forward operators ran; gradient accumulation " +
                  time(Pass::kAccumulation) + ", recomputed " + time(Pass::kRecompute) +
                  ", of nodes whose operator is not in the input " + time(Pass::kUnmatched) +
                  " (--attribute launch: on the ranges that launched it)");
}

/// Traces of torch.profiler may not number graphs and nodes; the name of the launching call tells then.
bool is_graph_work(const Timeline& timeline, ActivityIndex activity) {
  const ActivityTable& activities = timeline.activities;
  if (activities.graph_node[activity] != 0 || activities.graph[activity] != 0) return true;
  const std::uint32_t launch = activities.launch[activity];
  if (launch >= timeline.launches.size()) return false;
  const CallIndex call = timeline.launches.call[launch];
  return call < timeline.calls.size() &&
         timeline.text(timeline.calls.name[call]).find("GraphLaunch") != std::string_view::npos;
}

std::string operations(std::uint64_t count) {
  return base::with_thousands(count) + (count == 1 ? " operation" : " operations") + " of CUDA graphs ";
}

std::string why_not_captured(const Timeline& timeline) {
  if (timeline.graph_nodes.size() != 0) return "their nodes were made outside of the recording, or of any range";
  return timeline.format == InputFormat::kCapture
             ? "their nodes were made while nothing was recorded; start the session before graphs are captured"
             : "the input does not say where their nodes were made";
}

void add_capture(const Subject& subject, std::vector<std::string>& notes) {
  const Attribution wanted = subject.projection_options().attribution;
  if (wanted != Attribution::kCapture && wanted != Attribution::kAuto) return;
  const Timeline& timeline = subject.timeline();
  const Projection& projection = subject.projection();
  std::uint64_t moved = 0;
  std::uint64_t left = 0;
  for (ActivityIndex row = 0; row < timeline.activities.size(); ++row) {
    if (projection.place_of(timeline, row) != timeline.activities.launch[row])
      ++moved;
    else
      left += is_graph_work(timeline, row) ? 1 : 0;
  }
  if (moved + left == 0) {
    if (wanted == Attribution::kCapture) notes.emplace_back("capture: the input has no work of CUDA graphs");
    return;
  }
  if (moved != 0)
    notes.push_back("capture: " + operations(moved) +
                    "where their nodes were made (--attribute launch: on the ranges that replay them)");
  if (left != 0)
    notes.push_back("capture: " + operations(left) + "on the ranges that replay them: " + why_not_captured(timeline));
}

}  // namespace

std::vector<std::string> attribution_notes(const Subject& subject) {
  std::vector<std::string> notes;
  add_forward(subject, notes);
  add_capture(subject, notes);
  return notes;
}

}  // namespace rangefinder::report
