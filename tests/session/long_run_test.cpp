// SPDX-License-Identifier: MIT
//
// Jobs run for weeks: what a step or a session takes, it gives back.
#include "session/capture_series.hpp"
#include "session/session_fixture.hpp"
#include "support/resident_memory.hpp"
#include "support/seed.hpp"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;
using rangefinder::testing::exhaustive;
using rangefinder::testing::resident_bytes;
using rangefinder::testing::resident_memory_counts;

namespace {

constexpr std::int64_t kAllowed = std::int64_t{4} << 20;
constexpr int kSettled = 50;

int sessions_wanted() { return exhaustive() ? 1'000 : 250; }

/// A step as a program has it: nested ranges, payloads, names made at run time of which there are some hundreds, marks,
/// samples, and a thread that comes and goes.
void work(int step) {
  const ProfileRange outer{"step"};
  for (int layer = 0; layer < 100; ++layer) {
    const ProfileRange range{std::string_view("layer " + std::to_string(layer))};
    const ProfileRange inner{"inner", static_cast<std::uint64_t>(step)};
  }
  mark("mark");
  counter("loss", 1.0 / (step + 1));
  if (step % 10 == 0) std::thread([] { const ProfileRange range{"on another thread"}; }).join();
}

class Growth {
 public:
  void after(int round) {
    const std::int64_t now = resident_bytes();
    REQUIRE(now > 0);
    if (round == kSettled) settled_ = now;
    if (round > kSettled) most_ = std::max(most_, now - settled_);
  }
  std::int64_t most() const { return most_; }

 private:
  std::int64_t settled_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace

TEST_CASE("a thousand steps take no memory that grows", "[session][slow]") {
  if (!resident_memory_counts()) return;
  for (const CaptureMode mode : {CaptureMode::kMapped, CaptureMode::kBuffered, CaptureMode::kRing}) {
    CAPTURE(static_cast<int>(mode));
    const ScratchFolder folder;
    SessionOptions options = host_only(folder.file("a.rfcap"));
    options.mode = mode;
    options.ring_bytes = 64 << 10;
    options.flush_period = 5ms;
    options.overflow = OverflowPolicy::kWait;
    Recording session(options);
    // All blocks have been used once: whether a page is resident does not depend on how far a thread has got.
    for (int step = 0; step < 400; ++step) work(step);
    Growth growth;
    for (int step = 1; step <= 1'000; ++step) {
      work(step);
      session->step(64);
      if (step % 100 == 0) REQUIRE(session->flush().ok());
      growth.after(step);
    }
    CHECK(growth.most() <= kAllowed);
    REQUIRE(session->stop().ok());
    const Timeline timeline = load(folder.file("a.rfcap"));
    CHECK(timeline.health.complete());
    CHECK(timeline.steps.size() > (mode == CaptureMode::kRing ? 5u : 998u));
  }
}

TEST_CASE("any number of threads leave nothing behind", "[session][slow]") {
  if (!resident_memory_counts()) return;
  constexpr int kAtOnce = 64;
  const int rounds = (exhaustive() ? 100'000 : 20'000) / kAtOnce;
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.overflow = OverflowPolicy::kWait;
  Recording session(options);
  Growth growth;
  for (int round = 1; round <= rounds; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kAtOnce; ++i) threads.emplace_back([] { const ProfileRange range{"work"}; });
    for (std::thread& thread : threads) thread.join();
    growth.after(round);
  }
  CHECK(growth.most() <= 4 * kAllowed);
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  CHECK(count_of(timeline, "work") == static_cast<std::uint64_t>(kAtOnce * rounds));
  CHECK(timeline.health.complete());
}

TEST_CASE("any number of sessions leave nothing behind", "[session][slow]") {
  if (!resident_memory_counts()) return;
  const ScratchFolder folder;
  Growth growth;
  for (int round = 1; round <= sessions_wanted(); ++round) {
    SessionOptions options = host_only(folder.file("a.rfcap"));
    options.mode = round % 2 == 0 ? CaptureMode::kMapped : CaptureMode::kBuffered;
    {
      Recording session(options);
      work(round);
      session->step();
      REQUIRE(session->stop().ok());
    }
    growth.after(round);
  }
  CHECK(growth.most() <= kAllowed);
  const Timeline last = load(folder.file("a.rfcap"));
  CHECK(count_of(last, "inner") == 100);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("any number of captures of one session leave nothing behind", "[session][slow]") {
  if (!resident_memory_counts()) return;
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a-%c.rfcap"));
  options.flush_period = 60s;
  options.schedule = {0, 0, 0, 1, static_cast<std::uint32_t>(sessions_wanted())};
  std::atomic<int> captures{0};
  options.on_capture_ready = [&](const CaptureReady& ready) {
    ++captures;
    std::filesystem::remove(ready.path);
  };
  auto series = CaptureSeries::start(options, [](const SessionOptions&) { return Dependencies{}; });
  REQUIRE(series.ok());
  Growth growth;
  for (int step = 1; step <= sessions_wanted(); ++step) {
    work(step);
    (*series)->step(0);
    growth.after(step);
  }
  REQUIRE((*series)->stop().ok());
  CHECK(growth.most() <= kAllowed);
  CHECK(captures == sessions_wanted());
  CHECK(std::filesystem::is_empty(folder.path()));
}
