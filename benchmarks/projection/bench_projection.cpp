// SPDX-License-Identifier: MIT
// Speed of project() alone, on one core: launches a second for 1e5 to 1e8 launches in a tenth as many nested ranges.
//
//   bench_projection [--max N] [--repeats N] [--workload NAME]
//
// Beside each figure stands the floor, measured in the same run: one sequential pass over the columns that a projection
// cannot avoid to read. Sizes that would not fit into the memory that is free are left out, and named.
#include "common/arguments.hpp"

#include <rangefinder/projection.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <vector>

using namespace rangefinder;

namespace {

struct Workload {
  const char* name;
  const char* text;
  std::uint32_t threads;
  std::uint32_t devices;
  std::uint32_t streams;  // of each device
  bool noted;             // as in a rangefinder capture; else by time, as in imported traces
};

constexpr Workload kWorkloads[] = {
    {"capture", "one thread, one stream, ranges noted by the recorder", 1, 1, 1, true},
    {"imported", "one thread, one stream, ranges found by time", 1, 1, 1, false},
    {"streams", "one thread, two streams that overlap, noted", 1, 1, 2, true},
    {"node", "four threads, each with a device of its own and three streams that overlap, noted", 4, 4, 3, true},
    {"shared", "two threads, each using two devices with two streams that overlap, by time", 2, 2, 2, false},
};

// A training step on one thread: 3 phases of 8 layers of 3 operators, 1000 launches in 100 ranges nested four deep.
// Most launches are in the innermost ranges; some are made on the way.
class Generator {
 public:
  Generator(const Workload& workload, std::uint64_t launches) : workload_(workload), wanted_(launches) {
    timeline_.processes.emplace_back();
    timeline_.threads.resize(workload.threads);
    timeline_.devices.resize(workload.devices);
    for (DeviceIndex device{0}; device < workload.devices; ++device) {
      for (std::uint32_t stream = 0; stream < workload.streams; ++stream)
        timeline_.streams.push_back({device, 1, static_cast<std::int64_t>(7 + 13 * stream)});
    }
    idle_from_.assign(timeline_.streams.size(), 0);
    reserve();
  }

  Timeline run() {
    const std::uint64_t each = wanted_ / workload_.threads;
    for (thread_ = ThreadIndex{0}; thread_ < workload_.threads; ++thread_) {
      now_ = 1'000'000 + 311 * thread_;
      left_ = thread_ + 1 == workload_.threads ? wanted_ - each * (workload_.threads - 1) : each;
      while (left_ > 0) step();
    }
    if (timeline_.streams.size() > 1) sort_activities();
    return std::move(timeline_);
  }

 private:
  void reserve() {
    timeline_.ranges.reserve(wanted_ / 10 + 1000);
    timeline_.launches.reserve(wanted_);
    timeline_.activities.reserve(wanted_);
  }

  RangeIndex open() {
    open_.push_back(timeline_.ranges.append({.thread = thread_, .end_thread = thread_, .begin_ns = now_ += 120}));
    return open_.back();
  }
  void close() {
    timeline_.ranges.set_end(open_.back(), now_ += 120);
    open_.pop_back();
  }
  void launch(std::uint32_t count) {
    for (; count > 0 && left_ > 0; --count, --left_) {
      now_ += 4000 + static_cast<std::int64_t>(random_() % 2000);
      const LaunchIndex row = timeline_.launches.append({.correlation = timeline_.launches.size() + 1,
                                                         .thread = thread_,
                                                         .time_ns = now_,
                                                         .source = LaunchSource::kCallback,
                                                         .range = workload_.noted ? open_.back() : kNone});
      const bool one_device_each = workload_.threads == workload_.devices && workload_.devices > 2;
      const std::uint32_t device = one_device_each ? std::uint32_t{thread_} : row / 500 % workload_.devices;
      const std::uint32_t roll = static_cast<std::uint32_t>(random_() % 8);
      const std::uint32_t stream = roll < workload_.streams ? roll : 0;
      activity(row, StreamIndex(device * workload_.streams + stream), stream == 0 ? 3500 : 9000);
    }
  }
  void activity(LaunchIndex launch_row, StreamIndex stream, std::int64_t length) {
    const std::int64_t begin = std::max(now_ + 6000, idle_from_[stream]);
    const std::int64_t end = begin + length + static_cast<std::int64_t>(random_() % 1500);
    idle_from_[stream] = end + 300;
    timeline_.activities.append({.stream = stream,
                                 .begin_ns = begin,
                                 .end_ns = end,
                                 .launch = launch_row,
                                 .bytes = random_() % 16 == 0 ? 4096u : 0u});
  }
  void step() {
    open();
    for (int phase = 0; phase < 3 && left_ > 0; ++phase) {
      open();
      launch(6);
      for (int layer = 0; layer < 8 && left_ > 0; ++layer) {
        open();
        launch(4);
        for (int op = 0; op < 3 && left_ > 0; ++op) {
          open();
          launch(12);
          close();
        }
        close();
      }
      close();
    }
    launch(22);
    close();
  }
  // By begin, as readers deliver them.
  void sort_activities() {
    ActivityTable& a = timeline_.activities;
    std::vector<std::uint32_t> order(a.size());
    for (std::uint32_t row = 0; row < order.size(); ++row) order[row] = row;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t x, std::uint32_t y) { return a.begin_ns[x] < a.begin_ns[y]; });
    ActivityTable sorted;
    sorted.reserve(a.size());
    for (const std::uint32_t row : order) sorted.append(a.row(row));
    a = std::move(sorted);
  }

  const Workload& workload_;
  std::uint64_t wanted_;
  std::uint64_t left_ = 0;
  Timeline timeline_;
  ThreadIndex thread_{0};
  std::int64_t now_ = 0;
  std::vector<RangeIndex> open_;
  std::vector<std::int64_t> idle_from_;
  std::mt19937_64 random_{42};
};

