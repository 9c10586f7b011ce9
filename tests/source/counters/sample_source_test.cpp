// SPDX-License-Identifier: MIT
//
// Sampling of devices' counters, played by tests/support/fake_cupti.
#include "source/counters/sample_source.hpp"

#include "base/health_numbers.hpp"
#include "base/lists.hpp"
#include "source/counters/counter_fixture.hpp"
#include "support/environment.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::source;
using namespace rangefinder::source::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

SampleOptions sample_options(std::string_view metrics) {
  SampleOptions options;
  options.metrics = base::split(metrics, '+');
  options.interval = 1ms;
  options.flush_period = 200ms;
  options.realtime_ns = &fake_realtime;
  return options;
}

/// A recording that samples.
struct Sampling : SourceRecording<SampleSource> {
  Sampling(const ProfiledProcess& process, const SampleOptions& options) : SourceRecording(options, process.load()) {
    source.set_active(true);
  }

  std::uint64_t samples(std::string_view metric) const {
    std::uint64_t count = 0;
    for (const format::MetricSampleRow& row : metric_samples) count += text(row.metric) == metric ? 1 : 0;
    return count;
  }
};

}  // namespace

TEST_CASE("a device is sampled from the first flush to the end", "[counters]") {
  const ProfiledProcess process;
  fakecupti_set_metric("dram__bytes_read.sum", 2);
  fakecupti_set_metric("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 40);
  Sampling sampling(process, sample_options("sm_active_ratio+dram_read_bytes"));
  REQUIRE(sampling.started.working);
  CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 0);
  sampling.flush();
  CHECK(fakecupti_calls("cuptiPmSamplingStart") == 1);
  for (int i = 0; i < 3; ++i) {
    fakecupti_advance(10 * kMillisecond);
    sampling.flush();
    CHECK(sampling.samples("dram_read_bytes") == 10u * static_cast<unsigned>(i + 1));
  }
  fakecupti_advance(5 * kMillisecond);
  sampling.stop();
  // What stop finds: the rest, but not the sample of no length and the one that was never taken.
  CHECK(sampling.samples("dram_read_bytes") == 35);
  CHECK(sampling.samples("sm_active_ratio") == 35);
  std::int64_t reached = static_cast<std::int64_t>(ProfiledProcess::kNoon);
  for (const format::MetricSampleRow& row : sampling.metric_samples) {
    CHECK(row.device == 0);
    CHECK(row.end_ns - row.begin_ns == static_cast<std::int64_t>(kMillisecond));
    if (sampling.text(row.metric) == "sm_active_ratio") {
      CHECK(format::decoded_number(row.value) == Approx(0.4));
      continue;
    }
    CHECK(format::decoded_number(row.value) == Approx(2.0 * kMillisecond));
    CHECK(row.begin_ns == reached);
    reached = row.end_ns;
  }
  CHECK(sampling.facts["sample_set"] == "sm_active_ratio+dram_read_bytes");
  CHECK(sampling.facts["sample_chip"] == "GH100");
  CHECK(sampling.facts["sample_state"] == "sampling");
  CHECK(sampling.facts["sample_metrics"].find("dram_read_bytes = dram__bytes_read.sum") != std::string::npos);
  CHECK(fakecupti_calls("cuptiPmSamplingDisable") == 1);
  CHECK(sampling.source.state().reason == "stopped");
}

TEST_CASE("devices are sampled once the program uses them", "[counters]") {
  const ProfiledProcess process;
  fakecupti_add_device(1, "Second");
  fakecupti_set_driver(false);
  Sampling sampling(process, sample_options("l2_bytes"));
  sampling.flush();
  CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 0);  // CUDA is not in use, and we do not begin with it
  CHECK(fakecupti_calls("cuInit") == 0);
  fakecupti_set_driver(true);
  sampling.flush();
  CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 1);
  fakecupti_add_context(2, 1);
  fakecupti_advance(2 * kMillisecond);
  sampling.flush();
  CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 2);
  fakecupti_advance(2 * kMillisecond);
  sampling.stop();
  std::uint64_t of_second = 0;
  for (const format::MetricSampleRow& row : sampling.metric_samples) of_second += row.device;
  CHECK(sampling.metric_samples.size() == 4 + 2);
  CHECK(of_second == 2);
}

