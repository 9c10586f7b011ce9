// SPDX-License-Identifier: MIT
//
// Counting of ranges with CUPTI's range profiler, played by tests/support/fake_cupti.
#include "source/counters/counter_source.hpp"

#include "base/health_numbers.hpp"
#include "base/lists.hpp"
#include "buffer/listener.hpp"
#include "buffer/name_table.hpp"
#include "buffer/recorder_fixture.hpp"
#include "source/counters/counter_fixture.hpp"
#include "support/environment.hpp"

#include <rangefinder/range.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::source;
using namespace rangefinder::source::testing;
using rangefinder::buffer::testing::BareRecording;

namespace {

CounterOptions options_of(std::string_view metrics, std::vector<std::string> ranges = {}) {
  CounterOptions options;
  options.metrics = base::split(metrics, '+');
  options.ranges = std::move(ranges);
  return options;
}

/// A range on this thread that the device takes so long for.
void run(const char* name, std::uint64_t ns) {
  const ProfileRange range{std::string_view(name)};
  fakecupti_advance(ns);
}

/// "layer gpu_time_ns=100".
std::vector<std::string> rows_of(const KeptRows& sink) {
  std::vector<std::string> rows;
  for (const format::RangeMetricRow& row : sink.range_metrics) {
    rows.push_back(std::string(buffer::names().text(row.range)) + " " + sink.text(row.metric) + "=" +
                   std::to_string(static_cast<long long>(format::decoded_number(row.value))));
  }
  return rows;
}

using Rows = std::vector<std::string>;

/// A recording that counts.
struct Counting : BareRecording, SourceRecording<CounterSource> {
  Counting(const ProfiledProcess& process, const CounterOptions& options) : SourceRecording(options, process.load()) {
    source.set_active(true);
  }
};

}  // namespace

TEST_CASE("ranges are counted from begin to end", "[counters]") {
  const ProfiledProcess process;
  fakecupti_set_metric("dram__bytes_read.sum", 3);
  fakecupti_set_metric("dram__bytes_write.sum", 2);
  Counting counting(process, options_of("gpu_time_ns+dram_read_bytes+dram_write_bytes", {"layer*"}));
  REQUIRE(counting.started.working);
  CHECK(counting.started.reason.empty());
  {
    const ProfileRange step{"step"};
    fakecupti_advance(1000);
    run("layer.0", 100);
    run("other", 5000);
    run("layer.1", 200);
  }
  CHECK(counting.range_metrics.empty());  // nothing is evaluated on the program's threads
  counting.stop();
  CHECK(rows_of(counting) == Rows{"layer.0 gpu_time_ns=100", "layer.0 dram_read_bytes=300",
                                  "layer.0 dram_write_bytes=200", "layer.1 gpu_time_ns=200",
                                  "layer.1 dram_read_bytes=600", "layer.1 dram_write_bytes=400"});
  const format::RangeMetricRow& row = counting.range_metrics.front();
  CHECK(row.device == 0);
  CHECK(row.begin_ticks <= row.end_ticks);
  CHECK(counting.facts["counter_set"] == "gpu_time_ns+dram_read_bytes+dram_write_bytes");
  CHECK(counting.facts["counter_chip"] == "GH100");
  CHECK(counting.facts["counter_metrics"].find("dram_read_bytes = dram__bytes_read.sum") != std::string::npos);
  CHECK(counting.facts["counter_state"] == "counting");
  // Enabled, configured and started once; the double sees to the order.
  for (const char* once :
       {"cuptiRangeProfilerEnable", "cuptiRangeProfilerGetCounterDataSize",
        "cuptiRangeProfilerCounterDataImageInitialize", "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart",
        "cuptiRangeProfilerStop", "cuptiRangeProfilerDecodeData", "cuptiRangeProfilerDisable"}) {
    INFO(once);
    CHECK(fakecupti_calls(once) == 1);
  }
  CHECK(fakecupti_calls("cuptiRangeProfilerPushRange") == 2);
  CHECK(fakecupti_calls("cuptiRangeProfilerPopRange") == 2);
  CHECK(counting.counted(health::uncounted_ranges) == 0);
  CHECK(counting.counted(health::lost_range_counters) == 0);
}

