// SPDX-License-Identifier: MIT
#include "analyses/rank_work.hpp"

#include <algorithm>
#include <string>

namespace bench {

using namespace rangefinder;

namespace {

constexpr std::int64_t kRangeCost_ns = 120;
constexpr std::int64_t kLaunchDelay_ns = 4'000;
constexpr std::int64_t kBetweenKernels_ns = 900;
constexpr std::uint64_t kBytesPerNs = 25;
constexpr std::uint64_t kPooledBlocks = 4096;

}  // namespace

RankWork::RankWork(Timeline& to, const JobTexts& words, std::uint32_t rank, std::uint32_t ranks)
    : texts(words), timeline(to), process(to.processes.size()), device(to.devices.size()), random_(42 + rank) {
  ProcessInfo info;
  info.pid = 1000 + 10 * std::int64_t{rank};
  info.rank = static_cast<std::int32_t>(rank);
  info.world_size = static_cast<std::int32_t>(ranks);
  timeline.processes.push_back(info);
  for (JobThread* thread : {&main, &engine, &loader}) {
    thread->index = ThreadIndex(timeline.threads.size());
    ThreadInfo made;
    made.process = process;
    made.tid = info.pid + (thread == &engine ? 1 : thread == &loader ? 2 : 0);
    made.is_engine = thread == &engine;
    timeline.threads.push_back(made);
  }
  DeviceInfo gpu;
  gpu.process = process;
  gpu.id = 0;
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.compute_major = 9;
  gpu.multiprocessors = 132;
  gpu.warp_size = 32;
  gpu.max_threads_per_multiprocessor = 2048;
  gpu.max_blocks_per_multiprocessor = 32;
  gpu.registers_per_multiprocessor = 65536;
  gpu.shared_bytes_per_multiprocessor = 233'472;
  gpu.board = "GPU-" + std::to_string(rank);
  timeline.devices.push_back(gpu);
  for (std::uint32_t stream = 0; stream < kJobStreams; ++stream) {
    streams_[stream] = StreamIndex(timeline.streams.size());
    timeline.streams.push_back({device, 1, static_cast<std::int64_t>(7 + 6 * stream)});
  }
}

RangeIndex RankWork::open(JobThread& thread, StringId name, RangeKind kind) {
  RangeRow row;
  row.name = name;
  row.kind = kind;
  row.thread = row.end_thread = thread.index;
  row.begin_ns = thread.now_ns += kRangeCost_ns;
  const RangeIndex range = timeline.ranges.append(row);
  if (kind == RangeKind::kAnnotation) thread.annotations.push_back(range);
  return range;
}

void RankWork::close(JobThread& thread, RangeIndex range) {
  timeline.ranges.set_end(range, thread.now_ns += kRangeCost_ns);
  if (!thread.annotations.empty() && thread.annotations.back() == range) thread.annotations.pop_back();
}

std::uint64_t RankWork::call(JobThread& thread, StringId name, std::int64_t length_ns) {
  CallRow row;
  row.name = name;
  row.thread = thread.index;
  row.begin_ns = thread.now_ns += 300;
  row.end_ns = thread.now_ns += length_ns;
  row.correlation = ++correlation_;
  timeline.calls.append(row);
  return row.correlation;
}

LaunchIndex RankWork::note_launch(JobThread& thread, StringId name, std::int64_t length_ns) {
  const std::int64_t begin_ns = thread.now_ns + 310;
  LaunchRow row;
  row.process = process;
  row.correlation = call(thread, name, length_ns);
  row.thread = thread.index;
  row.time_ns = begin_ns;
  row.source = LaunchSource::kCallback;
  row.range = thread.annotations.empty() ? RangeIndex(kNone) : thread.annotations.back();
  row.call = CallIndex(timeline.calls.size() - 1);
  return timeline.launches.append(row);
}

ActivityRow& RankWork::add(ActivityKind kind, StringId name, LaunchIndex launch, JobStream stream,
                           std::int64_t length_ns) {
  ActivityRow row;
  row.kind = kind;
  row.name = name;
  row.stream = streams_[stream];
  row.begin_ns = std::max(timeline.launches.time_ns[launch] + kLaunchDelay_ns, free_ns_[stream] + kBetweenKernels_ns);
  row.end_ns = free_ns_[stream] = row.begin_ns + length_ns;
  row.launch = launch;
  row.correlation = timeline.launches.correlation[launch];
  pending_.push_back(row);
  return pending_.back();
}

LaunchIndex RankWork::launch(JobThread& thread, const Kernel& kernel) {
  const LaunchIndex launch = note_launch(thread, texts.launch_kernel, 3'200 + jitter(1'200));
  add(ActivityKind::kKernel, kernel.name, launch, kernel.stream, kernel.length_ns + jitter(kernel.length_ns / 16 + 1))
      .detail = kernel.detail;
  return launch;
}

