// SPDX-License-Identifier: MIT
#include "analysis/energy.hpp"

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/timeline_builder.hpp"

#include <random>

using namespace rangefinder;
using rangefinder::analysis::Energy;
using rangefinder::analysis::energy_of_ranges;
using rangefinder::testing::TimelineBuilder;

namespace {

constexpr std::int64_t kMs = 1'000'000;

Energy energy_of(const Timeline& timeline) { return energy_of_ranges(timeline, project(timeline, {})); }

/// Readings each 10 ms, all of 100 W: a millisecond takes 100 mJ.
TimelineBuilder& steady(TimelineBuilder& builder, std::int64_t until_ms) {
  for (std::int64_t ms = 0; ms <= until_ms; ms += 10) builder.power(ms * kMs, 100'000);
  return builder;
}

}  // namespace

TEST_CASE("a range has the energy of the device while its work ran", "[analysis]") {
  TimelineBuilder builder;
  builder.range("step", 0, 100 * kMs).launch(1).kernel(20 * kMs, 50 * kMs);
  const Timeline timeline = steady(builder, 100).build();
  const Energy energy = energy_of(timeline);
  CHECK(energy.ranges[0].self_mj == Approx(3000));
  CHECK(energy.ranges[0].running_mj == Approx(3000));
  CHECK(energy.ranges[0].running_ns == 30 * kMs);
  CHECK(energy.ranges[0].known_ns == 30 * kMs);
  CHECK(energy.ranges[0].readings == 3);
  REQUIRE(energy.devices.size() == 1);
  CHECK(energy.devices[0].total_mj == Approx(10'000));
  CHECK(energy.devices[0].owned_mj == Approx(3000));
  CHECK(energy.devices[0].idle_mj == Approx(7000));
  CHECK_FALSE(energy.devices[0].check.has_value());
}

TEST_CASE("a board that several processes read is one", "[analysis]") {
  TimelineBuilder builder;
  builder.on_process(1).range("a", 0, 100 * kMs).launch(1).kernel(0, 20 * kMs);
  steady(builder, 50);
  builder.energy_counter(5'000);
  builder.on_process(2).range("b", 0, 100 * kMs).launch(1).kernel(10 * kMs, 30 * kMs);
  for (std::int64_t ms = 5; ms <= 55; ms += 10) builder.power(ms * kMs, 100'000);
  const bool known = GENERATE(true, false);
  if (known)
    for (DeviceInfo& device : builder.timeline().devices) device.board = "GPU-17";
  const Timeline timeline = builder.build();
  const Energy energy = energy_of(timeline);
  REQUIRE(energy.devices.size() == (known ? 1 : 2));
  CHECK(energy.devices[0].devices == (known ? 2 : 1));
  // What runs at once shares the energy, whichever process it is of.
  CHECK(energy.ranges[0].self_mj == Approx(known ? 1000 + 500 : 2000));
  CHECK(energy.ranges[1].self_mj == Approx(known ? 500 + 1000 : 2000));
  CHECK(energy.devices[0].total_mj == Approx(known ? 5500 : 5000));
}

TEST_CASE("what runs at the same time shares the energy evenly, and each range ran all of its time", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 20 * kMs);
  builder.range("b", 6, 9).on_stream(8).launch(7).kernel(10 * kMs, 30 * kMs);
  const Timeline timeline = steady(builder, 50).build();
  const Energy energy = energy_of(timeline);
  CHECK(energy.ranges[0].self_mj == Approx(1000 + 500));
  CHECK(energy.ranges[1].self_mj == Approx(500 + 1000));
  CHECK(energy.ranges[0].running_mj == Approx(2000));
  CHECK(energy.ranges[1].running_mj == Approx(2000));
  CHECK(energy.devices[0].idle_mj == Approx(2000));
}

TEST_CASE("work of a range on several streams counts its time once", "[analysis]") {
  TimelineBuilder builder;
  builder.range("outer", 0, 9).range("inner", 1, 8);
  builder.launch(2).kernel(0, 20 * kMs).on_stream(8).launch(3).kernel(10 * kMs, 30 * kMs);
  const Timeline timeline = steady(builder, 50).build();
  const Energy energy = energy_of(timeline);
  for (const int range : {0, 1}) {
    CHECK(energy.ranges[range].running_ns == 30 * kMs);
    CHECK(energy.ranges[range].running_mj == Approx(3000));
  }
  CHECK(energy.ranges[0].self_mj == 0);
  CHECK(energy.ranges[1].self_mj == Approx(3000));
}

TEST_CASE("work outside of ranges has a row of its own", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 10 * kMs).launch(9).kernel(10 * kMs, 20 * kMs);
  const Timeline timeline = steady(builder, 20).build();
  const Energy energy = energy_of(timeline);
  CHECK(energy.devices[0].owned_mj == Approx(1000));
  CHECK(energy.devices[0].unowned_mj == Approx(1000));
  CHECK(energy.devices[0].idle_mj == Approx(0).margin(1e-6));
}

TEST_CASE("each device has its own sensors", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 10 * kMs);
  steady(builder, 10);
  builder.on_device(1).launch(2).kernel(0, 10 * kMs);
  builder.power(0, 300'000).power(10 * kMs, 300'000);
  const Energy energy = energy_of(builder.build());
  CHECK(energy.ranges[0].self_mj == Approx(1000 + 3000));
  CHECK(energy.ranges[0].running_ns == 20 * kMs);
  REQUIRE(energy.devices.size() == 2);
  CHECK(energy.devices[1].owned_mj == Approx(3000));
}

TEST_CASE("clocks and throttling are those while the range's work ran", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 10 * kMs);
  builder.range("b", 6, 9).launch(7).kernel(20 * kMs, 30 * kMs);
  builder.power(0, 1).sensed(1000).power(10 * kMs, 1).sensed(1000);
  builder.power(20 * kMs, 1).sensed(2000, 4).power(30 * kMs, 1).sensed(2000, 4 | 1);
  const Energy energy = energy_of(builder.build());
  const auto mean = [](double integral, std::int64_t ns) { return integral / static_cast<double>(ns); };
  CHECK(mean(energy.ranges[0].sm_clock_mhz_ns, energy.ranges[0].sm_clock_ns) == Approx(1000));
  CHECK(mean(energy.ranges[1].sm_clock_mhz_ns, energy.ranges[1].sm_clock_ns) == Approx(2000));
  CHECK(energy.ranges[0].throttled_ns == Approx(0));
  CHECK(energy.ranges[1].throttled_ns == Approx(10.0 * kMs));
  CHECK(energy.ranges[1].throttle_known_ns == 10 * kMs);
}

TEST_CASE("idling is no throttling", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 10 * kMs);
  builder.power(0, 1).sensed(1000, 1 | 2).power(10 * kMs, 1).sensed(1000, 1 | 0x10);
  CHECK(energy_of(builder.build()).ranges[0].throttled_ns == 0);
}

