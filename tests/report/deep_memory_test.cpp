// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/child_memory.hpp"
#include "support/deep_capture.hpp"
#include "support/loaded_capture.hpp"
#include "support/resident_memory.hpp"
#include "support/seed.hpp"

#include <rangefinder/report.hpp>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("a report of very many distinct ranges needs little memory for each", "[report]") {
  if (!resident_memory_counts()) RANGEFINDER_SKIP("resident memory says nothing under a sanitizer");
  constexpr std::size_t kDepth = 100'000;
  const Timeline timeline = load(deep_capture({kDepth, true}));
#ifdef __GLIBC__
  ::malloc_trim(0);  // what loading has freed would be used again, and not be seen
#endif
  const struct {
    const char* view;
    std::int64_t most_bytes;  // a range, beside the timeline; a quarter more than measured, by what malloc has left
  } bounds[] = {{"ranges", 1000},
                {"tree", 1000},
                {"energy", 1150},
                {"roofline", 1150},
                {"cpu_counters", 1050},
                {"counters", 1050},
                {"api_ranges", 1400},
                {"memory", 800},
                {"nvtx_kern_sum", 900},
                {"nvtx_gpu_proj_sum", 1150},
                {"nvtx_gpu_proj_trace", 620},
                {"nvtx_pushpop_trace", 620},
                {"nvtx_sum", 680}};
  std::size_t turn = 0;
  for (const auto& [view, most_bytes] : bounds)
    for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv, ReportFormat::kJson}) {
      // What a view keeps of its rows hardly depends on the format: one in turn.
      if (!exhaustive() && turn++ % 4 != 0) continue;
      CAPTURE(view, format);
      const ChildRun run = run_in_child([&, name = view] {
        ReportOptions options;
        options.view = name;
        options.format = format;
        std::size_t bytes = 0;
        const Status status = write_report(timeline, options, [&](std::string_view piece) {
          bytes += piece.size();
          return true;
        });
        return status.ok() && bytes > kDepth ? 0 : 1;
      });
      CHECK(run.code == 0);
      CHECK(run.growth_bytes > 0);
      CHECK(run.growth_bytes < most_bytes * static_cast<std::int64_t>(kDepth));
    }
}
