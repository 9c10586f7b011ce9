// SPDX-License-Identifier: MIT
//
// A job of four ranks that was recorded with LibTorch and Gloo, beside what its ranks wrote down of their own calls.
#include "support/catch.hpp"
#include "support/rank_calls.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

using namespace rangefinder;
using namespace rangefinder::testing;

TEST_CASE("a recorded Gloo job of four ranks is matched as its ranks called", "[collectives]") {
  const char* const data = std::getenv("RANGEFINDER_TEST_DATA");
  REQUIRE(data != nullptr);
  const std::string folder = std::string(data) + "/gloo";
  const Result<Timeline> timeline = load_timeline(folder);
  REQUIRE(timeline.ok());
  std::map<int, std::vector<RankCall>> calls;
  for (int rank = 0; rank < 4; ++rank)
    calls[rank] = read_rank_calls(folder + "/rank" + std::to_string(rank) + ".calls");
  RankCalls compared(*timeline, std::move(calls));
  compared.compare_rows();
  compared.compare_matches();
  for (const std::string& difference : compared.differences) UNSCOPED_INFO(difference);
  CHECK(compared.differences.empty());
  CHECK(timeline->collectives.size() == 316);
  CHECK(timeline->process_groups.size() == 3);
  // Seventeen collectives twice in each of three groups.
  CHECK(compared.matched == 102);
  // Around each ring, twice; in the groups of two only the way there: on the way back there is a second message, whose
  // receive does not say from whom. Those six receives, and in the group of all its two sends, stand alone.
  CHECK(compared.matched_messages == 12);
  CHECK(compared.refused_parts == 2 * (4 + 2));
  CHECK(compared.alone == 6 + 2);
}
