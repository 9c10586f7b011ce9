// SPDX-License-Identifier: MIT
#include "source/cupti/device_clock.hpp"

#include "cupti_fixture.hpp"

namespace rangefinder::source::testing {
namespace {

using cupti::ClockPair;
using cupti::DeviceClock;

constexpr std::int64_t kT = static_cast<std::int64_t>(kNoon);

ClockPair pair_at(std::int64_t realtime, std::uint64_t cupti) { return {cupti, realtime - 50, realtime + 50}; }

std::atomic<std::int64_t> g_skew{0};
std::uint64_t CUPTIAPI skewed() { return fakecupti_now() + static_cast<std::uint64_t>(g_skew.load()); }
std::uint64_t CUPTIAPI tsc_like() { return (fakecupti_now() - kNoon) * 2 + 1'000'000; }

}  // namespace

TEST_CASE("times on CLOCK_REALTIME are taken as they are", "[source]") {
  DeviceClock clock;
  clock.add(pair_at(kT, static_cast<std::uint64_t>(kT)));
  clock.add(pair_at(kT + 1'000'000, static_cast<std::uint64_t>(kT + 1'000'040)));
  CHECK(clock.realtime(kNoon + 123) == kT + 123);
  CHECK(clock.description() == "realtime");
  CHECK(clock.take_converted() == 0);
  CHECK_FALSE(clock.needs_another_pair());
}

TEST_CASE("times that cannot be are refused", "[source]") {
  DeviceClock clock;
  clock.add(pair_at(kT, kNoon));
  CHECK_FALSE(clock.realtime(5).has_value());
  CHECK_FALSE(clock.realtime(~std::uint64_t{0}).has_value());
  CHECK_FALSE(clock.realtime(kNoon + 100'000'000'000'000u).has_value());
  // An hour forward or back is an operator's or NTP's work, and no reason.
  CHECK(clock.realtime(kNoon - 3'600'000'000'000u).has_value());
  CHECK(clock.realtime(kNoon + 3'600'000'000'000u).has_value());
}

TEST_CASE("a clock at an offset is converted", "[source]") {
  DeviceClock clock;
  clock.add(pair_at(kT, 1'000));
  CHECK(clock.needs_another_pair());
  clock.add(pair_at(kT + 1'000'000, 1'001'000));
  CHECK_FALSE(clock.needs_another_pair());
  CHECK(clock.realtime(501'000) == kT + 500'000);
  CHECK(clock.realtime(1'501'000) == kT + 1'500'000);
  CHECK(clock.realtime(0) == kT - 1'000);
  CHECK(clock.take_converted() == 3);
  CHECK_FALSE(clock.realtime(100'000'000'000'000).has_value());  // a day and more after the last look
  CHECK(clock.take_converted() == 0);
  CHECK(clock.description() ==
        "another tool's, registered before the recording; converted, offset at first 1759999999999999000 ns");
}

TEST_CASE("a clock at another rate is converted piece by piece", "[source]") {
  DeviceClock clock;
  clock.add(pair_at(kT, 1'000'000));
  clock.add(pair_at(kT + 1'000'000, 3'000'000));  // two ticks a nanosecond
  clock.add(pair_at(kT + 2'000'000, 6'000'000));  // then three
  CHECK(clock.realtime(2'000'000) == kT + 500'000);
  CHECK(clock.realtime(4'500'000) == kT + 1'500'000);
  CHECK(clock.realtime(9'000'000) == kT + 3'000'000);
}

TEST_CASE("a clock that is replaced in the middle leaves earlier records alone", "[source]") {
  DeviceClock clock;
  clock.add(pair_at(kT, kNoon));
  clock.add(pair_at(kT + 1'000'000, 777));
  clock.add(pair_at(kT + 2'000'000, 1'000'777));
  CHECK(clock.realtime(kNoon + 10) == kT + 10);
  CHECK(clock.realtime(500'777) == kT + 1'500'000);
  CHECK(clock.take_converted() == 1);
  CHECK(clock.description().find("registered during the recording") != std::string::npos);
}

TEST_CASE("a foreign clock that stands still or goes back adds no point", "[source][fault]") {
  DeviceClock clock;
  clock.add(pair_at(kT, 1'000));
  clock.add(pair_at(kT + 1'000, 1'000));
  clock.add(pair_at(kT + 2'000, 900));
  CHECK(clock.needs_another_pair());
  clock.add(pair_at(kT + 3'000, 4'000));
  CHECK(clock.realtime(2'500) == kT + 1'500);
}

TEST_CASE("many points do not grow without bound", "[source]") {
  DeviceClock clock;
  for (std::int64_t i = 0; i < 20'000; ++i) clock.add(pair_at(kT + i * 1000, static_cast<std::uint64_t>(5 + i * 1000)));
  CHECK(clock.realtime(5 + 19'999'500) == kT + 19'999'500);
}

TEST_CASE("CUPTI's clock is looked at between two looks at CLOCK_REALTIME", "[source]") {
  fakecupti_reset();
  CUptiResult result = CUPTI_SUCCESS;
  const auto pair = cupti::take_clock_pair(fake_api(), &fake_realtime, result);
  REQUIRE(pair.has_value());
  CHECK(pair->before_ns <= static_cast<std::int64_t>(pair->cupti_ns));
  CHECK(static_cast<std::int64_t>(pair->cupti_ns) <= pair->after_ns);
  static std::int64_t looks;
  looks = 0;
  const auto set_back = +[]() noexcept { return looks++ == 1 ? kT - 500 : kT + 10 * looks; };
  const auto other = cupti::take_clock_pair(fake_api(), set_back, result);
  REQUIRE(other.has_value());
  CHECK(other->before_ns > kT + 10);  // not the first look, after which the clock was set back
  fakecupti_fail("cuptiGetTimestamp", CUPTI_ERROR_NOT_READY);
  CHECK_FALSE(cupti::take_clock_pair(fake_api(), &fake_realtime, result).has_value());
  CHECK(result == CUPTI_ERROR_NOT_READY);
}

TEST_CASE("the default clock of NVIDIA's library is CLOCK_REALTIME", "[source]") {
  if (real_cupti() == nullptr) RANGEFINDER_SKIP("NVIDIA's libcupti.so.13 is not beside the headers");
  fakecupti_reset();
  CUptiResult result = CUPTI_SUCCESS;
  const auto pair = cupti::take_clock_pair(*real_cupti(), &fake_realtime, result);
  REQUIRE(pair.has_value());
  DeviceClock clock;
  clock.add(*pair);
  CHECK(clock.description() == "realtime");
}

TEST_CASE("records on a clock that another tool registered are converted and counted", "[source][fault]") {
  CuptiProcess process;
  fakecupti_set_manual_clock(kNoon);
  fakecupti_set_launch_latency(3'000);
  KeepingSink sink;
  CuptiSource source = process.source();
  const FakeKernel k = kernel("k", 700);
  const auto launch = [&] {
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
    fakecupti_synchronize("cudaStreamSynchronize_v3020", 1, 7);
    fakecupti_advance(10'000);
  };
  SECTION("before the recording, at an offset") {
    g_skew = -1'000'000'000'000'000'000;
    cuptiActivityRegisterTimestampCallback(&skewed);
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    launch();
    source.stop(soon());
    REQUIRE(sink.kernels.size() == 1);
    CHECK(sink.kernels[0].begin_ns == kT + 3'000);
    CHECK(sink.kernels[0].end_ns == kT + 3'700);
    CHECK(sink.counted(health::cupti_foreign_clock) >= 2);
    CHECK(sink.fact("cupti_clock").find("another tool's, registered before the recording") == 0);
  }
  SECTION("before the recording, in ticks") {
    cuptiActivityRegisterTimestampCallback(&tsc_like);
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    FakeKernel timed = kernel("k");
    timed.begin_ns = 1'000'000 + 2 * 3'000;
    timed.end_ns = 1'000'000 + 2 * 3'700;
    fakecupti_launch("cudaLaunchKernel_v7000", &timed);
    fakecupti_advance(50'000);
    source.stop(soon());
    REQUIRE(sink.kernels.size() == 1);
    CHECK(sink.kernels[0].begin_ns == kT + 3'000);
    CHECK(sink.kernels[0].end_ns == kT + 3'700);
  }
  SECTION("in the middle") {
    REQUIRE(source.start(sink).working);
    source.set_active(true);
    launch();
    source.flush(soon());
    CHECK(sink.fact("cupti_clock") == "realtime");
    g_skew = -1'000'000'000'000'000'000;
    cuptiActivityRegisterTimestampCallback(&skewed);
    fakecupti_advance(1'000);
    source.flush(soon());
    const std::int64_t before = fake_realtime();
    launch();
    source.stop(soon());
    REQUIRE(sink.kernels.size() == 2);
    CHECK(sink.kernels[0].begin_ns == kT + 3'000);
    CHECK(sink.kernels[1].begin_ns == before + 3'000);
    CHECK(sink.counted(health::invalid_activities) == 0);
    CHECK(sink.fact("cupti_clock").find("registered during the recording") != std::string::npos);
  }
}

TEST_CASE("a step of CLOCK_REALTIME in the middle loses nothing", "[source][fault]") {
  CuptiProcess process;
  const std::int64_t step = GENERATE(3'600'000'000'000, -3'600'000'000'000);
  CuptiRecording recording(process);
  FakeKernel k = kernel("k");
  for (int i = 0; i < 10; ++i) {
    if (i == 5) {
      recording.flush();
      fakecupti_step_clock(step);
      k.stream = 8;  // the other is busy until the time it was
    }
    fakecupti_launch("cudaLaunchKernel_v7000", &k);
  }
  recording.stop();
  CHECK(recording.kernels.size() == 10);
  CHECK(recording.apis.size() == 10);
  CHECK(recording.counts().empty());
  CHECK(recording.clock_samples >= 2);
}

}  // namespace rangefinder::source::testing