TEST_CASE("chips without a clock of their own for it count cycles", "[counters]") {
  const ProfiledProcess process;
  fakecupti_set_chip("GA100");
  Sampling sampling(process, sample_options("l2_bytes"));
  sampling.flush();
  fakecupti_advance(3 * kMillisecond);
  sampling.stop();
  CHECK(sampling.metric_samples.size() == 3);
  CHECK(fakecupti_calls("cuptiPmSamplingSetConfig") == 2);
}

TEST_CASE("a buffer that was full is counted, and sampling goes on", "[counters][fault]") {
  const ProfiledProcess process;
  Sampling sampling(process, sample_options("l2_bytes"));
  sampling.flush();
  SECTION("the hardware's") { fakecupti_overflow_samples(); }
  SECTION("the hardware's, by a flush that comes late") { fakecupti_advance(60'000 * kMillisecond); }
  SECTION("ours") { fakecupti_advance(800 * kMillisecond); }
  sampling.flush();
  CHECK(sampling.counted(health::sample_overflows) == 1);
  const std::size_t before = sampling.metric_samples.size();
  fakecupti_advance(7 * kMillisecond);
  sampling.flush();
  CHECK(sampling.metric_samples.size() == before + 7);
  CHECK(sampling.counted(health::sample_overflows) == 1);
  CHECK(fakecupti_calls("cuptiPmSamplingStart") == 2);
  CHECK(sampling.source.state().working);
}

TEST_CASE("pauses of the schedule are not kept", "[counters]") {
  const ProfiledProcess process;
  Sampling sampling(process, sample_options("l2_bytes"));
  sampling.flush();
  sampling.source.set_active(false);
  fakecupti_advance(10 * kMillisecond);
  sampling.flush();
  CHECK(sampling.metric_samples.empty());
  sampling.source.set_active(true);
  fakecupti_advance(4 * kMillisecond);
  sampling.flush();
  CHECK(sampling.metric_samples.size() == 4);
}

TEST_CASE("samples are kept by their own times, whenever they are taken out", "[counters]") {
  const ProfiledProcess process;
  Sampling sampling(process, sample_options("l2_bytes"));
  sampling.flush();
  const auto samples_after = [&](std::uint64_t ms, bool active) {
    fakecupti_advance(ms * kMillisecond);
    sampling.source.set_active(active);
    return sampling.metric_samples.size();
  };
  SECTION("a window that is over") {
    CHECK(samples_after(3, false) == 0);
    CHECK(samples_after(7, false) == 0);
    sampling.flush();
    CHECK(sampling.metric_samples.size() == 3);
  }
  SECTION("a pause that is over") {
    sampling.source.set_active(false);
    CHECK(samples_after(5, true) == 0);
    CHECK(samples_after(2, true) == 0);
    SECTION("at a flush") { sampling.flush(); }
    SECTION("at the end") { sampling.stop(); }
    CHECK(sampling.metric_samples.size() == 2);
  }
}

TEST_CASE("samples are kept when the clock is set back", "[counters]") {
  const ProfiledProcess process;
  static std::int64_t ahead_ns;
  ahead_ns = 3'600'000'000'000;
  SampleOptions options = sample_options("l2_bytes");
  options.realtime_ns = []() noexcept { return static_cast<std::int64_t>(fakecupti_now()) + ahead_ns; };
  Sampling sampling(process, options);
  ahead_ns = 0;
  sampling.flush();
  fakecupti_advance(2 * kMillisecond);
  sampling.flush();
  CHECK(sampling.metric_samples.size() == 2);
}

TEST_CASE("the only device is sampled with whatever contexts", "[counters]") {
  const ProfiledProcess process;
  fakecupti_destroy_contexts();
  Sampling sampling(process, sample_options("l2_bytes"));
  SECTION("of one") {
    sampling.flush();
    CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 1);
  }
  SECTION("of two none is in use") {
    fakecupti_add_device(1, "Second");
    sampling.flush();
    CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 0);
    CHECK(sampling.facts["sample_state"].find("no device was in use") == 0);
  }
}