TEST_CASE("the device is synchronized, so that a range has its own work alone", "[counters]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns", {"layer"}));
  FakeKernel kernel;
  kernel.duration_ns = 700;
  fakecupti_launch("cudaLaunchKernel_v7000", &kernel);  // before: not the range's
  {
    const ProfileRange range{"layer"};
    kernel.duration_ns = 300;
    fakecupti_launch("cudaLaunchKernel_v7000", &kernel);
  }
  counting.stop();
  REQUIRE(counting.range_metrics.size() == 1);
  const double ns = format::decoded_number(counting.range_metrics[0].value);
  CHECK(ns >= 300);
  CHECK(ns < 300 + 4000);  // with the launch latency, but without the 700
  CHECK(ns != 1000);
}

TEST_CASE("of ranges inside each other the outermost that is chosen is counted", "[counters]") {
  const ProfiledProcess process;
  SECTION("without patterns") {
    Counting counting(process, options_of("gpu_time_ns"));
    {
      const ProfileRange outer{"outer"};
      run("inner", 10);
    }
    counting.stop();
    CHECK(rows_of(counting) == Rows{"outer gpu_time_ns=10"});
  }
  SECTION("by depth") {
    CounterOptions options = options_of("gpu_time_ns");
    options.depth = 1;
    Counting counting(process, options);
    {
      const ProfileRange outer{"outer"};
      const ProfileRange middle{"middle"};
      run("inner", 10);
    }
    counting.stop();
    CHECK(rows_of(counting) == Rows{"middle gpu_time_ns=10"});
  }
  SECTION("by category") {
    CounterOptions options = options_of("gpu_time_ns");
    options.category = "counter_test.kind";
    Counting counting(process, options);
    const Category category("counter_test.kind");
    {
      const ProfileRange outer{"outer"};
      const RangeName name{"named"};
      {
        const ProfileRange inner{name, category};
        fakecupti_advance(20);
      }
      {
        const ProfileRange inner{"literal", category};
        fakecupti_advance(30);
      }
    }
    counting.stop();
    CHECK(rows_of(counting) == Rows{"named gpu_time_ns=20", "literal gpu_time_ns=30"});
  }
}

TEST_CASE("ranges are taken out of CUPTI when there is no more room, and at a flush", "[counters]") {
  const ProfiledProcess process;
  CounterOptions options = options_of("gpu_time_ns");
  options.ranges_at_once = 4;
  Counting counting(process, options);
  for (int i = 0; i < 10; ++i) run("layer", static_cast<std::uint64_t>(10 + i));
  CHECK(fakecupti_calls("cuptiRangeProfilerDecodeData") == 2);
  counting.flush();
  CHECK(counting.range_metrics.size() == 8);
  run("layer", 100);  // takes out the two before it, and itself
  CHECK(fakecupti_calls("cuptiRangeProfilerDecodeData") == 3);
  counting.flush();
  CHECK(counting.range_metrics.size() == 11);
  run("layer", 200);
  counting.stop();
  std::multiset<long long> times;
  for (const format::RangeMetricRow& row : counting.range_metrics)
    times.insert(static_cast<long long>(format::decoded_number(row.value)));
  CHECK(times == std::multiset<long long>{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 100, 200});
  CHECK(counting.counted(health::lost_range_counters) == 0);
  CHECK(fakecupti_calls("cuptiRangeProfilerEnable") == 1);
}

TEST_CASE("a thread without a context, and a context in use, are left out and counted", "[counters]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns"));
  std::thread([] { run("without", 10); }).join();
  {
    const ProfileRange outer{"outer"};
    std::thread([] {
      fakecupti_set_current_context(1);
      run("beside", 10);
    }).join();
  }
  fakecupti_add_device(1, "Second");
  fakecupti_add_context(2, 1);
  std::thread([] {
    fakecupti_set_current_context(2);
    run("elsewhere", 70);
  }).join();
  counting.stop();
  CHECK(rows_of(counting) == Rows{"outer gpu_time_ns=10", "elsewhere gpu_time_ns=70"});
  CHECK(counting.range_metrics.back().device == 1);
  CHECK(counting.range_metrics.front().thread != counting.range_metrics.back().thread);
  CHECK(counting.counted(health::uncounted_ranges) == 2);
}

