// SPDX-License-Identifier: MIT
//
// How a recording ends when something it depends on does not answer.
#include "base/health_numbers.hpp"
#include "buffer/recorder.hpp"
#include "session/session_fixture.hpp"
#include "summary/live_summary.hpp"

#include <rangefinder/capture.hpp>

#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <thread>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

format::KernelRow kernel(std::int64_t begin_ns) {
  format::KernelRow row{};
  row.begin_ns = begin_ns;
  row.end_ns = begin_ns + 10;
  row.context = 1;
  row.stream = 7;
  return row;
}

/// A name that packing does not shorten.
std::string long_name(std::mt19937_64& random) {
  std::string name(64, ' ');
  for (char& letter : name) letter = static_cast<char>('!' + random() % 90);
  return name;
}

}  // namespace

TEST_CASE("of a file that may grow no more, process, capture and report count the same losses", "[session][fault]") {
  if (!kThreadsInChild) return;
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.memory_bytes = std::uint64_t{64} << 20;
  // In a child: its limit and its 40,000 names are no other test's.
  CHECK(in_child([&] {
          const rlimit limit{rlim_t{1} << 20, rlim_t{1} << 20};
          if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
          auto session = SessionCore::start(options, {});
          if (!session.ok()) return 2;
          std::mt19937_64 random(1);
          for (int i = 0; i < 40'000; ++i) {
            const ProfileRange range{std::string_view(long_name(random))};
          }
          const Status status = (*session)->stop();
          const CaptureHealth health = (*session)->health();
          std::ofstream(folder.file("told"))
              << health.chunks_not_written << ' ' << health.records_not_written << ' ' << status.error().message();
          return status.error().code() == ErrorCode::kIo ? 0 : 3;
        }) == 0);
  std::uint64_t chunks = 0, records = 0;
  std::string message;
  std::ifstream told(folder.file("told"));
  REQUIRE(std::getline(told >> chunks >> records, message));
  CHECK(message.find("live file") == std::string::npos);
  CHECK(records > 0);
  const auto info = inspect_capture(folder.file("a.rfcap"), true);
  REQUIRE(info.ok());
  CHECK(info->ended_cleanly);
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.health.chunks_not_written == chunks);
  CHECK(timeline.health.records_not_written == records);
  CHECK(timeline.health.damaged_chunks == 0);
}

