// SPDX-License-Identifier: MIT
// A job of 512 ranks on one machine: how long it takes and how much memory, to read its captures as one job and to
// report it, and whether a rank costs more the more there are.
//
//   bench_job_of_ranks [--ranks N] [--folder FOLDER]     # default: 512, in a temporary folder that goes at the end
//
// A capture has 20,000 device activities, as many calls of CUDA, 1,300 ranges and 200 collectives. It is recorded once;
// then the first 64, 128, 256 and 512 are read, each time in a process of their own, which loads them once and renders
// the views of a job one after the other, in at most 4 GiB. A folder that is given is kept, and used again where it has
// all captures.
#include "common/arguments.hpp"
#include "common/cases.hpp"
#include "common/child.hpp"
#include "job_of_ranks/job.hpp"
#include "job_of_ranks/record_rank.hpp"

#include <rangefinder/analysis/collectives.hpp>
#include <rangefinder/report.hpp>
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace rangefinder;

constexpr std::array<const char*, 4> kViews = {"collectives", "breakdown", "stragglers", "ranks"};
constexpr double kMostSeconds = 60, kMostMib = 4096, kMostGrowth = 1.25;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_job_of_ranks: %s\n", what.c_str());
  std::exit(1);
}

std::string capture_of(const std::string& folder, std::uint32_t rank) {
  return folder + "/rank-" + std::to_string(rank) + ".rfcap";
}

void record(const std::string& folder, std::uint32_t ranks) {
  const auto begin = std::chrono::steady_clock::now();
  const job::Schedule schedule(ranks);
  std::uintmax_t bytes = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::string path = capture_of(folder, rank);
    const bool recorded = bench::in_child([&] {
      const Status status = job::record_rank(schedule, rank, path);
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().message().c_str());
      return status.ok();
    });
    if (!recorded) fail("rank " + std::to_string(rank) + " was not recorded");
    bytes += std::filesystem::file_size(path);
  }
  std::printf("%u captures recorded in %.1f s, %.1f MiB\n\n", ranks, seconds_since(begin),
              static_cast<double>(bytes) / (1 << 20));
}

/// What one reading took.
struct Cost {
  double load_s = 0;
  std::array<double, kViews.size()> view_s{};  // -1: this version has no such view
  double cpu_s = 0;                            ///< of all of it, whatever else runs on the machine
  double peak_mib = 0;
  std::uint64_t activities = 0;
  double total_s() const noexcept {
    double sum = load_s;
    for (const double view : view_s) sum += std::max(view, 0.0);
    return sum;
  }
};

/// Nothing that is fast because it is wrong counts.
void check(const Timeline& timeline, std::uint32_t ranks) {
  const std::uint64_t steps = std::uint64_t{job::kSteps};
  if (timeline.activities.size() != ranks * steps * job::kActivitiesPerStep) fail("activities are missing");
  if (timeline.collectives.size() != ranks * steps * job::kCollectivesPerStep) fail("collectives are missing");
  if (!timeline.health.complete()) fail("a capture lost data");
  const MatchedCollectives matched = match_collectives(timeline);
  const std::uint64_t hosts = (ranks + job::kRanksPerHost - 1) / job::kRanksPerHost;
  if (!matched.refused.empty()) fail("collectives were refused: " + matched.refused.front().reason);
  if (matched.collectives.size() != steps * (job::kAllReducesPerStep + hosts * job::kAllGathersPerStep))
    fail("collectives were not matched");
  for (const HostInfo& host : timeline.hosts)
    if (host.error_ns == kNoTime) fail("the clock of " + host.name + " was not aligned");
}

bool has_view(std::string_view name) {
  const std::vector<ReportViewInfo> views = report_views();
  return std::any_of(views.begin(), views.end(), [&](const ReportViewInfo& view) { return view.name == name; });
}

Cost read_job(const std::string& folder, std::uint32_t ranks) {
  std::vector<std::string> paths;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) paths.push_back(capture_of(folder, rank));
  Cost cost;
  const auto begin = std::chrono::steady_clock::now();
  LoadOptions options;
  options.max_memory_bytes = static_cast<std::uint64_t>(kMostMib) << 20;  // more would be refused
  const Result<Timeline> timeline = load_job(paths, options);
  if (!timeline) fail(timeline.error().message());
  cost.load_s = seconds_since(begin);
  cost.activities = timeline->activities.size();
  for (std::size_t i = 0; i < kViews.size(); ++i) {
    cost.view_s[i] = -1;
    if (!has_view(kViews[i])) continue;
    ReportOptions view;
    view.view = kViews[i];
    std::size_t bytes = 0;
    const auto from = std::chrono::steady_clock::now();
    const Status status = write_report(*timeline, view, [&](std::string_view text) {
      bytes += text.size();
      return true;
    });
    if (!status.ok() || bytes == 0) fail(std::string(kViews[i]) + ": no report");
    cost.view_s[i] = seconds_since(from);
  }
  cost.cpu_s = bench::cpu_seconds();
  cost.peak_mib = bench::status_mib("VmHWM");
  check(*timeline, ranks);
  return cost;
}

Cost measure(const std::string& folder, std::uint32_t ranks) {
  const std::optional<Cost> cost = bench::told_by_child([&] { return read_job(folder, ranks); });
  if (!cost) fail("a job of " + std::to_string(ranks) + " ranks could not be read");
  return *cost;
}

void print_head() {
  std::printf("| ranks | activities | load s |");
  for (const char* view : kViews) std::printf(" %s s |", view);
  std::printf(" total s | CPU s | CPU ms a rank | peak MiB | bytes an activity |\n|---:|---:|---:|");
  for (std::size_t i = 0; i < kViews.size(); ++i) std::printf("---:|");
  std::printf("---:|---:|---:|---:|---:|\n");
}

void print(std::uint32_t ranks, const Cost& cost) {
  std::printf("| %u | %llu | %.2f |", ranks, static_cast<unsigned long long>(cost.activities), cost.load_s);
  for (const double view : cost.view_s) view < 0 ? std::printf(" |") : std::printf(" %.2f |", view);
  std::printf(" %.2f | %.2f | %.1f | %.0f | %.0f |\n", cost.total_s(), cost.cpu_s, cost.cpu_s * 1000 / ranks,
              cost.peak_mib, cost.peak_mib * (1 << 20) / static_cast<double>(cost.activities));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t ranks = 512;
  std::string folder;
  bench::read_arguments(argc, argv, {{"--ranks", &ranks}, {"--folder", &folder}});
  ranks = std::max(8u, ranks);
  const bool keep = !folder.empty();
  if (!keep) {
    std::string pattern = (std::filesystem::temp_directory_path() / "job_of_ranks-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("no temporary folder");
    folder = pattern;
  }
  std::filesystem::create_directories(folder);
  if (!std::filesystem::exists(capture_of(folder, ranks - 1))) record(folder, ranks);
  print_head();
  double first_each = 0;
  Cost last;
  for (std::uint32_t some = std::max(ranks / 8, 8u); some <= ranks; some *= 2) {
    last = measure(folder, some);
    print(some, last);
    if (first_each == 0) first_each = last.cpu_s / some;
  }
  std::printf("\n");
  bench::print_target("seconds to read and report " + std::to_string(ranks) + " ranks", kMostSeconds, last.total_s());
  bench::print_target("MiB of memory at most", kMostMib, last.peak_mib);
  bench::print_target("CPU time of a rank of " + std::to_string(ranks) + " to that of an eighth as many", kMostGrowth,
                      last.cpu_s / ranks / first_each);
  if (!keep) std::filesystem::remove_all(folder);
  return bench::exit_code();
}
