// SPDX-License-Identifier: MIT
// docs/how-to/ask-for-advice.md
#include <rangefinder/analysis/advice.hpp>
#include <rangefinder/timeline.hpp>

#include <iostream>

int main() {
  rangefinder::LoadOptions load;
  load.operator_inputs = true;  // shapes of products
  const auto timeline = rangefinder::load_timeline("train.rfcap", load);
  if (!timeline) return 1;
  const auto advice = rangefinder::advise(*timeline);
  std::cout << advice.verdict << '\n';
  for (const auto& finding : advice.findings)
    std::cout << to_string(finding.rule) << ": up to " << finding.gain_ns << " ns a step\n";
}