TEST_CASE("what sources deliver is in the capture, beside the ranges", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  auto source = std::make_shared<ScriptedSource>();
  Dependencies parts;
  parts.clock = &clock;
  parts.sources.push_back(source);
  parts.simulated = true;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.cuda = true;
  options.memory_bytes = 2 * kLeastMemory;
  Recording session(options, parts);
  CHECK(session->device().full);
  const std::int64_t now = clock.sample().realtime_ns;
  std::vector<format::KernelRow> rows;
  constexpr std::size_t kRows = format::kMaxRows + 100;  // more than a chunk holds
  for (std::size_t i = 0; i < kRows; ++i) rows.push_back(kernel(now + static_cast<std::int64_t>(i)));
  for (auto& row : rows) row.name = 0;
  rows[0].name = session->writer().name("gemm");
  session->writer().write<format::KernelRow>(rows);
  source->sink()->count(health::cupti_dropped, 3);
  source->sink()->meta("driver", "first");
  source->sink()->meta("driver", "second");
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  REQUIRE(timeline.activities.size() == kRows);
  CHECK(timeline.text(timeline.activities.name[0]) == "gemm");
  CHECK(timeline.activities.begin_ns[0] == 1'000'000'000);
  CHECK(timeline.activities.end_ns[kRows - 1] == 1'000'000'000 + static_cast<std::int64_t>(kRows) - 1 + 10);
  CHECK(timeline.health.cupti_dropped == 3);
  CHECK(timeline.simulated);
  const auto info = inspect_capture(folder.file("a.rfcap"), true);
  CHECK(info->device_state == "full");
  CHECK(std::count(info->metadata.begin(), info->metadata.end(),
                   std::pair<std::string, std::string>("driver", "second")) == 1);
}

TEST_CASE("stop does not wait for a source that hangs, and the capture is whole", "[session][fault]") {
  const ScratchFolder folder;
  auto source = std::make_shared<ScriptedSource>();
  Dependencies parts;
  parts.sources.push_back(source);
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.cuda = true;
  options.memory_bytes = 2 * kLeastMemory;
  options.flush_period = 1ms;
  options.stop_timeout = 200ms;
  {
    Recording session(options, parts);
    { const ProfileRange range{"work"}; }
    SECTION("in a flush") {
      source->hang_in(ScriptedSource::kFlush);
      source->wait_hanging();
    }
    SECTION("when it is stopped") { source->hang_in(ScriptedSource::kStop); }
    { const ProfileRange range{"work"}; }
    const Status status = session->stop();
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code() == ErrorCode::kTimeout);
    CHECK(status.error().message().find("device records were not delivered within 200 ms") != std::string::npos);
    CHECK(session->stop().error().code() == ErrorCode::kTimeout);  // again: the same answer

    const Timeline timeline = load(folder.file("a.rfcap"));
    CHECK(count_of(timeline, "work") == 2);
    CHECK(timeline.health.flush_timeouts == 1);
    CHECK(inspect_capture(folder.file("a.rfcap"), true)->ended_cleanly);
    CHECK_FALSE(std::filesystem::exists(folder.file("a.rfcap.live")));
  }
  // The next session does not have to wait for the source of the last.
  {
    Recording next(host_only(folder.file("next.rfcap")));
    { const ProfileRange range{"next"}; }
    source->release();
    CHECK(eventually([&] { return source.use_count() == 2; }));  // ours and that of `parts`: the threads are through
  }
  CHECK(count_of(load(folder.file("next.rfcap")), "next") == 1);
}

TEST_CASE("stop does not wait for a step that hangs in a source", "[session][fault]") {
  const ScratchFolder folder;
  auto source = std::make_shared<ScriptedSource>();
  Dependencies parts;
  parts.sources.push_back(source);
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.cuda = true;
  options.memory_bytes = 2 * kLeastMemory;
  options.schedule.active = 1;
  options.schedule.wait = 1;
  options.stop_timeout = 200ms;
  Recording session(options, parts);
  source->hang_in(ScriptedSource::kSetActive);
  std::thread stepping([&] { session->step(); });
  source->wait_hanging();
  (void)session->stop();
  CHECK_FALSE(session->running());
  source->release();
  stepping.join();
  CHECK(eventually([&] { return source.use_count() == 3; }));  // ours, that of `parts` and the session's own
  CHECK(load_timeline(folder.file("a.rfcap")).ok());
}

TEST_CASE("stop does not wait for a disk that does not answer, and the live file keeps what was not written",
          "[session][fault]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.stop_timeout = 200ms;
  constexpr int kRanges = 2000;  // all in one block, which is not drained before it is full
  {
    Recording session(options);
    for (int i = 0; i < kRanges; ++i) const ProfileRange range{"work"};
    session->writer().with_output([&](ChunkOutput&) {
      Status status;
      std::thread([&] { status = session->stop(); }).join();
      REQUIRE_FALSE(status.ok());
      CHECK(status.error().code() == ErrorCode::kTimeout);
      CHECK(std::filesystem::exists(folder.file("a.rfcap.live")));
      const Timeline timeline = load(folder.file("a.rfcap"));
      CHECK(count_of(timeline, "work") == kRanges);
      CHECK(timeline.health.recovered_records == 2 * kRanges + 1);  // and the first step
      CHECK(timeline.health.complete());
    });
    // The disk answers again: whoever was left behind finishes, once.
    CHECK(eventually([] { return buffer::Recorder::instance().generation() == 0; }));
  }
  CHECK(count_of(load(folder.file("a.rfcap")), "work") == kRanges);
  { Recording next(host_only(folder.file("next.rfcap"))); }
}

TEST_CASE("steps, flushes, summaries and a release do not wait for a disk that does not answer", "[session][fault]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.schedule.wait = 1;
  options.schedule.active = 1;
  options.stop_timeout = 200ms;
  Recording session(options);
  summary::LiveSummary summary(*session);
  session->writer().with_output([&](ChunkOutput&) {
    std::thread([&] {
      for (int step = 0; step < 6; ++step) {
        const ProfileRange range{"work"};
        session->step();
      }
      const Status flushed = session->flush();
      REQUIRE_FALSE(flushed.ok());
      CHECK(flushed.error().code() == ErrorCode::kTimeout);
      CHECK(flushed.error().message().find("did not answer within 200 ms") != std::string::npos);
      CHECK(summary.update().rows.empty());
      CHECK(session->release(std::chrono::steady_clock::now() + 100ms));
    }).join();
  });
  // It answers again: nothing is missing.
  CHECK(eventually([&] { return session->flush().ok(); }));
  CHECK_FALSE(summary.update().rows.empty());
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.windows.size() == 3);
  CHECK(count_of(timeline, "work") == 3);
}

