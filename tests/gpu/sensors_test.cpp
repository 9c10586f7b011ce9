// SPDX-License-Identifier: MIT
//
// Hardware counters and sensors. Counters need rights that tracing does not: without, the test case is skipped with
// what the capture says.
#include "gpu_recording.hpp"

#include <limits>

using namespace rangefinder;
using namespace rangefinder::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

/// Work of that length, a kernel of a millisecond each time, with a range around each.
void busy_for(CudaProgram& program, std::chrono::milliseconds length) {
  for (int i = 0; i < length.count(); ++i) {
    const ProfileRange range{"busy"};
    REQUIRE(program.launch(0, kMillisecond).ok());
    REQUIRE(program.synchronize().ok());
  }
}

}  // namespace

TEST_CASE("hardware counters of ranges count what was done in them", "[counters]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  constexpr int kRanges = 300;  // more than are counted before they are taken out
  SessionOptions options;
  options.counters = {"memory"};
  const Timeline timeline = recorded(
      "counters",
      [&](Session&) {
        for (int i = 0; i < kRanges; ++i) {
          const ProfileRange range{"fill"};
          REQUIRE(program.fill(0, CudaProgram::kBytes).ok());
        }
      },
      options);
  if (const std::string refused = note_with(timeline, "not counted"); !refused.empty()) RANGEFINDER_SKIP(refused);
  int with_time = 0, with_bytes = 0;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (std::size_t row = 0; row < timeline.range_metrics.size(); ++row) {
    const std::string_view metric = timeline.text(timeline.range_metrics.metric[row]);
    const double value = timeline.range_metrics.value[row];
    if (metric == "gpu_time_ns") with_time += value > 0 ? 1 : 0;
    if (metric != "l2_bytes") continue;
    ++with_bytes;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::printf("bytes asked of L2 by a fill of %zu: %.0f to %.0f\n", CudaProgram::kBytes, least, most);
  CHECK(with_time == kRanges);
  CHECK(with_bytes == kRanges);
  // The fill is all that the context does, and what it writes passes through L2; where that has halves, some twice.
  CHECK(least >= static_cast<double>(CudaProgram::kBytes));
  CHECK(most <= 4 * static_cast<double>(CudaProgram::kBytes));
  CHECK(timeline.health.uncounted_ranges == 0);
  CHECK(timeline.health.lost_range_counters == 0);
}

TEST_CASE("counters are sampled beside activities, on the same clock", "[samples]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  SessionOptions options;
  options.pm_sampling = {"device"};
  options.flush_period = 50ms;  // sampling begins with one
  const Timeline timeline = recorded(
      "samples", [&](Session&) { busy_for(program, 500ms); }, options);
  if (const std::string refused = note_with(timeline, "not sampled"); !refused.empty()) RANGEFINDER_SKIP(refused);
  // Nothing that was recorded without samples is missing with them.
  CHECK(operations(timeline, Attribution::kLaunch) == Operations{{"busy", 500}});
  CHECK(timeline.health.complete());
  std::size_t samples = 0;
  double most = 0;
  for (std::size_t row = 0; row < timeline.pm_samples.size(); ++row) {
    CHECK(timeline.pm_samples.begin_ns[row] < timeline.pm_samples.end_ns[row]);
    CHECK(timeline.pm_samples.begin_ns[row] >= timeline.begin_ns - 1'000'000);
    CHECK(timeline.pm_samples.end_ns[row] <= timeline.end_ns + 1'000'000'000);  // also while the session stops
    if (timeline.text(timeline.pm_samples.metric[row]) != "sm_active_ratio") continue;
    ++samples;
    most = std::max(most, timeline.pm_samples.value[row]);
  }
  std::printf("%zu samples of a millisecond, multiprocessors active %.4f at most\n", samples, most);
  CHECK(samples > 100);
  CHECK(most > 0);  // a kernel of one block: one multiprocessor of all
  CHECK(most <= 1);
}

TEST_CASE("sensors are read while a device works", "[sensors]") {
  RANGEFINDER_OPEN_CUDA(program, kDriver);
  SessionOptions options;
  options.nvml_period = 20ms;
  const Timeline timeline = recorded(
      "sensors", [&](Session&) { busy_for(program, 500ms); }, options);
  if (const std::string refused = note_with(timeline, "not sampled"); !refused.empty()) RANGEFINDER_SKIP(refused);
  const SensorSampleTable& samples = timeline.sensor_samples;
  std::uint64_t energy = 0, energies = 0;
  std::uint32_t power = 0;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    if ((samples.present[row] & kHasPower) != 0) power = std::max(power, samples.power_mw[row]);
    if ((samples.present[row] & kHasEnergy) == 0) continue;
    CHECK(samples.energy_mj[row] >= energy);
    energy = samples.energy_mj[row];
    ++energies;
  }
  std::printf("%zu readings, %llu of energy, power %u mW at most\n", samples.size(),
              static_cast<unsigned long long>(energies), power);
  CHECK(samples.size() >= 10);
  CHECK(power > 0);
}
