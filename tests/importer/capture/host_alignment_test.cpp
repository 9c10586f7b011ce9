// SPDX-License-Identifier: MIT
#include "importer/capture/host_alignment.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using importer::align_hosts;
using importer::HostAlignment;
using importer::HostShift;
using importer::ShiftBound;

namespace {

constexpr const char* kAllReduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)";
constexpr const char* kAllGather = "ncclKernel_AllGather_RING_LL_Sum_int8_t";
constexpr const char* kBroadcast = "ncclDevKernel_Broadcast_RING_LL";

/// A clock of another host: what has to be added to it at a time of its own.
struct OtherClock {
  std::int64_t behind_ns;
  double drift;  // per nanosecond
  std::int64_t shift_at(std::int64_t own_ns) const {
    return behind_ns + std::llround(drift * static_cast<double>(own_ns));
  }
  std::int64_t read(std::int64_t true_ns) const {
    std::int64_t own = true_ns - behind_ns;
    for (int i = 0; i < 4; ++i) own = true_ns - shift_at(own);
    return own;
  }
};

struct Joint {
  std::vector<std::int64_t> begins, ends;  // by rank, true times
  const char* name;
};

/// So many collectives: ranks come when they come, and leave within 66 us of each other, less than kLeaveWithin.
std::vector<Joint> job(std::mt19937_64& random, std::size_t ranks, std::size_t count) {
  std::vector<Joint> all;
  std::int64_t now = 1'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    Joint joint;
    joint.name = below(random, 4) == 0 ? kAllGather : kAllReduce;
    std::int64_t last = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      joint.begins.push_back(now + static_cast<std::int64_t>(any_size(random, 22)));
      last = std::max(last, joint.begins.back());
    }
    for (std::size_t rank = 0; rank < ranks; ++rank)
      joint.ends.push_back(last + static_cast<std::int64_t>(5'000 + any_size(random, 16)));
    now =
        *std::max_element(joint.ends.begin(), joint.ends.end()) + static_cast<std::int64_t>(below(random, 30'000'000));
    all.push_back(std::move(joint));
  }
  return all;
}

void add_rank(TimelineBuilder& builder, const std::vector<Joint>& job, std::size_t rank, const OtherClock& clock,
              std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i)
    builder.launch(clock.read(job[i].begins[rank]))
        .kernel(clock.read(job[i].begins[rank]), clock.read(job[i].ends[rank]), job[i].name);
}

HostShift line(const HostAlignment& alignment) {
  HostShift shift;
  shift.set_knots(alignment.knots);
  return shift;
}

}  // namespace

