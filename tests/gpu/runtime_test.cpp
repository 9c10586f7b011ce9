// SPDX-License-Identifier: MIT
//
// Launches by the runtime's function, which calls the driver's: two callbacks, one inside the other, and two records.
// Assumed, and shown here or not: a kernel's record carries the id of one of the two calls.
#include "gpu_recording.hpp"

#include <set>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("a launch by the runtime belongs to its range, and counts once", "[runtime]") {
  RANGEFINDER_OPEN_CUDA(program, kRuntime);
  constexpr int kSteps = 500;
  const Timeline timeline = recorded("runtime", [&](Session&) {
    for (int i = 0; i < kSteps; ++i) {
      ProfileRange step{"step"};
      REQUIRE(program.launch(0).ok());
      ProfileRange range{"forward"};
      for (int k = 0; k < 3; ++k) REQUIRE(program.launch(k % 2, 2000).ok());
    }
    REQUIRE(program.synchronize().ok());
  });
  CHECK(operations(timeline, Attribution::kLaunch) == Operations{{"step", kSteps}, {"forward", 3 * kSteps}});
  CHECK(timeline.health.complete());
  CHECK(timeline.health.launch_disagreements == 0);

  std::set<std::uint64_t> runtime, driver;
  for (CallIndex call{0}; call < timeline.calls.size(); ++call) {
    const bool launches = timeline.text(timeline.calls.name[call]).find("LaunchKernel") != std::string_view::npos;
    if (launches && timeline.calls.domain[call] == CallDomain::kRuntime)
      runtime.insert(timeline.calls.correlation[call]);
    if (launches && timeline.calls.domain[call] == CallDomain::kDriver) driver.insert(timeline.calls.correlation[call]);
  }
  std::size_t of_runtime = 0, of_driver = 0, shared = 0;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row) {
    const std::uint64_t id = timeline.activities.correlation[row];
    of_runtime += runtime.count(id);
    of_driver += driver.count(id);
    const std::uint32_t launch = timeline.activities.launch[row];
    REQUIRE(launch != kNone);
    CHECK(timeline.launches.source[launch] == LaunchSource::kCallback);
    CHECK((runtime.count(id) != 0 || driver.count(id) != 0));
  }
  for (const std::uint64_t id : runtime) shared += driver.count(id);
  std::printf(
      "nested calls: %zu records of launches by the runtime and %zu by the driver, %zu ids in both; %zu kernels carry "
      "an "
      "id of the runtime's, %zu one of the driver's\n",
      runtime.size(), driver.size(), shared, of_runtime, of_driver);
}
