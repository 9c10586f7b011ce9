// SPDX-License-Identifier: MIT
#include "bench/planted_bench.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"

#include <rangefinder/timeline.hpp>

#include <filesystem>
#include <memory>
#include <sstream>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::Environment;
using rangefinder::testing::PlantedBench;
using rangefinder::testing::ScratchFolder;

namespace {

/// Three ranks, which meet in a folder that the test looks into.
struct RankBench : PlantedBench {
  ScratchFolder meeting;
  Environment temporary{"TMPDIR", meeting.path().c_str()};

  RankBench() {
    options.ranks = 3;
    options.stall_s = 0.4;
  }
  std::string log(const char* variant) const { return rangefinder::testing::read_file(row()[variant]["log"].text()); }
};

JsonView metric(JsonView owner, const std::string& name) {
  for (const JsonView each : owner["metrics"].items()) {
    if (each["name"].text() == name) return each;
  }
  return {};
}

}  // namespace

TEST_CASE("2, 3 and 4 ranks are checked against one process, and timed together", "[bench]") {
  for (const unsigned ranks : {2U, 3U, 4U}) {
    CAPTURE(ranks);
    RankBench bench;
    bench.options.ranks = ranks;
    CHECK(bench.run({"ranks_good"}) == kAllMet);
    const JsonView row = bench.row();
    CHECK(bench.reason().empty());
    CHECK(row["ranks"].integer() == ranks);
    CHECK(JsonView(bench.results)["provenance"]["ranks"].integer() == ranks);
    CHECK(row["correctness"]["passed"].boolean());
    CHECK(row["correctness"]["inputs"].text().size() == 32);
    CHECK(row["correctness"]["elements"].integer() == 24 * ranks);  // of each rank
    CHECK(row["correctness"]["output_bytes"].integer() == 24 * 4 * ranks);
    CHECK(row["correctness"]["reference"]["elements"].integer() == 24 * ranks);
    CHECK(std::filesystem::exists(row["correctness"]["reference"]["log"].text()));
    CHECK(row["ratios"]["basis"].text() == "wall_ns");                                    // waiting is the point
    CHECK(row["baseline"]["wall_ns"]["p50"].number() == 2 * (4000 + 100 * (ranks - 1)));  // of the slowest
    CHECK(row["optimized"]["cpu_ns"]["p50"].number() == 1000 + 100 * (ranks - 1));
    CHECK(row["baseline"]["peak_bytes"].integer() == 1000 * ranks * (ranks + 1) / 2);
    CHECK(row["baseline"]["growth_bytes"].integer(-1) == 0);
    CHECK(row["baseline"]["energy_missing"].text() == "several ranks may share a device");
    // A step of the ring sends each share to all but its own rank.
    CHECK(metric(row["optimized"], "sent_bytes")["value"].number() == 24 * 4 * (ranks - 1));
    CHECK(metric(row["optimized"], "longest_ns")["value"].number() == 10 * ranks);
    CHECK(metric(row["optimized"], "fact")["value"].number() == 5);
    CHECK(metric(row["optimized"], "declared")["value"].number() == 5 * ranks + ranks * (ranks - 1) / 2);
    CHECK(metric(row["optimized"], "of_rank_1")["value"].number() == 7);
    CHECK(row["optimized"]["work"]["tokens"].number() == 8 * ranks + ranks * (ranks - 1) / 2);

    const std::vector<JsonView> of_ranks = row["baseline"]["ranks"].items();
    REQUIRE(of_ranks.size() == ranks);
    for (unsigned rank = 0; rank < ranks; ++rank) {
      CHECK(of_ranks[rank]["rank"].integer() == rank);
      CHECK(of_ranks[rank]["wall_ns"]["count"].integer() == 7);
      CHECK(of_ranks[rank]["cpu_ns"]["p50"].number() == 4000 + 100 * rank);
      CHECK(of_ranks[rank]["peak_bytes"].integer() == 1000 * (rank + 1));
      CHECK(metric(of_ranks[rank], "fact")["value"].number() == 5 + rank);
      CHECK(of_ranks[rank]["capture"].is_null());
    }
    CHECK(bench.meeting.entries() == 0);
    for (const auto& entry : std::filesystem::directory_iterator(bench.options.out + "/ranks_good"))
      CHECK(entry.path().extension() == ".log");  // no outputs are left
  }
}

TEST_CASE("what ranks print is in one log, in order, each line with its rank", "[bench]") {
  RankBench bench;
  CHECK(bench.run({"ranks_good"}) == kAllMet);
  std::istringstream lines(bench.log("optimized"));
  int met[3] = {}, after[3] = {};
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    REQUIRE(line.size() > 9);
    const int rank = line[6] - '0';
    REQUIRE((rank >= 0 && rank < 3));
    const std::string front = "[rank " + std::to_string(rank) + "] ";
    if (line == front + "rank " + std::to_string(rank) + " met the others")
      CHECK(met[rank]++ == after[rank]);  // stdout before stderr, as it was printed
    else if (line == front + "then it says so to stderr")
      CHECK(++after[rank] == met[rank]);
    else
      FAIL_CHECK("not printed by a rank");
  }
  for (const int rank : {0, 1, 2}) CHECK(met[rank] == 5);  // four checks, and the variant that is timed
}

