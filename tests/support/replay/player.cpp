// SPDX-License-Identifier: MIT
#include "support/replay/player.hpp"

#include "support/device_process.hpp"
#include "support/played_clock.hpp"
#include "support/replay/nvtx_calls.hpp"
#include "support/replay/script.hpp"

#include <rangefinder/capture.hpp>

#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <tuple>
#include <unordered_map>

namespace rangefinder::testing {
namespace {

constexpr std::size_t kNoThread = std::numeric_limits<std::size_t>::max();
std::uint64_t on_device(std::int64_t ns) { return PlayedClock::on_device(ns); }

/// The ids of start/end ranges, for threads that end what another has started.
class RangeIds {
 public:
  explicit RangeIds(std::size_t ranges) : ids_(ranges) {}
  void set(std::size_t range, std::uint64_t id) {
    ids_[range].store(id + 1);
    ids_[range].notify_all();
  }
  std::uint64_t wait(std::size_t range) {
    ids_[range].wait(0);
    return ids_[range].load() - 1;
  }

 private:
  std::vector<std::atomic<std::uint64_t>> ids_;  // plus one; 0: not started yet
};

/// Work that is on the devices, or done and not told of yet. One thread's.
class PendingWork {
 public:
  explicit PendingWork(std::mt19937_64& random) : random_(random) {}

  void add(const RecordedWork& work) { streams_[{work.context, work.stream}].push_back(&work); }

  /// Records some of what is done by now, of a stream by chance.
  void record_some(std::int64_t now_ns) {
    if (streams_.empty()) return;
    auto stream = std::next(streams_.begin(), static_cast<std::ptrdiff_t>(random_() % streams_.size()));
    std::deque<const RecordedWork*>& queue = stream->second;
    for (std::uint64_t left = 1 + random_() % 16; left > 0 && !queue.empty(); --left) {
      if (queue.front()->end_ns > now_ns) return;
      record(*queue.front());
      queue.pop_front();
    }
    if (queue.empty()) streams_.erase(stream);
  }
  void record_all() {
    while (!streams_.empty()) record_some(std::numeric_limits<std::int64_t>::max());
  }

 private:
  static void set_place(FakeWork& fake, const RecordedWork& work) {
    fake.begin_ns = on_device(work.begin_ns);
    fake.end_ns = on_device(work.end_ns);
    fake.device = work.device;
    fake.context = work.context;
    fake.stream = work.stream;
  }
  static void record(const RecordedWork& work) {
    std::visit([&](const auto& what) { record(work, what); }, work.what);
  }
  static void record(const RecordedWork& work, const RecordedKernel& kernel) {
    FakeKernel fake;
    set_place(fake, work);
    fake.name = kernel.name.c_str();
    std::copy_n(kernel.grid, 3, fake.grid);
    std::copy_n(kernel.block, 3, fake.block);
    std::copy_n(kernel.cluster, 3, fake.cluster);
    fake.registers = kernel.registers;
    fake.static_shared = kernel.static_shared;
    fake.dynamic_shared = kernel.dynamic_shared;
    fake.local = kernel.local;
    fake.launch_type = kernel.launch_type;
    fake.shared_executed = kernel.shared_executed;
    fakecupti_record_kernel(&fake, work.correlation, work.graph_node, work.graph);
  }
  static void record(const RecordedWork& work, const RecordedCopy& copy) {
    FakeCopy fake;
    set_place(fake, work);
    fake.bytes = copy.bytes;
    fake.kind = copy.kind;
    fake.source = copy.source;
    fake.target = copy.target;
    fakecupti_record_copy(&fake, work.correlation, work.graph_node, work.graph);
  }
  static void record(const RecordedWork& work, const RecordedSet& set) {
    FakeSet fake;
    set_place(fake, work);
    fake.bytes = set.bytes;
    fake.value = set.value;
    fake.memory = set.memory;
    fakecupti_record_set(&fake, work.correlation, work.graph_node, work.graph);
  }

