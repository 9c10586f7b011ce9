// SPDX-License-Identifier: MIT
#include "timeline/capture_timeline.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "capture/capture_reader.hpp"
#include "timeline/activity_names.hpp"
#include "timeline/host_assembler.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>

namespace rangefinder::timeline {
namespace {

using capture::CaptureReader;

constexpr std::uint32_t kNoStream = 0xFFFFFFFFu;  // CUPTI's "no stream" in synchronisation records
constexpr std::int64_t kLatest = clock::ClockTable::kLatestNs;
// Ids of names below this are found by index. The recorder gives out no others; a file may.
constexpr std::uint32_t kIndexedNames = 1u << 20;
// Zstandard makes next to nothing of what repeats exactly, as the times of a simulation may: real recordings unpack to
// some 20 times their size, the tightest made-up one to 9,000 times.
constexpr std::uint64_t kFreeUnpackedBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostUnpackedPerByte = 16384;

std::int64_t moved(std::int64_t time_ns, std::int64_t by_ns) noexcept {
  const __int128 sum = static_cast<__int128>(time_ns) + by_ns;
  return static_cast<std::int64_t>(std::clamp<__int128>(sum, -kLatest, kLatest));
}

int number_of(std::string_view text, int otherwise) noexcept {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Adds one capture to a timeline.
class CaptureLoader final : public capture::CaptureVisitor, public AssemblySink {
 public:
  CaptureLoader(CaptureReader& reader, Timeline& timeline, std::int64_t shift_ns)
      : reader_(reader),
        out_(timeline),
        shift_(shift_ns),
        first_range_(static_cast<RangeIndex>(timeline.ranges.size())) {}

  void load(const LoadOptions& options);

  void on_host_events(const format::HostEvents& events) override { assembler_.feed(events); }
  void on_kernels(std::span<const format::KernelRow> rows) override;
  void on_memcpys(std::span<const format::MemcpyRow> rows) override;
  void on_memsets(std::span<const format::MemsetRow> rows) override;
  void on_api_calls(std::span<const format::ApiRow> rows) override;
  void on_syncs(std::span<const format::SyncRow> rows) override;
  void on_overheads(std::span<const format::OverheadRow> rows) override;

  // What is open at the end lasts as long as anything was recorded.
  void on_begin(const AssembledRange& range) override { last_ticks_ = std::max(last_ticks_, range.begin_ticks); }
  void on_range(const AssembledRange& range) override;
  void on_launch(const AssembledLaunch& launch) override;
  void on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, std::uint32_t category) override;
  void on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t name, const AssembledValue& value) override;
  void on_value(std::uint32_t thread, const AssembledValue& value) override;
  void on_step(std::uint32_t thread, std::uint64_t ticks, std::uint32_t number) override;

 private:
  void add_process();
  void add_devices();
  void add_health();
  void add_windows();
  void add_steps();
  void add_launch_ranges();
  std::int64_t host_time(std::uint64_t ticks) const noexcept {
    return moved(reader_.monotonic_of_ticks(ticks), shift_);
  }
  std::int64_t device_time(std::int64_t ns) const noexcept { return moved(reader_.monotonic_of_realtime(ns), shift_); }
  /// The same for the end of what began at `begin_ns`: a step of the clock in between does not turn it round.
  std::int64_t device_end(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    return std::max(device_time(begin_ns), device_time(end_ns));
  }
  StringId name(std::uint32_t id);
  StringId find_name(std::uint32_t id);
  ThreadIndex thread_of(std::uint32_t index);
  ThreadIndex thread_of_tid(std::uint32_t tid);
  DeviceIndex device_of(std::uint32_t id);
  StreamIndex stream_of(std::uint32_t device, std::uint32_t context, std::int64_t id);
  template <typename Row>
  bool believable(const Row& row) noexcept;
  template <typename Row>
  void add_activity(ActivityKind kind, StringId name, const Row& row, std::uint64_t bytes, std::uint32_t detail);

