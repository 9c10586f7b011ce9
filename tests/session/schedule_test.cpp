// SPDX-License-Identifier: MIT
#include "session/session_fixture.hpp"
#include "support/seed.hpp"

#include <random>

using namespace rangefinder;
using namespace rangefinder::session;
using namespace rangefinder::session::testing;

namespace {

/// Walks through the steps one by one, as torch.profiler's documentation tells it.
std::vector<Phase> walk(const Schedule& schedule, std::size_t steps) {
  std::vector<Phase> phases(schedule.skip_first, Phase::kOff);
  for (std::uint32_t cycle = 0; phases.size() < steps && (schedule.repeat == 0 || cycle < schedule.repeat); ++cycle) {
    phases.insert(phases.end(), schedule.wait, Phase::kOff);
    phases.insert(phases.end(), schedule.warmup, Phase::kWarmup);
    phases.insert(phases.end(), schedule.active, Phase::kActive);
  }
  phases.resize(steps, Phase::kOff);
  return phases;
}

}  // namespace

TEST_CASE("phases follow the schedule", "[session][property]") {
  std::mt19937_64 random(rangefinder::testing::property_seed("phases"));
  for (int round = 0; round < 300; ++round) {
    const auto number = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
    const Schedule schedule{number(5), number(5), number(4), 1 + number(4), number(4)};
    CAPTURE(schedule.skip_first, schedule.wait, schedule.warmup, schedule.active, schedule.repeat);
    const std::vector<Phase> want = walk(schedule, 80);
    std::vector<Phase> have;
    for (std::uint64_t step = 0; step < want.size(); ++step) have.push_back(phase_of_step(schedule, step));
    REQUIRE(have == want);
  }
}

TEST_CASE("without active steps all are recorded, and numbers at their limits do not overflow", "[session]") {
  CHECK(phase_of_step({3, 3, 3, 0, 1}, 0) == Phase::kActive);
  constexpr std::uint32_t most = 0xFFFFFFFFu;
  CHECK(phase_of_step({most, most, most, most, most}, 0) == Phase::kOff);
  CHECK(phase_of_step({most, most, most, most, most}, std::uint64_t{most} * 2) == Phase::kWarmup);
  CHECK(phase_of_step({most, most, most, most, most}, std::uint64_t{most} * 3) == Phase::kActive);
  CHECK(phase_of_step({0, 0, 0, 1, 0}, ~std::uint64_t{0}) == Phase::kActive);
}

TEST_CASE("only active steps are recorded, in windows of their own", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  auto source = std::make_shared<ScriptedSource>();
  Dependencies parts;
  parts.clock = &clock;
  parts.sources.push_back(source);
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.memory_bytes = 2 * kLeastMemory;  // half of it is for the source
  options.cuda = true;
  options.schedule = {1, 1, 1, 2, 2};  // off: 0 1, warm-up: 2, on: 3 4, off: 5, warm-up: 6, on: 7 8, off for good
  Recording session(options, parts);
  for (int step = 0; step < 12; ++step) {
    const ProfileRange range{"step " + std::to_string(step)};
    CHECK(session->step_number() == static_cast<std::uint64_t>(step));
    clock.advance(10);
    session->step();
  }
  REQUIRE(session->stop().ok());
  const Timeline timeline = load(folder.file("a.rfcap"));
  // The range of step 2 begins before the recording does; that of step 4 is open when it goes off, and still ends.
  const std::int64_t zero = 1'000'000'000;
  CHECK(lines_of(timeline, zero) == std::vector<std::string>{"step 3 [30, 40)", "step 4 [40, 50)", "step 7 [70, 80)",
                                                             "step 8 [80, 90)", "step 3 [30, 40)", "step 4 [40, 50)",
                                                             "step 7 [70, 80)", "step 8 [80, 90)"});
  REQUIRE(timeline.windows.size() == 2);
  CHECK(timeline.windows[0].begin_ns == zero + 30);
  CHECK(timeline.windows[0].end_ns == zero + 50);
  CHECK(timeline.windows[1].begin_ns == zero + 70);
  CHECK(timeline.windows[1].end_ns == zero + 90);
  CHECK(timeline.health.unfinished_ranges == 0);
  CHECK(timeline.health.unmatched_ends == 0);
  CHECK(source->calls() == std::vector<std::string>{"start", "on", "off", "on", "off", "off", "stop"});
}

TEST_CASE("what was done in a step is recorded with it", "[session]") {
  const ScratchFolder folder;
  ManualClock clock;
  Dependencies parts;
  parts.clock = &clock;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.schedule = {0, 1, 0, 3, 2};  // off: 0, on: 1 2 3, off: 4, on: 5 6 7, off for good
  Recording session(options, parts);
  for (std::uint64_t step = 0; step < 10; ++step) {
    clock.advance(10);
    session->step(step == 2 ? 0 : 1000 + step);
  }
  REQUIRE(session->stop().ok());
  CHECK(lines_of(load(folder.file("a.rfcap")), 1'000'000'000) ==
        std::vector<std::string>{"step 1 [10, 20) items 1001", "step 2 [20, 30)", "step 3 [30, 40) items 1003",
                                 "step 5 [50, 60) items 1005", "step 6 [60, 70) items 1006",
                                 "step 7 [70, 80) items 1007"});
}

TEST_CASE("outside of active steps the hot path is off", "[session]") {
  const ScratchFolder folder;
  SessionOptions options = host_only(folder.file("a.rfcap"));
  options.schedule = {0, 1, 0, 1, 1};
  Recording session(options);
  CHECK(detail::active.load() == 0);
  session->step();
  CHECK(detail::active.load() != 0);
  session->step();
  CHECK(detail::active.load() == 0);
}