TEST_CASE("nothing is counted while the schedule has the recording off", "[counters]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns"));
  counting.source.set_active(false);
  run("off", 10);
  {
    const ProfileRange across{"across"};
    counting.source.set_active(true);
    run("on", 20);
  }
  counting.stop();
  CHECK(rows_of(counting) == Rows{"on gpu_time_ns=20"});
}

TEST_CASE("each refusal is told once, with what to do, and ranges go on", "[counters][fault]") {
  const ProfiledProcess process;
  for (const DocumentedError& error : kDocumentedErrors) {
    INFO(error.code);
    const char* call = error.code == 46 ? "cuptiProfilerHostInitialize" : "cuptiRangeProfilerEnable";
    const std::uint64_t calls = fakecupti_calls(call);
    fakecupti_fail(call, error.code);
    Counting counting(process, options_of("memory"));
    CHECK(counting.started.working);  // no context yet: nothing is known
    run("first", 10);
    run("second", 10);
    const SourceState state = counting.source.state();
    CHECK_FALSE(state.working);
    INFO(state.reason);
    CHECK(state.reason.find(error.text) != std::string::npos);
    CHECK(state.reason.find(std::to_string(error.code) + ")") != std::string::npos);
    CHECK(state.reason.find('\n') == std::string::npos);
    CHECK(fakecupti_calls(call) == calls + 1);  // and not at each range
    counting.stop();
    CHECK(counting.source.state().reason == state.reason);
    CHECK(counting.facts["counter_state"] == state.reason);
    CHECK(counting.range_metrics.empty());
    CHECK(counting.counted(health::uncounted_ranges) == 2);
    rangefinder::buffer::testing::KeepingSink host;
    counting->drain(host, true);
    REQUIRE(host.records.size() == 1);
    CHECK(host.records.begin()->second.size() == 4);
    fakecupti_fail(call, 0);
  }
}

TEST_CASE("whatever call fails, the program is unharmed and what was lost is counted", "[counters][fault]") {
  for (const char* call :
       {"cuptiProfilerInitialize", "cuptiDeviceGetChipName", "cuptiProfilerHostGetConfigImageSize",
        "cuptiProfilerHostGetConfigImage", "cuptiProfilerHostGetNumOfPasses", "cuptiRangeProfilerGetCounterDataSize",
        "cuptiRangeProfilerCounterDataImageInitialize", "cuptiRangeProfilerSetConfig", "cuptiRangeProfilerStart",
        "cuptiRangeProfilerPushRange", "cuptiRangeProfilerPopRange", "cuptiRangeProfilerStop",
        "cuptiRangeProfilerDecodeData", "cuptiRangeProfilerGetCounterDataInfo",
        "cuptiRangeProfilerCounterDataGetRangeInfo", "cuptiProfilerHostEvaluateToGpuValues"}) {
    INFO(call);
    const ProfiledProcess process;
    CounterOptions options = options_of("gpu_time_ns");
    options.ranges_at_once = 2;
    Counting counting(process, options);
    fakecupti_fail(call, 999);
    for (int i = 0; i < 5; ++i) run("layer", 10);
    counting.flush();
    counting.stop();
    CHECK(counting.range_metrics.empty());
    // Each range is in one of the two.
    CHECK(counting.counted(health::uncounted_ranges) + counting.counted(health::lost_range_counters) == 5);
    fakecupti_fail(call, 0);
  }
}

TEST_CASE("ranges that CUPTI had no room for are counted", "[counters][fault]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns"));
  fakecupti_drop_ranges(2);
  for (int i = 0; i < 5; ++i) run("layer", 10);
  counting.stop();
  CHECK(counting.range_metrics.size() == 3);
  CHECK(counting.counted(health::lost_range_counters) == 2);
}

TEST_CASE("a second pass is never taken", "[counters]") {
  const ProfiledProcess process;
  {
    Counting counting(process, options_of("memory+flops"));
    run("layer", 10);
    CHECK(counting.source.state().reason.find("leave out flop_fp16, flop_fp32, flop_fp64") != std::string::npos);
    CHECK(fakecupti_calls("cuptiRangeProfilerEnable") == 0);
  }
  Counting counting(process, options_of("memory"));
  fakecupti_want_another_pass(true);
  run("layer", 10);
  counting.stop();
  CHECK(counting.source.state().reason.find("another pass is needed") != std::string::npos);
  CHECK(counting.counted(health::lost_range_counters) == 1);
}

