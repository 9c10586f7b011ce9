// SPDX-License-Identifier: MIT
//
// How long a torch.profiler trace takes to load, and in what parts.
//
//   bench_load_kineto [TRACE] [--repeat N] [--keep-arguments] [--total-only]
//   bench_load_kineto --generate TRACE [--events N]
//
// Without a trace, one of that many events is made for the run.
#include "base/file.hpp"
#include "importer/kineto/kineto_importer.hpp"
#include "synthetic_trace.hpp"
#include "trace_text.hpp"

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

using namespace rangefinder;

struct Arguments {
  std::string trace;
  std::string generate;
  std::uint64_t events = 2'000'000;
  int repeat = 7;
  bool keep_arguments = false;
  bool total_only = false;  ///< nothing else in memory: the peak is the import's own
};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Timing {
  double wall = 0;
  double cpu = 0;
  double best_wall = 0;
};

/// The median of the repeats by wall time, and the best of them.
template <typename Body>
Timing measure(int repeat, Body&& body) {
  std::vector<Timing> timings;
  for (int i = 0; i < repeat; ++i) {
    const double cpu = cpu_seconds();
    const auto begin = std::chrono::steady_clock::now();
    body();
    timings.push_back(
        {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), cpu_seconds() - cpu, 0});
  }
  std::sort(timings.begin(), timings.end(), [](const Timing& a, const Timing& b) { return a.wall < b.wall; });
  timings[timings.size() / 2].best_wall = timings.front().wall;
  return timings[timings.size() / 2];
}

void print(std::string_view part, const Timing& timing, std::uint64_t bytes, std::uint64_t events) {
  fmt::print("{:<8} wall {:9.2f} ms  best {:9.2f} ms  cpu {:9.2f} ms  {:8.1f} MB/s", part, timing.wall * 1e3,
             timing.best_wall * 1e3, timing.cpu * 1e3, static_cast<double>(bytes) / timing.wall * 1e-6);
  if (events != 0) fmt::print("  {:6.2f} M events/s", static_cast<double>(events) / timing.wall * 1e-6);
  fmt::print("\n");
}

[[noreturn]] void fail(const Error& error) {
  fmt::print(stderr, "{}\n", error.message());
  std::exit(2);
}

void measure_parts(const Arguments& arguments, const LoadOptions& options, std::uint64_t events) {
  std::string text;
  if (const Status read = bench::read_trace_text(arguments.trace, &text); !read) fail(read.error());
  print("unpack", measure(arguments.repeat, [&] { (void)bench::read_trace_text(arguments.trace, nullptr); }),
        text.size(), 0);
  const Timing parse = measure(arguments.repeat, [&] {
    importer::kineto::ImportDetails details;
    const auto timeline = importer::kineto::import_kineto(base::as_bytes(text), arguments.trace, options, details);
    if (!timeline) fail(timeline.error());
  });
  print("parse", parse, text.size(), events);
}

int run(const Arguments& arguments) {
  if (!arguments.generate.empty()) {
    const Status status = bench::write_synthetic_trace(arguments.generate, arguments.events);
    if (!status) fail(status.error());
    return 0;
  }
  LoadOptions options;
  options.keep_arguments = arguments.keep_arguments;
  importer::kineto::ImportDetails details;
  const Timing total = measure(arguments.repeat, [&] {
    details = {};
    const auto timeline = importer::kineto::import_kineto(arguments.trace, options, details);
    if (!timeline) fail(timeline.error());
  });
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{}: {} events, {:.1f} MB of text, peak {:.1f} MiB\n", arguments.trace, details.events,
             static_cast<double>(details.text_bytes) * 1e-6, static_cast<double>(usage.ru_maxrss) / 1024);
  print("total", total, details.text_bytes, details.events);
  if (!arguments.total_only) measure_parts(arguments, options, details.events);
  return 0;
}

/// In a process of its own, whose memory is not counted as the import's.
std::string make_trace(const Arguments& arguments) {
  const std::string path = "/tmp/rangefinder-bench-" + std::to_string(::getpid()) + ".json.gz";
  const pid_t child = ::fork();
  if (child == 0) {
    const Status status = bench::write_synthetic_trace(path, arguments.events);
    if (!status) fmt::print(stderr, "{}\n", status.error().message());
    std::_Exit(status.ok() ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(2);
  return path;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bool bad = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--generate" && more) {
      arguments.generate = argv[++i];
    } else if (word == "--events" && more) {
      arguments.events = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--repeat" && more) {
      arguments.repeat = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--keep-arguments") {
      arguments.keep_arguments = true;
    } else if (word == "--total-only") {
      arguments.total_only = true;
    } else if (!word.starts_with("-") && arguments.trace.empty()) {
      arguments.trace = word;
    } else {
      bad = true;
    }
  }
  if (bad) {
    fmt::print(stderr,
               "usage: bench_load_kineto [TRACE] [--events N] [--repeat N] [--keep-arguments] [--total-only]\n"
               "       bench_load_kineto --generate TRACE [--events N]\n");
    return 2;
  }
  const bool made = arguments.trace.empty() && arguments.generate.empty();
  if (made) arguments.trace = make_trace(arguments);
  const int status = run(arguments);
  if (made) ::unlink(arguments.trace.c_str());
  return status;
}