void RankWork::copy(JobThread& thread, StringId name, std::uint32_t copy_kind, std::uint64_t bytes, JobStream stream) {
  const LaunchIndex launch = note_launch(thread, texts.memcpy_async, 2'500);
  ActivityRow& row = add(ActivityKind::kMemcpy, name, launch, stream,
                         1'500 + static_cast<std::int64_t>(bytes / kBytesPerNs) + jitter(200));
  row.bytes = bytes;
  row.detail = copy_kind == 1 ? 0 : 1;  // rows of copy_details that the job made first
}

void RankWork::clear_memory(JobThread& thread, std::uint64_t bytes) {
  const LaunchIndex launch = note_launch(thread, texts.memset_async, 2'200);
  ActivityRow& row = add(ActivityKind::kMemset, texts.clear, launch, kWorkStream, 1'200 + jitter(100));
  row.bytes = bytes;
  row.detail = 2;
}

void RankWork::launch_graph(JobThread& thread, const std::vector<LaunchIndex>& nodes) {
  const LaunchIndex launch = note_launch(thread, texts.launch_graph, 11'000);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ActivityRow& row = add(ActivityKind::kKernel, texts.graph_kernels[i], launch, kWorkStream, 5'000 + jitter(300));
    row.detail = 0;
    row.graph = 1;
    row.graph_node = i + 1;
    row.captured = nodes[i];
  }
}

void RankWork::wait_for_stream(JobThread& thread, JobStream waits, JobStream waited_for) {
  call(thread, texts.record_event, 900);
  SyncRow row;
  row.type = 2;
  row.stream = streams_[waits];
  row.device = device;
  row.event_stream = streams_[waited_for];
  row.begin_ns = thread.now_ns + 300;
  row.correlation = call(thread, texts.stream_wait_event, 800);
  row.end_ns = thread.now_ns;
  timeline.syncs.append(row);
  free_ns_[waits] = std::max(free_ns_[waits], free_ns_[waited_for]);
}

void RankWork::synchronize(JobThread& thread, JobStream stream) {
  SyncRow row;
  row.type = 3;
  row.stream = streams_[stream];
  row.device = device;
  row.begin_ns = thread.now_ns + 300;
  row.correlation =
      call(thread, texts.stream_synchronize, std::max<std::int64_t>(1'000, free_ns_[stream] - thread.now_ns));
  row.end_ns = thread.now_ns;
  timeline.syncs.append(row);
}

void RankWork::communicate(JobThread& thread, CollectiveKind kind, ProcessGroupIndex group, std::int64_t elements,
                           std::int32_t peer) {
  // Long enough for parts of one all-reduce to overlap, whatever the jitter of the ranks.
  const bool is_message = kind != CollectiveKind::kAllReduce;
  wait_for_stream(thread, kCommunicationStream, kWorkStream);
  CollectiveRow row;
  row.kind = kind;
  row.name = kind == CollectiveKind::kSend ? texts.send : is_message ? texts.receive : texts.all_reduce;
  row.process = process;
  row.group = group;
  numbers_.resize(std::max<std::size_t>(numbers_.size(), group + 1));
  if (!is_message) row.number = numbers_[group]++;
  row.elements_in = row.elements_out = elements;
  row.dtype = texts.dtype;
  row.peer = peer;
  row.thread = thread.index;
  row.begin_ns = thread.now_ns += 200;
  launch(thread, {is_message ? texts.message_kernel : texts.all_reduce_kernel, 0, 20'000 + elements / 20,
                  kCommunicationStream});
  row.end_ns = thread.now_ns += 400;
  timeline.collectives.append(row);
  if (kind == CollectiveKind::kReceive) wait_for_stream(thread, kWorkStream, kCommunicationStream);
}

std::uint64_t RankWork::allocate(JobThread& thread, std::uint64_t bytes, bool on_host) {
  std::int64_t& in_use = on_host ? host_bytes_ : allocated_bytes_;
  in_use += static_cast<std::int64_t>(bytes);
  AllocatorEventRow row;
  row.thread = thread.index;
  row.time_ns = thread.now_ns += 50;
  row.action = MemoryAction::kAllocate;
  row.device = on_host ? -1 : 0;
  row.address = 0x7000'0000'0000 + (next_address_++ % kPooledBlocks) * 0x1000'0000;
  row.bytes = bytes;
  row.allocated = in_use;
  row.reserved = on_host ? -1 : std::int64_t{40} << 30;
  timeline.allocator_events.append(row);
  return row.address;
}

void RankWork::free(JobThread& thread, std::uint64_t address, std::uint64_t bytes, bool on_host) {
  std::int64_t& in_use = on_host ? host_bytes_ : allocated_bytes_;
  in_use -= static_cast<std::int64_t>(bytes);
  AllocatorEventRow row;
  row.thread = thread.index;
  row.time_ns = thread.now_ns += 50;
  row.action = MemoryAction::kFree;
  row.device = on_host ? -1 : 0;
  row.address = address;
  row.bytes = bytes;
  row.allocated = in_use;
  row.reserved = on_host ? -1 : std::int64_t{40} << 30;
  timeline.allocator_events.append(row);
}

void RankWork::deliver() {
  std::stable_sort(pending_.begin(), pending_.end(),
                   [](const ActivityRow& a, const ActivityRow& b) { return a.begin_ns < b.begin_ns; });
  for (const ActivityRow& row : pending_) timeline.activities.append(row);
  delivered_ += pending_.size();
  pending_.clear();
}

std::int64_t RankWork::device_free_ns() const noexcept { return *std::max_element(free_ns_.begin(), free_ns_.end()); }

}  // namespace bench
