// SPDX-License-Identifier: MIT
#include "exporter/chrome/exported.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// "1000 2000000000": time since the first, and value.
std::vector<std::string> series(const Exported& exported, const std::string& name) {
  std::vector<std::string> lines;
  std::int64_t first = 0;
  for (const TraceEvent& event : exported.events) {
    if (event.phase != "C" || event.name != name) continue;
    if (lines.empty()) first = event.time_ns;
    lines.push_back(std::to_string(event.time_ns - first) + " " +
                    std::to_string(static_cast<long long>(event["value"].number())));
  }
  return lines;
}

}  // namespace

TEST_CASE("samples are series of their device, with a zero where they end", "[chrome]") {
  CaptureBuilder capture;
  capture.h100().range("step", 0, 5'000).launch(10).kernel("gemm", 1'000, 2'000);
  for (const int begin : {1'000, 2'000, 4'000}) {  // one is missing
    capture.metric_sample("sm_active_ratio", begin, begin + 1'000, 0.25);
    capture.metric_sample("dram_read_bytes", begin, begin + 1'000, 2'000);
  }
  capture.on_device(1).metric_sample("sm_active_ratio", 1'000, 2'000, 0.5);
  for (const Attribution attribution : {Attribution::kLaunch, Attribution::kAuto}) {
    ChromeExportOptions options;
    options.attribution = attribution;
    const Exported exported = Exported::of(capture, options);
    std::vector<std::string> rows;
    for (const TraceEvent& event : exported.events) {
      if (event.phase == "C" && event.name == "sm_active_ratio") rows.push_back(event.row);
    }
    REQUIRE(rows.size() == 5 + 2);
    CHECK(series(exported, "dram_read_bytes/s") ==
          std::vector<std::string>{"0 2000000000", "1000 2000000000", "2000 0", "3000 2000000000", "4000 0"});
    CHECK(rows.front().find("GPU 0") != std::string::npos);
    CHECK(std::count_if(rows.begin(), rows.end(),
                        [](const std::string& row) { return row.find("GPU 1") != std::string::npos; }) == 2);

    options.counters = false;
    CHECK(series(Exported::of(capture, options), "sm_active_ratio").empty());
  }
}
