// SPDX-License-Identifier: MIT
// What Parquet and questions to a fleet cost.
//
//   bench_fleet --long 125000 [--folder FOLDER]                # one capture of 1e8 activities: seconds, MiB, rate
//   bench_fleet --captures 1000 --steps 540 [--folder FOLDER]  # a fleet, and an eighth of it: export, each view
//
// A step has 800 activities. Without options: a long capture of 12,500 steps and a fleet of 64 captures of 25 steps.
// Export and fleet run as users run them, and their CPU time and memory are measured; RANGEFINDER_PYTHON names the
// Python that has duckdb. A folder that is given is kept, and captures that it has are used again.
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "job_of_ranks/job.hpp"
#include "job_of_ranks/record_rank.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace rangefinder;

constexpr double kLeastRate = 3e6, kMostMib = 2048, kMostFleetSeconds = 60, kMostGrowth = 1.25;
constexpr const char* kViews[] = {"stragglers", "steps", "ranges", "kernels", "loss"};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_fleet: %s\n", what.c_str());
  std::exit(1);
}

struct Cost {
  double wall_s = 0;
  double cpu_s = 0;
  double peak_mib = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Runs `work` in a process of its own, which ends with its answer.
Cost in_child(const std::function<bool()>& work) {
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work() ? 0 : 1);
  int status = 0;
  rusage used{};
  if (child < 0 || ::wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail("a child failed");
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024};
}

/// Runs the command in a process of its own.
Cost command(std::vector<std::string> words) {
  return in_child([&] {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr) return false;
    ::execv(RANGEFINDER_COMMAND, pointers.data());
    return false;
  });
}

std::uintmax_t bytes_of(const std::filesystem::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

void record(const std::filesystem::path& folder, std::uint32_t captures, std::uint32_t steps) {
  std::filesystem::create_directories(folder);
  const job::Schedule schedule(captures, steps);
  for (std::uint32_t rank = 0; rank < captures; ++rank) {
    const std::filesystem::path path = folder / ("rank-" + std::to_string(rank) + ".rfcap");
    if (!std::filesystem::exists(path))
      in_child([&] {
        const Status status = job::record_rank(schedule, rank, path);
        if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message().c_str());
        return status.ok();
      });
  }
  std::printf("%u captures of %u steps: %.1f MiB\n", captures, steps,
              static_cast<double>(bytes_of(folder)) / (1 << 20));
}

Cost export_to(const std::filesystem::path& input, const std::filesystem::path& output) {
  return command({"rangefinder", "export", input, "--format", "parquet", "-o", output, "--job", "simulated", "--run",
                  "1", "--force", "-q"});
}

void measure_long(const std::filesystem::path& folder, std::uint32_t steps) {
  record(folder / "long", 1, steps);
  const double activities = static_cast<double>(steps) * job::kActivitiesPerStep;
  const Cost cost = export_to(folder / "long", folder / "long.parquet");
  std::printf("export of %.0f activities: %.1f s, %.1f s of CPU, %.0f MiB of memory, %.2f bytes an activity in files\n",
              activities, cost.wall_s, cost.cpu_s, cost.peak_mib,
              static_cast<double>(bytes_of(folder / "long.parquet")) / activities);
  bench::print_target("MiB of memory at most, to export a long capture", kMostMib, cost.peak_mib);
  bench::print_target("seconds of CPU for 3 million activities", 1, kLeastRate * cost.cpu_s / activities);
}

/// All views, one after the other.
double ask(const std::filesystem::path& exported) {
  double sum_s = 0;
  for (const char* const view : kViews) {
    const Cost cost = command({"rangefinder", "fleet", exported, "--view", view, "--csv"});
    std::printf("fleet --view %s: %.2f s, %.2f s of CPU, %.0f MiB\n", view, cost.wall_s, cost.cpu_s, cost.peak_mib);
    sum_s += cost.wall_s;
  }
  return sum_s;
}

void measure_fleet(const std::filesystem::path& folder, std::uint32_t captures, std::uint32_t steps) {
  record(folder / "captures", captures, steps);
  // An eighth of it, by links, to see how cost grows.
  const std::uint32_t few = std::max(captures / 8, 1u);
  std::filesystem::create_directories(folder / "few");
  for (std::uint32_t rank = 0; rank < few; ++rank) {
    const std::string name = "rank-" + std::to_string(rank) + ".rfcap";
    if (!std::filesystem::exists(folder / "few" / name))
      std::filesystem::create_hard_link(folder / "captures" / name, folder / "few" / name);
  }
  const Cost part = export_to(folder / "few", folder / "few.parquet");
  const Cost all = export_to(folder / "captures", folder / "fleet.parquet");
  std::printf("export of %u captures: %.1f s of CPU, %.0f MiB; of %u: %.1f s, %.0f MiB; files %.1f MiB\n", few,
              part.cpu_s, part.peak_mib, captures, all.cpu_s, all.peak_mib,
              static_cast<double>(bytes_of(folder / "fleet.parquet")) / (1 << 20));
  bench::print_target("CPU time of a capture of " + std::to_string(captures) + " to that of an eighth as many",
                      kMostGrowth, all.cpu_s / captures / (part.cpu_s / few));
  bench::print_target("seconds for all views of " + std::to_string(captures) + " captures", kMostFleetSeconds,
                      ask(folder / "fleet.parquet"));
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t long_steps = 0, captures = 0, steps = job::kSteps;
  std::string folder;
  bench::read_arguments(
      argc, argv, {{"--long", &long_steps}, {"--captures", &captures}, {"--steps", &steps}, {"--folder", &folder}});
  if (long_steps == 0 && captures == 0) long_steps = 12'500, captures = 64;
  ::setenv("RANGEFINDER_PARQUET_LIBRARY", RANGEFINDER_PARQUET_COMPONENT, 0);
  const bool keep = !folder.empty();
  if (!keep) {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench_fleet-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("no temporary folder");
    folder = pattern;
  }
  std::printf("%s\n\n", bench::machine().c_str());
  if (long_steps != 0) measure_long(folder, long_steps);
  if (captures != 0) measure_fleet(folder, captures, steps);
  if (!keep) std::filesystem::remove_all(folder);
  return bench::exit_code();
}
