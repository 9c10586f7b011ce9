// SPDX-License-Identifier: MIT
#include "bench/rank_figures.hpp"
#include "bench/rank_output.hpp"
#include "bench/rank_progress.hpp"
#include "bench/rank_watch.hpp"
#include "bench/rendezvous.hpp"
#include "support/catch.hpp"
#include "support/environment.hpp"
#include "support/files.hpp"
#include "support/scratch_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

using namespace rangefinder;
using namespace rangefinder::bench;
using rangefinder::testing::ScratchFolder;

namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

/// A child that waits for a signal, gone with the object.
struct SleepingChild {
  pid_t pid = ::fork();
  SleepingChild() {
    if (pid != 0) return;
    for (;;) ::pause();
  }
  ~SleepingChild() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  SleepingChild(const SleepingChild&) = delete;
  SleepingChild& operator=(const SleepingChild&) = delete;
};

/// What the process looks like once it has come to rest; the deadline is the test's.
ProcessLook rested(pid_t pid, bool stopped) {
  for (;;) {
    const ProcessLook look = look_at(pid, 0);
    if (look.stopped == stopped && !look.has_work) return look;
    ::usleep(1000);
  }
}

std::string written(const RankOutput& output, unsigned rank, const std::string& text) {
  REQUIRE(::write(output.writing_end(rank), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return text;
}

/// Looks until a condition holds, at most so many.
template <typename Condition>
int looks_until(RankWatch& watch, const ProcessLook& look, RankPosition position, Condition holds) {
  int looks = 0;
  while (!holds() && looks < 1000) {
    watch.add(look, position);
    ++looks;
  }
  return looks;
}

Json steps_of(std::vector<double> wall_ns) { return Json::object({{"wall_ns", wall_ns}}); }

}  // namespace

TEST_CASE("a rank that rests is noticed within ten seconds, by counting looks", "[bench]") {
  const RankPosition third{RankDoing::kStep, 3};
  RankWatch watch(7 * kSecond_ns);  // the default
  CHECK(watch.look_ns() == 875'000'000);
  const int asleep = looks_until(watch, {}, third, [&] { return watch.asleep(); });
  CHECK(asleep * watch.look_ns() <= 8 * kSecond_ns);
  CHECK(asleep * watch.look_ns() >= 7 * kSecond_ns);
  CHECK_FALSE(watch.stopped());

  watch.begin();
  CHECK_FALSE(watch.asleep());
  const int stopped = looks_until(watch, {.stopped = true}, third, [&] { return watch.stopped(); });
  CHECK(stopped * watch.look_ns() <= 4 * kSecond_ns);

  RankWatch patient(100 * kSecond_ns);
  const int later = looks_until(patient, {}, third, [&] { return patient.asleep(); });
  CHECK(later * patient.look_ns() >= 100 * kSecond_ns);
  CHECK(looks_until(patient, {.stopped = true}, third, [&] { return patient.stopped(); }) * patient.look_ns() <=
        4 * kSecond_ns);
}

TEST_CASE("a rank that works, or comes a step further, does not rest", "[bench]") {
  RankWatch watch(8 * kSecond_ns / 10);
  const std::int64_t look_ns = watch.look_ns();
  std::int64_t cpu_ns = 0;
  for (int look = 0; look < 100; ++look) {
    cpu_ns += look_ns / 10;
    watch.add({.cpu_ns = cpu_ns}, {RankDoing::kStep, 1});
  }
  CHECK_FALSE(watch.asleep());
  for (std::uint64_t step = 0; step < 100; ++step) watch.add({.cpu_ns = cpu_ns}, {RankDoing::kStep, step});
  CHECK_FALSE(watch.asleep());
  for (int look = 0; look < 100; ++look) watch.add({.has_work = true, .cpu_ns = cpu_ns}, {RankDoing::kStep, 99});
  CHECK_FALSE(watch.asleep());
  // Threads in the background: a hundredth of a processor is none.
  for (int look = 0; look < 9; ++look) {
    cpu_ns += look_ns / 100;
    watch.add({.cpu_ns = cpu_ns}, {RankDoing::kStep, 99});
  }
  CHECK(watch.asleep());
}

TEST_CASE("the system tells whether a process sleeps, works or was stopped", "[bench]") {
  SleepingChild child;
  CHECK(rested(child.pid, false).cpu_ns < kSecond_ns);
  ::kill(child.pid, SIGSTOP);
  CHECK(rested(child.pid, true).stopped);
  CHECK(look_at(::getpid(), 0).has_work);  // it has a child, and runs
}

TEST_CASE("where a rank is can be read by another process, and tells who waits", "[bench]") {
  RankProgress ours = RankProgress::create().value();
  CHECK(ours.get().text().empty());
  const pid_t pid = ::fork();
  if (pid == 0) {
    RankProgress theirs = RankProgress::attach(::dup(ours.fd())).value();
    RankProgress::tell(&theirs);
    theirs.set(RankDoing::kStep, 3);
    const WaitForRanks outer;
    { const WaitForRanks inner; }
    ::_exit(0);  // in the middle of it
  }
  ::waitpid(pid, nullptr, 0);
  CHECK(ours.get().step == 3);
  CHECK(ours.get().waits);
  CHECK(ours.get().text() == "step 3");
  ours.set(RankDoing::kSetup);
  CHECK(ours.get().text() == "set-up");
  const WaitForRanks nobody;  // of a single process
  CHECK_FALSE(ours.get().waits);
}

TEST_CASE("lines of all ranks come into one log, whole, in order, with their rank", "[bench]") {
  const ScratchFolder folder;
  const std::string log = folder.file("log");
  RankOutput output = RankOutput::open(log, false, 2).value();
  written(output, 0, "first\nsec");
  output.drain(0);
  written(output, 1, "of another rank\n");
  output.drain(1);
  written(output, 0, "ond\n\nwithout an end");
  output.drain(0);
  CHECK(output.last_lines(1) == "; its last lines: of another rank");
  output.finish();
  CHECK(testing::read_file(log) ==
        "[rank 0] first\n[rank 1] of another rank\n[rank 0] second\n[rank 0] \n[rank 0] without an end\n");
  CHECK(output.last_lines(0) == "; its last lines: first / second / without an end");
  for (int line = 0; line < 9; ++line) written(output, 1, "line " + std::to_string(line) + "\n");
  output.drain(1);
  CHECK(output.last_lines(1) == "; its last lines: line 4 / line 5 / line 6 / line 7 / line 8");
  output.close_writing_end(1);
  output.drain(1);
  CHECK(output.reading_end(1) == -1);

  SECTION("behind what was there") {
    RankOutput again = RankOutput::open(log, true, 1).value();
    written(again, 0, "later\n");
    again.finish();
    CHECK(testing::read_file(log).find("[rank 0] first\n") == 0);
    CHECK(testing::read_file(log).find("[rank 0] later\n") != std::string::npos);
  }
  SECTION("a line without an end is cut, not kept") {
    const std::string part(1 << 15, 'x');
    for (int i = 0; i < 8; ++i) {
      written(output, 0, part);
      output.drain(0);
    }
    CHECK(std::filesystem::file_size(log) > (std::size_t{1} << 17));
  }
}

TEST_CASE("ranks meet in a folder of their own that is gone afterwards", "[bench]") {
  const ScratchFolder folder;
  const testing::Environment temporary("TMPDIR", folder.path().c_str());
  {
    Rendezvous rendezvous = Rendezvous::create().value();
    const std::string first = rendezvous.next(), second = rendezvous.next();
    CHECK(first != second);
    CHECK(first != rendezvous.of_processes());
    CHECK_FALSE(std::filesystem::exists(first));
    CHECK(std::filesystem::status(std::filesystem::path(first).parent_path()).permissions() ==
          std::filesystem::perms::owner_all);
    testing::write_file(first, "met");
    Rendezvous moved = std::move(rendezvous);
    CHECK(std::filesystem::exists(first));
    CHECK(folder.entries() == 1);
  }
  CHECK(folder.entries() == 0);
  const testing::Environment nowhere("TMPDIR", folder.file("absent").c_str());
  CHECK_FALSE(Rendezvous::create().ok());
}

TEST_CASE("figures of a variant are made of those of its ranks", "[bench]") {
  CHECK(slowest_rank({steps_of({1, 9}), steps_of({6, 5}), steps_of({2, 2})}) == 1);
  const Json slowest = slowest_answer({Json::object({{"request_ns", 3}, {"request_energy_mj", 5}}),
                                       Json::object({{"request_ns", 4}, {"start_ns", 2}})});
  CHECK(JsonView(slowest)["request_ns"].integer() == 4);
  CHECK(JsonView(slowest)["start_ns"].integer() == 2);
  CHECK_FALSE(JsonView(slowest).has("request_energy_mj"));

  VariantResult variant;
  variant.ranks.resize(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    RankResult& result = variant.ranks[rank];
    const auto value = static_cast<double>(rank + 1);
    result.peak_bytes = static_cast<std::int64_t>(100 * (rank + 1));
    result.work.samples = 10 * value;
    result.work.useful_share = rank == 0 ? 1 : 0.25;
    result.metrics = {{"bytes", value, MetricKind::kBytes},
                      {"time", value, MetricKind::kTime},
                      {"rate", value, MetricKind::kRate},
                      {"fact", value, MetricKind::kFact},
                      {"most", value, MetricKind::kFact, OverRanks::kMost},
                      {"first", value, MetricKind::kBytes, OverRanks::kFirst}};
  }
  variant.ranks[1].metrics.push_back({"alone", 5, MetricKind::kCount});
  variant.ranks[0].growth_bytes = 8;
  add_up(variant);
  CHECK(variant.peak_bytes == 300);
  CHECK_FALSE(variant.growth_bytes);  // not of all ranks
  CHECK(variant.work.samples == 30);
  CHECK(variant.work.useful_share == Approx(0.5));
  std::vector<double> values;
  for (const Metric& metric : variant.metrics) values.push_back(metric.value);
  CHECK(values == std::vector<double>{3, 2, 3, 1, 2, 1, 5});
}

TEST_CASE("ranks are for benchmarks that take several", "[bench]") {
  Benchmark benchmark;
  CHECK(ranks_of(benchmark, 4) == 1);
  benchmark.least_ranks = 2;
  CHECK(ranks_of(benchmark, 4) == 4);
  benchmark.least_ranks = 1;
  benchmark.reference.make = [] { return std::unique_ptr<Variant>(); };
  CHECK(ranks_of(benchmark, 4) == 4);
}