TEST_CASE("the device's own counter is held against the readings", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 10 * kMs);
  builder.power(0, 100'000)
      .energy_counter(5'000)
      .power(10 * kMs, 100'000)
      .power(20 * kMs, 100'000)
      .energy_counter(7'100);
  const Energy energy = energy_of(builder.build());
  REQUIRE(energy.devices.at(0).check.has_value());
  CHECK(energy.devices[0].check->counter_mj == Approx(2'100));
  CHECK(energy.devices[0].check->integral_mj == Approx(2'000));
}

TEST_CASE("work before the first reading is not known", "[analysis]") {
  TimelineBuilder builder;
  builder.range("a", 0, 5).launch(1).kernel(0, 20 * kMs);
  builder.power(10 * kMs, 100'000).power(20 * kMs, 100'000);
  const Energy energy = energy_of(builder.build());
  CHECK(energy.ranges[0].running_ns == 20 * kMs);
  CHECK(energy.ranges[0].known_ns == 10 * kMs);
  CHECK(energy.ranges[0].self_mj == Approx(1000));
}

TEST_CASE("owned, unowned and idle energy add up to the device's", "[analysis][property]") {
  for (const std::uint64_t seed : rangefinder::testing::property_seeds("energy", 50)) {
    INFO("RANGEFINDER_SEED=" << seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    TimelineBuilder builder;
    for (int i = 0; i < 30; ++i) {
      const std::int64_t at = i * 100;
      if (pick(0, 3) != 0) builder.range("r" + std::to_string(pick(0, 5)), at, at + 50);
      for (std::int64_t n = pick(0, 3); n > 0; --n) {
        const std::int64_t begin = pick(0, 900) * kMs / 10;
        builder.on_stream(pick(1, 4)).launch(at + pick(0, 60)).kernel(begin, begin + pick(0, 200) * kMs / 10);
      }
    }
    for (std::int64_t ms = 0; ms <= 120; ms += pick(3, 6))
      builder.power(ms * kMs, static_cast<unsigned>(pick(0, 700'000)));
    const Timeline timeline = builder.build();
    const Energy energy = energy_of(timeline);
    REQUIRE(energy.devices.size() == 1);
    const analysis::DeviceEnergy& device = energy.devices[0];
    CHECK(device.owned_mj + device.unowned_mj + device.idle_mj == Approx(device.total_mj).margin(1e-6));
    double owned = 0;
    for (const analysis::RangeEnergy& range : energy.ranges) {
      owned += range.self_mj;
      CHECK(range.self_mj <= range.running_mj + 1e-6);
    }
    CHECK(owned == Approx(device.owned_mj).margin(1e-6));
  }
}
