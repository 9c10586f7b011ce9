// SPDX-License-Identifier: MIT
#include "report/attribution_notes.hpp"

#include "base/text.hpp"
#include "report/units.hpp"

#include <algorithm>

namespace rangefinder::report {
namespace {

void add_forward(const analysis::AttributionTotals& totals, Attribution wanted, std::vector<std::string>& notes) {
  if (!totals.is_forward) {
    if (wanted == Attribution::kForward)
      notes.emplace_back(
          "the input has no autograd nodes: device work is on the ranges that launched it (attribution launch)");
    return;
  }
  const auto time = [&](Pass pass) { return readable_time(totals.passes[static_cast<std::size_t>(pass)]); };
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

void add_capture(const analysis::AttributionTotals& totals, const Timeline& timeline, Attribution wanted,
                 std::vector<std::string>& notes) {
  if (wanted != Attribution::kCapture && wanted != Attribution::kAuto) return;
  if (totals.captured + totals.outside + totals.not_known == 0) {
    if (wanted == Attribution::kCapture && !totals.any_whole)
      notes.emplace_back("capture: the input has no work of CUDA graphs");
    return;
  }
  if (totals.captured != 0)
    notes.push_back("capture: " + graph_operations(totals.captured) +
                    "on the ranges that captured them (--attribute launch: on the ranges that replay them)");
  if (totals.outside != 0)
    notes.push_back("capture: " + graph_operations(totals.outside) +
                    "on the ranges that replay them: their nodes were created outside any recorded range");
  if (totals.not_known != 0)
    notes.push_back("capture: " + graph_operations(totals.not_known) +
                    "on the ranges that replay them: " + why_not_known(timeline));
}

void add_whole_graphs(const analysis::AttributionTotals& totals, std::vector<std::string>& notes) {
  if (totals.estimated_ns != 0)
    notes.push_back(
        "estimated: " + readable_time(totals.estimated_ns) +
        " of CUDA graphs was recorded as a whole and is divided among the ranges that captured them, by the "
        "shares of a launch recorded node by node; GPU ops counts one part per range");
  if (totals.whole != 0)
    notes.push_back(base::with_thousands(totals.whole) + (totals.whole == 1 ? " launch" : " launches") +
                    " of CUDA graphs recorded as a whole, " + readable_time(totals.whole_ns) +
                    ": on the ranges that replay them, one operation each");
}

}  // namespace

std::vector<std::string> attribution_notes(const analysis::AttributionTotals& totals, const Timeline& timeline,
                                           Attribution wanted) {
  std::vector<std::string> notes;
  if (totals.activities == 0) return notes;
  add_forward(totals, wanted, notes);
  add_capture(totals, timeline, wanted, notes);
  add_whole_graphs(totals, notes);
  return notes;
}

}  // namespace rangefinder::report
