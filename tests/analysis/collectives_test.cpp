// SPDX-License-Identifier: MIT
#include "timeline/collectives.hpp"

#include "analysis/job_of_one_group.hpp"
#include "support/catch.hpp"
#include "support/shared_data.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/timeline.hpp>

#include <iostream>
#include <map>
#include <string>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::shared_file;

namespace {

/// A job of ranks that run collectives one after the other.
class Job {
 public:
  explicit Job(int ranks) : group_(rangefinder::testing::add_ranks(timeline, ranks)) {}
  /// On the host, from begin to end.
  CollectiveRow& add(int rank, std::int64_t begin_ns, std::int64_t end_ns,
                     CollectiveKind kind = CollectiveKind::kAllReduce) {
    CollectiveRow row;
    row.kind = kind;
    row.process = ProcessIndex(rank);
    row.thread = ThreadIndex(rank);
    row.group = group_;
    row.begin_ns = row.started_ns = begin_ns;
    row.end_ns = begin_ns + 1;
    row.completed_ns = end_ns;
    row.elements_in = row.elements_out = 1000;
    row.dtype = timeline.intern("Float");
    rows_.push_back(row);
    return rows_.back();
  }
  MatchedCollectives match() {
    for (const CollectiveRow& row : rows_) timeline.collectives.append(row);
    rows_.clear();
    timeline::join_collectives(timeline);
    return match_collectives(timeline);
  }
  Timeline timeline;

 private:
  ProcessGroupIndex group_;
  std::vector<CollectiveRow> rows_;
};

}  // namespace

TEST_CASE("a collective's latency is that of the last rank, for whom the others wait", "[collectives]") {
  Job job(4);
  const std::int64_t begins[] = {100, 400, 200, 300};
  for (int rank = 0; rank < 4; ++rank) job.add(rank, begins[rank], 1400).number = 5;
  RangeRow range;
  range.name = job.timeline.intern("late");
  range.thread = range.end_thread = ThreadIndex(1);
  range.begin_ns = 0;
  range.end_ns = 2000;
  job.timeline.ranges.append(range);
  const MatchedCollectives matched = job.match();
  CHECK(matched.refused.empty());
  REQUIRE(matched.collectives.size() == 1);
  const MatchedCollective& one = matched.collectives[0];
  CHECK(one.kind == CollectiveKind::kAllReduce);
  CHECK(one.number == 5);
  CHECK(one.ranks == 4);
  CHECK(one.part_count == 4);
  CHECK(one.latency_ns == 1000);
  CHECK(one.longest_ns == 1300);
  CHECK(one.skew_ns == 300);
  CHECK(one.clock_error_ns == 0);
  CHECK(one.last_part == 1);
  CHECK(one.last_range == RangeIndex(0));
  CHECK(matched.parts[0].wait_ns == 300);
  CHECK(matched.parts[1].wait_ns == 0);
  CHECK(one.bytes == 4000);
  CHECK(one.algorithm_bandwidth == Approx(4e9));
  CHECK(one.bus_bandwidth == Approx(4e9 * 2 * 3 / 4));
}

TEST_CASE("bytes and bus bandwidth by kind, as NCCL's tests count", "[collectives]") {
  const struct {
    CollectiveKind kind;
    std::int64_t in, out;
    std::uint64_t bytes;
    double factor;
  } kinds[] = {
      {CollectiveKind::kAllReduce, 100, 100, 400, 1.5},      {CollectiveKind::kAllGather, 100, 400, 1600, 0.75},
      {CollectiveKind::kAllGather, 100, -1, 1600, 0.75},     {CollectiveKind::kReduceScatter, 400, 100, 1600, 0.75},
      {CollectiveKind::kReduceScatter, -1, 100, 1600, 0.75}, {CollectiveKind::kAllToAll, 100, 100, 400, 0.75},
      {CollectiveKind::kBroadcast, 100, 100, 400, 1},        {CollectiveKind::kReduce, 100, 100, 400, 1}};
  for (const auto& [kind, in, out, bytes, factor] : kinds) {
    CAPTURE(to_string(kind), in, out);
    Job job(4);
    for (int rank = 0; rank < 4; ++rank) {
      CollectiveRow& row = job.add(rank, 0, 100, kind);
      row.elements_in = in;
      row.elements_out = out;
    }
    const MatchedCollectives matched = job.match();
    REQUIRE(matched.collectives.size() == 1);
    CHECK(matched.collectives[0].bytes == bytes);
    CHECK(matched.collectives[0].bus_bandwidth == Approx(static_cast<double>(bytes) * 1e7 * factor));
  }
}

TEST_CASE("parts of an all-to-all may be unequal", "[collectives]") {
  Job job(2);
  job.add(0, 0, 100, CollectiveKind::kAllToAll).elements_in = 300;
  job.add(1, 0, 100, CollectiveKind::kAllToAll).elements_in = 100;
  const MatchedCollectives matched = job.match();
  REQUIRE(matched.collectives.size() == 1);
  CHECK(matched.collectives[0].imbalance == Approx(1.5));
  CHECK(matched.collectives[0].bytes == 1200);
}

