// SPDX-License-Identifier: MIT
#include "analysis/occupancy.hpp"
#include "importer/nsight/nsight_importer.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"

using namespace rangefinder;

TEST_CASE("a real capture of two GPUs is read whole", "[importer_nsight][data]") {
  const std::string path = rangefinder::testing::shared_file("data/nsys/h100_2gpu_1s/h100_2gpu_1s.sqlite");
  if (path.empty()) RANGEFINDER_SKIP("data/nsys is not here");
  const auto timeline = importer::nsight::import_nsight(path, {});
  REQUIRE(timeline);
  CHECK(timeline->ranges.size() == 16782);
  CHECK(timeline->calls.size() == 5796);
  CHECK(timeline->activities.size() == 3442 + 904 + 22);
  CHECK(timeline->health.complete());
  CHECK(timeline->devices.size() == 2);
  for (const KernelDetail& detail : timeline->kernel_details) {
    CHECK(detail.launch_type == 0);
    // What the driver divided off has room for all blocks that registers and warps allow: the program did not request
    // less.
    CHECK(detail.shared_executed_bytes >= 16'384);
    KernelDetail elsewhere = detail;
    elsewhere.shared_executed_bytes = 0;
    CHECK(analysis::waves_of(timeline->devices[0], detail) == analysis::waves_of(timeline->devices[0], elsewhere));
  }
  std::size_t launched = 0;
  for (const std::uint32_t launch : timeline->activities.launch) launched += launch != kNone ? 1 : 0;
  CHECK(timeline->activities.size() - launched == 2276);  // launched before the second that was kept
  CHECK(timeline->realtime_offset_ns == 1779630014975716426 - 35255823190);
}

TEST_CASE("the hand-made capture is read as it was written", "[importer_nsight][data]") {
  const std::string path = rangefinder::testing::shared_file("data/nsys/mini/mini.sqlite");
  if (path.empty()) RANGEFINDER_SKIP("data/nsys is not here");
  const auto timeline = importer::nsight::import_nsight(path, {});
  REQUIRE(timeline);
  CHECK(timeline->ranges.size() == 16);
  CHECK(timeline->activities.size() == 20);
  CHECK(timeline->syncs.size() == 1);
  CHECK(timeline->devices[0].name == "Fixture GPU");
  CHECK(timeline->health.unfinished_ranges == 1);
  CHECK(timeline->health.foreign_ends == 1);
}
