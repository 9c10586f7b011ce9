// SPDX-License-Identifier: MIT
// Eight call sites in random order with bodies of random length: what a range costs there, how many of ten million come
// back from the capture, and how many bytes each takes.
//
//   bench_recording [--rounds N] [--ranges N]
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "common/floor.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

using bench::TwoReadsAndStore;
using rangefinder::ProfileRange;

void work(std::uint32_t length) {
  for (std::uint32_t i = 0; i < length; ++i) BENCH_BODY;
}

// A macro, so that every marker gets its names as literals.
#define MIXED(MARKER)                                                        \
  [](std::uint64_t n) {                                                      \
    std::uint64_t random = 0x9E3779B97F4A7C15u;                              \
    for (std::uint64_t i = 0; i < n; ++i) {                                  \
      random ^= random << 13, random ^= random >> 7, random ^= random << 17; \
      const auto length = static_cast<std::uint32_t>(random >> 54);          \
      switch (random >> 20 & 7) {                                            \
        case 0: {                                                            \
          const MARKER range("embedding");                                   \
          work(length);                                                      \
        } break;                                                             \
        case 1: {                                                            \
          const MARKER range("attention.qkv");                               \
          work(length);                                                      \
        } break;                                                             \
        case 2: {                                                            \
          const MARKER range("attention.scores");                            \
          work(length);                                                      \
        } break;                                                             \
        case 3: {                                                            \
          const MARKER range("attention.out");                               \
          work(length);                                                      \
        } break;                                                             \
        case 4: {                                                            \
          const MARKER range("mlp.up");                                      \
          work(length);                                                      \
        } break;                                                             \
        case 5: {                                                            \
          const MARKER range("mlp.down");                                    \
          work(length);                                                      \
        } break;                                                             \
        case 6: {                                                            \
          const MARKER range("optimizer.step");                              \
          work(length);                                                      \
        } break;                                                             \
        default: {                                                           \
          const MARKER range("all_reduce");                                  \
          work(length);                                                      \
        } break;                                                             \
      }                                                                      \
    }                                                                        \
  }

std::string folder;
std::unique_ptr<rangefinder::Session> session;

void record() {
  rangefinder::SessionOptions options;
  options.output = folder + "/%p.rfcap";
  options.cuda = false;
  session = std::make_unique<rangefinder::Session>(options);
  if (session->status().ok()) return;
  std::fprintf(stderr, "%s\n", session->status().error().message().c_str());
  std::_Exit(3);
}

std::string stop() {
  (void)session->stop();
  ::unlink(session->output().c_str());
  return std::to_string(session->health().dropped_ranges) + " dropped";
}

std::vector<bench::Case> cases() {
  std::vector<bench::Case> all(2);
  all[0].name = bench::kFloor;
  all[0].what = "mixed";
  all[0].set_up = all[0].thread_set_up = TwoReadsAndStore::touch;
  all[0].run = MIXED(TwoReadsAndStore);
  all[1].name = "rangefinder/literal";
  all[1].what = "mixed";
  all[1].set_up = record;
  all[1].run = MIXED(ProfileRange);
  all[1].finish = stop;
  return all;
}

/// One thread marks that many ranges without a pause; true when all of them are in the capture.
bool keeps_all(std::uint64_t ranges) {
  record();
  const auto begin = std::chrono::steady_clock::now();
  const auto mark = MIXED(ProfileRange);
  mark(ranges);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  (void)session->stop();
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const std::string path = session->output();
  struct stat info {};
  ::stat(path.c_str(), &info);
  const rangefinder::CaptureHealth health = session->health();
  const auto timeline = rangefinder::load_timeline(path);
  ::unlink(path.c_str());
  const std::uint64_t read = timeline.ok() ? timeline->ranges.size() : 0;
  const auto count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  std::printf(
      "\nwithout a pause: %llu ranges begun in %.2f s (%.1f M/s), %llu dropped, %llu read back from the capture\n",
      count(ranges), took.count(), static_cast<double>(ranges) / took.count() / 1e6, count(health.dropped_ranges),
      count(read));
  std::printf("bytes a range: %zu in memory, %.2f in the capture; peak resident memory while recording %ld MiB\n",
              2 * sizeof(rangefinder::detail::Record), static_cast<double>(info.st_size) / static_cast<double>(ranges),
              usage.ru_maxrss / 1024);
  return read == ranges && health.dropped_ranges == 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.floor = bench::kFloor;
  options.per_round = 50000;
  std::uint64_t ranges = 10'000'000;
  bench::read_arguments(argc, argv, {{"--rounds", &options.rounds}, {"--ranges", &ranges}});
  char made[] = "/tmp/rangefinder-bench-XXXXXX";
  if (::mkdtemp(made) == nullptr) return 3;
  folder = made;
  std::printf("recording: %s\n", bench::machine().c_str());
  bench::print(bench::measure(cases(), options), options);
  const bool all = keeps_all(ranges);
  ::rmdir(made);
  return all ? 0 : 1;
}
