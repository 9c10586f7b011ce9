// SPDX-License-Identifier: MIT
#include "support/capture_builder.hpp"
#include "support/catch.hpp"
#include "support/loaded_capture.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

Timeline load_job(const ScratchFolder& folder, const LoadOptions& options = {}) {
  Result<Timeline> timeline = load_timeline(folder.path(), options);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

CaptureBuilder rank(int number, int of, const char* host) {
  return CaptureBuilder()
      .meta("host", host)
      .meta("rank", std::to_string(number))
      .meta("world_size", std::to_string(of));
}

/// Steps with an all-reduce each, by a clock that is so far behind.
CaptureBuilder reducing(CaptureBuilder builder, std::int64_t behind_ns) {
  for (int i = 0; i < 20; ++i) {
    const std::int64_t begin = 50'000'000 + i * 1'000'000 - behind_ns;
    builder.range("step", begin, begin + 900'000)
        .launch(begin + 100)
        .kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", begin + 1'000, begin + 21'000);
  }
  return builder;
}

}  // namespace

TEST_CASE("the clock of another host is found by the collectives of both", "[importer]") {
  const ScratchFolder folder(true);
  reducing(rank(0, 2, "one"), 0).write(folder.file("r0.rfcap"));
  reducing(rank(1, 2, "two"), 3'000'000).write(folder.file("r1.rfcap"));
  const Timeline timeline = load_job(folder);
  REQUIRE(timeline.hosts.size() == 2);
  CHECK(timeline.hosts[0].error_ns == 0);
  CHECK(timeline.hosts[1].name == "two");
  CHECK(timeline.hosts[1].collectives == 20);
  CHECK(timeline.hosts[1].error_ns <= 21'000);
  CHECK(std::abs(timeline.hosts[1].shift_ns - 3'000'000) <= timeline.hosts[1].error_ns);
  REQUIRE(timeline.ranges.size() == 40);
  CHECK(std::abs(timeline.ranges.begin_ns[20] - at(50'000'000)) <= timeline.hosts[1].error_ns);
  CHECK(std::abs(timeline.activities.begin_ns[20] - at(50'001'000)) <= timeline.hosts[1].error_ns);
  CHECK(has_note(timeline, "host two (1 process): aligned to host one within 20."));
  CHECK(has_note(timeline, "us by 20 collectives, 3000.0 us from where the wall clocks put it"));

  LoadOptions by_wall_clock;
  by_wall_clock.align_hosts = false;
  const Timeline unaligned = load_job(folder, by_wall_clock);
  CHECK(unaligned.ranges.begin_ns[20] == at(47'000'000));
  CHECK(unaligned.hosts[1].error_ns == kNoTime);
  CHECK(has_note(unaligned, "host two (1 process): aligned by wall clock, as well as those agree"));
}

TEST_CASE("captures that share a running system share its clock, whatever their hosts are called", "[importer]") {
  const ScratchFolder folder(true);
  reducing(rank(0, 2, "pod-a").meta("boot", "b1"), 0).write(folder.file("r0.rfcap"));
  reducing(rank(1, 2, "pod-b").meta("boot", "b1"), 3'000'000).write(folder.file("r1.rfcap"));
  const Timeline timeline = load_job(folder);
  CHECK(timeline.hosts.size() == 1);
  CHECK(timeline.ranges.begin_ns[20] == at(47'000'000));
  CHECK(timeline.notes.empty());
}

TEST_CASE("missing ranks and jobs that do not belong together are said", "[importer]") {
  const ScratchFolder folder(true);
  rank(1, 8, "one").range("a", 0, 10).write(folder.file("r1.rfcap"));
  rank(5, 8, "one").range("a", 0, 10).write(folder.file("r5.rfcap"));
  CHECK(has_note(load_job(folder), "of 8 ranks these are missing: 0, 2-4, 6, 7"));

  SECTION("a child of a rank lives beside it") {
    rank(5, 8, "one").range("a", 5, 7).write(folder.file("child.rfcap"));
    CHECK_FALSE(has_note(load_job(folder), "more than once"));
  }
  SECTION("another run does not") {
    rank(5, 8, "one").range("a", 50, 70).write(folder.file("again.rfcap"));
    CHECK(has_note(load_job(folder), "rank 5 is there more than once, one after the other"));
  }
  SECTION("nor does a job of another size") {
    rank(0, 2, "one").range("a", 0, 10).write(folder.file("other.rfcap"));
    const Timeline timeline = load_job(folder);
    CHECK(has_note(timeline, "captures of jobs of different sizes: 2, 8 ranks"));
    CHECK_FALSE(has_note(timeline, "missing"));
  }
}
