// SPDX-License-Identifier: MIT
#include "gpu_recording.hpp"

using namespace rangefinder;
using namespace rangefinder::testing;

// The driver loads the injection library inside cuInit: CUPTI is opened there, before there is any context.
TEST_CASE("an unmodified binary is recorded from cuInit on", "[record]") {
  constexpr std::uint64_t kKernels = 2000;
  RANGEFINDER_OPEN_CUDA(program, kDriver);  // whether there is a device
  (void)program;
  const std::string path = capture_path("record");
  const std::string command =
      std::string(COMMAND) + " record -q -o " + path + " -- " PROGRAM " " + std::to_string(kKernels);
  REQUIRE(std::system(command.c_str()) == 0);
  const Timeline timeline = load("record", path);
  CHECK(count_of(timeline, ActivityKind::kKernel) == kKernels);
  CHECK(operations(timeline, Attribution::kLaunch) == Operations{{"[outside]", kKernels}});
  CHECK(timeline.health.complete());
}
