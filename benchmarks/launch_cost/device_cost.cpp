// SPDX-License-Identifier: MIT
#include "common/cases.hpp"
#include "parts.hpp"
#include "raw_cupti.hpp"
#include "recording.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

#include <cuda_program.hpp>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace bench {
namespace {

using rangefinder::GraphTracing;
using rangefinder::testing::CudaInterface;
using rangefinder::testing::CudaProgram;

constexpr int kNodes = 100;  // of a graph

std::optional<CudaProgram> program;
CudaProgram::GraphExec graph;

void check(const rangefinder::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  std::_Exit(3);
}

template <typename T>
T checked(rangefinder::Result<T> result) {
  if (!result) check(std::move(result).error());
  return std::move(*result);
}

/// In the case's own process, after what has to come before CUDA is initialised.
void open(CudaInterface launches = CudaInterface::kDriver) { program.emplace(checked(CudaProgram::open(launches))); }

void capture_graph() {
  const auto work = [] {
    rangefinder::Status status;
    for (int i = 0; i < kNodes && status.ok(); ++i) status = program->launch(0);
    return status;
  };
  graph = checked(program->instantiate(checked(program->capture(work))));
}

void launch_in_ranges(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const rangefinder::ProfileRange range("launch");
    (void)program->launch(0);
  }
}

void launch_in_raw_ranges(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    const RawRange range;
    (void)program->launch(0);
  }
}

/// Until the device is done: tracing by node costs the device time, too.
void replay(std::uint64_t nodes) {
  for (std::uint64_t i = 0; i < nodes / kNodes; ++i) {
    const rangefinder::ProfileRange range("replay");
    (void)program->replay(graph);
  }
  (void)program->synchronize();
}

struct Recorder {
  const char* name;
  const char* what;
  std::function<void()> start;
  std::function<std::string()> finish = [] { return std::string(); };
};

std::vector<Case> cases_of(const std::vector<Recorder>& recorders, std::function<void()> prepare,
                           std::function<void(std::uint64_t)> run) {
  std::vector<Case> all;
  for (const Recorder& recorder : recorders) {
    Case made;
    made.name = recorder.name;
    made.what = recorder.what;
    made.set_up = [start = recorder.start, prepare] {
      start();
      prepare();
    };
    made.run = run;
    made.between = [] { (void)program->synchronize(); };
    made.finish = recorder.finish;
    all.push_back(std::move(made));
  }
  return all;
}

Recorder raw(const char* name, const char* what, RawRequest request) {
  return {name, what, [request] { start_raw_cupti(request); }};
}

Recorder ours(const char* name, const char* what, Recorded recorded) {
  return {name, what, [recorded] { start_recording(recorded); }, stop_recording};
}

constexpr CUpti_ActivityKind kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
constexpr CUpti_ActivityKind kDriver = CUPTI_ACTIVITY_KIND_DRIVER;
constexpr CUpti_ActivityKind kRuntime = CUPTI_ACTIVITY_KIND_RUNTIME;
constexpr const char* kRecorded = "ranges + kernels";
constexpr const char* kLeastClient = "kernels + callbacks";
constexpr const char* kPushedIds = "kernels + driver calls + pushed ids";

/// Launches by the driver's function have no record of the runtime's. Those by the runtime's, as LibTorch's are, have
/// both records, and both callbacks, one inside the other.
void launches(int rounds, CudaInterface interface) {
  const bool runtime = interface == CudaInterface::kRuntime;
  std::vector<Recorder> recorders = {
      {"nothing", "floor", [] {}},
      raw("kernels", "CUPTI alone", {.kinds = {kKernels}}),
      raw("callbacks", "CUPTI alone", {.callbacks = true}),
      raw(kLeastClient, "CUPTI alone: mapping by callback", {.kinds = {kKernels}, .callbacks = true}),
      raw("kernels + driver calls", "CUPTI alone: mapping by API record", {.kinds = {kKernels, kDriver}})};
  if (runtime) {
    recorders.push_back(raw("kernels + runtime calls", "CUPTI alone", {.kinds = {kKernels, kRuntime}}));
    recorders.push_back(
        raw("kernels + runtime and driver calls", "CUPTI alone", {.kinds = {kKernels, kDriver, kRuntime}}));
  } else {
    recorders.push_back(
        raw("kernels + latency timestamps", "CUPTI alone", {.kinds = {kKernels}, .latency_timestamps = true}));
    recorders.push_back(
        raw(kPushedIds, "CUPTI alone: mapping by external correlation",
            {.kinds = {kKernels, kDriver, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}, .external_correlation = true}));
  }
  recorders.push_back(ours("ranges", "rangefinder, no CUPTI", {.cuda = false}));
  recorders.push_back(ours(kRecorded, "rangefinder: mapping by callback", {}));
  recorders.push_back(ours("ranges + kernels + API calls", "rangefinder: callback and API record", {.api = true}));
  recorders.push_back(ours("ranges + everything", "rangefinder: the default", {.api = true, .rest = true}));
  std::vector<Case> cases = cases_of(
      recorders, [interface] { open(interface); }, launch_in_ranges);
  for (Case& one : cases) {
    if (one.name == kPushedIds) one.run = launch_in_raw_ranges;
  }
  Options options;
  options.rounds = rounds;
  options.per_round = 500;  // a stream queues 1,024: past that a launch waits for the device
  options.floor = "nothing";
  const char* const function = runtime ? "cudaLaunchKernel" : "cuLaunchKernel";
  std::printf("\nLaunches by %s\n", function);
  const std::vector<Row> rows = measure(cases, options);
  print(rows, options);
  const std::string target = std::string("ranges + kernels, ns added to a launch by ") + function +
                             " beyond the least client of CUPTI with kernels and callbacks";
  const auto kernels = std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.name == kRecorded; });
  if (std::atof(kernels->remark.c_str()) > 0)
    print_added(target, 300, rows, kRecorded, kLeastClient);
  else
    print_unmeasured(target + " (no kernel was recorded)");
}

