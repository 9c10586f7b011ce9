// SPDX-License-Identifier: MIT
#include "job_of_ranks/job.hpp"
#include "job_of_ranks/record_rank.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

using namespace rangefinder;
using rangefinder::testing::ScratchFolder;

namespace {

constexpr std::uint32_t kRanks = 16;
constexpr std::uint32_t kHosts = kRanks / job::kRanksPerHost;
constexpr std::int64_t kMostDrift = 40;  // of two hosts' clocks, in a million

Timeline load_ranks(const ScratchFolder& folder, bool align_hosts) {
  LoadOptions options;
  options.align_hosts = align_hosts;
  Result<Timeline> timeline = load_timeline(folder.path(), options);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

/// Least and most that was added to the times of a host's rows.
struct Moved {
  std::int64_t least_ns = INT64_MAX;
  std::int64_t most_ns = INT64_MIN;
  void add(std::int64_t before_ns, std::int64_t after_ns) {
    if (before_ns == kNoTime || after_ns == kNoTime) {
      CHECK(before_ns == after_ns);
      return;
    }
    least_ns = std::min(least_ns, after_ns - before_ns);
    most_ns = std::max(most_ns, after_ns - before_ns);
  }
};

template <typename ProcessOf, typename... Columns>
void compare(const Timeline& before, const Timeline& after, std::size_t rows, ProcessOf process_of,
             std::map<std::uint32_t, Moved>& moved, Columns... columns) {
  for (std::size_t row = 0; row < rows; ++row)
    (moved[after.processes[process_of(row)].clock].add(columns(before)[row], columns(after)[row]), ...);
}

/// How the times of two loads of the same captures differ, by host.
std::map<std::uint32_t, Moved> differences(const Timeline& before, const Timeline& after) {
  std::map<std::uint32_t, Moved> moved;
  const auto of_thread = [&](ThreadIndex thread) { return after.threads[thread].process; };
  for (std::size_t i = 0; i < after.processes.size(); ++i)
    moved[after.processes[i].clock].add(before.processes[i].start_ns, after.processes[i].start_ns);
  compare(
      before, after, after.ranges.size(), [&](std::size_t row) { return of_thread(after.ranges.thread[row]); }, moved,
      [](const Timeline& t) -> const auto& { return t.ranges.begin_ns; },
      [](const Timeline& t) -> const auto& { return t.ranges.end_ns; });
  compare(
      before, after, after.calls.size(), [&](std::size_t row) { return of_thread(after.calls.thread[row]); }, moved,
      [](const Timeline& t) -> const auto& { return t.calls.begin_ns; },
      [](const Timeline& t) -> const auto& { return t.calls.end_ns; });
  compare(
      before, after, after.launches.size(), [&](std::size_t row) { return after.launches.process[row]; }, moved,
      [](const Timeline& t) -> const auto& { return t.launches.time_ns; });
  compare(
      before, after, after.activities.size(),
      [&](std::size_t row) { return after.devices[after.streams[after.activities.stream[row]].device].process; }, moved,
      [](const Timeline& t) -> const auto& { return t.activities.begin_ns; },
      [](const Timeline& t) -> const auto& { return t.activities.end_ns; });
  compare(
      before, after, after.steps.size(), [&](std::size_t row) { return of_thread(after.steps.thread[row]); }, moved,
      [](const Timeline& t) -> const auto& { return t.steps.begin_ns; },
      [](const Timeline& t) -> const auto& { return t.steps.end_ns; });
  compare(
      before, after, after.collectives.size(), [&](std::size_t row) { return after.collectives.process[row]; }, moved,
      [](const Timeline& t) -> const auto& { return t.collectives.begin_ns; },
      [](const Timeline& t) -> const auto& { return t.collectives.end_ns; });
  return moved;
}

}  // namespace

TEST_CASE("captures of 16 ranks on two hosts are one job, with its collectives matched", "[importer]") {
  const ScratchFolder folder(true);
  const job::Schedule schedule(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    REQUIRE(job::record_rank(schedule, rank, folder.file("rank-" + std::to_string(rank) + ".rfcap")).ok());
  const Timeline timeline = load_ranks(folder, true);

  CHECK(timeline.health.complete());
  CHECK(timeline.simulated);
  CHECK(timeline.processes.size() == kRanks);
  REQUIRE(timeline.hosts.size() == kHosts);
  CHECK(timeline.process_groups.size() == 1 + kHosts);
  CHECK(timeline.activities.size() == kRanks * job::kSteps * job::kActivitiesPerStep);
  CHECK(timeline.calls.size() == timeline.activities.size());
  CHECK(timeline.launches.size() == timeline.activities.size());
  CHECK(timeline.ranges.size() == kRanks * job::kSteps * (4 + 2 * 24));
  CHECK(timeline.collectives.size() == kRanks * job::kSteps * job::kCollectivesPerStep);
  std::size_t kernels = 0;
  for (ActivityIndex row{0}; row < timeline.activities.size(); ++row)
    kernels += timeline.activities.collective[row] != kNone ? 1 : 0;
  CHECK(kernels == timeline.collectives.size());

  const MatchedCollectives matched = match_collectives(timeline);
  CHECK(matched.refused.empty());
  CHECK(matched.parts.size() == timeline.collectives.size());
  std::map<std::pair<CollectiveKind, std::uint32_t>, std::size_t> counted;
  std::int64_t furthest_ns = 0;  // the ends of one collective from each other, beyond what the clocks can be off
  for (const MatchedCollective& one : matched.collectives) {
    ++counted[{one.kind, one.part_count}];
    CHECK(one.part_count == one.ranks);
    std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (std::uint32_t i = 0; i < one.part_count; ++i) {
      first_ns = std::min(first_ns, matched.parts[one.first_part + i].end_ns);
      last_ns = std::max(last_ns, matched.parts[one.first_part + i].end_ns);
    }
    // A kernel keeps the length that it has by the clock of its host.
    const std::int64_t drift_ns = one.longest_ns * kMostDrift / 1'000'000 + 1;
    furthest_ns = std::max(furthest_ns, last_ns - first_ns - one.clock_error_ns - drift_ns);
  }
  CHECK(counted.size() == 2);
  CHECK(counted[{CollectiveKind::kAllReduce, kRanks}] == job::kSteps * job::kAllReducesPerStep);
  CHECK(counted[{CollectiveKind::kAllGather, job::kRanksPerHost}] == job::kSteps * job::kAllGathersPerStep * kHosts);
  CHECK(furthest_ns <= 0);

  // By the wall clocks alone the second host's times are off by more than its collectives allow.
  const HostInfo& second = timeline.hosts[1];
  REQUIRE(second.collectives >= job::kSteps * job::kAllReducesPerStep);
  CHECK(std::abs(second.shift_ns) > second.error_ns);
  std::map<std::uint32_t, Moved> moved = differences(load_ranks(folder, false), timeline);
  CHECK(moved[0].least_ns == 0);
  CHECK(moved[0].most_ns == 0);
  // All of it moved, and alike, but for the drift of a job of less than two seconds.
  CHECK(std::abs(moved[1].least_ns - second.shift_ns) <= 2'000 * kMostDrift + second.error_ns);
  CHECK(std::abs(moved[1].most_ns - second.shift_ns) <= 2'000 * kMostDrift + second.error_ns);
}
