// SPDX-License-Identifier: MIT
#include "analysis/job_of_one_group.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"
#include "timeline/collectives.hpp"

#include <rangefinder/analysis/hang.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::below;

namespace {

/// Ranks that call the collectives of one group, one after the other.
class HangingJob {
 public:
  explicit HangingJob(int ranks) : group_(rangefinder::testing::add_ranks(timeline, ranks)) {}
  /// Called and left again.
  HangingJob& through(int rank, std::int64_t begin_ns) { return add(rank, begin_ns, begin_ns + 10); }
  /// Called and not left.
  HangingJob& stands(int rank, std::int64_t begin_ns, CollectiveKind kind = CollectiveKind::kAllReduce,
                     std::int64_t elements = 1000) {
    return add(rank, begin_ns, kNoTime, kind, elements);
  }
  HangingJob& in(int rank, const std::string& name, std::int64_t begin_ns) {
    RangeRow range;
    range.name = timeline.intern(name);
    range.thread = range.end_thread = ThreadIndex(rank);
    range.begin_ns = begin_ns;
    range.end_ns = 1'000'000;
    range.flags = kUnfinished;
    timeline.ranges.append(range);
    return *this;
  }
  std::vector<Hang> hangs() {
    timeline::join_collectives(timeline);
    return find_hangs(timeline);
  }
  Timeline timeline;

 private:
  HangingJob& add(int rank, std::int64_t begin_ns, std::int64_t end_ns,
                  CollectiveKind kind = CollectiveKind::kAllReduce, std::int64_t elements = 1000) {
    CollectiveRow row;
    row.kind = kind;
    row.process = ProcessIndex(rank);
    row.thread = ThreadIndex(rank);
    row.group = group_;
    row.begin_ns = begin_ns;
    row.end_ns = end_ns;
    row.elements_in = elements;
    timeline.collectives.append(row);
    return *this;
  }
  ProcessGroupIndex group_;
};

}  // namespace

TEST_CASE("ranks that are all through hang in nothing", "[hang]") {
  HangingJob job(2);
  job.through(0, 100).through(1, 100);
  CHECK(job.hangs().empty());
  CHECK(HangingJob(2).hangs().empty());
}

TEST_CASE("a rank that never came is named, with where it is and since when", "[hang]") {
  HangingJob job(3);
  job.through(0, 100).through(1, 100).through(2, 100);
  job.stands(0, 200).stands(1, 250);
  job.in(0, "backward", 150).in(1, "backward", 150).in(2, "load batch", 120);
  const std::vector<Hang> hangs = job.hangs();
  REQUIRE(hangs.size() == 1);
  const Hang& hang = hangs[0];
  CHECK(hang.kind == CollectiveKind::kAllReduce);
  CHECK(hang.number == 1);
  CHECK(hang.since_ns == 200);
  REQUIRE(hang.ranks.size() == 3);
  CHECK(hang.ranks[0].state == HangState::kWaits);
  CHECK(hang.ranks[1].state == HangState::kWaits);
  CHECK(hang.ranks[1].since_ns == 250);
  CHECK(hang.ranks[2].state == HangState::kNeverCame);
  CHECK(hang.ranks[2].since_ns == 110);
  const auto range_of = [&](const HangRank& rank) {
    return rank.range == kNone ? "-" : std::string(job.timeline.text(job.timeline.ranges.name[rank.range]));
  };
  CHECK(range_of(hang.ranks[0]) == "backward");
  CHECK(range_of(hang.ranks[2]) == "load batch");
}

TEST_CASE("a rank that calls something else in its place is named", "[hang]") {
  HangingJob job(3);
  SECTION("another kind") { job.stands(0, 10).stands(1, 20, CollectiveKind::kBroadcast).stands(2, 30); }
  SECTION("another size") { job.stands(0, 10).stands(1, 20, CollectiveKind::kAllReduce, 7).stands(2, 30); }
  const std::vector<Hang> hangs = job.hangs();
  REQUIRE(hangs.size() == 1);
  CHECK(hangs[0].kind == CollectiveKind::kAllReduce);
  CHECK(hangs[0].elements_in == 1000);
  CHECK(hangs[0].ranks[0].state == HangState::kWaits);
  CHECK(hangs[0].ranks[1].state == HangState::kDisagrees);
  CHECK(hangs[0].ranks[2].state == HangState::kWaits);
}

TEST_CASE("what most ranks called is right, and of as many what was called first", "[hang][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("most called"));
  constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kBroadcast,
                                       CollectiveKind::kAllToAll};
  for (int round = 0; round < rangefinder::testing::repeats(300); ++round) {
    const auto ranks = static_cast<int>(2 + below(random, 9));
    HangingJob job(ranks);
    struct Called {
      CollectiveKind kind;
      std::int64_t elements, begin_ns;
      bool operator==(const Called& other) const {
        return kind == other.kind && (kind == CollectiveKind::kAllToAll || elements == other.elements);
      }
    };
    std::vector<Called> called;
    for (int rank = 0; rank < ranks; ++rank) {
      called.push_back({kKinds[below(random, 3)], static_cast<std::int64_t>(1 + below(random, 2)),
                        static_cast<std::int64_t>(below(random, 5))});
      job.stands(rank, called.back().begin_ns, called.back().kind, called.back().elements);
    }
    const auto votes = [&](const Called& one) { return std::count(called.begin(), called.end(), one); };
    const auto agreed = std::min_element(called.begin(), called.end(), [&](const Called& a, const Called& b) {
      return std::pair(-votes(a), a.begin_ns) < std::pair(-votes(b), b.begin_ns);
    });
    const std::vector<Hang> hangs = job.hangs();
    REQUIRE(hangs.size() == 1);
    CHECK(hangs[0].kind == agreed->kind);
    CHECK(hangs[0].elements_in == agreed->elements);
    for (std::size_t rank = 0; rank < called.size(); ++rank)
      CHECK((hangs[0].ranks[rank].state == HangState::kWaits) == (called[rank] == *agreed));
  }
}

