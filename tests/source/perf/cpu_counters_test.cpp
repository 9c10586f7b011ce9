// SPDX-License-Identifier: MIT
#include "source/perf/cpu_counters.hpp"

#include "session/session_core.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

using namespace rangefinder;
using rangefinder::testing::ScratchFolder;

namespace {

// What the kernel would do. Each read of a group finds 1,000 cycles more, 2,500 instructions, 40 cache references, 10
// cache misses and 5 branch misses.
struct Kernel {
  std::atomic<int> refuses{0};          // errno
  std::atomic<int> refuses_config{-1};  // of one event alone
  std::atomic<int> next_fd{100};
  std::atomic<int> open{0};
  std::atomic<int> limit{1024};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> lost_ns{0};  // of each read: not counted
  std::atomic<int> events{5};
  std::atomic<bool> user_only{true};
};
Kernel kernel;

const source::PerfApi kPlayed{[](const perf_event_attr& attributes, int) noexcept -> int {
                                if (attributes.exclude_kernel == 0) kernel.user_only = false;
                                if (kernel.refuses != 0) return -kernel.refuses;
                                if (static_cast<int>(attributes.config) == kernel.refuses_config) return -ENOENT;
                                ++kernel.open;
                                return kernel.next_fd++;
                              },
                              [](int, void* to, std::size_t bytes) noexcept -> long {
                                const std::uint64_t n = ++kernel.reads;
                                const std::uint64_t lost = n * kernel.lost_ns;
                                const std::uint64_t values[] = {static_cast<std::uint64_t>(kernel.events),
                                                                1'000'000'000 + lost,
                                                                1'000'000'000,
                                                                n * 1000,
                                                                n * 2500,
                                                                n * 40,
                                                                n * 10,
                                                                n * 5};
                                if (bytes > sizeof values) return -1;
                                std::memcpy(to, values, bytes);
                                return static_cast<long>(bytes);
                              },
                              [](int) noexcept { --kernel.open; }, []() noexcept -> int { return kernel.limit; }};

void reset_kernel() {
  kernel.refuses = 0;
  kernel.refuses_config = -1;
  kernel.next_fd = 100;
  kernel.open = 0;
  kernel.limit = 1024;
  kernel.reads = 0;
  kernel.lost_ns = 0;
  kernel.events = 5;
}

/// A recording of what `program` does on a thread of its own.
template <typename Program>
Timeline recorded(const source::CpuCounters& counters, Program program, std::uint64_t memory = 8u << 20) {
  const ScratchFolder folder;
  SessionOptions options;
  options.output = folder.file("counted.rfcap");
  options.cuda = false;
  options.nvtx = false;
  options.memory_bytes = memory;
  session::Dependencies parts;
  parts.cpu_counters = counters.hook;
  parts.cpu_counters_state = counters.state;
  auto core = session::SessionCore::start(options, std::move(parts)).value();
  std::thread(program).join();
  core->stop().value();
  return load_timeline(options.output).value();
}

/// By name of the range; -2: no row.
std::int64_t count_of(const Timeline& timeline, std::string_view name, CpuEvent event) {
  const CpuCounterTable& counters = timeline.cpu_counters;
  for (std::size_t row = 0; row < counters.size(); ++row)
    if (timeline.text(timeline.ranges.name[counters.range[row]]) == name)
      return counters.counts[row][static_cast<std::size_t>(event)];
  return -2;
}

}  // namespace

