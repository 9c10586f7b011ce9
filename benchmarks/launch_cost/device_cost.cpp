// SPDX-License-Identifier: MIT
#include "common/cases.hpp"
#include "parts.hpp"
#include "raw_cupti.hpp"
#include "recording.hpp"
#include "support/cuda_program.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/timeline.hpp>

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

using rangefinder::testing::CudaProgram;

constexpr int kNodes = 100;  // of a graph

std::optional<CudaProgram> program;

void check(const rangefinder::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.error().message().c_str());
  std::_Exit(3);
}

/// In the case's own process, after what has to come before CUDA is initialised.
void open() {
  rangefinder::Result<CudaProgram> opened = CudaProgram::open();
  if (!opened) check(std::move(opened).error());
  program.emplace(std::move(*opened));
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
    (void)program->replay();
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
      open();
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

void launches(int rounds) {
  constexpr CUpti_ActivityKind kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  constexpr CUpti_ActivityKind kDriver = CUPTI_ACTIVITY_KIND_DRIVER;
  std::vector<Case> cases = cases_of(
      {{"nothing", "floor", [] {}},
       raw("kernels", "CUPTI alone", {.kinds = {kKernels}}),
       raw("callbacks", "CUPTI alone", {.callbacks = true}),
       raw("kernels + callbacks", "CUPTI alone: mapping by callback", {.kinds = {kKernels}, .callbacks = true}),
       raw("kernels + driver calls", "CUPTI alone: mapping by API record", {.kinds = {kKernels, kDriver}}),
       raw("kernels + runtime and driver calls", "CUPTI alone",
           {.kinds = {kKernels, kDriver, CUPTI_ACTIVITY_KIND_RUNTIME}}),
       raw("kernels + latency timestamps", "CUPTI alone", {.kinds = {kKernels}, .latency_timestamps = true}),
       raw("kernels + driver calls + pushed ids", "CUPTI alone: mapping by external correlation",
           {.kinds = {kKernels, kDriver, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}, .external_correlation = true}),
       ours("ranges", "rangefinder, no CUPTI", {.cuda = false}),
       ours("ranges + kernels", "rangefinder: mapping by callback", {}),
       ours("ranges + kernels + API calls", "rangefinder: callback and API record", {.api = true}),
       ours("ranges + everything", "rangefinder: the default", {.api = true, .rest = true})},
      [] {}, launch_in_ranges);
  for (Case& one : cases) {
    if (one.name == "kernels + driver calls + pushed ids") one.run = launch_in_raw_ranges;
  }
  Options options;
  options.rounds = rounds;
  options.per_round = 500;  // a stream queues 1,024: past that a launch waits for the device
  options.floor = "nothing";
  const std::vector<Row> rows = measure(cases, options);
  print(rows, options);
  print_added("ranges + kernels, ns added to a launch", 1500, rows, "ranges + kernels", options.floor);
}

void graphs(int rounds) {
  Options options;
  options.rounds = rounds;
  options.per_round = std::uint64_t{20} * kNodes;
  options.floor = "nothing";
  std::printf("\nGraphs of %d empty kernels, replayed until the device is done; per node\n", kNodes);
  print(measure(cases_of(
                    {{"nothing", "floor", [] {}},
                     raw("nodes", "CUPTI alone", {.kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}}),
                     raw("graphs", "CUPTI alone", {.kinds = {CUPTI_ACTIVITY_KIND_GRAPH_TRACE}}),
                     ours("ranges + nodes", "rangefinder", {})},
                    [] { check(program->capture(kNodes)); }, replay),
                options),
        options);
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
  for (rangefinder::ActivityIndex row = 0; row < timeline->activities.size() && kernel < samples.size(); ++row) {
    if (timeline->activities.kind[row] != rangefinder::ActivityKind::kKernel) continue;
    const Sample& sample = samples[kernel++];
    const std::int64_t begin = timeline->activities.begin_ns[row], end = timeline->activities.end_ns[row];
    early = std::min(early, begin - sample.before);
    late = std::min(late, sample.after - end);
    longest = std::max(longest, sample.by_events - (end - begin));
  }
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
  if (status != 0) std::printf("\nclock: not measured\n");
}

}  // namespace

void device_cost(int rounds) {
  launches(rounds);
  graphs(rounds);
  in_child(clock_error);
}

}  // namespace bench
