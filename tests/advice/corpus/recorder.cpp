// SPDX-License-Identifier: MIT
#include "advice/corpus/recorder.hpp"

#include "advice/corpus/device.hpp"
#include "support/device_process.hpp"
#include "support/environment.hpp"
#include "support/played_clock.hpp"
#include "support/recording.hpp"
#include "support/scratch_folder.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/detail/memory.hpp>
#include <rangefinder/detail/operators.hpp>
#include <rangefinder/range.hpp>

#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

namespace rangefinder::testing::corpus {
namespace {

/// The recorder knows names of operators by their address.
const char* kept(const std::string& name) {
  static std::set<std::string> names;
  return names.insert(name).first->c_str();
}

/// CUPTI's names of functions say the version that brought them.
std::string cupti_name(const std::string& function) {
  static const std::unordered_map<std::string_view, const char*> kVersions = {
      {"cudaLaunchKernel", "_v7000"},      {"cudaLaunchKernelExC", "_v11060"},
      {"cudaMemcpyAsync", "_v3020"},       {"cudaStreamSynchronize", "_v3020"},
      {"cudaDeviceSynchronize", "_v3020"}, {"cudaEventRecordWithFlags", "_v11010"},
      {"cudaStreamWaitEvent", "_v3020"},   {"cudaMalloc", "_v3020"},
      {"cudaEventSynchronize", "_v3020"},  {"cudaFree", "_v3020"},
      {"cudaGraphLaunch", "_v10000"},      {"cudaStreamBeginCapture", "_v10000"},
      {"cudaStreamEndCapture", "_v10000"}, {"cudaGraphInstantiate", "_v10000"},
      {"cudaGraphExecDestroy", "_v10000"}, {"cudaGraphDestroy", "_v10000"}};
  const auto found = kVersions.find(function);
  return found == kVersions.end() ? function : function + found->second;
}

/// Something that a thread does at a moment. What is open ends before something else begins.
struct Event {
  enum Kind : std::uint8_t {
    kEndCall,
    kEndRange,
    kStep,
    kBeginRange,
    kBeginCall,
    kMemory,
    kCounter,
    kBeginCollective,
    kReturnCollective,
    kBeginWait,
    kEndWait
  };
  std::int64_t time_ns;
  Kind kind;
  std::size_t row;
};

std::vector<Event> events_of(const Program& program, std::size_t thread) {
  std::vector<Event> events;
  const auto each = [&](const auto& rows, auto&& add) {
    for (std::size_t row = 0; row < rows.size(); ++row)
      if (rows[row].thread == thread) add(rows[row], row);
  };
  each(program.ranges, [&](const ProgramRange& range, std::size_t row) {
    events.push_back({range.begin_ns, Event::kBeginRange, row});
    events.push_back({range.end_ns, Event::kEndRange, row});
  });
  each(program.calls, [&](const ProgramCall& call, std::size_t row) {
    events.push_back({call.begin_ns, Event::kBeginCall, row});
    events.push_back({call.end_ns, Event::kEndCall, row});
  });
  each(program.memory, [&](const ProgramMemory& one, std::size_t row) {
    events.push_back({one.time_ns, Event::kMemory, row});
  });
  each(program.collectives, [&](const ProgramCollective& one, std::size_t row) {
    events.push_back({one.begin_ns, Event::kBeginCollective, row});
    events.push_back({one.end_ns, Event::kReturnCollective, row});
    if (one.wait_begin_ns == kNoTime) return;
    events.push_back({one.wait_begin_ns, Event::kBeginWait, row});
    events.push_back({one.wait_end_ns, Event::kEndWait, row});
  });
  if (thread == kMainThread) {
    for (const ProgramStep& step : program.steps) events.push_back({step.end_ns, Event::kStep, 0});
    for (std::size_t row = 0; row < program.counters.size(); ++row)
      events.push_back({program.counters[row].time_ns, Event::kCounter, row});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.kind < b.kind;
  });
  return events;
}

/// Plays one process into a session.
class ProgramPlayer {
 public:
  ProgramPlayer(const Program& program, session::SessionCore& session)
      : program_(program), session_(session), open_(program.ranges.size()), handles_(program.collectives.size()) {
    std::vector<std::int64_t> ranks;
    for (int rank = 0; rank < program.world_size; ++rank) ranks.push_back(rank);
    if (!ranks.empty())
      group_ =
          detail::collective_group({"0", "default_pg", ranks.data(), ranks.size(), program.world_size, program.rank});
  }

  /// One thread after the other: each has the time of its log.
  void play() {
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread)
      std::thread([&] {
        ::pthread_setname_np(::pthread_self(), program_.threads[thread].c_str());
        for (const Event& event : events_of(program_, thread)) {
          PlayedClock::set_mine(event.time_ns);
          perform(event);
        }
        if (thread == kMainThread && program_.has_device) record_device();
      }).join();
    std::thread([&] { note_work_of_collectives(); }).join();
  }

