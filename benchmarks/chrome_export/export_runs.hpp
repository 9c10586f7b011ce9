// SPDX-License-Identifier: MIT
#pragma once

#include "common/arguments.hpp"
#include "support/capture_builder.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// What the benchmarks of exports share: captures made for the run, and a process of its own for each export, so that
// the peak of memory is its own.
namespace rangefinder::benchmarks {

// A training step as programs mark it: four levels, names of some length, the loop's number as a value.
inline constexpr std::string_view kNames[] = {"forward",   "backward",  "optimizer.step", "layer.attention",
                                              "layer.mlp", "embedding", "loss",           "all_reduce"};

inline void make_capture(const std::string& path, std::uint64_t ranges, bool launches) {
  testing::CaptureBuilder capture;
  capture.h100().chunk_rows(4096);
  constexpr std::uint64_t kInside = 7;  // ranges of a step below it
  std::int64_t now = 0, device = 0;
  for (std::uint64_t step = 0; step * (kInside + 1) < ranges; ++step) {
    const std::int64_t begin = now;
    for (std::uint64_t i = 0; i < kInside; ++i) {
      const std::int64_t inner = now += 130;
      if (launches) {
        capture.launch(inner + 40).call("cudaLaunchKernel_v7000", inner + 30, inner + 4'500);
        device = std::max(device, inner + 5'000);
        capture.kernel("void cutlass::Kernel<gemm_f16_128x128>(Params)", device, device + 800);
        device += 900;
        now += 5'000;
      }
      capture.range(kNames[(step + i) % std::size(kNames)], inner, now += 210);
    }
    capture.range("step", begin, now += 90);
    now += 50;
  }
  capture.write(path);
}

struct Run {
  double seconds = 0;
  double cpu_seconds = 0;
  double peak_mib = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
};

/// Calls `body` in a child and waits for it.
template <typename Body>
void in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      body();
      std::_Exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      std::_Exit(1);
    }
  }
  int status = 1;
  if (::waitpid(child, &status, 0) != child || status != 0) std::exit(2);
}

/// `body` exports, and tells bytes and events.
template <typename Body>
Run timed_in_child(Body&& body) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(2);
  in_child([&] {
    Run run;
    const auto begin = std::chrono::steady_clock::now();
    body(run);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    run.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    run.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
    if (::write(ends[1], &run, sizeof run) != sizeof run) throw std::runtime_error("pipe");
  });
  Run run;
  const bool whole = ::read(ends[0], &run, sizeof run) == sizeof run;
  ::close(ends[0]);
  ::close(ends[1]);
  if (!whole) std::exit(2);
  return run;
}

struct Arguments {
  std::uint64_t ranges = 1'000'000;
  int repeat = 5;
  std::string output = "/dev/null";
};

/// Ends the program with its usage when it cannot read them.
inline Arguments parse_arguments(int argc, char** argv) {
  Arguments arguments;
  bench::read_arguments(
      argc, argv, {{"--ranges", &arguments.ranges}, {"--repeat", &arguments.repeat}, {"--output", &arguments.output}});
  arguments.ranges = std::max<std::uint64_t>(8, arguments.ranges);
  return arguments;
}

/// Captures of N and 4 N ranges, of ranges alone and of ranges that launch kernels: measure(path, ranges, launches).
template <typename Measure>
void for_each_capture(const Arguments& arguments, Measure&& measure) {
  const std::string path = "/tmp/rangefinder-bench-" + std::to_string(::getpid()) + ".rfcap";
  for (const bool launches : {false, true})
    for (const std::uint64_t ranges : {arguments.ranges, 4 * arguments.ranges}) {
      in_child([&] { make_capture(path, ranges, launches); });
      measure(path, ranges, launches);
      ::unlink(path.c_str());
    }
}

/// Runs of the same export, the fastest first.
template <typename Export>
std::vector<Run> sorted_runs(int repeat, Export&& export_once) {
  std::vector<Run> runs;
  for (int i = 0; i < repeat; ++i) runs.push_back(export_once());
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.seconds < b.seconds; });
  return runs;
}

}  // namespace rangefinder::benchmarks