TEST_CASE("a rank without a recording, one that called nothing and one that went on are told apart", "[hang]") {
  HangingJob job(4);
  job.stands(0, 10).through(1, 20);  // an asynchronous one has returned
  job.in(2, "load model", 5);
  job.timeline.processes.pop_back();
  job.timeline.threads.pop_back();
  const std::vector<Hang> hangs = job.hangs();
  REQUIRE(hangs.size() == 1);
  REQUIRE(hangs[0].ranks.size() == 4);
  CHECK(hangs[0].ranks[0].state == HangState::kWaits);
  CHECK(hangs[0].ranks[1].state == HangState::kLeft);
  CHECK(hangs[0].ranks[2].state == HangState::kNeverCame);
  CHECK(hangs[0].ranks[2].last_called == kNone);
  REQUIRE(hangs[0].ranks[2].range != kNone);
  CHECK(job.timeline.text(job.timeline.ranges.name[hangs[0].ranks[2].range]) == "load model");
  CHECK(hangs[0].ranks[3].state == HangState::kMissing);
  CHECK(hangs[0].ranks[3].process == kNone);
}

TEST_CASE("a rank that waits is not blamed for what others called behind that", "[hang]") {
  HangingJob job(3);
  job.stands(0, 10).stands(0, 20);  // two at once
  job.stands(1, 15);
  SECTION("all came to the first") {
    job.stands(2, 12);
    const std::vector<Hang> hangs = job.hangs();
    REQUIRE(hangs.size() == 1);
    CHECK(hangs[0].number == 0);
    for (const HangRank& rank : hangs[0].ranks) CHECK(rank.state == HangState::kWaits);
  }
  SECTION("one is through with the first, and did not come to the second") {
    job.through(2, 12);
    const std::vector<Hang> hangs = job.hangs();
    REQUIRE(hangs.size() == 1);
    CHECK(hangs[0].number == 1);
    CHECK(hangs[0].ranks[2].state == HangState::kNeverCame);
    CHECK(hangs[0].ranks[2].since_ns == 22);
  }
}

TEST_CASE("where a rank is ends with what it did last, even if that was to open a range", "[hang]") {
  HangingJob job(2);
  job.through(0, 100).through(1, 100).stands(0, 200);
  // Opened by the last record that there is: of no length.
  RangeRow range;
  range.name = job.timeline.intern("sleep");
  range.thread = range.end_thread = ThreadIndex(1);
  range.begin_ns = range.end_ns = 300;
  range.flags = kUnfinished;
  job.timeline.ranges.append(range);
  const std::vector<Hang> hangs = job.hangs();
  REQUIRE(hangs.size() == 1);
  CHECK(hangs[0].ranks[1].range == RangeIndex(0));
}

TEST_CASE("work that was not done counts, not calls that returned", "[hang]") {
  const bool by_kernels = GENERATE(false, true);  // else by what the library told
  HangingJob job(2);
  for (int rank = 0; rank < 2; ++rank)
    for (int i = 0; i < 3; ++i) {
      CollectiveRow row;
      row.kind = CollectiveKind::kAllReduce;
      row.process = ProcessIndex(rank);
      row.thread = ThreadIndex(rank);
      row.group = ProcessGroupIndex(0);
      row.number = i;
      row.begin_ns = i * 100;
      row.end_ns = i * 100 + 5;
      if (i == 0 && !by_kernels) row.completed_ns = 50;
      if (rank == 0 || i < 1) job.timeline.collectives.append(row);
    }
  timeline::join_collectives(job.timeline);
  const CollectiveTable& calls = job.timeline.collectives;
  ActivityTable& activities = job.timeline.activities;
  for (CollectiveIndex call{0}; by_kernels && call < calls.size(); ++call) {
    if (calls.number[call] != 0) continue;
    ActivityRow kernel;
    kernel.begin_ns = 10;
    kernel.end_ns = 50;
    activities.append(kernel);
    activities.set_collective(ActivityIndex(activities.size() - 1), call);
  }
  const std::vector<Hang> hangs = find_hangs(job.timeline);
  REQUIRE(hangs.size() == 1);
  CHECK(hangs[0].number == 1);  // of two that rank 0 waits for, the first
  CHECK(hangs[0].ranks[0].state == HangState::kWaits);
  CHECK(hangs[0].ranks[1].state == HangState::kNeverCame);
  CHECK(hangs[0].ranks[1].since_ns == 50);
}