TEST_CASE("what could be matched wrongly is refused, with the reason", "[collectives]") {
  Job job(2);
  const auto reason_of = [&](const MatchedCollectives& matched) {
    REQUIRE(matched.collectives.empty());
    REQUIRE(matched.refused.size() == 1);
    return matched.refused[0].reason;
  };
  SECTION("another kind") {
    job.add(0, 0, 100);
    job.add(1, 0, 100, CollectiveKind::kBroadcast);
    CHECK(reason_of(job.match()) == "the one at place 1: a rank calls all_reduce, another one broadcast");
  }
  SECTION("another size") {
    job.add(0, 0, 100);
    job.add(1, 0, 100).elements_in = 7;
    CHECK(reason_of(job.match()) == "the one at place 1: a rank gives 1000 elements, another one 7");
  }
  SECTION("another type") {
    job.add(0, 0, 100);
    job.add(1, 0, 100).dtype = job.timeline.intern("Half");
    CHECK(reason_of(job.match()) == "the one at place 1: elements are Float and Half");
  }
  SECTION("other numbers of them") {
    job.add(0, 0, 100);
    job.add(0, 200, 300);
    job.add(1, 200, 300);
    CHECK(reason_of(job.match()) ==
          "recordings hold different numbers of them (2 and 1), and nothing tells which are the same");
  }
  SECTION("at times that cannot be") {
    job.add(0, 0, 100);
    job.add(1, 200, 300);
    CHECK(reason_of(job.match()) ==
          "the one at place 1: a rank left before another one came, by more than the clocks can be off");
  }
}

TEST_CASE("numbers tell which are the same where a recording began later", "[collectives]") {
  Job job(2);
  for (int i = 0; i < 5; ++i) job.add(0, i * 1000, i * 1000 + 100).number = i;
  for (int i = 2; i < 5; ++i) job.add(1, i * 1000 + 50, i * 1000 + 100).number = i;
  const MatchedCollectives matched = job.match();
  CHECK(matched.refused.empty());
  REQUIRE(matched.collectives.size() == 5);
  CHECK(matched.collectives[0].part_count == 1);
  CHECK(matched.collectives[0].ranks == 2);
  CHECK(matched.collectives[0].last_part == kNone);
  CHECK(matched.collectives[2].part_count == 2);
  CHECK(matched.collectives[2].skew_ns == 50);
}

TEST_CASE("steps tell which are the same, and one that differs spoils no other", "[collectives]") {
  Job job(2);
  for (int rank = 0; rank < 2; ++rank)
    for (int step = 0; step < 3; ++step) {
      StepRow row;
      row.number = step;
      row.thread = ThreadIndex(rank);
      row.begin_ns = step * 1000;
      row.end_ns = step * 1000 + 1000;
      job.timeline.steps.append(row);
    }
  for (int step = 0; step < 3; ++step)
    for (int i = 0; i < 2; ++i) {
      job.add(0, step * 1000 + i * 100, step * 1000 + i * 100 + 50);
      if (step != 0 || i != 0) job.add(1, step * 1000 + i * 100, step * 1000 + i * 100 + 50);
    }
  const MatchedCollectives matched = job.match();
  CHECK(matched.collectives.size() == 4);
  REQUIRE(matched.refused.size() == 1);
  CHECK(matched.refused[0].parts == 3);
  CHECK(matched.refused[0].reason.find("step 0: recordings hold different numbers of them") == 0);
}

TEST_CASE("without a common clock there are latencies, but no waits", "[collectives]") {
  Job job(2);
  job.timeline.hosts.resize(2);
  job.timeline.hosts[0].error_ns = 0;
  job.timeline.processes[1].clock = 1;
  job.add(0, 0, 100);
  job.add(1, 50'000, 50'080);
  SECTION("wall clocks") {
    const MatchedCollectives matched = job.match();
    REQUIRE(matched.collectives.size() == 1);
    CHECK(matched.collectives[0].latency_ns == 80);
    CHECK(matched.collectives[0].skew_ns == kNoTime);
    CHECK(matched.collectives[0].clock_error_ns == kNoTime);
    CHECK(matched.collectives[0].last_part == kNone);
    CHECK(matched.parts[0].wait_ns == kNoTime);
  }
  SECTION("aligned, with an error") {
    job.timeline.hosts[1].error_ns = 60'000;
    const MatchedCollectives matched = job.match();
    REQUIRE(matched.collectives.size() == 1);
    CHECK(matched.collectives[0].skew_ns == 50'000);
    CHECK(matched.collectives[0].clock_error_ns == 60'000);
  }
}

TEST_CASE("sends are matched with the receives of the other rank", "[collectives]") {
  Job job(3);
  job.add(0, 0, 100, CollectiveKind::kSend).peer = 1;
  job.add(0, 200, 300, CollectiveKind::kSend).peer = 2;
  job.add(1, 10, 100, CollectiveKind::kReceive).peer = 0;
  job.add(2, 210, 300, CollectiveKind::kReceive).peer = 0;
  const MatchedCollectives matched = job.match();
  CHECK(matched.refused.empty());
  REQUIRE(matched.collectives.size() == 2);
  for (const MatchedCollective& one : matched.collectives) {
    CHECK(one.part_count == 2);
    CHECK(one.ranks == 2);
    CHECK(one.skew_ns == 10);
  }
}

TEST_CASE("a job of eight traces of torch.profiler", "[collectives][data]") {
  const std::string folder = shared_file("data/kineto/param_dlrm_8rank");
  if (folder.empty()) {
    std::cout << "skipped: no collection of real traces beside the source tree\n";
    return;
  }
  const Result<Timeline> job = load_timeline(folder);
  REQUIRE(job);
  REQUIRE(job->processes.size() == 8);
  const MatchedCollectives matched = match_collectives(*job);
  std::map<CollectiveKind, int> kinds;
  for (const MatchedCollective& one : matched.collectives) {
    ++kinds[one.kind];
    CHECK(one.part_count == 8);
    CHECK(one.ranks == 8);
    CHECK(one.bytes > 0);
  }
  CHECK(kinds == std::map<CollectiveKind, int>{{CollectiveKind::kAllReduce, 3}, {CollectiveKind::kAllToAll, 5}});
  CHECK(matched.refused.empty());
}