TEST_CASE("ranges hold what their thread's counters grew by", "[perf]") {
  reset_kernel();
  const source::CpuCounters counters = source::cpu_counters(kPlayed);
  CHECK(counters.state == "full");
  CHECK(counters.fix.empty());
  CHECK(kernel.open == 0);  // what was tried is closed
  const Timeline timeline = recorded(counters, [] {
    ProfileRange outer{"outer"};       // read 1
    { ProfileRange inner{"inner"}; }   // reads 2 and 3
    { ProfileRange inner{"second"}; }  // reads 4 and 5
  });                                  // read 6
  CHECK(count_of(timeline, "inner", CpuEvent::kCycles) == 1000);
  CHECK(count_of(timeline, "second", CpuEvent::kInstructions) == 2500);
  CHECK(count_of(timeline, "outer", CpuEvent::kCycles) == 5000);
  CHECK(count_of(timeline, "outer", CpuEvent::kInstructions) == 12'500);
  CHECK(count_of(timeline, "outer", CpuEvent::kCacheReferences) == 200);
  CHECK(count_of(timeline, "outer", CpuEvent::kCacheMisses) == 50);
  CHECK(count_of(timeline, "outer", CpuEvent::kBranchMisses) == 25);
  CHECK(count_of(timeline, "outer", CpuEvent::kNotCounted) == 0);
  CHECK(count_of(timeline, "outer", CpuEvent::kCpuTime) > 0);
  CHECK(count_of(timeline, "outer", CpuEvent::kPageFaults) >= 0);
  CHECK(count_of(timeline, "outer", CpuEvent::kContextSwitches) >= 0);
  CHECK(kernel.open == 0);  // the thread ended
  CHECK(kernel.user_only);
  CHECK(timeline.health.complete());
}

TEST_CASE("counts hold across blocks of records", "[perf]") {
  reset_kernel();
  constexpr int kRanges = 5'000;  // more records than a block has
  const Timeline timeline = recorded(source::cpu_counters(kPlayed), [] {
    for (int i = 0; i < kRanges; ++i) ProfileRange range{"each"};
  });
  REQUIRE(timeline.cpu_counters.size() == kRanges);
  const auto& counts = timeline.cpu_counters.counts;
  CHECK(std::count_if(counts.begin(), counts.end(), [](const auto& each) {
          return each[static_cast<std::size_t>(CpuEvent::kCycles)] == 1000;
        }) == kRanges);
}

TEST_CASE("without the processor's counters the system's accounts are kept", "[perf]") {
  reset_kernel();
  SECTION("a virtual machine") {
    kernel.refuses = ENOENT;
    const source::CpuCounters counters = source::cpu_counters(kPlayed);
    CHECK(counters.state.find("no counters of the processor: the machine has none") != std::string::npos);
    CHECK(counters.fix.find("virtual PMU") != std::string::npos);
  }
  SECTION("no rights") {
    kernel.refuses = EACCES;
    const source::CpuCounters counters = source::cpu_counters(kPlayed);
    CHECK(counters.state.find("perf_event_paranoid is ") != std::string::npos);
    CHECK(counters.fix.find("sysctl kernel.perf_event_paranoid=2") != std::string::npos);
  }
  SECTION("a container that hides the call") {
    kernel.refuses = ENOSYS;
    CHECK(source::cpu_counters(kPlayed).fix.find("seccomp") != std::string::npos);
  }
  const source::CpuCounters counters = source::cpu_counters(kPlayed);
  const Timeline timeline = recorded(counters, [] { ProfileRange range{"work"}; });
  CHECK(count_of(timeline, "work", CpuEvent::kCycles) == -1);
  CHECK(count_of(timeline, "work", CpuEvent::kNotCounted) == -1);
  CHECK(count_of(timeline, "work", CpuEvent::kCpuTime) >= 0);
  CHECK(kernel.reads == 0);
  REQUIRE(timeline.notes.size() == 2);  // and that device activity is off
  CHECK(timeline.notes[1].find("CPU counters: CPU time, page faults") == 0);
}

TEST_CASE("an event that the processor lacks is left out", "[perf]") {
  reset_kernel();
  kernel.refuses_config = PERF_COUNT_HW_CACHE_REFERENCES;
  kernel.events = 4;
  const source::CpuCounters counters = source::cpu_counters(kPlayed);
  CHECK(counters.state == "the processor counts 4 of 5 events that were asked for");
  const Timeline timeline = recorded(counters, [] { ProfileRange range{"work"}; });
  CHECK(count_of(timeline, "work", CpuEvent::kCacheReferences) == -1);
  CHECK(count_of(timeline, "work", CpuEvent::kInstructions) == 2500);
  CHECK(count_of(timeline, "work", CpuEvent::kCacheMisses) == 40);  // the third value of the group
}

TEST_CASE("time in which others had the counters is told", "[perf]") {
  reset_kernel();
  kernel.lost_ns = 300;
  const Timeline timeline = recorded(source::cpu_counters(kPlayed), [] { ProfileRange range{"work"}; });
  CHECK(count_of(timeline, "work", CpuEvent::kNotCounted) == 300);
}

TEST_CASE("a thread that would take too many descriptors goes without, and is counted", "[perf]") {
  reset_kernel();
  const source::CpuCounters counters = source::cpu_counters(kPlayed);
  kernel.limit = 200;  // the first descriptor is 100 and more
  const Timeline timeline = recorded(counters, [] { ProfileRange range{"work"}; });
  CHECK(count_of(timeline, "work", CpuEvent::kCycles) == -1);
  CHECK(count_of(timeline, "work", CpuEvent::kCpuTime) >= 0);
  CHECK(timeline.health.threads_without_cpu_counters == 1);
  CHECK(kernel.open == 0);
}

TEST_CASE("a child of fork opens events of its own", "[perf]") {
  reset_kernel();
  const source::CpuCounters counters = source::cpu_counters(kPlayed);
  int status = -1;
  std::thread([&] {
    std::int64_t counts[kCpuEvents] = {};
    counters.hook->read(counts);
    const int opened = kernel.next_fd;
    const pid_t child = ::fork();
    if (child == 0) {
      if (kernel.open != 0) ::_exit(1);
      counters.hook->read(counts);
      ::_exit(kernel.open == 5 && kernel.next_fd == opened + 5 ? 0 : 2);
    }
    ::waitpid(child, &status, 0);
    counters.hook->read(counts);
    CHECK(kernel.next_fd == opened);
  }).join();
  CHECK(status == 0);
}

TEST_CASE("a recording that counts nothing keeps ranges on the fast path", "[perf]") {
  const ScratchFolder folder;
  SessionOptions options;
  options.output = folder.file("plain.rfcap");
  options.cuda = false;
  options.nvtx = false;
  options.autograd = false;
  Session session(options);
  REQUIRE(session.status().ok());
  CHECK((detail::active.load() & detail::kSlowPath) == 0);
  CHECK(detail::active.load() != 0);
}
