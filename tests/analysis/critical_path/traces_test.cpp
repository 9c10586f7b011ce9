// SPDX-License-Identifier: MIT
// Recorded traces: whatever they lack, paths adjoin, are as long as their windows, and replay to the nanosecond.
#include "analysis/critical_path/check_path.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::check_path;

namespace {

std::vector<std::string> traces() {
  std::vector<std::string> found;
  const std::string folder = rangefinder::testing::shared_file("data/kineto");
  if (folder.empty()) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().string().find(".json") != std::string::npos &&
        entry.path().string().find("expected") == std::string::npos)
      found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("critical paths of recorded traces account for all of their time", "[critical_path][data]") {
  const std::vector<std::string> files = traces();
  if (files.empty()) RANGEFINDER_SKIP("no traces at hand");
  for (const std::string& file : files) {
    INFO(file);
    const Result<Timeline> timeline = load_timeline(file);
    REQUIRE(timeline);
    const CriticalPathGraph graph(*timeline);
    std::vector<CriticalWindow> windows = graph.steps();
    windows.push_back(graph.whole());
    const auto paths = graph.paths(windows);
    for (std::size_t i = 0; i < windows.size(); ++i) check_path(paths[i], windows[i]);
    const auto as_recorded = graph.times(windows, [](const CriticalSegment&) { return 1.0; });
    const auto all_free = graph.times(windows, [](const CriticalSegment&) { return 0.0; });
    for (std::size_t i = 0; i < windows.size(); ++i) {
      CHECK(as_recorded[i] == windows[i].length_ns());
      CHECK(all_free[i] == 0);
    }
  }
}