 private:
  void perform(const Event& event) {
    switch (event.kind) {
      case Event::kBeginRange:
        return begin(program_.ranges[event.row], open_[event.row]);
      case Event::kEndRange:
        return detail::end(open_[event.row].token, open_[event.row].word);
      case Event::kStep:
        return session_.step();
      case Event::kBeginCall: {
        const ProgramCall& call = program_.calls[event.row];
        return fakecupti_begin_call(cupti_name(call.name).c_str(), call.correlation);
      }
      case Event::kEndCall: {
        const ProgramCall& call = program_.calls[event.row];
        return fakecupti_end_call(cupti_name(call.name).c_str(), call.correlation,
                                  static_cast<std::uint32_t>(call.result), PlayedClock::on_device(call.begin_ns),
                                  PlayedClock::on_device(call.end_ns));
      }
      case Event::kMemory: {
        const ProgramMemory& one = program_.memory[event.row];
        return detail::memory_event({one.action, 0, one.address, one.bytes, one.allocated, one.reserved});
      }
      case Event::kCounter:
        return counter(program_.counters[event.row].name, program_.counters[event.row].value);
      case Event::kBeginCollective:
        handles_[event.row] = call(program_.collectives[event.row]);
        return;
      case Event::kReturnCollective:
        return detail::note_collective(handles_[event.row], detail::CollectivePhase::kReturned);
      case Event::kBeginWait:
        return detail::note_collective(handles_[event.row], detail::CollectivePhase::kWaitBegan);
      case Event::kEndWait:
        return detail::note_collective(handles_[event.row], detail::CollectivePhase::kWaitEnded);
    }
  }

  static void begin(const ProgramRange& range, detail::OpenRange& open) {
    if (range.kind != RangeKind::kOperator) {
      open = detail::begin_text_slow(range.name.data(), range.name.size(), 0);
      return;
    }
    const std::uint32_t inputs =
        range.shapes.empty() ? 0 : detail::intern_inputs(range.shapes + "\n" + range.types + "\n[]");
    open.token = detail::begin_operator(kept(range.name), -1, 0, inputs, open.word);
  }

  std::uint32_t call(const ProgramCollective& one) const {
    detail::CollectiveCall call;
    call.kind = one.kind;
    call.name = one.name;
    call.group = group_;
    call.number = one.number;
    call.elements_in = one.elements_in;
    call.elements_out = one.elements_out;
    call.dtype = one.dtype;
    return detail::begin_collective(call);
  }

  /// By Gloo's own threads.
  void note_work_of_collectives() {
    for (std::size_t row = 0; row < program_.collectives.size(); ++row) {
      const ProgramCollective& one = program_.collectives[row];
      if (one.started_ns == kNoTime) continue;
      PlayedClock::set_mine(one.started_ns);
      detail::note_collective(handles_[row], detail::CollectivePhase::kStarted);
      PlayedClock::set_mine(one.completed_ns);
      detail::note_collective(handles_[row], detail::CollectivePhase::kCompleted);
    }
  }

  void record_device() {
    for (const ProgramWork& work : program_.works) record(work);
    for (const ProgramEvent& event : program_.events) record(event);
    for (const ProgramSync& sync : program_.syncs) record(sync);
    for (const ProgramAllocation& one : program_.allocations) record(one);
    for (const ProgramOverhead& one : program_.overheads) record(one);
  }

  static void record(const ProgramWork& work) {
    const auto place = [&](FakeWork& fake) {
      fake.begin_ns = PlayedClock::on_device(work.begin_ns);
      fake.end_ns = PlayedClock::on_device(work.end_ns);
      fake.stream = static_cast<std::uint32_t>(work.stream);
    };
    if (work.kind == ActivityKind::kMemcpy) {
      FakeCopy fake;
      place(fake);
      fake.bytes = work.bytes;
      fake.kind = work.copy.copy_kind;
      fake.source = work.copy.source_memory;
      fake.target = work.copy.target_memory;
      fake.async = work.copy.asynchronous;
      return fakecupti_record_copy(&fake, work.correlation, 0, 0);
    }
    FakeKernel fake;
    place(fake);
    fake.name = work.name.c_str();
    std::copy_n(work.kernel.grid, 3, fake.grid);
    std::copy_n(work.kernel.block, 3, fake.block);
    fake.registers = work.kernel.registers_per_thread;
    fake.dynamic_shared = work.kernel.dynamic_shared_bytes;
    fake.shared_executed = work.kernel.shared_executed_bytes;
    fakecupti_record_kernel(&fake, work.correlation, work.graph_node, work.graph);
  }

  static void record(const ProgramSync& sync) {
    if (!fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) return;
    CUpti_ActivitySynchronization2 r{};
    r.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    r.type = static_cast<CUpti_ActivitySynchronizationType>(sync.type);
    r.start = PlayedClock::on_device(sync.begin_ns);
    r.end = PlayedClock::on_device(sync.end_ns);
    r.correlationId = sync.correlation;
    r.contextId = 1;
    const bool of_stream = sync.type == 2 || sync.type == 3, of_event = sync.type <= 2;
    r.streamId = of_stream ? static_cast<std::uint32_t>(sync.stream) : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    r.cudaEventId = of_event ? kEventId : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    r.cudaEventSyncId = of_event ? sync.event.correlation : 0;
    fakecupti_append(&r, sizeof r);
  }