TEST_CASE("a range that is open at the end of the recording is lost, and ends in peace", "[counters]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns"));
  run("whole", 10);
  {
    const ProfileRange open{"open"};
    counting.stop();
    CHECK(fakecupti_profilers_open() == 0);
  }
  CHECK(rows_of(counting) == Rows{"whole gpu_time_ns=10"});
  CHECK(counting.counted(health::lost_range_counters) == 1);
  CHECK(counting.source.state().reason == "stopped");
}

TEST_CASE("one recording after the other counts", "[counters]") {
  const ProfiledProcess process;
  for (int i = 0; i < 3; ++i) {
    const ProfileRange across{"across"};  // its begin is none of the recording's
    Counting counting(process, options_of("gpu_time_ns"));
    run("layer", 10);
    counting.stop();
    CHECK(rows_of(counting) == Rows{"layer gpu_time_ns=10"});
  }
  CHECK(fakecupti_calls("cuptiRangeProfilerEnable") == 3);
  CHECK(buffer::listener() == nullptr);
}

TEST_CASE("stop does not wait for a call that hangs", "[counters][fault]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns"));
  run("whole", 10);
  fakecupti_hang("cuptiRangeProfilerPopRange");
  std::thread hanging([] {
    fakecupti_set_current_context(1);
    run("hangs", 10);
  });
  fakecupti_wait_hanging();
  counting.source.stop(std::chrono::steady_clock::now());
  CHECK(counting.counted(health::flush_timeouts) == 1);
  fakecupti_release_hangs();
  hanging.join();
}

TEST_CASE("what cannot count says so at the start", "[counters][fault]") {
  ProfiledProcess process;
  SECTION("a name that is none") {
    const Counting counting(process, options_of("memroy"));
    CHECK(counting.started.reason == "no set of counters and no metric is called \"memroy\"; did you mean memory?");
  }
  SECTION("an old library") {
    process.change = [](ProfilerApi& api) { api.cuptiRangeProfilerDecodeData = nullptr; };
    const Counting counting(process, options_of("memory"));
    CHECK(counting.started.reason.find(
              "has no cuptiRangeProfilerDecodeData; hardware counters need CUPTI of CUDA 12.6") != std::string::npos);
  }
  SECTION("somebody else hears of ranges") {
    static constexpr buffer::Listener kOther{
        [](std::uint32_t, std::uint32_t, const detail::Extra*) noexcept {}, []() noexcept {},
        [](std::uint32_t, std::uint32_t, const detail::Extra*) noexcept {},
        [](std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}, [](std::uint64_t) noexcept {}};
    buffer::set_listener(&kOther);
    {
      const Counting counting(process, options_of("memory"));
      CHECK(counting.started.reason.find("another tool listens to ranges") != std::string::npos);
    }
    CHECK(buffer::listener() == &kOther);
    buffer::set_listener(nullptr);
  }
  SECTION("a recording that counts already") {
    const Counting first(process, options_of("memory"));
    CounterSource second(options_of("memory"), process.load());
    KeepingSink sink;
    CHECK(second.start(sink).reason == "another recording of this process counts ranges");
    CHECK(buffer::listener() != nullptr);
  }
}

TEST_CASE("in a child of fork nothing is counted", "[counters][fault]") {
  const ProfiledProcess process;
  Counting counting(process, options_of("gpu_time_ns"));
  run("before", 10);
  const std::uint64_t pushed = fakecupti_calls("cuptiRangeProfilerPushRange");
  const pid_t child = ::fork();
  if (child == 0) {
    run("in the child", 10);
    ::_exit(fakecupti_calls("cuptiRangeProfilerPushRange") == pushed ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  run("after", 10);
  counting.stop();
  CHECK(counting.range_metrics.size() == 2);
}

TEST_CASE("counters are left to a tool that has started the program", "[counters][fault]") {
  const ProfiledProcess process;
  const Environment tool("NSYS_PROFILING_SESSION_ID", "4711");
  const Counting counting(process, options_of("gpu_time_ns"));
  CHECK_FALSE(counting.started.working);
  CHECK(counting.started.reason ==
        "CUPTI is left to Nsight Systems (NSYS_PROFILING_SESSION_ID): look at its report, or run without it");
  CHECK(fakecupti_calls("cuptiRangeProfilerEnable") == 0);
}