TEST_CASE("without a reference ranks are held against those of the baseline", "[bench]") {
  RankBench bench;
  CHECK(bench.run({"ranks_without_reference", "ranks_of_shares"}) == kAllMet);
  for (const int row : {0, 1}) {
    CHECK(bench.row(row)["correctness"]["reference"].is_null());
    CHECK(bench.row(row)["correctness"]["passed"].boolean());
  }
  CHECK(bench.row(0)["correctness"]["elements"].integer() == 24);
  CHECK(bench.row(1)["correctness"]["elements"].integer() == 72);
  CHECK(bench.run({"ranks_wrong_share"}) == kFailure);
  CHECK(bench.says("wrong output: rank 1: output \"y\", element 0"));
}

TEST_CASE("a rank without outputs has nothing to be compared", "[bench]") {
  RankBench bench;
  CHECK(bench.run({"ranks_first_alone"}) == kAllMet);
  CHECK(bench.row()["correctness"]["elements"].integer() == 24);
}

TEST_CASE("an output that one rank has wrong fails", "[bench][fault]") {
  RankBench bench;
  CHECK(bench.run({"ranks_wrong"}) == kFailure);
  CHECK(bench.says("wrong output: optimized: rank 1: output \"y\", element 8: "));
  CHECK(bench.row()["correctness"]["outside"].integer() == 1);
  CHECK(bench.row()["correctness"]["elements"].integer() == 72);
  CHECK(bench.row()["correctness"]["reference"]["outside"].integer() == 0);
  // Both variants agree, and neither with the reference.
  CHECK(bench.run({"ranks_wrong_baseline"}) == kFailure);
  CHECK(bench.says("wrong output: baseline: rank 1: output \"y\", element 8: "));
}

TEST_CASE("a rank that ends, throws, is stopped or hangs ends all, and is named", "[bench][fault]") {
  RankBench bench;
  const auto fails = [&](const char* name, const std::string& front) {
    CAPTURE(name);
    CHECK(bench.run({name, "ranks_without_reference"}) == kFailure);  // in the order of their names
    CHECK(bench.row(0)["status"].text() == "failed");
    CHECK(bench.reason().substr(0, front.size()) == front);
    CHECK(bench.row(1)["status"].text() == "no_expectation");  // the others run on; nothing is stored of them
    CHECK(bench.meeting.entries() == 0);
  };
  SECTION("ends") {
    fails("ranks_exit",
          "rank 1 of 3 ended with exit code 3 in step 1 of variant optimized, at \"check\"; "
          "its last lines: rank 1 met the others / then it says so to stderr / about to fail");
    CHECK(bench.log("optimized").find("[rank 1] about to fail\n") != std::string::npos);
  }
  SECTION("is killed") {
    fails("ranks_killed",
          "rank 0 of 3 was killed by SIGKILL in step 1 of variant optimized, at \"check\"; "
          "its last lines: rank 0 met the others");
  }
  SECTION("throws") {
    fails("ranks_throw",
          "rank 1 of 3 failed in step 1 of variant optimized, at \"check\": planted exception; its last lines: ");
  }
  SECTION("is stopped") {
    fails("ranks_stopped",
          "rank 1 of 3: no answer for 0.15 s in step 1 of variant optimized, at \"check\" (stopped by a signal, as "
          "SIGSTOP does); its last lines: rank 1 met the others");
  }
  SECTION("hangs") {
    fails("ranks_hang",
          "rank 1 of 3: no answer for 0.4 s in step 1 of variant optimized, at \"check\" (asleep all that time, "
          "--stall-s); its last lines: rank 1 met the others");
    CHECK(bench.says("; rank 0 is in step 1 of variant optimized, at \"check\", waiting for other ranks"));
  }
  SECTION("hangs in set-up") {
    fails("ranks_hang_in_setup", "rank 1 of 3: no answer for 0.4 s in set-up of variant optimized, at \"check\"");
  }
  SECTION("is killed while the other variant has its turn") {
    fails("ranks_killed_in_turn_of_other",
          "rank 1 of 3 was killed by SIGKILL at \"wait for its turn\" of variant baseline");
  }
  SECTION("is stopped while the other variant has its turn") {
    fails("ranks_stopped_in_turn_of_other",
          "rank 1 of 3: no answer for 0.15 s at \"wait for its turn\" of variant baseline (stopped by a signal");
  }
  SECTION("computes for ever") {
    bench.options.timeout_s = 5;
    fails("ranks_spin", "rank 1 of 3: no answer for 5 s in step 1 of variant optimized, at \"check\" (--timeout-s)");
  }
}