  std::mt19937_64& random_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<const RecordedWork*>> streams_;
};

/// What the calls of a process bring about, by correlation id.
struct Consequences {
  explicit Consequences(const RecordedProcess& process) {
    std::unordered_map<std::uint32_t, std::size_t> known;
    for (const RecordedCall& call : process.calls) known.emplace(call.correlation, 0);
    for (const RecordedWork& work : process.works)
      (known.contains(work.correlation) ? works[work.correlation] : from_before).push_back(&work);
    for (const RecordedSync& sync : process.syncs) syncs.emplace(sync.correlation, &sync);
  }
  std::unordered_map<std::uint32_t, std::vector<const RecordedWork*>> works;
  std::unordered_map<std::uint32_t, const RecordedSync*> syncs;
  std::vector<const RecordedWork*> from_before;  // of calls that the tool has not seen
};

void record_sync(const RecordedSync& sync) {
  if (!fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
  CUpti_ActivitySynchronization2 r{};
  r.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  r.type = static_cast<CUpti_ActivitySynchronizationType>(sync.type);
  r.start = on_device(sync.begin_ns);
  r.end = on_device(sync.end_ns);
  r.correlationId = sync.correlation;
  r.contextId = sync.context;
  r.streamId = sync.stream;
  r.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  fakecupti_append(&r, sizeof r);
}

std::uint32_t own_tid() { return static_cast<std::uint32_t>(::syscall(SYS_gettid)); }

void record_overhead(const RecordedOverhead& overhead) {
  if (!fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
  CUpti_ActivityOverhead3 r{};
  r.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  r.overheadKind = static_cast<CUpti_ActivityOverheadKind>(overhead.kind);
  r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  r.objectId.pt.processId = static_cast<std::uint32_t>(::getpid());
  r.objectId.pt.threadId = own_tid();
  r.start = on_device(overhead.begin_ns);
  r.end = on_device(overhead.end_ns);
  r.correlationId = overhead.correlation;
  fakecupti_append(&r, sizeof r);
}

/// What all threads of a play share.
struct Stage {
  explicit Stage(const RecordedProcess& played)
      : process(played), script(played), follows(played), ids(played.ranges.size()) {
    for (const RecordedRange& range : played.ranges) nvtx.announce(range.text);
    for (const RecordedMark& mark : played.marks) nvtx.announce(mark.text);
  }
  const RecordedProcess& process;
  Script script;
  Consequences follows;
  NvtxCalls nvtx;
  RangeIds ids;
  session::SessionCore* session = nullptr;
  bool late = false;  // buffers are held until somebody delivers them
};

class PlayingThread {
 public:
  PlayingThread(Stage& stage, std::size_t thread, std::uint64_t seed)
      : stage_(stage), thread_(thread), random_(seed + thread), pending_(random_) {}

  void play() {
    const RecordedThread& recorded = stage_.process.threads[thread_];
    if (!recorded.name.empty()) ::pthread_setname_np(::pthread_self(), recorded.name.substr(0, 15).c_str());
    if (thread_ == 0)
      for (const RecordedWork* work : stage_.follows.from_before) pending_.add(*work);
    for (const ScriptEvent& event : stage_.script.of_thread(thread_)) {
      PlayedClock::set_mine(event.time_ns);
      perform(event);
      if (random_() % 4 == 0) pending_.record_some(event.time_ns);
      if (random_() % 512 == 0) fetch();
    }
    for (const RecordedOverhead& overhead : stage_.process.overheads)
      if (overhead.thread == thread_) record_overhead(overhead);
    pending_.record_all();
  }

 private:
  /// Records are fetched in the middle of the run.
  void fetch() {
    (void)stage_.session->flush();
    if (stage_.late) fakecupti_deliver();
  }

  void perform(const ScriptEvent& event) {
    switch (event.kind) {
      case ScriptEvent::kBeginRange: {
        const RecordedRange& range = stage_.process.ranges[event.index];
        if (!range.start_end) return stage_.nvtx.push(range.text);
        return stage_.ids.set(event.index, stage_.nvtx.start(range.text));
      }
      case ScriptEvent::kEndRange: {
        const RecordedRange& range = stage_.process.ranges[event.index];
        if (!range.start_end) return stage_.nvtx.pop(range.text);
        return stage_.nvtx.end(range.text, stage_.ids.wait(event.index));
      }
      case ScriptEvent::kMark:
        return stage_.nvtx.mark(stage_.process.marks[event.index].text);
      case ScriptEvent::kBeginCall: {
        const RecordedCall& call = stage_.process.calls[event.index];
        return fakecupti_begin_call(call.function.c_str(), call.correlation);
      }
      case ScriptEvent::kEndCall:
        return end_call(stage_.process.calls[event.index]);
    }
  }

  void end_call(const RecordedCall& call) {
    if (const auto sync = stage_.follows.syncs.find(call.correlation); sync != stage_.follows.syncs.end())
      record_sync(*sync->second);
    fakecupti_end_call(call.function.c_str(), call.correlation, call.result, on_device(call.begin_ns),
                       on_device(call.end_ns));
    if (const auto works = stage_.follows.works.find(call.correlation); works != stage_.follows.works.end())
      for (const RecordedWork* work : works->second) pending_.add(*work);
  }

  Stage& stage_;
  std::size_t thread_;
  std::mt19937_64 random_;
  PendingWork pending_;
};

/// First and last moment of anything.
std::pair<std::int64_t, std::int64_t> extent(const RecordedProcess& process) {
  std::pair<std::int64_t, std::int64_t> all{std::numeric_limits<std::int64_t>::max(), 0};
  const auto widen = [&](std::int64_t begin_ns, std::int64_t end_ns) {
    all.first = std::min(all.first, begin_ns);
    all.second = std::max(all.second, end_ns);
  };
  for (const RecordedRange& range : process.ranges) widen(range.begin_ns, range.end_ns.value_or(range.begin_ns));
  for (const RecordedMark& mark : process.marks) widen(mark.time_ns, mark.time_ns);
  for (const RecordedCall& call : process.calls) widen(call.begin_ns, call.end_ns);
  for (const RecordedWork& work : process.works) widen(work.begin_ns, work.end_ns);
  for (const RecordedSync& sync : process.syncs) widen(sync.begin_ns, sync.end_ns);
  for (const RecordedOverhead& overhead : process.overheads) widen(overhead.begin_ns, overhead.end_ns);
  return all;
}

void describe_devices(const RecordedProcess& process) {
  for (const RecordedDevice& device : process.devices) fakecupti_add_device(device.id, device.name.c_str());
  fakecupti_destroy_contexts();
  std::map<std::uint32_t, std::uint32_t> contexts;
  for (const RecordedStream& stream : process.streams) {
    if (contexts.emplace(stream.context, stream.device).second) fakecupti_add_context(stream.context, stream.device);
    fakecupti_add_stream(stream.context, stream.id, 0);
  }
}

void require_whole(const std::string& path) {
  const Result<CaptureInfo> info = inspect_capture(path, true);
  REQUIRE(info.ok());
  CHECK(info->ended_cleanly);
  CHECK(info->findings.empty());
  for (const CaptureHealth::Entry& entry : info->health.entries()) {
    // What the program itself left open or ended elsewhere is no loss.
    if (entry.name == std::string_view("unfinished_ranges") || entry.name == std::string_view("foreign_ends")) continue;
    INFO(entry.name);
    CHECK(entry.count == 0);
  }
}

}  // namespace

Played play(const RecordedProcess& recorded, std::uint64_t seed, const std::string& path) {
  Stage stage(recorded);
  const auto [begin_ns, end_ns] = extent(recorded);
  PlayedClock clock(begin_ns);
  DeviceProcess process;
  describe_devices(recorded);
  fakecupti_set_manual_clock(on_device(begin_ns));
  buffer::HeldRecords::instance().forget(&clock);
  process.options.noisy_api_filter = false;  // what the tool tells, ours has to
  process.options.memory_bytes = 16 << 20;
  process.session.output = path;
  process.session.memory_bytes = 4 * kLeastMemory;
  session::Dependencies parts = process.parts();
  parts.clock = &clock;
  Recording recording(process.session, std::move(parts));
  stage.session = &*recording;
  stage.late = seed % 3 == 2;
  fakecupti_set_delivery(stage.late ? kFakeHeld : seed % 3 == 1 ? kFakeReversed : kFakeInOrder);

  Played played{path, std::vector<std::uint32_t>(recorded.threads.size())};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < recorded.threads.size(); ++i) {
    threads.emplace_back([&stage, &played, i, seed] {
      played.tids[i] = own_tid();
      PlayingThread(stage, i, seed).play();
    });
  }
  for (std::thread& thread : threads) thread.join();
  clock.set_others(end_ns);
  fakecupti_advance(static_cast<std::uint64_t>(end_ns - begin_ns));
  (void)recording->flush();
  fakecupti_set_delivery(kFakeInOrder);
  fakecupti_deliver();
  REQUIRE(recording->stop().ok());
  require_whole(path);
  return played;
}

void name_as_recorded(Timeline& timeline, ProcessIndex process, const RecordedProcess& recorded, const Played& played) {
  timeline.processes[process].pid = recorded.pid;
  std::vector<std::size_t> threads(timeline.threads.size(), kNoThread);  // that played, by thread of the timeline
  for (ThreadIndex i{0}; i < timeline.threads.size(); ++i) {
    ThreadInfo& thread = timeline.threads[i];
    if (thread.process != process) continue;
    const auto found = std::find(played.tids.begin(), played.tids.end(), static_cast<std::uint32_t>(thread.tid));
    if (found == played.tids.end()) continue;
    threads[i] = static_cast<std::size_t>(found - played.tids.begin());
    thread.tid = recorded.threads[threads[i]].tid;
    thread.priority = recorded.threads[threads[i]].priority;
  }
  std::map<std::tuple<std::size_t, std::int64_t, std::string_view>, std::deque<const RecordedRange*>> by_place;
  std::int64_t last_ns = 0;
  for (const RecordedRange& range : recorded.ranges) {
    by_place[{range.thread, range.begin_ns, range.text.text}].push_back(&range);
    last_ns = std::max({last_ns, range.begin_ns, range.end_ns.value_or(0)});
  }
  RangeTable& ranges = timeline.ranges;
  for (RangeIndex i{0}; i < ranges.size(); ++i) {
    if (timeline.threads[ranges.thread[i]].process != process) continue;
    const auto found = by_place.find({threads[ranges.thread[i]], ranges.begin_ns[i], timeline.text(ranges.name[i])});
    if (found == by_place.end() || found->second.empty()) continue;
    RangeRow row = ranges.row(i);
    row.source_row = found->second.front()->row;
    found->second.pop_front();
    if ((row.flags & kUnfinished) != 0) row.end_ns = last_ns;
    ranges.set(i, row);
  }
}

}  // namespace rangefinder::testing
