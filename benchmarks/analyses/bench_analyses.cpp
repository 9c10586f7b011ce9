// SPDX-License-Identifier: MIT
// What every analysis and every view costs at a million device activities and at ten million, and whether ten times as
// many take more than about ten times as long.
//
//   bench_analyses [--activities N] [--ranks N] [--times N] [--only TEXT] [--check N] [--memory MIB]
//
// A job of four ranks (--ranks) is made in memory with N / 10 and with N activities (default: ten million). Every
// subject runs in a process of its own on the timeline that is there already: CPU time, and the peak of memory on top
// of the timeline.
// --check N: the target, how many times as long ten times the activities may take. Of n log n 11.7 is to be expected;
// tables that no longer fit the caches add to that, up to 17 while other programs use them too. Where time grows with
// the square it would be 100. What takes less than half a second is not judged.
#include "analyses/subjects.hpp"
#include "analyses/training_job.hpp"
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "common/child.hpp"

#include <rangefinder/timeline.hpp>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace rangefinder;

constexpr double kShortest_s = 0.5;
constexpr std::uint64_t kSmallerBy = 10;

struct Arguments {
  std::uint64_t activities = 10'000'000;
  std::uint32_t ranks = 4;
  int times = 1;                  ///< the least of so many runs counts
  std::string only;               ///< subjects whose names have this in them
  std::uint32_t check = 20;       ///< greatest growth
  std::uint64_t memory = 12'288;  ///< MiB that a subject may take on top of the timeline
};

struct Cost {
  double seconds = 0;
  double mib = 0;  ///< on top of the timeline
};

/// Costs of one subject: of the smaller job, of the greater one; nothing where it failed.
struct Row {
  std::string name;
  std::string missing;
  std::optional<Cost> small, large;

  /// How many times as long the greater one took.
  double growth() const noexcept { return small && large && small->seconds > 0 ? large->seconds / small->seconds : 0; }
  bool is_judged() const noexcept { return large && large->seconds >= kShortest_s; }
};

/// So that one subject too many ends itself and not the machine.
void bound_memory(std::uint64_t mib) {
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = (static_cast<rlim_t>(bench::status_mib("VmSize")) + mib) << 20;
  ::setrlimit(RLIMIT_AS, &limit);
}

std::optional<Cost> measure(const bench::Subject& subject, const Timeline& timeline, const Arguments& arguments) {
  std::optional<Cost> best;
  for (int time = 0; time < arguments.times; ++time) {
    const std::optional<Cost> found = bench::told_by_child([&] {
      bound_memory(arguments.memory);
      const double before_mib = bench::status_mib("VmRSS"), before_s = bench::cpu_seconds();
      subject.run(timeline);
      return Cost{bench::cpu_seconds() - before_s, std::max(0.0, bench::status_mib("VmHWM") - before_mib)};
    });
    if (!found) return std::nullopt;
    if (!best || found->seconds < best->seconds) best = found;
  }
  return best;
}

/// Fills `cost` of all rows on a job of that size.
void measure_all(std::uint64_t activities, const std::vector<bench::Subject>& subjects, const Arguments& arguments,
                 std::optional<Cost> Row::*cost, std::vector<Row>& rows) {
  const Timeline timeline = bench::make_training_job(activities, arguments.ranks);
  ::malloc_trim(0);
  const auto right = bench::in_child([&] {
    bench::check_answers(timeline);
    return true;
  });
  if (!right) {
    std::fprintf(stderr, "bench_analyses: what is found in the job of %llu activities is not what it does\n",
                 static_cast<unsigned long long>(activities));
    std::exit(1);
  }
  std::printf("%zu activities, %zu ranges, %zu calls, %zu steps: %.0f MiB\n", timeline.activities.size(),
              timeline.ranges.size(), timeline.calls.size(), timeline.steps.size(),
              static_cast<double>(timeline.table_bytes()) / (1 << 20));
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    rows[i].missing = bench::missing_for(subjects[i].name, timeline);
    if (!rows[i].missing.empty()) continue;
    rows[i].*cost = measure(subjects[i], timeline, arguments);
    const std::optional<Cost>& found = rows[i].*cost;
    if (found) std::fprintf(stderr, "%-44s %8.2f s %8.0f MiB\n", rows[i].name.c_str(), found->seconds, found->mib);
  }
}

void print(const Row& row, std::uint64_t activities) {
  std::printf("| %s |", row.name.c_str());
  for (const std::optional<Cost>& cost : {row.small, row.large})
    cost ? std::printf(" %.2f | %.0f |", cost->seconds, cost->mib) : std::printf(" failed | |");
  if (row.large)
    std::printf(" %.0f | %.0f |", row.large->seconds * 1e9 / static_cast<double>(activities),
                row.large->mib * (1 << 20) / static_cast<double>(activities));
  else
    std::printf(" | |");
  row.is_judged() ? std::printf(" %.1f |\n", row.growth()) : std::printf(" |\n");
}

void print_all(const std::vector<Row>& rows, std::uint64_t activities) {
  const double small = static_cast<double>(activities / kSmallerBy), large = static_cast<double>(activities);
  std::printf(
      "\n%s\n\n| analysis or view | %.3g: CPU s | MiB | %.3g: CPU s | MiB | ns an activity | bytes an activity | "
      "growth |\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
      bench::machine().c_str(), small, large);
  for (const Row& row : rows)
    if (row.missing.empty()) print(row, activities);
  for (const Row& row : rows)
    if (!row.missing.empty()) std::printf("\nleft out: %s\n", row.missing.c_str());
}

void check(const std::vector<Row>& rows, std::uint32_t most_growth) {
  const Row* worst = nullptr;
  for (const Row& row : rows) {
    if (!row.missing.empty()) continue;
    if (!row.small || !row.large) bench::print_unmeasured(row.name);
    if (row.is_judged() && (worst == nullptr || row.growth() > worst->growth())) worst = &row;
  }
  if (worst != nullptr)
    bench::print_target("times as long for ten times the activities", most_growth, worst->growth(), worst->name);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bench::read_arguments(argc, argv,
                        {{"--activities", &arguments.activities},
                         {"--ranks", &arguments.ranks},
                         {"--times", &arguments.times},
                         {"--only", &arguments.only},
                         {"--check", &arguments.check},
                         {"--memory", &arguments.memory}});
  arguments.ranks += arguments.ranks % 2;
  std::vector<bench::Subject> subjects;
  for (bench::Subject& subject : bench::all_subjects())
    if (subject.name.find(arguments.only) != std::string::npos) subjects.push_back(std::move(subject));
  std::vector<Row> rows;
  for (const bench::Subject& subject : subjects) rows.push_back({subject.name, {}, {}, {}});
  measure_all(arguments.activities / kSmallerBy, subjects, arguments, &Row::small, rows);
  measure_all(arguments.activities, subjects, arguments, &Row::large, rows);
  print_all(rows, arguments.activities);
  check(rows, arguments.check);
  return bench::exit_code();
}
