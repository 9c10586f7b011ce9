// SPDX-License-Identifier: MIT
//
// kill -9 at any moment: what was published before it is read back.
#include "fault/published.hpp"
#include "fault/shared_memory.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/seed.hpp"

#include <rangefinder/capture.hpp>
#include <rangefinder/timeline.hpp>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;

namespace {

/// What became of all processes that were killed.
struct KillCounts {
  std::uint64_t kills = 0, published = 0, missing = 0, hangs = 0;
  std::string text() const {
    return "kills " + std::to_string(kills) + ", ranges published " + std::to_string(published) + ", missing " +
           std::to_string(missing) + ", hangs " + std::to_string(hangs);
  }
};
KillCounts kill_counts;

/// Starts the program, kills it when its threads have ended `ranges` ranges together, and gives what each had published
/// by then.
std::vector<std::uint64_t> record_and_kill(const char* how, const std::string& output, std::uint64_t seed,
                                           std::uint64_t ranges) {
  const SharedMemory<Published> counts;
  const std::string seed_text = std::to_string(seed);
  const std::string fd_text = std::to_string(counts.fd());
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(RECORD_PROGRAM, RECORD_PROGRAM, how, output.c_str(), seed_text.c_str(), fd_text.c_str(),
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  REQUIRE(child > 0);
  const auto ended = [&] { return counts->ended[0].load() + counts->ended[1].load(); };
  int status = 0;
  bool died = false;
  // Not how fast it is, but whether it goes on at all.
  const auto hung_at = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  bool hung = false;
  while (!died && !hung && (counts->started.load() == 0 || ended() < ranges)) {
    ::sched_yield();
    died = ::waitpid(child, &status, WNOHANG) == child;
    hung = std::chrono::steady_clock::now() > hung_at;
  }
  if (!died) {
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, &status, 0) == child);
  }
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(WTERMSIG(status) == SIGKILL);
  ++kill_counts.kills;
  kill_counts.hangs += hung ? 1 : 0;
  kill_counts.published += ended();
  CHECK_FALSE(hung);
  return {counts->ended[0].load(), counts->ended[1].load()};
}

/// The rows of one thread, in order of begin, against what it did. Gives how many of them ended.
std::uint64_t compare(const Timeline& timeline, ThreadIndex thread, RangeSequence sequence, std::uint64_t& wrong) {
  constexpr std::uint64_t kNoValue = ~std::uint64_t{0};
  std::vector<std::uint64_t> values(timeline.ranges.size(), kNoValue);
  for (const Attachment& attachment : timeline.attachments) values[attachment.row] = attachment.bits;
  const RangeTable& ranges = timeline.ranges;
  std::vector<RangeIndex> open;
  std::uint64_t begun = 0;
  std::uint64_t ended = 0;
  const auto end_innermost = [&] {
    if ((ranges.flags[open.back()] & kUnfinished) == 0) ++ended;
    open.pop_back();
  };
  for (RangeIndex row{0}; row < ranges.size(); ++row) {
    if (ranges.thread[row] != thread) continue;
    RangeSequence::Action action = sequence.next();
    for (; !action.begins; action = sequence.next()) end_innermost();
    const bool nested = open.empty() || (ranges.begin_ns[open.back()] <= ranges.begin_ns[row] &&
                                         ranges.end_ns[row] <= ranges.end_ns[open.back()]);
    const bool same = timeline.text(ranges.name[row]) == RangeSequence::name(action.name);
    // The value's record may be the one that did not get out any more: of the last range only.
    const bool valued = values[row] != kNoValue ? action.has_value && values[row] == begun
                                                : !action.has_value || (ranges.flags[row] & kUnfinished) != 0;
    if (!(nested && same && valued)) ++wrong;
    open.push_back(row);
    ++begun;
  }
  while (!open.empty()) end_innermost();
  return ended;
}

struct Run {
  std::uint64_t seed;
  std::uint64_t ranges;
};

/// The values of a thread's ranges, ascending.
std::vector<std::uint64_t> values_of(const Timeline& timeline, ThreadIndex thread) {
  std::vector<std::uint64_t> values;
  for (const Attachment& attachment : timeline.attachments)
    if (timeline.ranges.thread[attachment.row] == thread) values.push_back(attachment.bits);
  std::sort(values.begin(), values.end());
  return values;
}

/// What a thread had recorded for certain when it had ended `ended` ranges.
std::vector<std::uint64_t> values_until(RangeSequence sequence, std::uint64_t ended) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t begun = 0; ended > 0;) {
    const RangeSequence::Action action = sequence.next();
    if (!action.begins)
      --ended;
    else if (const std::uint64_t number = begun++; action.has_value)
      values.push_back(number);
  }
  return values;
}

/// How many of the newest values that were recorded are there, without a gap.
std::size_t newest_without_gap(const std::vector<std::uint64_t>& found, const std::vector<std::uint64_t>& recorded) {
  if (recorded.empty()) return 0;
  const auto newest = std::make_reverse_iterator(std::upper_bound(found.begin(), found.end(), recorded.back()));
  const auto gap = std::mismatch(recorded.rbegin(), recorded.rend(), newest, found.rend());
  return static_cast<std::size_t>(gap.first - recorded.rbegin());
}