  static void record(const ProgramEvent& event) {
    if (!fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_CUDA_EVENT)) return;
    CUpti_ActivityCudaEvent2 r{};
    r.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    r.correlationId = event.correlation;
    r.contextId = 1;
    r.streamId = static_cast<std::uint32_t>(event.stream);
    r.eventId = kEventId;
    r.cudaEventSyncId = event.correlation;
    fakecupti_append(&r, sizeof r);
  }

  static void record(const ProgramAllocation& one) {
    if (!fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_MEMORY2)) return;
    CUpti_ActivityMemory4 r{};
    r.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    r.memoryOperationType =
        one.freed ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    r.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r.correlationId = one.correlation;
    r.address = one.address;
    r.bytes = one.bytes;
    r.timestamp = PlayedClock::on_device(one.time_ns);
    r.processId = static_cast<std::uint32_t>(::getpid());
    r.contextId = 1;
    r.streamId = static_cast<std::uint32_t>(kComputeStreamId);
    fakecupti_append(&r, sizeof r);
  }

  static void record(const ProgramOverhead& one) {
    if (!fakecupti_kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD)) return;
    CUpti_ActivityOverhead3 r{};
    r.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    r.overheadKind = one.name == "Buffer Flush"              ? CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH
                     : one.name == "Lazy Function Loading"   ? CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING
                     : one.name == "Activity Buffer Request" ? CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST
                                                             : CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION;
    r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    r.objectId.pt.processId = static_cast<std::uint32_t>(::getpid());
    r.objectId.pt.threadId = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    r.start = PlayedClock::on_device(one.begin_ns);
    r.end = PlayedClock::on_device(one.end_ns);
    fakecupti_append(&r, sizeof r);
  }

  static constexpr std::uint32_t kComputeStreamId = 7;
  static constexpr std::uint32_t kEventId = 1;  // the same event again and again

  const Program& program_;
  session::SessionCore& session_;
  std::vector<detail::OpenRange> open_;
  std::vector<std::uint32_t> handles_;
  std::uint32_t group_ = 0;
};

std::int64_t end_of(const Program& program) {
  std::int64_t end_ns = program.steps.back().end_ns;
  for (const ProgramWork& work : program.works) end_ns = std::max(end_ns, work.end_ns);
  return end_ns;
}

void play_and_stop(const Program& program, Recording& recording, PlayedClock& clock) {
  ProgramPlayer(program, *recording).play();
  const std::int64_t end_ns = end_of(program) + 1'000;
  clock.set_others(end_ns);
  if (program.has_device) fakecupti_advance(static_cast<std::uint64_t>(end_ns - program.steps.front().begin_ns));
  (void)recording->flush();
  if (const Status stopped = recording->stop(); !stopped.ok()) throw std::runtime_error(stopped.error().message());
}

void record_on_host(const Program& program, const std::string& path) {
  PlayedClock clock(program.steps.front().begin_ns);
  SessionOptions options = host_only(path);
  options.memory_bytes = 4 * kLeastMemory;
  session::Dependencies parts;
  parts.clock = &clock;
  Recording recording(std::move(options), std::move(parts));
  play_and_stop(program, recording, clock);
}

void record_with_device(const Program& program, const std::string& path) {
  const std::int64_t begin_ns = program.steps.front().begin_ns;
  PlayedClock clock(begin_ns);
  DeviceProcess process;
  fakecupti_add_device(0, kDeviceName);
  std::set<std::int64_t> streams;
  for (const ProgramWork& work : program.works)
    if (work.stream != 7 && streams.insert(work.stream).second)
      fakecupti_add_stream(1, static_cast<std::uint32_t>(work.stream), 0);
  fakecupti_set_manual_clock(PlayedClock::on_device(begin_ns));
  buffer::HeldRecords::instance().forget(&clock);
  process.options.noisy_api_filter = false;
  process.options.memory_bytes = 64 << 20;
  process.session.output = path;
  process.session.memory_bytes = 8 * kLeastMemory;
  session::Dependencies parts = process.parts();
  parts.clock = &clock;
  Recording recording(process.session, std::move(parts));
  play_and_stop(program, recording, clock);
}

}  // namespace

Timeline recorded(const std::vector<Program>& job) {
  const ScratchFolder folder;
  std::vector<std::string> paths;
  for (const Program& program : job) {
    paths.push_back(folder.file("rank" + std::to_string(paths.size()) + ".rfcap"));
    const Environment rank("RANK", program.rank < 0 ? "" : std::to_string(program.rank).c_str());
    const Environment size("WORLD_SIZE", program.world_size < 0 ? "" : std::to_string(program.world_size).c_str());
    if (program.has_device)
      record_with_device(program, paths.back());
    else
      record_on_host(program, paths.back());
  }
  LoadOptions options;
  options.operator_inputs = true;
  Result<Timeline> timeline = load_job(paths, options);
  if (!timeline) throw std::runtime_error(timeline.error().message());
  return std::move(*timeline);
}

}  // namespace rangefinder::testing::corpus