TEST_CASE("each refusal to sample is told once, with what to do", "[counters][fault]") {
  const ProfiledProcess process;
  for (const DocumentedError& error : kDocumentedErrors) {
    INFO(error.code);
    const char* call = error.code == 46 ? "cuptiProfilerHostInitialize" : "cuptiPmSamplingEnable";
    const std::uint64_t calls = fakecupti_calls(call);
    fakecupti_fail(call, error.code);
    Sampling sampling(process, sample_options("memory"));
    CHECK(sampling.started.working);
    sampling.flush();
    sampling.flush();
    const SourceState state = sampling.source.state();
    INFO(state.reason);
    CHECK_FALSE(state.working);
    CHECK(state.reason.find(error.text) != std::string::npos);
    CHECK(fakecupti_calls(call) == calls + 1);
    CHECK(sampling.facts["sample_state"] == state.reason);
    CHECK(sampling.metric_samples.empty());
    fakecupti_fail(call, 0);
  }
}

TEST_CASE("whatever call of sampling fails, the state says which", "[counters][fault]") {
  for (const char* call :
       {"cuptiPmSamplingEnable", "cuptiPmSamplingSetConfig", "cuptiPmSamplingGetCounterDataSize",
        "cuptiPmSamplingCounterDataImageInitialize", "cuptiPmSamplingStart", "cuptiPmSamplingDecodeData",
        "cuptiPmSamplingGetCounterDataInfo", "cuptiPmSamplingCounterDataGetSampleInfo",
        "cuptiProfilerHostEvaluateToGpuValues", "cuptiDeviceGetChipName"}) {
    INFO(call);
    const ProfiledProcess process;
    Sampling sampling(process, sample_options("l2_bytes"));
    fakecupti_fail(call, 999);
    sampling.flush();
    fakecupti_advance(3 * kMillisecond);
    sampling.flush();
    CHECK(sampling.source.state().reason.find(call) == 0);
    fakecupti_fail(call, 0);
    sampling.stop();
    CHECK(sampling.metric_samples.empty());
  }
}

TEST_CASE("times of another clock are set aside", "[counters]") {
  const ProfiledProcess process;
  SampleOptions options = sample_options("l2_bytes");
  options.realtime_ns = []() noexcept { return std::int64_t{1'000}; };
  Sampling sampling(process, options);
  sampling.flush();
  fakecupti_advance(3 * kMillisecond);
  sampling.flush();
  CHECK(sampling.metric_samples.empty());
  CHECK(sampling.counted(health::invalid_activities) == 3);
}

TEST_CASE("a call that hangs holds up neither flush nor stop", "[counters][fault]") {
  const ProfiledProcess process;
  Sampling sampling(process, sample_options("l2_bytes"));
  sampling.flush();
  fakecupti_hang("cuptiPmSamplingDecodeData");
  sampling.source.flush(std::chrono::steady_clock::now());
  fakecupti_wait_hanging();
  sampling.source.flush(std::chrono::steady_clock::now());  // asks for nothing more meanwhile
  sampling.source.stop(std::chrono::steady_clock::now());
  CHECK(sampling.counted(health::flush_timeouts) == 2);
  fakecupti_release_hangs();
  while (fakecupti_profilers_open() != 0) std::this_thread::yield();
  Sampling next(process, sample_options("l2_bytes"));
  next.flush();
  next.stop();
  CHECK(next.counted(health::flush_timeouts) == 0);
}

TEST_CASE("what cannot sample says so at the start", "[counters][fault]") {
  ProfiledProcess process;
  SECTION("a name that is none") {
    CHECK(Sampling(process, sample_options("memroy")).started.reason.find("did you mean memory?") != std::string::npos);
  }
  SECTION("more samples than there is memory for") {
    SampleOptions options = sample_options("memory");
    options.interval = 10us;
    CHECK(Sampling(process, options).started.reason ==
          "pm_sampling_interval: 20000 samples in a flush_period are too many, 2016 at most; choose a longer interval");
  }
  SECTION("an old library") {
    process.change = [](ProfilerApi& api) { api.cuptiPmSamplingStart = nullptr; };
    CHECK(Sampling(process, sample_options("memory")).started.reason.find("has no cuptiPmSamplingStart") !=
          std::string::npos);
  }
}

TEST_CASE("sampling is left to a tool that has started the program", "[counters][fault]") {
  const ProfiledProcess process;
  const Environment tool("NSYS_PROFILING_SESSION_ID", "4711");
  const Sampling sampling(process, sample_options("sm_active_ratio"));
  CHECK_FALSE(sampling.started.working);
  CHECK(sampling.started.reason ==
        "CUPTI is left to Nsight Systems (NSYS_PROFILING_SESSION_ID): look at its report, or run without it");
  CHECK(fakecupti_calls("cuptiPmSamplingEnable") == 0);
}
