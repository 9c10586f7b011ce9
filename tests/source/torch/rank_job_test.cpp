// SPDX-License-Identifier: MIT
//
// Jobs of real processes that talk by Gloo: what is recorded of their collectives, against what they wrote down
// themselves; and which rank a hang is blamed on.
#include "rank_job.hpp"

#include "support/catch.hpp"
#include "support/rank_calls.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/analysis/hang.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// 0: all went as planned.
int run_rank_job(const std::string& folder, int ranks, const std::string& plan) {
  const std::string command = std::string(RANGEFINDER_RANK_JOB) + " " + folder + " " + std::to_string(ranks) + " " +
                              plan + " 2> " + folder + "/errors";
  return std::system(command.c_str());
}

Timeline load_rank_job(const std::string& folder) {
  Result<Timeline> timeline = load_timeline(folder);
  REQUIRE(timeline.ok());
  return std::move(*timeline);
}

RankCalls compare_rank_job(const Timeline& timeline, const std::string& folder, int ranks) {
  std::map<int, std::vector<RankCall>> calls;
  for (int rank = 0; rank < ranks; ++rank) calls[rank] = read_rank_calls(calls_file(folder, rank));
  RankCalls compared(timeline, std::move(calls));
  compared.compare_rows();
  compared.compare_matches();
  return compared;
}

std::string range_name(const Timeline& timeline, RangeIndex range) {
  return range == kNone ? "" : std::string(timeline.text(timeline.ranges.name[range]));
}

/// What is wrong with the finding of a planted hang; empty: nothing.
std::string judge_hang(const Timeline& timeline, const std::string& plan) {
  const std::vector<Hang> hangs = find_hangs(timeline);
  if (hangs.size() != 1) return std::to_string(hangs.size()) + " hangs";
  const Hang& hang = hangs[0];
  // Two of three collectives in each of three steps, and one in the fourth, went right.
  if (hang.number != 10 || hang.kind != CollectiveKind::kAllReduce || hang.elements_in != 1000)
    return "number " + std::to_string(hang.number) + " of " + std::to_string(hang.elements_in);
  if (hang.ranks.size() != 4) return std::to_string(hang.ranks.size()) + " ranks";
  const bool comes = plan == "kind" || plan == "size";
  const std::map<std::string, std::string> places{{"skips", "evaluate"},
                                                  {"kind", "broadcast weights"},
                                                  {"size", "wrong batch"},
                                                  {"dies", "load batch"},
                                                  {"sleeps", "load batch"}};
  for (const HangRank& rank : hang.ranks) {
    const bool planted = rank.rank == kPlantedRank;
    const HangState expected = !planted ? HangState::kWaits : comes ? HangState::kDisagrees : HangState::kNeverCame;
    const std::string where = planted ? places.at(plan) : "backward", found = range_name(timeline, rank.range);
    if (rank.state != expected || found != where)
      return "rank " + std::to_string(rank.rank) + " " + to_string(rank.state) + " in '" + found + "'";
    if (rank.last_called == kNone || rank.since_ns == kNoTime || rank.since_ns > timeline.end_ns)
      return "rank " + std::to_string(rank.rank) + ": since when is not known";
    const std::int64_t number = timeline.collectives.number[rank.last_called];
    if (number != (planted && !comes ? 9 : 10)) return "called last: " + std::to_string(number);
    if (rank.last_left == kNone || timeline.collectives.number[rank.last_left] != 9) return "left last: another one";
  }
  return "";
}

/// Ranks stand for a second, and are killed then: that shows, although nothing was recorded in it.
std::string judge_standing(const Timeline& timeline, const std::string& plan) {
  std::map<int, std::int64_t> seen;
  for (const ProcessInfo& process : timeline.processes) seen[process.rank] = process.seen_ns;
  const std::int64_t stood_ns = seen[0] - find_hangs(timeline).at(0).since_ns;
  if (stood_ns < 500'000'000) return "seen for " + std::to_string(stood_ns) + " ns after the call";
  const bool gone = plan == "dies" || plan == "size";  // Gloo ends a process that gets what it did not ask for
  if ((seen[0] - seen[kPlantedRank] > 500'000'000) != gone) return "rank 2 is gone or not: told otherwise";
  return "";
}

/// A job with a hang, and what is wrong with what is said of it.
std::string plant(const std::string& plan) {
  const ScratchFolder folder;
  if (run_rank_job(folder.path(), 4, plan) != 0) return "the job did not run";
  const Timeline timeline = load_rank_job(folder.path());
  if (std::string wrong = judge_hang(timeline, plan) + judge_standing(timeline, plan); !wrong.empty()) return wrong;
  ReportOptions options;
  options.view = "hang";
  const Result<std::string> report = render_report(folder.path(), options);
  if (!report.ok()) return report.error().message();
  const std::string blamed = "group 0 (default_pg), all_reduce of 1000 Float number 10: rank 2 " +
                             std::string(plan == "kind" || plan == "size" ? "called something else" : "never came");
  return report->find(blamed) != std::string::npos ? "" : *report;
}

}  // namespace

TEST_CASE("collectives of a Gloo job are recorded and matched as its ranks called them", "[torch]") {
  const int ranks = GENERATE(2, 3, 4);
  const ScratchFolder folder;
  REQUIRE(run_rank_job(folder.path(), ranks, kAllKinds) == 0);
  const Timeline timeline = load_rank_job(folder.path());
  const RankCalls compared = compare_rank_job(timeline, folder.path(), ranks);
  for (const std::string& difference : compared.differences) UNSCOPED_INFO(difference);
  CHECK(compared.differences.empty());
  // Seventeen collectives a round and group.
  CHECK(compared.matched == 2 * 17 * (ranks == 4 ? 3 : 1));
  // Around the ring. Of two ranks, those from 1 to 0 are refused: one more is sent to whoever asks for any.
  CHECK(compared.matched_messages == 2 * (ranks == 2 ? 1 : ranks == 3 ? 3 : 4 + 2 * 1));
  CHECK(find_hangs(timeline).empty());
}

TEST_CASE("the rank that a job hangs for is named, with what it did instead", "[torch]") {
  const std::string plan = GENERATE(from_range(std::begin(kPlantedHangs), std::end(kPlantedHangs)));
  INFO(plan);
  CHECK(plant(plan) == "");
}

// Five minutes, so no test of ctest's: source_rank_job_test "[slow]"
TEST_CASE("planted hangs are named rightly twenty times each", "[.][slow]") {
  for (const char* plan : kPlantedHangs) {
    int right = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string wrong = plant(plan);
      INFO(plan << ": " << wrong);
      CHECK(wrong == "");
      right += wrong.empty() ? 1 : 0;
    }
    WARN(plan << ": " << right << " of 20");
  }
}
