// SPDX-License-Identifier: MIT
// docs/how-to/find-the-slow-rank.md
#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

#include <iostream>

int main() {
  const auto timeline = rangefinder::load_job({"run/"});
  if (!timeline) return 1;
  const auto found = rangefinder::find_stragglers(*timeline);
  for (const rangefinder::Straggler& one : found->stragglers)
    std::cout << timeline->processes[found->ranks[one.rank].process].rank << ": " << one.excess_ns << " ns a step\n";
}
