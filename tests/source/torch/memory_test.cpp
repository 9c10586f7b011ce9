// SPDX-License-Identifier: MIT
//
// What LibTorch's allocators do, as captures have it.
#include "libtorch.hpp"
#include "source/torch/device_statistics.hpp"
#include "source/torch/live_blocks.hpp"
#include "source/torch/trace_entries.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/range.hpp>
#include <rangefinder/session.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/torch/memory.hpp>

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using namespace rangefinder;
using namespace rangefinder::testing;
using rangefinder::torch::MemoryRecording;
using rangefinder::torch::MemoryRecordingOptions;
using TraceEntry = c10::CachingDeviceAllocator::TraceEntry;

namespace {

constexpr std::int64_t kFloats = 100'000;  // of a tensor that no other has the size of
constexpr std::uint64_t kBytes = kFloats * sizeof(float);

MemoryRecordingOptions of_host() {
  MemoryRecordingOptions options;
  options.cuda = false;
  return options;
}

template <typename Program>
Timeline record_memory(const std::string& path, Program program, SessionOptions options = {}) {
  options.output = path;
  options.cuda = false;
  Session session(options);
  REQUIRE(session.status().ok());
  if constexpr (std::is_invocable_v<Program, Session&>)
    program(session);
  else
    program();
  REQUIRE(session.stop().ok());
  Result<Timeline> timeline = load_timeline(path);
  REQUIRE(timeline.ok());
  CHECK(timeline->health.dropped_memory_events == 0);
  return std::move(*timeline);
}

/// Rows of the action with that many bytes.
std::vector<std::size_t> rows_of(const Timeline& timeline, MemoryAction action, std::uint64_t bytes = kBytes) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < timeline.allocator_events.size(); ++row)
    if (timeline.allocator_events.action[row] == action && timeline.allocator_events.bytes[row] == bytes)
      rows.push_back(row);
  return rows;
}

RangeIndex range_named(const Timeline& timeline, std::string_view name) {
  for (RangeIndex range{0}; range < timeline.ranges.size(); ++range)
    if (timeline.text(timeline.ranges.name[range]) == name) return range;
  FAIL("no range " << name);
  return kNone;
}

bool is_in(const Timeline& timeline, std::size_t row, RangeIndex range) {
  return timeline.allocator_events.thread[row] == timeline.ranges.thread[range] &&
         timeline.allocator_events.time_ns[row] >= timeline.ranges.begin_ns[range] &&
         timeline.allocator_events.time_ns[row] < timeline.ranges.end_ns[range];
}

/// The samples of a counter, in order, less `base`, with the finished step that each is in; -1: in none.
using Samples = std::vector<std::pair<std::int64_t, std::int64_t>>;
Samples samples_of(const Timeline& timeline, std::string_view name, std::uint64_t base = 0) {
  const CounterTable& counters = timeline.counters;
  const StepTable& steps = timeline.steps;
  Samples samples;
  for (std::size_t row = 0; row < counters.size(); ++row) {
    if (timeline.text(counters.name[row]) != name) continue;
    std::int64_t in = -1;
    for (std::size_t step = 0; step < steps.size(); ++step) {
      if (steps.begin_ns[step] <= counters.time_ns[row] && counters.time_ns[row] < steps.end_ns[step])
        in = steps.number[step];
    }
    samples.emplace_back(in, counters.integer[row] - static_cast<std::int64_t>(base));
  }
  return samples;
}

TraceEntry entry(TraceEntry::Action action, std::size_t address, std::size_t bytes, c10::MempoolId_t pool = {0, 0}) {
  return {action, 2, address, bytes, reinterpret_cast<void*>(0x77), pool, 0};
}

}  // namespace