TEST_CASE("benchmarks get the ranks that they take, or are skipped", "[bench]") {
  RankBench bench;
  CHECK(bench.run({"good", "ranks_any"}) == kAllMet);
  CHECK(bench.row(0)["ranks"].integer() == 1);
  CHECK(bench.row(0)["baseline"]["ranks"].items().empty());
  CHECK(bench.row(0)["ratios"]["basis"].text() == "cpu_ns");
  CHECK(bench.row(1)["ranks"].integer() == 3);
  bench.options.ranks = 1;
  CHECK(bench.run({"ranks_good"}) == kAllSkipped);
  CHECK(bench.reason() == "needs_world_size_2");
  CHECK(bench.run({"ranks_any"}) == kAllMet);  // one process against the reference
  CHECK(bench.row()["ranks"].integer() == 1);
  CHECK(bench.row()["correctness"]["reference"]["elements"].integer() == 24);
}

TEST_CASE("each rank of a profiled variant leaves a capture", "[bench]") {
  RankBench bench;
  bench.options.profile = ProfileLevel::kMinimal;
  CHECK(bench.run({"ranks_good"}) == kAllMet);
  for (const char* variant : {"baseline", "optimized"}) {
    const std::vector<JsonView> ranks = bench.row()[variant]["ranks"].items();
    REQUIRE(ranks.size() == 3);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const std::string path = ranks[rank]["capture"].text();
      CHECK(path == bench.options.out + "/ranks_good/" + variant + "/rank-" + std::to_string(rank) + ".rfcap");
      const auto timeline = load_timeline(path);
      REQUIRE(timeline.ok());
      CHECK(timeline->ranges.size() == 6);  // step and gather, three times
    }
    CHECK(bench.row()[variant]["profile"]["capture"].text() == ranks[0]["capture"].text());
  }
}

TEST_CASE("what is stored of ranks is of so many", "[bench]") {
  RankBench bench;
  bench.options.update_expectations = true;
  CHECK(bench.run({"ranks_good"}) == kAllMet);
  bench.options.ranks = 2;
  CHECK(bench.run({"ranks_good", "good"}) == kAllMet);
  const Json stored = load_json(bench.options.expectations).value();
  for (const char* name : {"ranks_good@3ranks", "ranks_good@2ranks", "good"})
    CHECK(JsonView(stored)["examples"].has(name));
  CHECK(JsonView(stored)["examples"]["ranks_good@3ranks"]["provenance"]["ranks"].integer() == 3);
  CHECK(JsonView(stored)["examples"]["good"]["provenance"]["ranks"].integer() == 1);
  bench.options.update_expectations = false;
  bench.options.resume = true;
  bench.options.ranks = 3;
  CHECK(run(bench.options).error().message().find("ranks 3, stored 2") != std::string::npos);
}

TEST_CASE("an interrupt ends all ranks", "[bench]") {
  RankBench bench;
  bool begun = false;
  int asked = 0;
  bench.options.stall_s = 60;
  bench.options.progress = [&](std::uint64_t, std::uint64_t) { begun = true; };
  bench.options.cancelled = [&] { return begun && ++asked > 20; };
  CHECK(bench.run({"ranks_hang"}) == kFailure);
  CHECK(bench.says("interrupted"));
  CHECK(bench.meeting.entries() == 0);
}

TEST_CASE("outputs of all ranks share the limit of disk", "[bench][fault]") {
  RankBench bench;
  bench.options.disk_limit = 3 * 96;
  CHECK(bench.run({"ranks_good"}) == kAllMet);
  bench.options.disk_limit = 3 * 96 - 1;
  CHECK(bench.run({"ranks_good"}) == kFailure);
  CHECK(bench.says("its outputs take 96 bytes of disk, and the limit is 95"));
  for (const auto& entry : std::filesystem::directory_iterator(bench.options.out + "/ranks_good"))
    CHECK(entry.path().extension() == ".log");
}

TEST_CASE("a plan tells ranks, and the bytes of all of them", "[bench]") {
  RankBench bench;
  bench.options.targets = {"ranks_good", "good"};
  const PlanOutcome told = plan(bench.options).value();
  CHECK(told.text.find("ranks_good: cpu cpu, 3 ranks a variant, 7 iterations after 2 to warm up, profile none\n"
                       "  check at cpu: outputs on disk 288 B, time 0.0 s; a step: 8 FLOP, ") != std::string::npos);
  CHECK(told.text.find("good: cpu cpu, 7 iterations") != std::string::npos);
  CHECK(told.text.find("in 10 set-ups of a check\n") != std::string::npos);
  const Json json = parse_json(told.json).value();
  CHECK(JsonView(json)["rows"].items().at(0)["ranks"].integer() == 1);  // by name: "good" first
  CHECK(JsonView(json)["rows"].items().at(1)["ranks"].integer() == 3);
  bench.options.ranks = 1;
  CHECK(plan(bench.options).value().text.find("  skipped: needs_world_size_2\n") != std::string::npos);
}

TEST_CASE("wrong numbers of ranks are refused before anything runs", "[bench]") {
  RankBench bench;
  bench.options.ranks = 0;
  CHECK_FALSE(run(bench.options).ok());
  bench.options.ranks = 1025;
  CHECK_FALSE(run(bench.options).ok());
  bench.options.ranks = 2;
  bench.options.stall_s = 0;
  CHECK_FALSE(run(bench.options).ok());
  CHECK_FALSE(std::filesystem::exists(bench.options.out));
}