void check_run(const Run& run) {
  INFO("seed " << run.seed << ", killed at " << run.ranges << " ranges");
  const ScratchFolder folder(true);
  const std::string output = folder.file("a.rfcap");
  const std::vector<std::uint64_t> published = record_and_kill("publish", output, run.seed, run.ranges);
  const Result<Timeline> timeline = load_timeline(output);
  REQUIRE(timeline.ok());
  const CaptureHealth& health = timeline->health;
  CHECK(health.damaged_chunks == 0);
  CHECK(health.damaged_bytes == 0);
  CHECK(health.lost_names == 0);
  CHECK(health.unmatched_ends == 0);
  CHECK(health.lost_ends == 0);
  CHECK(health.complete());
  std::uint64_t found[kPublishers] = {};
  std::uint64_t wrong = 0;
  // Which thread is which their ranges tell: the sequences differ.
  for (ThreadIndex thread{0}; thread < timeline->threads.size(); ++thread) {
    std::uint64_t fewest = ~std::uint64_t{0};
    std::size_t best = kPublishers;
    std::uint64_t ended_of_best = 0;
    for (std::size_t t = 0; t < kPublishers; ++t) {
      std::uint64_t differs = 0;
      const std::uint64_t ended = compare(*timeline, thread, RangeSequence(run.seed + t), differs);
      if (differs >= fewest) continue;
      fewest = differs;
      best = t;
      ended_of_best = ended;
    }
    wrong += fewest;
    if (best < kPublishers) found[best] += ended_of_best;
  }
  CHECK(wrong == 0);
  for (std::size_t t = 0; t < kPublishers; ++t) {
    kill_counts.missing += published[t] - std::min(published[t], found[t]);
    CHECK(found[t] >= published[t]);
    CHECK(found[t] <= published[t] + 1);  // ended, but not yet published
  }
  const Result<CaptureInfo> info = inspect_capture(output, true);
  REQUIRE(info.ok());
  CHECK_FALSE(info->ended_cleanly);
  CHECK(info->health.damaged_chunks == 0);
}

}  // namespace

TEST_CASE("every range published before a kill is read back", "[fault]") {
  std::mt19937_64 random(property_seed("kill"));
  kill_counts = {};
  const int kills = exhaustive() ? 1000 : repeats(100);
  for (int i = 0; i < kills; ++i) {
    // From none to some hundred thousand, small numbers as often as large ones.
    check_run({random() >> 1, any_size(random, 18)});
  }
  std::printf("%s\n", kill_counts.text().c_str());
  CHECK(kill_counts.published > 0);
}

TEST_CASE("a repaired capture of a killed program is whole", "[fault]") {
  std::mt19937_64 random(property_seed("kill and repair"));
  for (int i = 0; i < repeats(20); ++i) {
    const ScratchFolder folder(true);
    const std::string output = folder.file("a.rfcap");
    record_and_kill("publish", output, random() >> 1, any_size(random, 17));
    const Result<Timeline> before = load_timeline(output);
    REQUIRE(before.ok());
    REQUIRE(repair_capture(output, folder.file("b.rfcap"), false).ok());
    const Result<Timeline> after = load_timeline(folder.file("b.rfcap"));
    REQUIRE(after.ok());
    CHECK(inspect_capture(folder.file("b.rfcap"), true)->ended_cleanly);
    CHECK(inspect_capture(folder.file("b.rfcap"), true)->findings.empty());
    CHECK(before->threads.size() == after->threads.size());
    CHECK(before->steps.number == after->steps.number);
    CHECK(before->attachments.size() == after->attachments.size());
    const RangeTable& old = before->ranges;
    const RangeTable& now = after->ranges;
    REQUIRE(old.size() == now.size());
    std::uint64_t changed = 0;
    for (RangeIndex row{0}; row < old.size(); ++row) {
      const bool same = before->text(old.name[row]) == after->text(now.name[row]) &&
                        old.begin_ns[row] == now.begin_ns[row] && old.end_ns[row] == now.end_ns[row] &&
                        old.flags[row] == now.flags[row] &&
                        before->threads[old.thread[row]].tid == after->threads[now.thread[row]].tid;
      changed += same ? 0 : 1;
    }
    CHECK(changed == 0);
  }
}

TEST_CASE("a flight recorder that is killed leaves its newest records in the live file", "[fault]") {
  std::mt19937_64 random(property_seed("kill a flight recorder"));
  std::size_t valued = 0;
  for (int i = 0; i < repeats(20); ++i) {
    const ScratchFolder folder(true);
    const std::string output = folder.file("a.rfcap");
    const bool slow = i % 2 == 1;  // blocks are drained as soon as they are full
    const std::uint64_t seed = (random() >> 3) << 2 | (slow ? kSlowPublisher : 0);
    const std::vector<std::uint64_t> published =
        record_and_kill("publish_ring", output, seed, slow ? 60'000 : 100 + any_size(random, 20));
    CHECK(std::filesystem::is_empty(output));
    const Result<Timeline> timeline = load_timeline(output);
    REQUIRE(timeline.ok());
    CHECK(timeline->health.damaged_chunks == 0);
    CHECK(timeline->health.lost_names == 0);
    // Of the 29 blocks drained last, one thread has half: more than 1000 of its values. Where nothing has been
    // overwritten yet, all are there.
    std::size_t most_recorded = 0;
    std::size_t without_gap = 0;
    for (std::size_t t = 0; t < kPublishers; ++t) {
      const std::vector<std::uint64_t> recorded = values_until(RangeSequence(seed + t), published[t]);
      most_recorded = std::max(most_recorded, recorded.size());
      for (ThreadIndex thread{0}; thread < timeline->threads.size(); ++thread)
        without_gap = std::max(without_gap, newest_without_gap(values_of(*timeline, thread), recorded));
    }
    INFO("published " << published[0] << " and " << published[1]);
    CHECK(without_gap >= std::min<std::size_t>(1000, most_recorded));
    valued += most_recorded;
    CHECK(inspect_capture(output + ".live", true)->flight_recorder);
  }
  CHECK(valued > 0);
}