TEST_CASE("blocks of the host are recorded where they are allocated and freed", "[torch]") {
  const ScratchFolder folder;
  SECTION("in ranges, and outside of operators") {
    const Timeline timeline = record_memory(folder.file("a.rfcap"), [] {
      const MemoryRecording memory(of_host());
      CHECK(memory.host_state() == "recorded");
      CHECK(memory.cuda_state() == "off");
      at::Tensor kept;
      {
        const ProfileRange range{"allocates"};
        kept = at::empty({kFloats});
      }
      const ProfileRange range{"frees"};
      kept.reset();
    });
    const std::vector<std::size_t> allocated = rows_of(timeline, MemoryAction::kAllocate);
    const std::vector<std::size_t> freed = rows_of(timeline, MemoryAction::kFree);
    REQUIRE(allocated.size() == 1);
    REQUIRE(freed.size() == 1);
    const AllocatorEventTable& memory = timeline.allocator_events;
    CHECK(memory.device[allocated[0]] == -1);
    CHECK(memory.address[allocated[0]] != 0);
    CHECK(memory.address[allocated[0]] == memory.address[freed[0]]);
    CHECK(is_in(timeline, allocated[0], range_named(timeline, "allocates")));
    CHECK(is_in(timeline, freed[0], range_named(timeline, "frees")));
    CHECK(memory.allocated[allocated[0]] - memory.allocated[freed[0]] == static_cast<std::int64_t>(kBytes));
    CHECK(memory.reserved[allocated[0]] == -1);
  }
  SECTION("on every thread, and freed on another") {
    const Timeline timeline = record_memory(folder.file("a.rfcap"), [] {
      const MemoryRecording memory(of_host());
      at::Tensor made;
      std::thread([&] {
        const ProfileRange range{"worker"};
        made = at::empty({kFloats});
      }).join();
      made.reset();
    });
    const std::vector<std::size_t> allocated = rows_of(timeline, MemoryAction::kAllocate);
    const std::vector<std::size_t> freed = rows_of(timeline, MemoryAction::kFree);
    REQUIRE(allocated.size() == 1);
    REQUIRE(freed.size() == 1);
    CHECK(is_in(timeline, allocated[0], range_named(timeline, "worker")));
    CHECK(timeline.allocator_events.thread[freed[0]] != timeline.allocator_events.thread[allocated[0]]);
  }
  SECTION("what is there before and after is not; raw memory is") {
    at::Tensor before = at::empty({kFloats});
    at::Tensor left;
    const Timeline timeline = record_memory(folder.file("a.rfcap"), [&] {
      {
        const MemoryRecording memory(of_host());
        const MemoryRecording again(of_host());  // records once
        before.reset();
        left = at::empty({kFloats});
        c10::Allocator* const allocator = c10::GetAllocator(c10::kCPU);
        allocator->raw_deallocate(allocator->raw_allocate(kBytes + 64));
      }
      left = at::empty({kFloats});
    });
    CHECK(rows_of(timeline, MemoryAction::kAllocate).size() == 1);
    CHECK(rows_of(timeline, MemoryAction::kFree).empty());
    CHECK(rows_of(timeline, MemoryAction::kAllocate, kBytes + 64).size() == 1);
    CHECK(rows_of(timeline, MemoryAction::kFree, kBytes + 64).size() == 1);
  }
  SECTION("a request that fails") {
    const Timeline timeline = record_memory(folder.file("a.rfcap"), [] {
      const MemoryRecording memory(of_host());
      CHECK_THROWS(at::empty({std::int64_t{1} << 55}, at::kByte));
    });
    CHECK(rows_of(timeline, MemoryAction::kOutOfMemory, std::uint64_t{1} << 55).size() == 1);
  }
}

