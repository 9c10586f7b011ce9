// SPDX-License-Identifier: MIT
// Cut into docs/how-to/find-the-critical-path.md.
#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

std::vector<std::int64_t> times_without_copies(const rangefinder::Result<rangefinder::Timeline>& timeline) {
  const rangefinder::CriticalPathGraph graph(*timeline);
  const std::vector<rangefinder::CriticalWindow> steps = graph.steps();
  const std::vector<std::int64_t> without_copies = graph.times(steps, [](const rangefinder::CriticalSegment& segment) {
    return segment.reason == rangefinder::CriticalReason::kCopy ? 0.0 : 1.0;
  });
  return without_copies;
}
