// SPDX-License-Identifier: MIT
// What NCCL calls. Each collective, send and receive becomes one of the recording: begun when its event starts, on the
// thread that launches it and so in the range that is open there; returned when that event stops; where the user asks
// for that, started when its first kernel channel (v1 and v2: proxy operation) starts, done when the last has stopped.
//
// Nothing here throws, prints, or fails, and no event allocates but the first of a communicator in v1 to v3: NCCL gets
// a null handle for what is not kept.
#include "source/nccl/collective_call.hpp"
#include "source/nccl/communicators.hpp"
#include "source/nccl/profiler_api.hpp"

#include <rangefinder/detail/collectives.hpp>
#include <rangefinder/visibility.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace rangefinder::nccl {
namespace {

constexpr const char* kName = "rangefinder";

constinit std::atomic<pid_t> own_process{0};

template <typename Descriptor>
constexpr bool has_kernel_channels = requires(Descriptor event) {
  event.kernel_channel;
};
template <typename Descriptor>
constexpr bool has_copy_engines = requires(Descriptor event) {
  event.copy_engine;
};
template <typename Descriptor>
constexpr bool has_calls_of_api = requires(Descriptor event) {
  event.collective_api;
};

/// Kernel channels tell when work of a collective began and was done. Not unless asked for: with them NCCL puts a
/// function of the host into CUDA graphs beside each of its kernels, and its progress thread polls also on one node
/// (2.26 on, ncclProfilerNeedsProxy()). The kernels' times are known from CUPTI, and better.
bool wants_kernel_channels() noexcept {
  const char* const given = ::secure_getenv("RANGEFINDER_NCCL_KERNELS");
  const std::string_view value = given != nullptr ? given : "";
  return value == "1" || value == "on";
}

/// What NCCL is to tell. No groups: 2.23 to 2.30 tell of them with their collectives. No steps of the proxy, no network
/// plugin: they are many, and the recording does not have them. Proxy operations only where there is nothing better:
/// of one collective only those ranks have them that use the network.
template <typename Descriptor>
int activation_mask() noexcept {
  std::uint64_t mask = kCollective | kPoint;
  if (wants_kernel_channels()) mask |= has_kernel_channels<Descriptor> ? kKernelChannel : kProxyOperation;
  if (has_copy_engines<Descriptor>) mask |= kCopyEngine;
  return static_cast<int>(mask);
}

/// A call of the API. A graph that is replayed keeps its handle: what it says holds for each replay.
constexpr std::uint32_t kCapturedBit = 0x100;
Handle api_handle(std::uint32_t datatype, bool is_captured) noexcept {
  return {Handle::Kind::kApi, datatype | (is_captured ? kCapturedBit : 0)};
}
std::uint32_t api_datatype(Handle api) noexcept { return api.slot & (kCapturedBit - 1); }
bool is_api_captured(Handle api) noexcept { return (api.slot & kCapturedBit) != 0; }

/// Always successful: after an error NCCL 2.23 prints, and drops the plugin for all communicators. Without memory the
/// context is null, and the events of that communicator are counted as lost. The mask does not depend on whether a
/// session records now, since NCCL asks once; begin_collective() tells later.
template <typename Descriptor>
int init_communicator(void** context, int* mask, std::uint64_t hash, const char* name, int ranks, int rank) noexcept {
  own_process.store(::getpid(), std::memory_order_relaxed);
  const int wanted = activation_mask<Descriptor>();
  if (mask != nullptr) std::atomic_ref(*mask).store(wanted, std::memory_order_relaxed);  // launching threads read it
  if (context == nullptr) return kSuccess;
  Communicator* const communicator = take_communicator(ranks, (wanted & kKernelChannel) != 0);
  if (communicator != nullptr) communicator->group(hash, name != nullptr ? name : "", rank);
  *context = communicator;
  return kSuccess;
}

template <typename Descriptor>
int init_v1(void** context, int* mask) noexcept {
  return init_communicator<Descriptor>(context, mask, 0, nullptr, 0, -1);
}

int init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int, int ranks, int rank,
            Logger) noexcept {
  return init_communicator<DescriptorV4>(context, mask, hash, name, ranks, rank);
}

template <typename Descriptor>
int init_v5(void** context, std::uint64_t hash, int* mask, const char* name, int, int ranks, int rank,
            Logger) noexcept {
  return init_communicator<Descriptor>(context, mask, hash, name, ranks, rank);
}

/// Begins a collective of the recording; kNone where nothing is recorded.
Handle begin(Communicator& communicator, detail::CollectiveCall call, std::uint32_t channels_to_end) noexcept {
  const std::uint32_t collective = detail::begin_collective(call);
  if (collective == 0) return {};
  const Handle handle = communicator.keep(collective, channels_to_end);
  if (handle.kind == Handle::Kind::kNone) {
    // NCCL will not stop it: without this it would look as if the call hung.
    detail::note_collective(collective, detail::CollectivePhase::kReturned);
    detail::count_lost_collective();
  }
  return handle;
}