  CaptureReader& reader_;
  Timeline& out_;
  std::int64_t shift_;
  RangeIndex first_range_;
  HostAssembler assembler_{*this};
  ProcessIndex process_ = 0;
  std::vector<StringId> names_;
  std::vector<bool> names_known_;
  std::unordered_map<std::uint32_t, StringId> far_names_;
  std::vector<ThreadIndex> threads_;
  std::map<std::uint32_t, ThreadIndex> threads_by_tid_;
  std::map<std::uint32_t, DeviceIndex> devices_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, StreamIndex> streams_;
  std::map<std::uint32_t, std::uint32_t> context_device_;
  std::vector<std::uint32_t> last_mark_;  // by thread
  struct StepRecord {
    std::uint32_t number;
    ThreadIndex thread;
    std::int64_t time_ns;
  };
  std::vector<StepRecord> steps_;
  std::vector<std::uint64_t> launch_keys_;  // range keys of the launches added, from first_launch_
  std::vector<std::uint64_t> under_;        // by range key - 1: the range that launches belonged to when it began
  std::uint32_t first_launch_ = 0;
  std::uint64_t last_ticks_ = 0;
};

StringId CaptureLoader::find_name(std::uint32_t id) {
  if (id == 0) return out_.intern("(unnamed)");
  if (reader_.has_name(id)) return out_.intern(reader_.name(id));
  ++out_.health.lost_names;
  return out_.intern("<lost name #" + std::to_string(id) + ">");
}

StringId CaptureLoader::name(std::uint32_t id) {
  if (id >= kIndexedNames) {
    const auto [found, added] = far_names_.try_emplace(id, StringId::kEmpty);
    if (added) found->second = find_name(id);
    return found->second;
  }
  if (id >= names_.size()) {
    names_.resize(id + 1, StringId::kEmpty);
    names_known_.resize(id + 1, false);
  }
  if (!names_known_[id]) {
    names_known_[id] = true;
    names_[id] = find_name(id);
  }
  return names_[id];
}

ThreadIndex CaptureLoader::thread_of_tid(std::uint32_t tid) {
  const auto [found, added] = threads_by_tid_.try_emplace(tid, static_cast<ThreadIndex>(out_.threads.size()));
  if (added) out_.threads.push_back({process_, tid, {}});
  return found->second;
}

ThreadIndex CaptureLoader::thread_of(std::uint32_t index) {
  if (index < threads_.size() && threads_[index] != kNone) return threads_[index];
  // No thread row: damage. Its number is all that is known.
  if (index >= threads_.size()) threads_.resize(index + 1, kNone);
  threads_[index] = static_cast<ThreadIndex>(out_.threads.size());
  out_.threads.push_back({process_, 0, "thread #" + std::to_string(index)});
  return threads_[index];
}

DeviceIndex CaptureLoader::device_of(std::uint32_t id) {
  const auto [found, added] = devices_.try_emplace(id, static_cast<DeviceIndex>(out_.devices.size()));
  if (added) {
    DeviceInfo device;
    device.process = process_;
    device.id = id;
    out_.devices.push_back(device);
  }
  return found->second;
}

StreamIndex CaptureLoader::stream_of(std::uint32_t device, std::uint32_t context, std::int64_t id) {
  const auto [found, added] =
      streams_.try_emplace({device, context, id}, static_cast<StreamIndex>(out_.streams.size()));
  if (added) out_.streams.push_back({device_of(device), context, id});
  return found->second;
}

void CaptureLoader::add_process() {
  process_ = static_cast<ProcessIndex>(out_.processes.size());
  ProcessInfo process;
  process.pid = reader_.header().pid;
  process.name = reader_.metadata("program");
  process.host = reader_.metadata("host");
  process.rank = number_of(reader_.metadata("rank"), -1);
  process.world_size = number_of(reader_.metadata("world_size"), -1);
  out_.processes.push_back(std::move(process));
  for (const format::ThreadRow& row : reader_.threads()) {
    if (row.index >= (1u << 20)) continue;
    if (row.index >= threads_.size()) threads_.resize(row.index + 1, kNone);
    const auto index = static_cast<ThreadIndex>(out_.threads.size());
    threads_[row.index] = index;
    // The system gives a number again when its thread has ended: the last thread of that number is the one that counts.
    threads_by_tid_[row.tid] = index;
    out_.threads.push_back({process_, row.tid, std::string(reader_.name(row.name))});
  }
}

void CaptureLoader::add_devices() {
  for (const format::DeviceRow& row : reader_.devices()) {
    DeviceInfo& device = out_.devices[device_of(row.id)];
    device.name = reader_.name(row.name);
    device.compute_major = row.compute_major;
    device.compute_minor = row.compute_minor;
    device.memory_bytes = row.memory_bytes;
    device.multiprocessors = row.multiprocessors;
    device.warp_size = row.warp_size;
    device.max_threads_per_block = row.max_threads_per_block;
    device.max_threads_per_multiprocessor = row.max_warps_per_multiprocessor * row.warp_size;
    device.max_blocks_per_multiprocessor = row.max_blocks_per_multiprocessor;
    device.registers_per_block = row.registers_per_block;
    device.registers_per_multiprocessor = row.registers_per_multiprocessor;
    device.shared_bytes_per_block = row.shared_bytes_per_block;
    device.shared_bytes_per_multiprocessor = row.shared_bytes_per_multiprocessor;
  }
  for (const format::ContextRow& row : reader_.contexts()) context_device_[row.id] = row.device;
}

/// The recorder sets aside what CUPTI gets wrong; here it means a file that was not written by it.
template <typename Row>
bool CaptureLoader::believable(const Row& row) noexcept {
  if (row.begin_ns >= -kLatest && row.begin_ns <= row.end_ns && row.end_ns <= kLatest) return true;
  ++out_.health.invalid_activities;
  return false;
}

template <typename Row>
void CaptureLoader::add_activity(ActivityKind kind, StringId name, const Row& row, std::uint64_t bytes,
                                 std::uint32_t detail) {
  ActivityTable& table = out_.activities;
  table.kind.push_back(kind);
  table.name.push_back(name);
  table.stream.push_back(stream_of(row.device, row.context, row.stream));
  table.begin_ns.push_back(device_time(row.begin_ns));
  table.end_ns.push_back(moved(device_time(row.begin_ns), row.end_ns - row.begin_ns));
  table.correlation.push_back(row.correlation);
  table.launch.push_back(kNone);
  table.bytes.push_back(bytes);
  table.detail.push_back(detail);
  table.graph_node.push_back(row.graph_node);
  table.graph.push_back(row.graph_id);
  table.external_id.push_back(-1);
  table.source_row.push_back(-1);
}

void CaptureLoader::on_kernels(std::span<const format::KernelRow> rows) {
  for (const format::KernelRow& row : rows) {
    if (!believable(row)) continue;
    KernelDetail detail;
    const std::uint32_t grid[3] = {row.grid_x, row.grid_y, row.grid_z};
    const std::uint32_t block[3] = {row.block_x, row.block_y, row.block_z};
    const std::uint32_t cluster[3] = {row.cluster_x, row.cluster_y, row.cluster_z};
    std::copy_n(grid, 3, detail.grid);
    std::copy_n(block, 3, detail.block);
    std::copy_n(cluster, 3, detail.cluster);
    detail.registers_per_thread = row.registers_per_thread;
    detail.static_shared_bytes = row.static_shared_bytes;
    detail.dynamic_shared_bytes = row.dynamic_shared_bytes;
    detail.local_bytes_per_thread = row.local_bytes_per_thread;
    const auto index = static_cast<std::uint32_t>(out_.kernel_details.size());
    out_.kernel_details.push_back(detail);
    add_activity(ActivityKind::kKernel, name(row.name), row, 0, index);
  }
}

void CaptureLoader::on_memcpys(std::span<const format::MemcpyRow> rows) {
  for (const format::MemcpyRow& row : rows) {
    if (!believable(row)) continue;
    CopyDetail detail;
    detail.copy_kind = row.copy_kind;
    detail.source_memory = row.source_memory;
    detail.target_memory = row.target_memory;
    if (row.is_peer != 0) {
      detail.source_device = row.source_device;
      detail.target_device = row.target_device;
    }
    detail.asynchronous = (row.flags & 1) != 0;
    const auto index = static_cast<std::uint32_t>(out_.copy_details.size());
    out_.copy_details.push_back(detail);
    add_activity(ActivityKind::kMemcpy, out_.intern(memcpy_name(detail)), row, row.bytes, index);
  }
}

void CaptureLoader::on_memsets(std::span<const format::MemsetRow> rows) {
  for (const format::MemsetRow& row : rows) {
    if (!believable(row)) continue;
    CopyDetail detail;
    detail.target_memory = row.memory;
    detail.value = row.value;
    detail.asynchronous = (row.flags & 1) != 0;
    const auto index = static_cast<std::uint32_t>(out_.copy_details.size());
    out_.copy_details.push_back(detail);
    add_activity(ActivityKind::kMemset, out_.intern(memset_name(detail)), row, row.bytes, index);
  }
}

void CaptureLoader::on_api_calls(std::span<const format::ApiRow> rows) {
  CallTable& table = out_.calls;
  for (const format::ApiRow& row : rows) {
    table.name.push_back(name(row.name));
    table.domain.push_back(row.domain == 0   ? CallDomain::kRuntime
                           : row.domain == 1 ? CallDomain::kDriver
                                             : CallDomain::kInternal);
    table.thread.push_back(thread_of_tid(row.tid));
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.correlation.push_back(row.correlation);
    table.result.push_back(static_cast<std::int32_t>(row.result));
    table.external_id.push_back(-1);
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_syncs(std::span<const format::SyncRow> rows) {
  SyncTable& table = out_.syncs;
  for (const format::SyncRow& row : rows) {
    const auto device = context_device_.find(row.context);
    table.type.push_back(row.type);
    table.device.push_back(device != context_device_.end() ? device_of(device->second) : kNone);
    const bool on_stream = row.stream != kNoStream && device != context_device_.end();
    table.stream.push_back(on_stream ? stream_of(device->second, row.context, row.stream) : kNone);
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.correlation.push_back(row.correlation);
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_overheads(std::span<const format::OverheadRow> rows) {
  OverheadTable& table = out_.overheads;
  for (const format::OverheadRow& row : rows) {
    table.name.push_back(out_.intern(overhead_name(row.kind)));
    table.thread.push_back(row.tid != 0 ? thread_of_tid(row.tid) : kNone);
    table.begin_ns.push_back(device_time(row.begin_ns));
    table.end_ns.push_back(device_end(row.begin_ns, row.end_ns));
    table.source_row.push_back(-1);
  }
}

void CaptureLoader::on_range(const AssembledRange& range) {
  // Keys count from 1 in the order in which ranges began: the row is known, whenever the range ends.
  RangeTable& table = out_.ranges;
  const std::size_t row = first_range_ + range.key - 1;
  if (row >= table.size()) {
    const std::size_t size = row + 1;
    table.name.resize(size);
    table.domain.resize(size);
    table.category.resize(size);
    table.kind.resize(size);
    table.style.resize(size);
    table.flags.resize(size);
    table.thread.resize(size);
    table.end_thread.resize(size);
    table.begin_ns.resize(size);
    table.end_ns.resize(size);
    table.source_row.resize(size, -1);
    table.external_id.resize(size, -1);
    under_.resize(range.key);
  }
  under_[range.key - 1] = range.under;
  const std::string_view category = reader_.category(range.category);
  table.name[row] = name(range.name);
  table.category[row] = out_.intern(category);
  table.kind[row] = category == "operator" ? RangeKind::kOperator : RangeKind::kAnnotation;
  table.style[row] = range.start_end ? RangeStyle::kStartEnd : RangeStyle::kScoped;
  table.flags[row] =
      static_cast<std::uint8_t>((range.unfinished ? kUnfinished : 0) | (range.ended_elsewhere ? kEndedElsewhere : 0));
  table.thread[row] = thread_of(range.thread);
  table.end_thread[row] = thread_of(range.end_thread);
  table.begin_ns[row] = host_time(range.begin_ticks);
  table.end_ns[row] = host_time(range.end_ticks);
  last_ticks_ = std::max(last_ticks_, range.end_ticks);
}

void CaptureLoader::on_launch(const AssembledLaunch& launch) {
  LaunchTable& table = out_.launches;
  table.process.push_back(process_);
  table.correlation.push_back(launch.correlation);
  table.thread.push_back(thread_of(launch.thread));
  table.time_ns.push_back(host_time(launch.ticks));
  table.source.push_back(LaunchSource::kCallback);
  table.range.push_back(kNone);
  table.call.push_back(kNone);
  launch_keys_.push_back(launch.range);
  last_ticks_ = std::max(last_ticks_, launch.ticks);
}

void CaptureLoader::on_mark(std::uint32_t thread, std::uint64_t ticks, std::uint32_t id, std::uint32_t category) {
  const auto row = static_cast<std::uint32_t>(out_.marks.size());
  if (thread >= last_mark_.size()) last_mark_.resize(thread + 1, kNone);
  last_mark_[thread] = row;
  out_.marks.name.push_back(name(id));
  out_.marks.category.push_back(out_.intern(reader_.category(category)));
  out_.marks.thread.push_back(thread_of(thread));
  out_.marks.time_ns.push_back(host_time(ticks));
  out_.marks.source_row.push_back(-1);
  last_ticks_ = std::max(last_ticks_, ticks);
}

void CaptureLoader::on_counter(std::uint32_t thread, std::uint64_t ticks, std::uint32_t id,
                               const AssembledValue& value) {
  CounterTable& table = out_.counters;
  table.name.push_back(name(id));
  table.thread.push_back(thread_of(thread));
  table.time_ns.push_back(host_time(ticks));
  const bool is_double = value.kind == detail::ExtraKind::kDouble;
  double number = 0;
  if (is_double) std::memcpy(&number, &value.bits, sizeof number);
  table.number.push_back(is_double ? number : static_cast<double>(static_cast<std::int64_t>(value.bits)));
  table.integer.push_back(static_cast<std::int64_t>(value.bits));
  table.is_integer.push_back(!is_double);
  last_ticks_ = std::max(last_ticks_, ticks);
}

void CaptureLoader::on_value(std::uint32_t thread, const AssembledValue& value) {
  Attachment attachment;
  attachment.target = value.of == AssembledValue::Of::kMark ? Attachment::Target::kMark : Attachment::Target::kRange;
  if (attachment.target == Attachment::Target::kMark) {
    if (thread >= last_mark_.size() || last_mark_[thread] == kNone) return;
    attachment.row = last_mark_[thread];
  } else {
    if (value.range == 0) return;
    attachment.row = static_cast<std::uint32_t>(first_range_ + value.range - 1);
  }
  switch (value.kind) {
    case detail::ExtraKind::kUnsigned:
      attachment.type = Attachment::Type::kUnsigned;
      break;
    case detail::ExtraKind::kSigned:
      attachment.type = Attachment::Type::kSigned;
      break;
    case detail::ExtraKind::kDouble:
      attachment.type = Attachment::Type::kDouble;
      break;
    case detail::ExtraKind::kText:
      attachment.type = Attachment::Type::kText;
      break;
    default:
      return;
  }
  attachment.bits = attachment.type == Attachment::Type::kText
                        ? static_cast<std::uint64_t>(name(static_cast<std::uint32_t>(value.bits)))
                        : value.bits;
  out_.attachments.push_back(attachment);
}

void CaptureLoader::on_step(std::uint32_t thread, std::uint64_t ticks, std::uint32_t number) {
  steps_.push_back({number, thread_of(thread), host_time(ticks)});
  last_ticks_ = std::max(last_ticks_, ticks);
}

void CaptureLoader::add_steps() {
  // A step ends where the next one is noted; the one that nothing follows was never finished.
  std::stable_sort(steps_.begin(), steps_.end(), [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  for (std::size_t i = 0; i + 1 < steps_.size(); ++i) {
    const StepRecord& step = steps_[i];
    const StepRecord& next = steps_[i + 1];
    // Numbers jump where the schedule left steps out: what was noted last before a pause is the end of a step only.
    if (next.number != step.number + 1) continue;
    out_.steps.number.push_back(step.number);
    out_.steps.thread.push_back(step.thread);
    out_.steps.begin_ns.push_back(step.time_ns);
    out_.steps.end_ns.push_back(next.time_ns);
  }
}

void CaptureLoader::add_windows() {
  for (const format::WindowRow& row : reader_.windows()) {
    const std::uint64_t end = row.end_ticks != 0 ? row.end_ticks : std::max(last_ticks_, row.begin_ticks);
    out_.windows.push_back({host_time(row.begin_ticks), host_time(end)});
  }
}

void CaptureLoader::add_health() {
  out_.health += reader_.health();
  out_.health += assembler_.health();
  out_.clock_error_ns = std::max(out_.clock_error_ns, reader_.clock().error_bound_ns());
  const std::string file =
      out_.sources.size() > 1 ? std::string(base::file_name(reader_.path())) + ": " : std::string();
  if (!reader_.ended_cleanly())
    out_.notes.push_back(file +
                         "the program ended without stopping the session; everything written until then is here");
  const std::string_view device = reader_.metadata("device_state");
  if (!device.empty() && device != "full")
    out_.notes.push_back(file + "device activity was not recorded: " + std::string(device));
  if (reader_.clock().realtime_steps() != 0)
    out_.notes.push_back(file +
                         "the system's clock was set during the recording; device times near that moment may be off");
  for (const capture::Finding& finding : reader_.findings()) out_.notes.push_back(file + finding.text);
  const bool simulated =
      (reader_.header().flags & format::kFlagSimulated) != 0 || reader_.metadata("simulated") == "yes";
  out_.simulated = out_.simulated || simulated;
}

/// Which row each launch belongs to. A range that ended on another thread may be closed by a record that stood further
/// on in the file than the launches after its end: those belong to what is under it.
void CaptureLoader::add_launch_ranges() {
  const RangeTable& ranges = out_.ranges;
  for (std::size_t i = 0; i < launch_keys_.size(); ++i) {
    const std::int64_t time = out_.launches.time_ns[first_launch_ + i];
    std::uint64_t key = launch_keys_[i];
    for (; key != 0; key = under_[key - 1]) {
      const std::size_t row = first_range_ + key - 1;
      const bool elsewhere = (ranges.flags[row] & kEndedElsewhere) != 0;
      if (ranges.end_ns[row] > time || (ranges.end_ns[row] == time && !elsewhere)) break;
    }
    out_.launches.range[first_launch_ + i] = key != 0 ? static_cast<RangeIndex>(first_range_ + key - 1) : kNone;
  }
}

void CaptureLoader::load(const LoadOptions& options) {
  add_process();
  add_devices();
  first_launch_ = static_cast<std::uint32_t>(out_.launches.size());
  (void)reader_.visit(*this, options.progress, options.progress_user);
  std::uint64_t end_ticks = last_ticks_;
  for (const format::WindowRow& row : reader_.windows())
    end_ticks = std::max({end_ticks, row.begin_ticks, row.end_ticks});
  assembler_.finish(end_ticks);
  add_launch_ranges();
  add_steps();
  add_windows();
  add_health();
  for (const auto& [key, value] : reader_.metadata()) {
    std::string quoted;
    base::append_json_string(quoted, value);
    out_.metadata.emplace_back(key, std::move(quoted));
  }
}

/// Refuses what would fill the memory, before it does.
Status check_size(const CaptureReader& reader, std::uint64_t& unpacked, const LoadOptions& options) {
  const std::uint64_t bytes = reader.unpacked_bytes();
  unpacked += bytes;
  if (bytes > kFreeUnpackedBytes && (bytes - kFreeUnpackedBytes) / kMostUnpackedPerByte > reader.file_bytes()) {
    return Error(ErrorCode::kUnreadable, reader.path() + ": claims to unpack from " +
                                             std::to_string(reader.file_bytes()) + " to " + std::to_string(bytes) +
                                             " bytes; no recording does");
  }
  if (options.max_unpacked_bytes != 0 && unpacked > options.max_unpacked_bytes) {
    return Error(ErrorCode::kUnreadable, reader.path() + ": unpacks to " + std::to_string(unpacked) +
                                             " bytes, more than the limit of " +
                                             std::to_string(options.max_unpacked_bytes));
  }
  return {};
}

}  // namespace

Result<Timeline> load_captures(const std::vector<std::string>& paths, const LoadOptions& options) {
  Timeline timeline;
  timeline.format = InputFormat::kCapture;
  timeline.range_end = RangeEnd::kOpen;
  timeline.sources = paths;
  std::string first_host;
  std::uint64_t unpacked = 0;
  for (const std::string& path : paths) {
    Result<CaptureReader> reader = CaptureReader::open(path);
    if (!reader) return std::move(reader).error();
    if (Status status = check_size(*reader, unpacked, options); !status.ok()) return std::move(status).error();
    std::int64_t shift = 0;
    if (timeline.realtime_offset_ns == kNoTime) {
      timeline.realtime_offset_ns = reader->clock().realtime_offset_ns();
      first_host = reader->metadata("host");
    } else if (reader->metadata("host") != first_host) {
      shift = reader->clock().realtime_offset_ns() - timeline.realtime_offset_ns;
      timeline.notes.push_back(std::string(base::file_name(path)) + ": recorded on another host (" +
                               std::string(reader->metadata("host")) +
                               "); aligned by wall clock, as well as those agree");
    }
    CaptureLoader(*reader, timeline, shift).load(options);
  }
  std::stable_sort(
      timeline.attachments.begin(), timeline.attachments.end(),
      [](const Attachment& a, const Attachment& b) { return std::pair(a.target, a.row) < std::pair(b.target, b.row); });
  join_launches(timeline);
  measure_extent(timeline);
  if (options.strict && !timeline.health.complete())
    return Error(ErrorCode::kIncomplete, paths.front() + ": the recording is incomplete; see `rangefinder check`");
  return timeline;
}

}  // namespace rangefinder::timeline