void graphs(int rounds) {
  Options options;
  options.rounds = rounds;
  options.per_round = std::uint64_t{20} * kNodes;
  options.floor = "nothing";
  const std::vector<Recorder> recorders = {
      {"nothing", "floor", [] {}},
      raw("nodes", "CUPTI alone", {.kinds = {kKernels}}),
      raw("graphs", "CUPTI alone", {.kinds = {CUPTI_ACTIVITY_KIND_GRAPH_TRACE}}),
      ours("ranges + nodes", "rangefinder", {}),
      ours("ranges + whole graphs", "rangefinder", {.graphs = GraphTracing::kWhole}),
      ours("ranges + nodes, then whole graphs", "rangefinder", {.graphs = GraphTracing::kAutomatic})};
  const auto prepare = [] {
    open();
    capture_graph();
  };
  std::printf("\nGraphs of %d empty kernels, replayed until the device is done; per node\n", kNodes);
  print(measure(cases_of(recorders, prepare, replay), options), options);
}

std::int64_t monotonic_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

/// A kernel cannot begin before its launch nor end after the wait for it, so the least of both distances bound how far
/// the device's clock may be off; the length between the device's own events bounds its rate.
void clock_error() {
  start_recording({.api = true});
  open();
  struct Sample {
    std::int64_t before, after, by_events;
  };
  std::vector<Sample> samples;
  for (int i = 0; i < 200; ++i) {
    Sample sample{monotonic_ns(), 0, 0};
    const rangefinder::Result<std::int64_t> length = program->launch_between_events(0, 100'000);
    sample.after = monotonic_ns();
    if (!length) return check(length.error());
    sample.by_events = *length;
    samples.push_back(sample);
  }
  const std::string path = keep_recording();
  const rangefinder::Result<rangefinder::Timeline> timeline = rangefinder::load_timeline(path);
  ::unlink(path.c_str());
  if (!timeline) return check(timeline.error());
  std::size_t kernel = 0;
  std::int64_t early = std::numeric_limits<std::int64_t>::max(), late = early, longest = 0;
  for (rangefinder::ActivityIndex row{0}; row < timeline->activities.size() && kernel < samples.size(); ++row) {
    if (timeline->activities.kind[row] != rangefinder::ActivityKind::kKernel) continue;
    const Sample& sample = samples[kernel++];
    const std::int64_t begin = timeline->activities.begin_ns[row], end = timeline->activities.end_ns[row];
    early = std::min(early, begin - sample.before);
    late = std::min(late, sample.after - end);
    longest = std::max(longest, sample.by_events - (end - begin));
  }
  if (kernel == 0) return print_unmeasured("clock (no kernel was recorded)");
  std::printf(
      "\nClock: %zu kernels of 100 us between CUDA events: %lld ns at least from the launch to the kernel, %lld ns at "
      "least from\nthe kernel to the end of the wait, events at most %lld ns longer than the kernel; error bound that "
      "the "
      "capture states: %lld ns\n",
      kernel, static_cast<long long>(early), static_cast<long long>(late), static_cast<long long>(longest),
      static_cast<long long>(timeline->clock_error_ns));
}

/// In a child, so that this process never opens CUDA and may fork again.
void in_child(void (*work)()) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) print_unmeasured("the clock");
}

}  // namespace

void measure_launches(int rounds) {
  // Not opened here: a child of fork cannot use the driver of its parent.
  if (::access("/dev/nvidiactl", F_OK) != 0) {
    std::printf("\nSKIPPED: no NVIDIA device on this machine\n");
    return;
  }
  launches(rounds, CudaInterface::kDriver);
  launches(rounds, CudaInterface::kRuntime);
  graphs(rounds);
  in_child(clock_error);
}

}  // namespace bench
