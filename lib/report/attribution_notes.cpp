// SPDX-License-Identifier: MIT
#include "report/attribution_notes.hpp"

#include "analysis/pass_split.hpp"
#include "report/units.hpp"

namespace rangefinder::report {

std::vector<std::string> attribution_notes(const Subject& subject) {
  std::vector<std::string> notes;
  const Projection& projection = subject.projection();
  if (projection.attribution != Attribution::kForward) {
    if (subject.projection_options().attribution == Attribution::kForward)
      notes.emplace_back(
          "the input does not say which nodes of autograd ran: device work is on the ranges that launched it (launch)");
    return notes;
  }
  const analysis::PassTimes times = analysis::pass_times_of_all(subject.timeline(), projection);
  const auto time = [&](Pass pass) { return readable_time(times[static_cast<std::size_t>(pass)]); };
  notes.push_back("forward: " + time(Pass::kBackward) +
                  " of backward counts where its forward operators ran; gradient accumulation " +
                  time(Pass::kAccumulation) + ", recomputed " + time(Pass::kRecompute) +
                  ", of nodes whose operator is not in the input " + time(Pass::kUnmatched) +
                  " (--attribute launch: on the ranges that launched it)");
  return notes;
}

}  // namespace rangefinder::report