TEST_CASE("bounds are as tight as their neighbours and the drift allow, and contradictions are found", "[importer]") {
  std::vector<ShiftBound> bounds = {{2'000'000'000, -100, 100}, {0, -1'000'000, 1'000'000}};
  REQUIRE(importer::tighten(bounds));
  REQUIRE(bounds[0].time_ns == 0);
  CHECK(bounds[0].least_ns == -100'101);  // 50 us a second
  CHECK(bounds[0].most_ns == 100'101);
  CHECK(bounds[1].least_ns == -100);
  bounds = {{0, 0, 10}, {1'000, 500, 600}};
  CHECK_FALSE(importer::tighten(bounds));
}

TEST_CASE("the true difference of two clocks lies within the stated error", "[importer][property]") {
  std::mt19937_64 random(property_seed("host alignment"));
  for (int run = 0; run < repeats(200); ++run) {
    const std::size_t per_host = 1 + below(random, 3), count = 8 + below(random, 200);
    const OtherClock own{0, 0};
    const OtherClock other{static_cast<std::int64_t>(any_size(random, 30)) * (below(random, 2) == 0 ? 1 : -1),
                           (static_cast<double>(below(random, 80'000)) - 40'000) * 1e-9};
    const std::vector<Joint> joints = job(random, 2 * per_host, count);
    TimelineBuilder builder;
    std::vector<std::uint32_t> host_of;
    for (std::size_t rank = 0; rank < 2 * per_host; ++rank) {
      builder.on_process(static_cast<std::int64_t>(rank) + 1);
      host_of.push_back(rank < per_host ? 0 : 1);
      add_rank(builder, joints, rank, rank < per_host ? own : other, 0, count);
    }
    const Timeline timeline = builder.build();
    const std::vector<HostAlignment> found = align_hosts(timeline, host_of, 2);
    REQUIRE_FALSE(found[1].knots.empty());
    CHECK(found[1].matched == per_host * per_host * count);
    const HostShift shift = line(found[1]);
    const std::int64_t first = other.read(joints.front().ends[per_host]),
                       last = other.read(joints.back().begins[per_host]);
    for (int i = 0; i <= 100; ++i) {
      const std::int64_t time = first + (last - first) / 100 * i;
      CHECK(std::abs(shift.at(time) - other.shift_at(time)) <= found[1].error_ns);
    }
  }
}

TEST_CASE("recordings that begin and end with different collectives are matched where they fit", "[importer]") {
  std::mt19937_64 random(property_seed("different collectives"));
  const OtherClock own{0, 0}, other{300'000, 0};
  const std::vector<Joint> joints = job(random, 2, 100);
  TimelineBuilder builder;
  add_rank(builder.on_process(1), joints, 0, own, 5, 100);
  add_rank(builder.on_process(2), joints, 1, other, 12, 90);
  const std::vector<std::uint32_t> host_of{0, 1};
  const std::vector<HostAlignment> found = align_hosts(builder.build(), host_of, 2);
  REQUIRE(found[1].matched == 78);
  CHECK(std::abs(line(found[1]).at(1'500'000'000) - 300'000) <= found[1].error_ns);
}

TEST_CASE("a host's own collectives are not taken for those of another", "[importer]") {
  std::mt19937_64 random(property_seed("own collectives"));
  const OtherClock own{0, 0}, other{-2'000'000, 0};
  const std::vector<Joint> shared = job(random, 2, 40), first = job(random, 1, 200), second = job(random, 1, 200);
  TimelineBuilder builder;
  add_rank(builder.on_process(1), shared, 0, own, 0, 40);
  add_rank(builder.on_stream(8), first, 0, own, 0, 200);
  add_rank(builder.on_process(2), shared, 1, other, 0, 40);
  add_rank(builder.on_stream(8), second, 0, other, 0, 200);
  const std::vector<std::uint32_t> host_of{0, 1};
  const std::vector<HostAlignment> found = align_hosts(builder.build(), host_of, 2);
  CHECK(found[1].matched == 40);
  CHECK(found[1].contradiction);
  CHECK(std::abs(line(found[1]).at(1'300'000'000) + 2'000'000) <= found[1].error_ns);
}

TEST_CASE("hosts in lockstep with collectives of their own, which contradict the common ones, are not aligned",
          "[importer]") {
  // Steps of 64 all-gathers inside of each host, the second one 5 ms later than the first, and one all-reduce of both.
  constexpr std::int64_t kLater = 5'000'000, kBehind = 700'000;
  const auto shift = [](bool with_own) {
    TimelineBuilder builder;
    for (const std::int64_t host : {0, 1}) {
      const std::int64_t behind = host * kBehind;
      std::int64_t now = 1'000'000'000;
      builder.on_process(host + 1);
      for (int step = 0; step < 20; ++step) {
        for (int i = 0; i < 64; ++i, now += 2'000'000) {
          const std::int64_t begin = now + host * kLater - behind;
          if (with_own) builder.on_stream(7).launch(begin).kernel(begin, begin + 400'000, kAllGather);
        }
        const std::int64_t begin = now + host * kLater - behind;
        builder.on_stream(8).launch(begin).kernel(begin, now + kLater + 400'000 - behind, kAllReduce);
        now += kLater + 3'000'000;
      }
    }
    const std::vector<std::uint32_t> host_of{0, 1};
    return align_hosts(builder.build(), host_of, 2)[1];
  };
  const HostAlignment common = shift(false);
  CHECK(std::abs(line(common).at(1'500'000'000) - kBehind) <= common.error_ns);
  const HostAlignment both = shift(true);
  CHECK(both.knots.empty());
  CHECK(both.matched == 0);
  CHECK(both.contradiction);
}

TEST_CASE("without enough collectives that all ranks must have come to, nothing is claimed", "[importer]") {
  const std::vector<std::uint32_t> host_of{0, 1};
  const auto matched = [&](const char* name, int count) {
    TimelineBuilder builder;
    for (const std::int64_t process : {1, 2}) {
      builder.on_process(process);
      for (int i = 0; i < count; ++i) builder.launch(i * 1'000).kernel(i * 1'000, i * 1'000 + 500, name);
    }
    return align_hosts(builder.build(), host_of, 2)[1].matched;
  };
  CHECK(matched(kAllReduce, 8) == 8);
  CHECK(matched(kAllReduce, 7) == 0);
  CHECK(matched(kBroadcast, 100) == 0);
  CHECK(matched("AllReduce of my own", 100) == 0);
}