// Time on the core, so that neighbours who take it away do not count.
double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename Work>
double seconds(Work&& work) {
  const double begin = core_seconds();
  work();
  return core_seconds() - begin;
}

volatile std::uint64_t g_sink;

void read_columns(const Timeline& timeline) {
  std::uint64_t sum = 0;
  const auto add = [&sum](const auto& table, const auto& column) {
    for (std::size_t row = 0; row < table.size(); ++row) sum += static_cast<std::uint64_t>(column[row]);
  };
  const ActivityTable& activities = timeline.activities;
  add(activities, activities.launch), add(activities, activities.stream), add(activities, activities.begin_ns);
  add(activities, activities.end_ns), add(activities, activities.bytes);
  const LaunchTable& launches = timeline.launches;
  add(launches, launches.thread), add(launches, launches.time_ns), add(launches, launches.range);
  const RangeTable& ranges = timeline.ranges;
  add(ranges, ranges.thread), add(ranges, ranges.begin_ns), add(ranges, ranges.end_ns);
  g_sink = sum;
}

struct Spread {
  double best, median, worst;
};
Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

std::uint64_t free_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  while (info >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    info.ignore(64, '\n');
  }
  return 0;
}

void measure(const Workload& workload, std::uint64_t launches, int repeats, double& before_ns) {
  // Columns, figures, rows of streams twice while they are arranged, links, and the copies made while sorting.
  const std::uint64_t needed = launches * 210;
  if (needed > free_bytes()) {
    std::printf("  %9.0e   left out: needs about %.1f GB, %.1f GB are free\n", static_cast<double>(launches),
                static_cast<double>(needed) / 1e9, static_cast<double>(free_bytes()) / 1e9);
    return;
  }
  const Timeline timeline = Generator(workload, launches).run();
  std::vector<double> floor;
  std::vector<double> taken;
  std::uint64_t owned = 0;
  for (int repeat = 0; repeat < repeats; ++repeat) {  // interleaved, so that both meet the same machine
    floor.push_back(seconds([&] { read_columns(timeline); }));
    taken.push_back(seconds([&] { owned = project(timeline, {}).account.owned.gpu_ops; }));
  }
  if (owned != launches) {
    std::fprintf(stderr, "bench_projection: %llu of %llu launches owned\n", static_cast<unsigned long long>(owned),
                 static_cast<unsigned long long>(launches));
    std::exit(1);
  }
  const Spread time = spread(taken);
  const double n = static_cast<double>(launches);
  const double each_ns = time.median * 1e9 / n;
  std::printf("  %9.0e %10zu %8.1f M/s (%.1f .. %.1f) %8.1f ns %8.1f x floor", n, timeline.ranges.size(),
              n / time.median / 1e6, n / time.worst / 1e6, n / time.best / 1e6, each_ns,
              time.median / spread(floor).median);
  if (before_ns > 0) std::printf("   %.2f x per launch for 10 x the launches", each_ns / before_ns);
  std::printf("\n");
  std::fflush(stdout);
  before_ns = each_ns;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t most = 10'000'000;
  int repeats = 5;
  std::string only;
  bench::read_arguments(argc, argv, {{"--max", &most}, {"--repeats", &repeats}, {"--workload", &only}});
  std::printf(
      "project() alone, core time of one thread, %d repeats interleaved with the floor; median (worst .. best)\n",
      repeats);
  for (const Workload& workload : kWorkloads) {
    if (!only.empty() && only != workload.name) continue;
    std::printf("%s: %s\n", workload.name, workload.text);
    double before_ns = 0;
    for (std::uint64_t launches = 100'000; launches <= most; launches *= 10)
      measure(workload, launches, repeats, before_ns);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("peak memory %.1f GB\n", static_cast<double>(usage.ru_maxrss) / 1e6);
  return 0;
}
