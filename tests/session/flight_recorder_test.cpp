// SPDX-License-Identifier: MIT
#include "session/session_fixture.hpp"

#include <rangefinder/capture.hpp>

#include <csignal>
#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

SessionOptions ring(const std::string& output) {
  SessionOptions options = host_only(output);
  options.mode = CaptureMode::kRing;
  options.flush_period = 1ms;
  return options;
}

std::atomic<int> handled{0};
void count_signal(int) { ++handled; }

}  // namespace

TEST_CASE("a flight recorder writes a dump when it is asked", "[session]") {
  const ScratchFolder folder;
  Recording session(ring(folder.file("a.rfcap")));
  { const ProfileRange range{"first"}; }
  CHECK(std::filesystem::is_empty(folder.file("a.rfcap")));  // it keeps the name
  const Result<std::string> first = session->dump({});
  REQUIRE(first.ok());
  CHECK(*first == folder.file("a.1.rfcap"));
  { const ProfileRange range{"second"}; }
  const Result<std::string> second = session->dump(folder.file("named.rfcap"));
  REQUIRE(second.ok());
  CHECK(*second == folder.file("named.rfcap"));
  CHECK(*session->dump({}) == folder.file("a.2.rfcap"));
  CHECK_FALSE(session->dump(folder.file("no/such/folder.rfcap")).ok());
  REQUIRE(session->stop().ok());

  const Timeline one = load(*first);
  CHECK(count_of(one, "first") == 1);
  CHECK(one.ranges.size() == 1);
  CHECK(inspect_capture(*first, true)->flight_recorder);
  CHECK(inspect_capture(*first, true)->ended_cleanly);
  CHECK(load(*second).ranges.size() == 2);
  CHECK(load(folder.file("a.rfcap")).ranges.size() == 2);  // what the recorder held at the end
  CHECK_FALSE(std::filesystem::exists(folder.file("a.rfcap.live")));
}

TEST_CASE("only a flight recorder can be dumped", "[session]") {
  const ScratchFolder folder;
  Recording session(host_only(folder.file("a.rfcap")));
  CHECK(session->dump({}).error().code() == ErrorCode::kInvalidArgument);
}

TEST_CASE("a flight recorder keeps to its bound and counts what it overwrote", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = ring(folder.file("a.rfcap"));
  options.ring_bytes = 64 << 10;
  options.overflow = OverflowPolicy::kWait;
  Recording session(options);
  constexpr std::uint64_t kRanges = 200'000;
  for (std::uint64_t i = 0; i < kRanges; ++i) const ProfileRange range{"numbered", i * 0x9E3779B97F4A7C15u};
  REQUIRE(session->stop().ok());
  CHECK(std::filesystem::file_size(folder.file("a.rfcap")) < (96u << 10));
  const Timeline timeline = load(folder.file("a.rfcap"));
  const std::uint64_t kept = timeline.ranges.size();
  CHECK(kept > 0);
  CHECK(timeline.health.complete());  // overwriting is what it is for
  // 3 records a range; the last row's value tells that the newest ones were kept.
  const std::uint64_t overwritten = timeline.health.ring_overwritten;
  CHECK(overwritten + 3 * kept - timeline.health.unfinished_ranges + 2 * timeline.health.unmatched_ends >=
        3 * kRanges - 6);
  CHECK(overwritten + 3 * kept <= 3 * kRanges + 6);
  REQUIRE_FALSE(timeline.attachments.empty());
  CHECK(timeline.attachments.back().bits == (kRanges - 1) * 0x9E3779B97F4A7C15u);
}

TEST_CASE("a flight recorder forgets what is older than its time", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  SessionOptions options = ring(folder.file("a.rfcap"));
  options.ring_time = 10ms;
  Recording session(options, parts);
  for (int i = 0; i < 50; ++i) {
    { const ProfileRange range{"at " + std::to_string(i) + " ms"}; }
    REQUIRE(session->flush().ok());
    clock.advance(1'000'000);
  }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(timeline.ranges.size() == 11);
  CHECK(count_of(timeline, "at 49 ms") == 1);
  CHECK(count_of(timeline, "at 39 ms") == 1);
  CHECK(count_of(timeline, "at 38 ms") == 0);
}

TEST_CASE("a signal asks for a dump and still reaches the program's handler", "[session]") {
  const ScratchFolder folder;
  struct sigaction own {
  }, before{};
  own.sa_handler = count_signal;
  REQUIRE(::sigaction(SIGUSR2, &own, &before) == 0);
  handled = 0;
  SessionOptions options = ring(folder.file("a.rfcap"));
  options.dump_signal = SIGUSR2;
  options.max_dumps = 2;
  {
    Recording session(options);
    { const ProfileRange range{"work"}; }
    for (int dump = 1; dump <= 2; ++dump) {
      REQUIRE(::raise(SIGUSR2) == 0);
      CHECK(eventually([&] { return std::filesystem::exists(folder.file("a." + std::to_string(dump) + ".rfcap")); }));
    }
    REQUIRE(::raise(SIGUSR2) == 0);  // one too many
    CHECK(eventually([&] {
      (void)session->dump(folder.file("look.rfcap"));
      const Result<CaptureInfo> info = inspect_capture(folder.file("look.rfcap"), false);
      return info.ok() && std::any_of(info->metadata.begin(), info->metadata.end(), [](const auto& fact) {
               return fact == std::pair<std::string, std::string>("dumps_not_made", "1");
             });
    }));
    CHECK_FALSE(std::filesystem::exists(folder.file("a.3.rfcap")));
  }
  CHECK(handled == 3);
  struct sigaction after {};
  REQUIRE(::sigaction(SIGUSR2, &before, &after) == 0);
  CHECK(after.sa_handler == count_signal);  // given back
  CHECK(count_of(load(folder.file("a.1.rfcap")), "work") == 1);
}

TEST_CASE("a step that takes too long leaves a dump", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  SessionOptions options = ring(folder.file("a.rfcap"));
  options.dump_step_over = 5ms;
  Recording session(options, parts);
  session->step();
  clock.advance(5'000'000);
  session->step();  // just not too long
  REQUIRE(session->flush().ok());
  { const ProfileRange range{"slow"}; }
  clock.advance(5'000'001);
  CHECK_FALSE(std::filesystem::exists(folder.file("a.1.rfcap")));
  session->step();
  CHECK(eventually([&] { return std::filesystem::exists(folder.file("a.1.rfcap")); }));
  CHECK(count_of(load(folder.file("a.1.rfcap")), "slow") == 1);
}