TEST_CASE("bytes of the host are counted exactly, without a session too", "[torch]") {
  using rangefinder::torch::host_memory;
  const std::uint64_t before = host_memory().allocated_bytes;
  at::Tensor kept;
  {
    const MemoryRecording memory(of_host());
    CHECK(host_memory().peak_bytes == before);
    {
      const at::Tensor a = at::empty({1000}), b = at::empty({3000});
      CHECK(host_memory().allocated_bytes == before + 16'000);
    }
    kept = at::empty({10});
    CHECK(host_memory().allocated_bytes == before + 40);
    CHECK(host_memory().peak_bytes == before + 16'000);
    rangefinder::torch::reset_host_memory_peak();
    CHECK(host_memory().peak_bytes == before + 40);
  }
  kept.reset();  // after the last recording: its free still counts
  CHECK(host_memory().allocated_bytes == before);
  CHECK(host_memory().untracked == 0);
}

TEST_CASE("the host's memory is counted at every step that is recorded, without a call by the program", "[torch]") {
  const ScratchFolder folder;
  const std::uint64_t before = rangefinder::torch::host_memory().allocated_bytes;
  SessionOptions session;
  MemoryRecordingOptions options = of_host();
  const auto program = [&](Session& running) {
    std::vector<at::Tensor> kept;
    const MemoryRecording memory(options);
    for (int step = 1; step <= 4; ++step) {
      { const at::Tensor gone = at::empty({10'000}); }
      kept.push_back(at::empty({1000}));
      running.step();
    }
    kept.push_back(at::empty({1000}));
  };
  SECTION("in the step that ends there, and where the recording of memory ends") {
    const Timeline timeline = record_memory(folder.file("a.rfcap"), program, session);
    // Step 4 is not finished.
    CHECK(samples_of(timeline, "host allocated bytes", before) ==
          Samples{{0, 4000}, {1, 8000}, {2, 12'000}, {3, 16'000}, {-1, 20'000}});
    CHECK(samples_of(timeline, "host peak bytes", before) ==
          Samples{{0, 40'000}, {1, 44'000}, {2, 48'000}, {3, 52'000}, {-1, 52'000}});
    CHECK(samples_of(timeline, "host untracked allocations").size() == 5);
    CHECK(timeline.health.dropped_events == 0);
  }
  SECTION("not while the schedule pauses") {
    session.schedule.skip_first = 2;
    session.schedule.active = 1;
    session.schedule.repeat = 1;
    const Timeline timeline = record_memory(folder.file("a.rfcap"), program, session);
    // Where it begins, before the step is noted, and where it ends.
    CHECK(samples_of(timeline, "host allocated bytes", before) == Samples{{-1, 8000}, {2, 12'000}});
  }
  SECTION("not if it is not requested") {
    options.statistics_at_steps = false;
    const Timeline timeline = record_memory(folder.file("a.rfcap"), program, session);
    CHECK(timeline.counters.size() == 0);
    CHECK(rows_of(timeline, MemoryAction::kAllocate, 4000).size() == 5);
  }
}

TEST_CASE("a program's figures are the same with and without a recording", "[torch]") {
  at::manual_seed(1);
  const at::Tensor a = at::rand({32, 32}), b = at::rand({32, 32});
  const at::Tensor expected = at::gelu(a.mm(b)).sum();  // by oneDNN, which takes raw memory
  const MemoryRecording memory(of_host());
  CHECK(at::equal(at::gelu(a.mm(b)).sum(), expected));
}

TEST_CASE("torch.profiler counts memory beside a recording", "[torch]") {
  using namespace ::torch::profiler::impl;
  const ScratchFolder folder;
  std::uint64_t seen = 0;
  const Timeline timeline = record_memory(folder.file("a.rfcap"), [&] {
    const MemoryRecording memory(of_host());
    const ProfilerConfig config(ProfilerState::KINETO, false, true);
    ::torch::autograd::profiler::prepareProfiler(config, {ActivityType::CPU});
    ::torch::autograd::profiler::enableProfiler(config, {ActivityType::CPU});
    { const at::Tensor a = at::empty({kFloats}); }
    const auto result = ::torch::autograd::profiler::disableProfiler();
    for (const auto& event : result->events())
      seen += event.name() == "[memory]" && event.nBytes() == static_cast<std::int64_t>(kBytes) ? 1 : 0;
  });
  CHECK(seen == 1);
  CHECK(rows_of(timeline, MemoryAction::kAllocate).size() == 1);
}

TEST_CASE("the caching allocator's entries become events", "[torch]") {
  using rangefinder::torch::event_of;
  const auto allocated = event_of(entry(TraceEntry::ALLOC, 0x1000, 512, {0, 3}));
  REQUIRE(allocated);
  CHECK(allocated->action == MemoryAction::kAllocate);
  CHECK(allocated->device == 2);
  CHECK(allocated->address == 0x1000);
  CHECK(allocated->bytes == 512);
  CHECK(allocated->stream == 0x77);
  CHECK(allocated->pool == (std::uint64_t{1} << 63 | 3));
  CHECK(event_of(entry(TraceEntry::FREE_REQUESTED, 0x1000, 512, {4, 0}))->pool == 4);
  const std::map<TraceEntry::Action, MemoryAction> expected{{TraceEntry::FREE_REQUESTED, MemoryAction::kFree},
                                                            {TraceEntry::SEGMENT_ALLOC, MemoryAction::kSegmentAllocate},
                                                            {TraceEntry::SEGMENT_FREE, MemoryAction::kSegmentFree},
                                                            {TraceEntry::SEGMENT_MAP, MemoryAction::kSegmentMap},
                                                            {TraceEntry::SEGMENT_UNMAP, MemoryAction::kSegmentUnmap},
                                                            {TraceEntry::OOM, MemoryAction::kOutOfMemory}};
  for (const auto& [theirs, ours] : expected) CHECK(event_of(entry(theirs, 0x1000, 512))->action == ours);
  CHECK(event_of(entry(TraceEntry::OOM, 123, 512))->address == 0);        // what the device has left is no address
  CHECK_FALSE(event_of(entry(TraceEntry::FREE_COMPLETED, 0x1000, 512)));  // was freed when it was asked for
  CHECK_FALSE(event_of(entry(TraceEntry::SNAPSHOT, 0, 0)));
}

TEST_CASE("totals of a device follow its entries", "[torch]") {
  rangefinder::torch::DeviceTotals totals;
  totals.set(2, 1000, 4096);
  const auto after = [&](TraceEntry::Action action, std::size_t bytes) {
    rangefinder::detail::MemoryEvent event = *rangefinder::torch::event_of(entry(action, 0x1000, bytes));
    totals.count(event);
    return std::pair(event.allocated, event.reserved);
  };
  using Totals = std::pair<std::int64_t, std::int64_t>;
  CHECK(after(TraceEntry::SEGMENT_ALLOC, 2048) == Totals{1000, 6144});
  CHECK(after(TraceEntry::ALLOC, 500) == Totals{1500, 6144});
  CHECK(after(TraceEntry::OOM, 1 << 30) == Totals{1500, 6144});
  CHECK(after(TraceEntry::FREE_REQUESTED, 1000) == Totals{500, 6144});
  CHECK(after(TraceEntry::SEGMENT_UNMAP, 4096) == Totals{500, 2048});
  rangefinder::detail::MemoryEvent odd;
  odd.device = -7;
  totals.count(odd);
  CHECK(odd.allocated == -1);
}

TEST_CASE("a device's statistics, with what of its memory is lost to fragments", "[torch]") {
  c10::CachingDeviceAllocator::DeviceStats stats;
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  stats.allocated_bytes[kAll].increase(600);
  stats.requested_bytes[kAll].increase(450);
  stats.reserved_bytes[kAll].increase(1000);
  stats.active_bytes[kAll].increase(650);
  stats.inactive_split_bytes[kAll].increase(250);
  stats.segment[kAll].increase(3);
  stats.num_alloc_retries = 4;
  stats.num_ooms = 5;
  std::map<std::string, double> found;
  const auto put = [&](const char* what, auto value) { found[what] = static_cast<double>(value); };
  rangefinder::torch::for_each_statistic(stats, put);
  CHECK(found == std::map<std::string, double>{{"allocated bytes", 600},
                                               {"requested bytes", 450},
                                               {"reserved bytes", 1000},
                                               {"active bytes", 650},
                                               {"inactive split bytes", 250},
                                               {"segments", 3},
                                               {"allocation retries", 4},
                                               {"out of memory", 5},
                                               {"external fragmentation", 0.25},
                                               {"internal fragmentation", 0.25},
                                               {"efficiency", 0.6}});
  rangefinder::torch::for_each_statistic(c10::CachingDeviceAllocator::DeviceStats(), put);
  CHECK(found["external fragmentation"] == 0);
  CHECK(found["internal fragmentation"] == 0);
}

TEST_CASE("sizes of blocks are kept for as many as there are, by threads that share no lock", "[torch]") {
  rangefinder::torch::SizeTable sizes;
  constexpr std::uintptr_t kThreads = 4, kBlocks = 60'000;  // more than the first table holds
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> wrong(kThreads);
  for (std::uintptr_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const auto address = [&](std::uintptr_t i) { return 0x10000 + 64 * (i * kThreads + thread); };
      for (std::uintptr_t i = 0; i < kBlocks; ++i) wrong[thread] += sizes.put(address(i), i + 1) ? 0 : 1;
      for (std::uintptr_t i = 0; i < kBlocks; ++i) wrong[thread] += sizes.take(address(i)) == i + 1 ? 0 : 1;
      for (std::uintptr_t i = 0; i < kBlocks; ++i) wrong[thread] += sizes.take(address(i)) == 0 ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<std::uint64_t>(kThreads, 0));
  CHECK_FALSE(sizes.put(0, 1));
}

TEST_CASE("a live block is found wherever it is, by whichever thread frees it", "[torch]") {
  using rangefinder::torch::LiveBlocks;
  static LiveBlocks& blocks = *new LiveBlocks;  // as LibTorch's allocators: for the life of the process
  constexpr std::uintptr_t kThreads = 4, kRounds = 20'000;
  const auto bytes_of = [](std::uintptr_t address) { return address / 64; };
  // A ring: of the blocks of each thread the next one frees some, at once or when their own thread has gone on.
  std::vector<std::atomic<std::uintptr_t>> sent(kThreads);
  std::vector<std::uint64_t> wrong(kThreads), received(kThreads);
  std::vector<std::thread> threads;
  for (std::uintptr_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const std::uintptr_t own = 64 * (1 + thread);  // again and again
      for (std::uintptr_t i = 1; i <= kRounds; ++i) {
        const bool sends = sent[thread].load(std::memory_order_acquire) == 0;
        const std::uintptr_t address = sends ? own + 64 * kThreads * i : own;
        wrong[thread] += blocks.put({address, bytes_of(address)}).address != 0;
        if (sends)
          sent[thread].store(address, std::memory_order_release);
        else
          wrong[thread] += blocks.take(address) != bytes_of(address);
        std::atomic<std::uintptr_t>& from = sent[(thread + 1) % kThreads];
        if (const std::uintptr_t got = from.load(std::memory_order_acquire); got != 0) {
          wrong[thread] += blocks.take(got) != bytes_of(got);
          ++received[thread];
          from.store(0, std::memory_order_release);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<std::uint64_t>(kThreads, 0));
  CHECK(std::accumulate(received.begin(), received.end(), std::uint64_t{0}) > 0);
  for (const std::atomic<std::uintptr_t>& left : sent) {  // of threads that are gone
    const std::uintptr_t address = left.load();
    if (address != 0) CHECK(blocks.take(address) == bytes_of(address));
    CHECK(blocks.take(address) == 0);
  }
}

TEST_CASE("a snapshot is written, for its user alone, or says why not", "[torch]") {
  const ScratchFolder folder;
  const std::string path = folder.file("snapshot.pickle");
  const ::mode_t before = ::umask(0);
  const Status status = rangefinder::torch::memory_snapshot(path);
  ::umask(before);
  if (at::hasCUDA()) {
    REQUIRE(status.ok());
    CHECK(std::ifstream(path).get() == 0x80);  // how a pickle begins
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    CHECK(folder.names() == std::vector<std::string>{"snapshot.pickle"});
    return;
  }
  REQUIRE(!status.ok());
  CHECK(status.error().code() == ErrorCode::kUnsupported);
  CHECK(status.error().message().find(path) != std::string::npos);
  CHECK_FALSE(std::ifstream(path).good());
  CHECK(rangefinder::torch::count_device_memory().error().code() == ErrorCode::kUnsupported);
  CHECK(MemoryRecording().cuda_state().find("CUDA") != std::string::npos);
}
