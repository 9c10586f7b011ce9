// SPDX-License-Identifier: MIT
// What one range costs the thread that marks it: begin and end, beside what no recorder can beat and beside other
// markers.
//
//   bench_hot_path [--rounds N] [--threads N] [--only TEXT]
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "common/floor.hpp"

#include <rangefinder/c/rangefinder.h>
#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#if RANGEFINDER_BENCH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace {

using bench::TwoReadsAndStore;
using rangefinder::ProfileRange;

std::atomic<bool> off{false};
struct Gate {
  bool on = off.load(std::memory_order_relaxed);
  Gate() {
    if (__builtin_expect(on, 0)) TwoReadsAndStore::touch();
  }
  ~Gate() {
    if (__builtin_expect(on, 0)) TwoReadsAndStore::touch();
  }
};

// ---- ours -------------------------------------------------------------------------------------------------------

std::unique_ptr<rangefinder::Session> session;
std::string folder;

void record(std::uint64_t memory_bytes, bool cpu_counters = false) {
  rangefinder::SessionOptions options;
  options.cpu_counters = cpu_counters;
  options.output = folder + "/%p.rfcap";
  options.cuda = false;
  options.memory_bytes = memory_bytes;
  session = std::make_unique<rangefinder::Session>(options);
  if (!session->status().ok()) {
    std::fprintf(stderr, "%s\n", session->status().error().message().c_str());
    std::_Exit(3);
  }
}
void record_with_room() { record(std::uint64_t{64} << 20); }
void record_with_cpu_counters() { record(std::uint64_t{64} << 20, true); }
void record_without_room() { record(std::uint64_t{8} << 20); }

std::string stop() {
  const std::string path = session->output();
  (void)session->stop();
  const rangefinder::CaptureHealth health = session->health();
  ::unlink(path.c_str());
  return health.dropped_ranges == 0 ? "none dropped" : std::to_string(health.dropped_ranges) + " dropped and counted";
}

const rangefinder::RangeName& kept_name() {
  static const rangefinder::RangeName name{"static"};
  return name;
}

rf_name kept_c_name() {
  static const rf_name name = rf_name_intern("static");
  return name;
}

std::vector<bench::Case> cases() {
  std::vector<bench::Case> all;
  const auto add = [&](const char* name, const char* what, std::function<void(std::uint64_t)> run) -> bench::Case& {
    all.push_back({});
    all.back().name = name;
    all.back().what = what;
    all.back().run = std::move(run);
    return all.back();
  };
  const auto floor = [&](const char* name, const char* what, std::function<void(std::uint64_t)> run) {
    bench::Case& added = add(name, what, std::move(run));
    added.set_up = added.thread_set_up = TwoReadsAndStore::touch;
  };
  const auto recording = [&](const char* name, const char* what, std::function<void(std::uint64_t)> run) {
    bench::Case& added = add(name, what, std::move(run));
    added.set_up = record_with_room;
    added.finish = stop;
    // Within the bound: the drain empties the blocks between rounds, as it does between the steps of a program.
    added.between = [] { ::usleep(2000); };
  };
  add("floor/empty loop", "floor", BENCH_LOOP(;));
  add("floor/relaxed load", "off", BENCH_LOOP(const Gate gate));
  floor(bench::kFloor, "recording", BENCH_LOOP(const TwoReadsAndStore r("x"); BENCH_BODY));
  add("rangefinder/off", "off", BENCH_LOOP(const ProfileRange r("static"); BENCH_BODY));
  recording("rangefinder/literal", "recording", BENCH_LOOP(const ProfileRange r("static"); BENCH_BODY));
  recording("rangefinder/RangeName", "recording", BENCH_LOOP(const ProfileRange r(kept_name()); BENCH_BODY));
  recording("rangefinder/run-time name", "recording",
            BENCH_LOOP(const ProfileRange r(bench::run_time_name(i)); BENCH_BODY));
  add("rangefinder/C, off", "off", BENCH_LOOP(rf_range_push(kept_c_name()); BENCH_BODY; rf_range_pop()));
  recording("rangefinder/C, kept name", "recording",
            BENCH_LOOP(rf_range_push(kept_c_name()); BENCH_BODY; rf_range_pop()));
  recording("rangefinder/C, text", "recording", BENCH_LOOP(rf_range_push_text("static"); BENCH_BODY; rf_range_pop()));
  recording("rangefinder/literal, payload", "recording", BENCH_LOOP(const ProfileRange r("static", i); BENCH_BODY));
  recording("rangefinder/RangeName, payload", "recording",
            BENCH_LOOP(const ProfileRange r(kept_name(), i); BENCH_BODY));
  recording("rangefinder/run-time name, payload", "recording",
            BENCH_LOOP(const ProfileRange r(bench::run_time_name(i), i); BENCH_BODY));
  recording("rangefinder/text as payload", "recording", BENCH_LOOP(const ProfileRange r("static", "text"); BENCH_BODY));
  bench::Case counted;
  counted.name = "rangefinder/literal, CPU counters";
  counted.what = "recording";
  counted.run = BENCH_LOOP(const ProfileRange r("static"); BENCH_BODY);
  counted.set_up = record_with_cpu_counters;
  counted.finish = stop;
  counted.between = [] { ::usleep(2000); };
  all.push_back(std::move(counted));
#if RANGEFINDER_BENCH_NVTX
  add("NVTX/push and pop", "no tool", BENCH_LOOP(nvtxRangePushA("static"); BENCH_BODY; nvtxRangePop()));
#endif
  return all;
}

/// A table of its own: what its drain has left to do when its turn is over would slow down the others.
std::vector<bench::Case> cases_past_the_bound() {
  std::vector<bench::Case> all(2);
  all[0].name = bench::kFloor;
  all[0].what = "recording";
  all[0].set_up = all[0].thread_set_up = TwoReadsAndStore::touch;
  all[0].run = BENCH_LOOP(const TwoReadsAndStore r("x"); BENCH_BODY);
  all[1].name = "rangefinder/past the memory bound";
  all[1].what = "dropping";
  all[1].set_up = record_without_room;
  all[1].run = BENCH_LOOP(const ProfileRange r("static"); BENCH_BODY);
  all[1].times = 50;  // a million in a row: no drain keeps up with that in 8 MiB
  all[1].finish = stop;
  return all;
}

}  // namespace

#if RANGEFINDER_BENCH_TORCH
std::vector<bench::Case> torch_cases();
#endif

int main(int argc, char** argv) {
  bench::Options options;
  options.floor = bench::kFloor;
  bench::read_arguments(argc, argv,
                        {{"--rounds", &options.rounds}, {"--threads", &options.threads}, {"--only", &options.only}});
  char made[] = "/tmp/rangefinder-bench-XXXXXX";
  if (::mkdtemp(made) == nullptr) return 3;
  folder = made;
  std::vector<bench::Case> all = cases();
#if RANGEFINDER_BENCH_TORCH
  for (bench::Case& added : torch_cases()) all.push_back(std::move(added));
#endif
  std::printf("hot path: %s\n", bench::machine().c_str());
  const bool both = options.threads == 1 && options.only.empty();
  bench::print(bench::measure(all, options), options);
  bench::print(bench::measure(cases_past_the_bound(), options), options);
  if (both) {
    options.threads = 2;
    bench::print(bench::measure(all, options), options);
  }
  ::rmdir(made);
  return 0;
}