template <typename Event>
Handle begin(Communicator* communicator, const Event& event, int rank, Handle parent, bool is_point) noexcept {
  if (communicator == nullptr) {  // there was no memory for it, or too many are open
    detail::count_lost_collective();
    return {};
  }
  if (!communicator->is_open()) return {};
  const HostEvent host = host_event(event);
  const bool has_api = parent.kind == Handle::Kind::kApi;
  const std::uint32_t called_with = has_api ? api_datatype(parent) : kUnknownDatatype;
  detail::CollectiveCall call = collective_call(host, communicator->ranks(), called_with);
  call.group = communicator->group(host.communicator_hash, host.communicator_name, rank);
  // Not NCCL's sequence number, which counts each function alone: an all-reduce and an all-gather would share one.
  // Those of a CUDA graph have none: of a replay only those ranks are told that use the network.
  if (!is_point && !(has_api && is_api_captured(parent))) call.number = communicator->next_number();
  return begin(*communicator, call, communicator->sees_channels() ? host.channels : 0);
}

template <typename Descriptor>
Handle started(Communicator* communicator, const Descriptor& event) noexcept {
  const Handle parent = Handle::of(event.parent);
  const bool has_collective = parent.kind == Handle::Kind::kCollective;
  switch (event.type) {
    case kGroup:
      return {Handle::Kind::kGroup};
    case kCollective:
      return begin(communicator, event.collective, event.rank, parent, false);
    case kPoint:
      return begin(communicator, event.point, event.rank, parent, true);
    case kProxyOperation:
      // With PXN it may be another process' handle.
      if (event.proxy_operation.pid != own_process.load(std::memory_order_relaxed)) return {};
      return has_collective ? begin_child(parent) : Handle{};
    default:
      break;
  }
  if constexpr (has_kernel_channels<Descriptor>) {
    if (event.type == kKernelChannel) return has_collective ? begin_child(parent) : Handle{};
  }
  if constexpr (has_calls_of_api<Descriptor>) {
    if (event.type == kCollectiveApi)
      return api_handle(datatype_of(event.collective_api.datatype), event.collective_api.graph_captured);
  }
  if constexpr (has_copy_engines<Descriptor>) {
    if (event.type == kCopyEngine) return begin(communicator, event.copy_engine, event.rank, parent, false);
  }
  return {};
}

template <typename Descriptor>
int start_event(void* context, void** handle, Descriptor* event) noexcept {
  if (handle == nullptr) return kSuccess;
  *handle = event != nullptr ? started(static_cast<Communicator*>(context), *event).pointer() : nullptr;
  return kSuccess;
}

int stop_event(void* pointer) noexcept {
  const Handle handle = Handle::of(pointer);
  if (handle.kind == Handle::Kind::kCollective) note_returned(handle);
  if (handle.kind == Handle::Kind::kChild) end_child(handle);
  return kSuccess;
}

int record_event_state(void*, int, void*) noexcept { return kSuccess; }

int finalize(void* context) noexcept {
  if (context != nullptr) give_back(static_cast<Communicator*>(context));
  return kSuccess;
}

template <typename Profiler>
constexpr Profiler table(decltype(Profiler::init) init) noexcept {
  return {kName, init, start_event<typename Profiler::Descriptor>, stop_event, record_event_state, finalize};
}

}  // namespace
}  // namespace rangefinder::nccl

extern "C" {
#define RANGEFINDER_NCCL_PROFILER(NUMBER, INIT)                                                \
  extern RANGEFINDER_EXPORT const rangefinder::nccl::ProfilerV##NUMBER ncclProfiler_v##NUMBER; \
  constinit const rangefinder::nccl::ProfilerV##NUMBER ncclProfiler_v##NUMBER =                \
      rangefinder::nccl::table<rangefinder::nccl::ProfilerV##NUMBER>(rangefinder::nccl::INIT)
RANGEFINDER_NCCL_PROFILER(1, init_v1<rangefinder::nccl::DescriptorV1>);
RANGEFINDER_NCCL_PROFILER(2, init_v1<rangefinder::nccl::DescriptorV2>);
RANGEFINDER_NCCL_PROFILER(3, init_v1<rangefinder::nccl::DescriptorV3>);
RANGEFINDER_NCCL_PROFILER(4, init_v4);
RANGEFINDER_NCCL_PROFILER(5, init_v5<rangefinder::nccl::DescriptorV5>);
RANGEFINDER_NCCL_PROFILER(6, init_v5<rangefinder::nccl::DescriptorV6>);
#undef RANGEFINDER_NCCL_PROFILER
}
