// SPDX-License-Identifier: MIT
#include "cupti_fixture.hpp"
#include "support/allocation_count.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdlib>

namespace rangefinder::source::testing {

TEST_CASE("a recording allocates nothing on the thread that launches", "[source]") {
  constexpr std::uint64_t kLaunches = 20'000;  // over several blocks of records
  const CuptiProcess process;
  const rangefinder::testing::ScratchFolder folder;
  ::setenv("RANGEFINDER_CUPTI_LIBRARY", FAKE_CUPTI_PATH, 1);
  SessionOptions options;
  options.output = folder.file("launches.rfcap");
  Session session(options);
  REQUIRE(session.device().full);
  const auto launch = [](std::uint64_t times) {
    const ProfileRange range("launches");
    fakecupti_tell_calls("cuLaunchKernel", times);
  };
  launch(1);  // a thread's first record sets it up
  const std::uint64_t before = rangefinder::testing::allocations_of_this_thread();
  launch(kLaunches);
  CHECK(rangefinder::testing::allocations_of_this_thread() == before);
  REQUIRE(session.stop().ok());
  ::unsetenv("RANGEFINDER_CUPTI_LIBRARY");
  const Result<Timeline> timeline = load_timeline(session.output());
  REQUIRE(timeline);
  CHECK(timeline->launches.size() == kLaunches + 1);
}

}  // namespace rangefinder::source::testing