TEST_CASE("a capture that was removed while it was recorded is told of", "[session][fault]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  { const ProfileRange range{"work"}; }
  REQUIRE(session->flush().ok());
  std::filesystem::remove(folder.file("a.rfcap"));
  const Status status = session->stop();
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().message().find("a.rfcap: was removed while it was being recorded") != std::string::npos);
  CHECK(session->health().chunks_not_written == 1);
}

TEST_CASE("two threads that stop a session get the same answer", "[session]") {
  const ScratchFolder folder;
  for (int round = 0; round < 20; ++round) {
    Recording session(host_only(folder.file("a.rfcap")));
    { const ProfileRange range{"work"}; }
    std::atomic<int> ready{0};
    const auto stop = [&] {
      ++ready;
      while (ready < 3) ::sched_yield();
      return session->stop().ok();
    };
    auto first = std::async(std::launch::async, stop);
    auto second = std::async(std::launch::async, stop);
    CHECK(stop());
    CHECK((first.get() && second.get()));
    CHECK(count_of(load(folder.file("a.rfcap")), "work") == 1);
  }
}

TEST_CASE("threads go on recording while a session stops", "[session]") {
  const ScratchFolder folder;
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!end) {
        const ProfileRange outer{"outer"};
        const ProfileRange inner{"inner", 1};
        mark("mark");
      }
    });
  }
  for (int round = 0; round < 30; ++round) {
    const bool waits = round % 2 == 0;
    {
      SessionOptions options = host_only(folder.file("a.rfcap"));
      options.mode = round % 3 == 0 ? CaptureMode::kBuffered : CaptureMode::kMapped;
      if (waits) options.overflow = OverflowPolicy::kWait;
      Recording session(options);
      for (int step = 0; step < 20; ++step) session->step();
    }
    const Timeline timeline = load(folder.file("a.rfcap"));
    CHECK(timeline.health.unmatched_ends == 0);
    CHECK(timeline.health.unfinished_ranges <= 6);
    CHECK(timeline.health.damaged_chunks == 0);
    // Three threads that do nothing else may fill the memory before this one has any: what is dropped is counted.
    if (waits || timeline.health.dropped_events == 0) CHECK(timeline.steps.size() == 20);
    CHECK(timeline.steps.size() <= 20);
    CHECK(timeline.steps.size() + timeline.health.dropped_events >= 20);
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("a flush puts everything so far into the capture", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  SECTION("mapped") { options.mode = CaptureMode::kMapped; }
  SECTION("buffered") { options.mode = CaptureMode::kBuffered; }
  Recording session(options);
  const ProfileRange open{"open"};
  for (std::uint64_t n = 1; n <= 5; ++n) {
    { const ProfileRange range{"work"}; }
    REQUIRE(session->flush().ok());
    // A copy, so that there is no live file beside it.
    std::filesystem::copy_file(folder.file("a.rfcap"), folder.file("copy.rfcap"),
                               std::filesystem::copy_options::overwrite_existing);
    const Timeline timeline = load(folder.file("copy.rfcap"));
    CHECK(count_of(timeline, "work") == n);
    CHECK(count_of(timeline, "open") == 1);
    CHECK(timeline.health.recovered_records == 0);
  }
}
