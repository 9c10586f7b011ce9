// SPDX-License-Identifier: MIT
#include "source/cupti/activity_decoder.hpp"

#include "base/health_numbers.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

namespace rangefinder::source::cupti {
namespace {

// Device and context of a graph's launch that begins or ends on the host (cupti_activity.h, CUpti_ActivityGraphTrace2).
constexpr std::uint32_t kOnHost = INT_MAX;
// Of a function whose name was not needed yet.
constexpr format::NameId kUnaskedName = 0xFFFFFFFFu;

template <typename Number>
std::uint32_t u32(Number value) noexcept {
  return static_cast<std::uint32_t>(value);
}

/// As people write it: CUPTI's names are the linker's. Here and not in the reader, as a name is the program's own: what
/// a damaged capture holds could take a demangler any time and memory.
format::NameId kernel_name(const std::string& name, RowSink& sink) {
  if (!name.starts_with("_Z")) return sink.name(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return sink.name(demangled != nullptr ? std::string_view(demangled.get()) : name);
}

}  // namespace

// ---- names and objects -----------------------------------------------------------------------------------------

format::NameId KernelNames::look_up(const char* name, RowSink& sink) {
  if (name == nullptr) return 0;
  const std::string_view text(name);
  if (const auto found = known_.find(name); found != known_.end()) {
    if (found->second.text == text) return found->second.id;
    found->second.text = text;
    return found->second.id = kernel_name(found->second.text, sink);
  }
  if (known_.size() == kMax) known_.clear();
  Known& known = known_[name];
  known.text = text;
  return known.id = kernel_name(known.text, sink);
}

bool DeviceObjects::add(Device device) { return devices_.insert_or_assign(device.row.id, std::move(device)).second; }
bool DeviceObjects::add(const format::ContextRow& context) {
  return contexts_.insert_or_assign(context.id, context).second;
}

bool DeviceObjects::add(const format::StreamRow& stream) {
  const std::pair key{stream.context, stream.id};
  // A program that makes streams without end: later recordings miss the rows of the oldest.
  if (streams_.size() >= kMaxStreams && !streams_.contains(key)) streams_.erase(streams_.begin());
  return streams_.insert_or_assign(key, stream).second;
}

bool DeviceObjects::find_stream(std::uint32_t stream, std::uint32_t& device, std::uint32_t& context) const {
  const auto of_number = [&](const auto& known) { return known.first.second == stream; };
  const auto known = std::find_if(streams_.begin(), streams_.end(), of_number);
  if (known == streams_.end() || std::find_if(std::next(known), streams_.end(), of_number) != streams_.end())
    return false;
  const auto of = contexts_.find(known->first.first);
  if (of == contexts_.end()) return false;
  device = of->second.device;
  context = of->second.id;
  return true;
}

void EventStreams::add(std::uint64_t number, Place place) {
  places_.insert_or_assign(number, place);
  if (places_.size() > kMax) places_.erase(places_.begin());
}

EventStreams::Place EventStreams::find(std::uint64_t number) const {
  const auto found = places_.find(number);
  return found != places_.end() ? found->second : Place{};
}

void DeviceObjects::write_all(RowSink& sink) const {
  std::vector<format::DeviceRow> devices;
  for (const auto& [id, device] : devices_) {
    devices.push_back(device.row);
    devices.back().name = sink.name(device.name);
  }
  std::vector<format::ContextRow> contexts;
  for (const auto& [id, context] : contexts_) contexts.push_back(context);
  std::vector<format::StreamRow> streams;
  for (const auto& [id, stream] : streams_) streams.push_back(stream);
  sink.write(std::span<const format::DeviceRow>(devices));
  sink.write(std::span<const format::ContextRow>(contexts));
  sink.write(std::span<const format::StreamRow>(streams));
}

// ---- one recording ---------------------------------------------------------------------------------------------

ActivityDecoder::ActivityDecoder(const CuptiApi& api, const CallbackNames& runtime, const CallbackNames& driver)
    : api_(api), runtime_names_(runtime), driver_names_(driver), sizes_(api.cuptiActivityGetNextRecord) {
  for (auto [names, noise] : {std::pair{&runtime, &runtime_noise_}, std::pair{&driver, &driver_noise_}}) {
    noise->resize(names->size());
    for (const std::uint32_t id : names->ids(&is_noisy)) (*noise)[id] = true;
  }
}

void ActivityDecoder::begin(RowSink& sink, bool noisy_api_filter, bool trust_thread_ids, const LaunchThreads* threads) {
  sink_ = &sink;
  filter_noise_ = noisy_api_filter;
  trust_thread_ids_ = trust_thread_ids;
  threads_ = threads;
  tally_ = {};
  records_ = 0;
  saw_graphs_ = saw_kernels_ = saw_queued_ = false;
  clock_ = DeviceClock();
  windows_.begin();
  sizes_ = RecordSizes(api_.cuptiActivityGetNextRecord);
  kernel_names_.clear();  // ids belong to the sink
  for (auto& ids : api_name_ids_) ids.clear();
  objects_.write_all(sink);
}

std::size_t ActivityDecoder::decode(std::uint8_t* data, std::size_t valid) {
  kernel_names_.begin_buffer();
  ActivityReader reader(api_.cuptiActivityGetNextRecord, sizes_, data, valid);
  for (RawRecord record; reader.next(record);) {
    ++records_;
    on_record(record);
  }
  tally_.truncated += reader.truncated();
  return reader.zeroed();
}

void ActivityDecoder::finish() {
  kernels_.write(*sink_);
  memcpys_.write(*sink_);
  memsets_.write(*sink_);
  graph_launches_.write(*sink_);
  apis_.write(*sink_);
  for (auto& [number, row] : event_waits_) {
    const EventStreams::Place place = events_.find(number);
    row.event_context = place.context;
    row.event_stream = place.stream;
    syncs_.add(row, *sink_);
  }
  event_waits_.clear();
  syncs_.write(*sink_);
  overheads_.write(*sink_);
  allocations_.write(*sink_);
  jits_.write(*sink_);
  const std::pair<std::uint32_t, std::uint64_t> counts[] = {
      {health::untimed_activities, tally_.untimed},         {health::invalid_activities, tally_.invalid},
      {health::cupti_unknown_kinds, tally_.unknown_kinds},  {health::cupti_truncated, tally_.truncated},
      {health::launch_disagreements, tally_.disagreements}, {health::cupti_foreign_clock, clock_.take_converted()}};
  for (const auto& [number, count] : counts) {
    if (count != 0) sink_->count(number, count);
  }
  tally_ = {};
}

void ActivityDecoder::on_record(const RawRecord& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return on_kernel(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return on_memcpy(record);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return on_peer_memcpy(record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return on_memset(record);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return on_graph_launch(record);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return on_api(record, format::ApiDomain::kRuntime);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return on_api(record, format::ApiDomain::kDriver);
    case CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API:
      return on_api(record, format::ApiDomain::kInternal);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return on_sync(record);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return on_event(record);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return on_overhead(record);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return on_allocation(record);
    case CUPTI_ACTIVITY_KIND_JIT:
      return on_jit(record);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return on_device(record);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return on_context(record);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return on_stream(record);
    default:
      ++tally_.unknown_kinds;  // a newer kind, or one that another client in the process enabled
  }
}

bool ActivityDecoder::convert_times(std::uint64_t start, std::uint64_t end, Times& out) {
  if (start == 0 || end == 0) {
    ++tally_.untimed;
    return false;
  }
  const std::optional<std::int64_t> begin_ns = clock_.realtime(start);
  const std::optional<std::int64_t> end_ns = clock_.realtime(end);
  if (!begin_ns || !end_ns || *end_ns < *begin_ns) {
    ++tally_.invalid;
    return false;
  }
  out = {*begin_ns, *end_ns};
  return true;
}

inline bool ActivityDecoder::times(std::uint64_t start, std::uint64_t end, Times& out) {
  if (start == 0 || end < start || !clock_.is_realtime(start) || !clock_.is_realtime(end)) [[unlikely]]
    return convert_times(start, end, out);
  out = {static_cast<std::int64_t>(start), static_cast<std::int64_t>(end)};
  return true;
}

inline bool ActivityDecoder::device_times(std::uint64_t start, std::uint64_t end, std::uint32_t correlation,
                                          Times& out) {
  return times(start, end, out) && windows_.keep_device(out.begin_ns, out.end_ns, correlation);
}

inline bool ActivityDecoder::host_times(std::uint64_t start, std::uint64_t end, Times& out) {
  return times(start, end, out) && windows_.keep_host(out.begin_ns, out.end_ns);
}

template <typename Row, typename Record>
[[gnu::always_inline]] inline bool ActivityDecoder::fill_device_row(const Record& r, Row& row) {
  if (r.graphNodeId != 0) saw_graphs_.store(true, std::memory_order_relaxed);
  Times t;
  if (!device_times(r.start, r.end, r.correlationId, t)) return false;
  // What a gated pause throws away divides no launch.
  if (r.graphNodeId != 0) graphs_.saw_operation(r.graphId, r.correlationId);
  row.begin_ns = t.begin_ns;
  row.end_ns = t.end_ns;
  row.correlation = r.correlationId;
  row.device = r.deviceId;
  row.context = r.contextId;
  row.stream = r.streamId;
  row.graph_id = r.graphId;
  row.graph_node = r.graphNodeId;
  return true;
}

template <typename Record>
[[gnu::always_inline]] inline bool ActivityDecoder::fill_memcpy_row(const Record& r, format::MemcpyRow& row) {
  if (!fill_device_row(r, row)) return false;
  row.is_peer = row.source_device = row.target_device = row.source_context = row.target_context = 0;
  row.bytes = r.bytes;
  row.copy_kind = r.copyKind;
  row.source_memory = r.srcKind;
  row.target_memory = r.dstKind;
  row.flags = r.flags;
  return true;
}

void ActivityDecoder::on_kernel(const RawRecord& record) {
  CUpti_ActivityKernel10 copy;
  const CUpti_ActivityKernel10& r = record.as(copy);
  format::KernelRow& row = kernels_.next();
  if (!fill_device_row(r, row)) return;
  row.name = kernel_names_.id(r.name, *sink_);
  row.grid_x = u32(r.gridX), row.grid_y = u32(r.gridY), row.grid_z = u32(r.gridZ);
  row.block_x = u32(r.blockX), row.block_y = u32(r.blockY), row.block_z = u32(r.blockZ);
  row.cluster_x = r.clusterX, row.cluster_y = r.clusterY, row.cluster_z = r.clusterZ;
  row.registers_per_thread = r.registersPerThread;
  row.static_shared_bytes = u32(r.staticSharedMemory);
  row.dynamic_shared_bytes = u32(r.dynamicSharedMemory);
  row.local_bytes_per_thread = r.localMemoryPerThread;
  row.launch_type = r.launchType;
  saw_kernels_ = true;
  saw_queued_ = saw_queued_ || r.queued != 0;
  row.queued_ns = r.queued == 0 ? 0 : static_cast<std::uint64_t>(clock_.realtime(r.queued).value_or(0));
  row.shared_executed_bytes = r.sharedMemoryExecuted;
  row.max_active_clusters = r.maxActiveClusters;
  row.submitted_ns = r.submitted == 0 ? 0 : static_cast<std::uint64_t>(clock_.realtime(r.submitted).value_or(0));
  kernels_.added(*sink_);
}

void ActivityDecoder::on_memcpy(const RawRecord& record) {
  CUpti_ActivityMemcpy6 copy;
  const CUpti_ActivityMemcpy6& r = record.as(copy);
  if (fill_memcpy_row(r, memcpys_.next())) memcpys_.added(*sink_);
}

void ActivityDecoder::on_peer_memcpy(const RawRecord& record) {
  CUpti_ActivityMemcpyPtoP4 copy;
  const CUpti_ActivityMemcpyPtoP4& r = record.as(copy);
  format::MemcpyRow& row = memcpys_.next();
  if (!fill_memcpy_row(r, row)) return;
  row.is_peer = 1;
  row.source_device = r.srcDeviceId;
  row.target_device = r.dstDeviceId;
  row.source_context = r.srcContextId;
  row.target_context = r.dstContextId;
  memcpys_.added(*sink_);
}

void ActivityDecoder::on_memset(const RawRecord& record) {
  CUpti_ActivityMemset4 copy;
  const CUpti_ActivityMemset4& r = record.as(copy);
  format::MemsetRow& row = memsets_.next();
  if (!fill_device_row(r, row)) return;
  row.bytes = r.bytes;
  row.value = r.value;
  row.memory = r.memoryKind;
  row.flags = r.flags;
  memsets_.added(*sink_);
}

void ActivityDecoder::on_graph_launch(const RawRecord& record) {
  CUpti_ActivityGraphTrace2 copy;
  const CUpti_ActivityGraphTrace2& r = record.as(copy);
  saw_graphs_.store(true, std::memory_order_relaxed);
  Times t;
  if (!device_times(r.start, r.end, r.correlationId, t)) return;
  graphs_.saw_whole(r.graphId);
  format::GraphLaunchRow row{t.begin_ns, t.end_ns,  r.correlationId, r.deviceId,    r.contextId,
                             r.streamId, r.graphId, r.endDeviceId,   r.endContextId};
  // CUDA 12.1 does not say where it ended.
  if (record.bytes < sizeof r) row.end_device = row.device, row.end_context = row.context;
  // A graph that begins with a host node, and one that ends with one.
  if (row.context == kOnHost) row.device = row.end_device, row.context = row.end_context;
  if (row.context == kOnHost && !objects_.find_stream(row.stream, row.device, row.context)) {
    ++tally_.invalid;
    return;
  }
  if (row.end_context == kOnHost) row.end_device = row.device, row.end_context = row.context;
  graph_launches_.add(row, *sink_);
}

format::NameId ActivityDecoder::ask_api_name(format::ApiDomain domain, std::uint32_t id) {
  const CallbackNames& names = domain == format::ApiDomain::kRuntime ? runtime_names_ : driver_names_;
  std::vector<format::NameId>& ids = api_name_ids_[static_cast<std::size_t>(domain)];
  if (ids.empty()) ids.assign(std::max(names.size(), 1u), kUnaskedName);
  if (id >= ids.size()) return 0;
  return ids[id] =
             sink_->name(domain == format::ApiDomain::kInternal ? std::string_view("internal launch") : names.name(id));
}

inline format::NameId ActivityDecoder::api_name(format::ApiDomain domain, std::uint32_t id) {
  if (domain == format::ApiDomain::kInternal) id = 0;  // these have no callback ids
  const std::vector<format::NameId>& ids = api_name_ids_[static_cast<std::size_t>(domain)];
  return id < ids.size() && ids[id] != kUnaskedName ? ids[id] : ask_api_name(domain, id);
}

void ActivityDecoder::on_api(const RawRecord& record, format::ApiDomain domain) {
  CUpti_ActivityAPI copy;
  const CUpti_ActivityAPI& r = record.as(copy);
  if (filter_noise_ && domain != format::ApiDomain::kInternal) {
    // CUPTI before 12.5 cannot leave single functions out, so they are left out here.
    const std::vector<bool>& noise = domain == format::ApiDomain::kRuntime ? runtime_noise_ : driver_noise_;
    if (r.cbid < noise.size() && noise[r.cbid]) return;
  }
  if (trust_thread_ids_ && threads_ != nullptr)
    tally_.disagreements += threads_->disagrees(r.correlationId, r.threadId);
  Times t;
  if (!host_times(r.start, r.end, t)) return;
  format::ApiRow& row = apis_.next();
  row.begin_ns = t.begin_ns;
  row.end_ns = t.end_ns;
  row.correlation = r.correlationId;
  row.tid = trust_thread_ids_ ? r.threadId : 0;
  row.name = api_name(domain, r.cbid);
  row.domain = static_cast<std::uint32_t>(domain);
  row.callback_id = r.cbid;
  row.result = r.returnValue;
  apis_.added(*sink_);
}

void ActivityDecoder::on_sync(const RawRecord& record) {
  CUpti_ActivitySynchronization2 copy;
  const CUpti_ActivitySynchronization2& r = record.as(copy);
  Times t;
  if (!host_times(r.start, r.end, t)) return;
  format::SyncRow row{t.begin_ns,  t.end_ns,      r.correlationId, r.contextId, r.streamId,
                      u32(r.type), r.cudaEventId, r.returnValue,   0,           0};
  const bool of_event = r.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE ||
                        r.type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
  if (of_event && r.cudaEventSyncId != 0) {  // older CUPTI has no such number
    const EventStreams::Place place = events_.find(r.cudaEventSyncId);
    if (place.context == 0 && event_waits_.size() < EventStreams::kMax)
      return (void)event_waits_.emplace_back(r.cudaEventSyncId, row);
    row.event_context = place.context;
    row.event_stream = place.stream;
  }
  syncs_.add(row, *sink_);
}

void ActivityDecoder::on_event(const RawRecord& record) {
  CUpti_ActivityCudaEvent2 copy;
  const CUpti_ActivityCudaEvent2& r = record.as(copy);
  if (r.cudaEventSyncId != 0) events_.add(r.cudaEventSyncId, {r.contextId, r.streamId});
}

void ActivityDecoder::on_overhead(const RawRecord& record) {
  CUpti_ActivityOverhead3 copy;
  const CUpti_ActivityOverhead3& r = record.as(copy);
  Times t;
  if (!host_times(r.start, r.end, t)) return;
  const bool of_thread = r.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD && trust_thread_ids_;
  overheads_.add({t.begin_ns, t.end_ns, u32(r.overheadKind), of_thread ? r.objectId.pt.threadId : 0, r.correlationId},
                 *sink_);
}

void ActivityDecoder::on_allocation(const RawRecord& record) {
  CUpti_ActivityMemory4 copy;
  const CUpti_ActivityMemory4& r = record.as(copy);
  Times t;
  if (!host_times(r.timestamp, r.timestamp, t)) return;
  format::AllocationRow row{};
  row.time_ns = t.begin_ns;
  row.correlation = r.correlationId;
  row.operation = u32(r.memoryOperationType);
  row.memory = u32(r.memoryKind);
  row.device = r.deviceId;
  row.context = r.contextId;
  row.stream = r.isAsync != 0 ? r.streamId : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  row.flags = r.isAsync != 0 ? 1 : 0;
  row.address = r.address;
  row.bytes = r.bytes;
  row.pool = r.memoryPoolConfig.address;
  allocations_.add(row, *sink_);
}

void ActivityDecoder::on_jit(const RawRecord& record) {
  CUpti_ActivityJit2 copy;
  const CUpti_ActivityJit2& r = record.as(copy);
  Times t;
  if (!host_times(r.start, r.end, t)) return;
  format::JitRow row{};
  row.begin_ns = t.begin_ns;
  row.end_ns = t.end_ns;
  row.correlation = r.correlationId;
  row.tid = trust_thread_ids_ ? r.threadId : 0;
  row.entry = u32(r.jitEntryType);
  row.operation = u32(r.jitOperationType);
  row.device = r.deviceId;
  row.task = r.jitOperationCorrelationId;
  row.cache_bytes = r.cacheSize;
  row.cache_path = r.cachePath != nullptr ? sink_->name(r.cachePath) : 0;
  jits_.add(row, *sink_);
}

void ActivityDecoder::on_device(const RawRecord& record) {
  CUpti_ActivityDevice5 copy;
  const CUpti_ActivityDevice5& r = record.as(copy);
  DeviceObjects::Device device{};
  if (r.name != nullptr) device.name = r.name;
  format::DeviceRow& row = device.row;
  row.id = r.id;
  row.compute_major = r.computeCapabilityMajor;
  row.compute_minor = r.computeCapabilityMinor;
  row.memory_bytes = r.globalMemorySize;
  row.multiprocessors = r.numMultiprocessors;
  row.warp_size = r.numThreadsPerWarp;
  row.max_threads_per_block = r.maxThreadsPerBlock;
  row.max_warps_per_multiprocessor = r.maxWarpsPerMultiprocessor;
  row.max_blocks_per_multiprocessor = r.maxBlocksPerMultiprocessor;
  row.registers_per_block = r.maxRegistersPerBlock;
  row.registers_per_multiprocessor = r.maxRegistersPerMultiprocessor;
  row.shared_bytes_per_block = r.maxSharedMemoryPerBlock;
  row.shared_bytes_per_multiprocessor = r.maxSharedMemoryPerMultiprocessor;
  row.core_clock_khz = r.coreClockRate;
  row.memory_bandwidth_kib_per_s = r.globalMemoryBandwidth;
  row.l2_bytes = r.l2CacheSize;
  row.name = sink_->name(device.name);
  const format::DeviceRow announced = row;
  if (objects_.add(std::move(device))) sink_->write(std::span(&announced, 1));
}

void ActivityDecoder::on_context(const RawRecord& record) {
  CUpti_ActivityContext3 copy;
  const CUpti_ActivityContext3& r = record.as(copy);
  const format::ContextRow row{r.contextId, r.deviceId, r.nullStreamId};
  if (objects_.add(row)) sink_->write(std::span(&row, 1));
}

void ActivityDecoder::on_stream(const RawRecord& record) {
  CUpti_ActivityStream copy;
  const CUpti_ActivityStream& r = record.as(copy);
  const format::StreamRow row{r.contextId, r.streamId, u32(r.flag), static_cast<std::int32_t>(r.priority)};
  if (objects_.add(row)) sink_->write(std::span(&row, 1));
}

}  // namespace rangefinder::source::cupti
