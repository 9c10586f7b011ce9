// SPDX-License-Identifier: MIT
//
// What happens when threads record faster than the capture is written. A test that holds the writer's lock is a disk
// that does not answer.
#include "buffer/recorder.hpp"
#include "session/session_fixture.hpp"

#include <atomic>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

constexpr std::uint64_t kMoreThanFits = kLeastMemory / sizeof(detail::Record);  // ranges, of two records each

void record(std::uint64_t ranges, std::atomic<std::uint64_t>& done) {
  for (std::uint64_t i = 0; i < ranges; ++i) {
    const ProfileRange outer{"outer"};
    const ProfileRange inner{"inner"};
    done.fetch_add(2, std::memory_order_relaxed);
  }
}

/// Runs `work` while nothing can be written.
template <typename Work>
void with_disk_stuck(SessionCore& session, Work work) {
  session.writer().with_output([&](ChunkOutput&) { work(); });
}

}  // namespace

TEST_CASE("dropped ranges are counted exactly", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  SECTION("mapped") { options.mode = CaptureMode::kMapped; }
  SECTION("buffered") { options.mode = CaptureMode::kBuffered; }
  Recording session(options);
  std::atomic<std::uint64_t> begun{0};
  with_disk_stuck(*session, [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { record(kMoreThanFits / 2, begun); });
    for (std::thread& thread : threads) thread.join();
  });
  // A thread's records go on where there is room again.
  REQUIRE(session->flush().ok());
  std::thread([&] { record(100, begun); }).join();
  REQUIRE(session->stop().ok());
  const CaptureHealth health = session->health();
  CHECK(health.dropped_ranges > 0);
  CHECK_FALSE(health.complete());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.ranges.size() + health.dropped_ranges == begun);
  CHECK(timeline.health.dropped_ranges == health.dropped_ranges);
  CHECK(timeline.health.unmatched_ends == 0);
  CHECK(timeline.health.unfinished_ranges == 0);  // every range that began could end
}

TEST_CASE("the memory bound is kept", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  Recording session(options);
  std::atomic<std::uint64_t> begun{0};
  with_disk_stuck(*session, [&] { record(kMoreThanFits, begun); });
  CHECK(buffer::Recorder::instance().memory_bytes() <= options.memory_bytes);
  CHECK(std::filesystem::file_size(folder.file("a.rfcap.live")) <= options.memory_bytes);
}

TEST_CASE("ranges that are open when the memory is full still end", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  Recording session(host_only(folder.file("a.rfcap")), parts);
  std::atomic<std::uint64_t> begun{0};
  constexpr std::uint64_t kDeep = 200;  // more than a block keeps room for
  with_disk_stuck(*session, [&] {
    const std::function<void(std::uint64_t)> nest = [&](std::uint64_t depth) {
      const ProfileRange range{"deep"};
      if (depth > 1)
        nest(depth - 1);
      else
        record(kMoreThanFits, begun);
      clock.advance(1);
    };
    nest(kDeep);
  });
  REQUIRE(session->flush().ok());  // there is room again
  { const ProfileRange range{"after"}; }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(count_of(timeline, "deep") == kDeep);
  CHECK(count_of(timeline, "after") == 1);
  CHECK(timeline.health.lost_ends > 0);
  CHECK(timeline.health.lost_ends < kDeep);
  CHECK(timeline.health.unfinished_ranges == 0);
  CHECK(timeline.health.unmatched_ends == 0);
  CHECK(timeline.ranges.size() + timeline.health.dropped_ranges == begun + kDeep + 1);
}

TEST_CASE("marks, samples and start/end ranges are counted when they are dropped", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  constexpr std::uint64_t kEach = kMoreThanFits;
  std::uint64_t handles = 0;
  with_disk_stuck(*session, [&] {
    for (std::uint64_t i = 0; i < kEach; ++i) {
      mark("mark", i);
      counter("counter", 1);
      const RangeHandle handle = start_range("async");
      handles += handle != RangeHandle::kInvalid ? 1 : 0;
    }
  });
  detail::counter_slow("counter", Payload("a text is no number").extra());
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.ranges.size() == handles);
  CHECK(timeline.marks.size() + timeline.counters.size() + handles + timeline.health.dropped_events == 3 * kEach + 1);
  CHECK(timeline.attachments.size() == timeline.marks.size());
}

TEST_CASE("a thread that waits for the disk loses nothing", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.overflow = OverflowPolicy::kWait;
  Recording session(options);
  std::atomic<std::uint64_t> begun{0};
  std::thread worker;
  with_disk_stuck(*session, [&] {
    worker = std::thread([&] { record(2 * kMoreThanFits, begun); });
    // Until it has filled nine tenths of the memory or so.
    while (begun * 2 * sizeof(detail::Record) < kLeastMemory * 8 / 10) ::sched_yield();
  });
  worker.join();
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.health.dropped_ranges == 0);
  CHECK(timeline.ranges.size() == begun);
}

TEST_CASE("memory grows up to its limit, and no further", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.overflow = OverflowPolicy::kGrow;
  options.grow_limit_bytes = 4 * kLeastMemory;
  Recording session(options);
  std::atomic<std::uint64_t> begun{0};
  bool beyond = false;
  SECTION("within it nothing is dropped") {
    with_disk_stuck(*session, [&] { record(kMoreThanFits / 2, begun); });
  }
  SECTION("beyond it all that is dropped is counted") {
    with_disk_stuck(*session, [&] { record(kMoreThanFits * 2, begun); });
    beyond = true;
  }
  CHECK(buffer::Recorder::instance().memory_bytes() > options.memory_bytes);
  CHECK(buffer::Recorder::instance().memory_bytes() <= options.grow_limit_bytes + (2 << 20));  // names and head
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK((timeline.health.dropped_ranges > 0) == beyond);
  CHECK(timeline.ranges.size() + timeline.health.dropped_ranges == begun);
}
