// SPDX-License-Identifier: MIT
//
// What an export to Chrome JSON costs.
//
//   bench_chrome_export [--ranges N] [--repeat N] [--output FILE]
//
// Captures of N and 4 N ranges are made for the run, of ranges alone and of ranges that launch kernels. Each export
// runs in a process of its own, so that the peak of memory is its own, and writes to FILE (default /dev/null).
#include "support/capture_builder.hpp"

#include <rangefinder/exporters.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using rangefinder::testing::CaptureBuilder;

struct Arguments {
  std::uint64_t ranges = 1'000'000;
  int repeat = 5;
  std::string output = "/dev/null";
};

// A training step as programs mark it: four levels, names of some length, the loop's number as a value.
constexpr std::string_view kNames[] = {"forward",   "backward",  "optimizer.step", "layer.attention",
                                       "layer.mlp", "embedding", "loss",           "all_reduce"};

void make_capture(const std::string& path, std::uint64_t ranges, bool launches) {
  CaptureBuilder capture;
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

Run export_once(const std::string& capture, const std::string& output) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(2);
  in_child([&] {
    rangefinder::ChromeExportOptions options;
    options.replace = true;
    rangefinder::ChromeExportReport report;
    const auto begin = std::chrono::steady_clock::now();
    if (const rangefinder::Status status = export_chrome_trace(capture, output, options, &report); !status.ok())
      throw std::runtime_error(status.error().message());
    Run run;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    run.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    run.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
    run.bytes = report.json_bytes;
    run.events = report.events;
    if (::write(ends[1], &run, sizeof run) != sizeof run) throw std::runtime_error("pipe");
  });
  Run run;
  const bool whole = ::read(ends[0], &run, sizeof run) == sizeof run;
  ::close(ends[0]);
  ::close(ends[1]);
  if (!whole) std::exit(2);
  return run;
}

void measure(const Arguments& arguments, std::uint64_t ranges, bool launches) {
  const std::string path = "/tmp/rangefinder-bench-" + std::to_string(::getpid()) + ".rfcap";
  in_child([&] { make_capture(path, ranges, launches); });
  std::vector<Run> runs;
  for (int i = 0; i < arguments.repeat; ++i) runs.push_back(export_once(path, arguments.output));
  ::unlink(path.c_str());
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.seconds < b.seconds; });
  const Run& median = runs[runs.size() / 2];
  const auto count = static_cast<double>(ranges);
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} |\n",
             launches ? "ranges, launches, kernels" : "ranges", ranges, count / median.seconds * 1e-6,
             count / runs.front().seconds * 1e-6, static_cast<double>(median.events) / median.seconds * 1e-6,
             static_cast<double>(median.bytes) / count, median.peak_mib);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view word = argv[i];
    const bool known = i + 1 < argc && (word == "--ranges" || word == "--repeat" || word == "--output");
    if (!known) {
      fmt::print(stderr, "bench_chrome_export [--ranges N] [--repeat N] [--output FILE]\n");
      return 2;
    }
    if (word == "--ranges") arguments.ranges = std::max<std::uint64_t>(8, std::strtoull(argv[i + 1], nullptr, 10));
    if (word == "--repeat") arguments.repeat = std::max(1, std::atoi(argv[i + 1]));
    if (word == "--output") arguments.output = argv[i + 1];
  }
  fmt::print(
      "| capture | ranges | M ranges/s | best | M events/s | bytes a range | peak MiB "
      "|\n|---|---:|---:|---:|---:|---:|---:|\n");
  for (const bool launches : {false, true})
    for (const std::uint64_t ranges : {arguments.ranges, 4 * arguments.ranges}) measure(arguments, ranges, launches);
  return 0;
}
