// SPDX-License-Identifier: MIT
// Captures of tests/data/captures: what an earlier version recorded is reported as it was.
#include "report/rendered.hpp"
#include "support/golden.hpp"

#include <rangefinder/report.hpp>

#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

constexpr const char* kViews[] = {"ranges", "tree", "kernels", "memcpy", "api", "sync", "ops", "steps", "unattributed"};
// A row for each operation of a device or each range: not of captures with thousands.
constexpr const char* kTraces[] = {"nvtx_gpu_proj_trace", "cuda_gpu_trace"};

/// All of them, one below the other.
std::string views_of(const Timeline& timeline, ReportFormat format) {
  std::string all = format == ReportFormat::kJson ? "{" : "";
  std::vector<const char*> views(std::begin(kViews), std::end(kViews));
  if (timeline.activities.size() <= 200) views.insert(views.end(), std::begin(kTraces), std::end(kTraces));
  for (const char* view : views) {
    ReportOptions options;
    options.view = view;
    options.format = format;
    options.width = 120;
    if (format == ReportFormat::kJson)
      all += std::string(all.size() == 1 ? "\n\"" : ",\n\"") + view + "\": " + rendered(timeline, options);
    else
      all += "---- " + std::string(view) + "\n" + rendered(timeline, options) + "\n";
  }
  return format == ReportFormat::kJson ? all + "}\n" : all;
}

}  // namespace

TEST_CASE("captures of earlier versions are reported as they were", "[report][golden]") {
  const auto [name, processes] =
      GENERATE(Catch::Generators::table<std::string, std::size_t>({{"train.rfcap", 1},
                                                                   {"simulated.rfcap", 1},
                                                                   {"graph.rfcap", 1},
                                                                   {"ranks", 2},
                                                                   {"h100_train.rfcap", 1},
                                                                   {"h100_torch.rfcap", 1},
                                                                   {"h100_graph_capture.rfcap", 1},
                                                                   {"h100_graph_child.rfcap", 1},
                                                                   {"h100_graph_conditional.rfcap", 1},
                                                                   {"h100_graph_update.rfcap", 1},
                                                                   {"h100_graph_automatic.rfcap", 1},
                                                                   {"h100_counters.rfcap", 1},
                                                                   {"h100_samples.rfcap", 1}}));
  CAPTURE(name);
  const char* const root = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(root != nullptr);  // ctest sets it
  LoadOptions strict;
  strict.strict = true;
  Result<Timeline> timeline = load_timeline(std::string(root) + "/captures/" + name, strict);
  REQUIRE(timeline.ok());
  CHECK(timeline->processes.size() == processes);
  CHECK(timeline->ranges.size() > 0);
  CHECK(timeline->health.complete());
  timeline->sources = {name};  // wherever the tests lie
  const std::string golden = "captures/" + name.substr(0, name.find('.'));
  require_golden(golden + ".txt", views_of(*timeline, ReportFormat::kText));
  require_golden(golden + ".json", views_of(*timeline, ReportFormat::kJson));
}
