// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

// NCCL's profiler plugin interface, versions 1 to 6, as far as a plugin needs it. The layouts are those of
// src/include/plugin/profiler/profiler_v1.h to profiler_v6.h in NVIDIA/nccl (2.30.7), which are those of the first
// release of each version: 2.23 (v1), 2.24 (v2), 2.26 (v3), 2.27 (v4), 2.28 (v5), 2.29 (v6). The assertions at the end
// hold what a compiler makes of NCCL's own headers on x86-64 and AArch64.
//
// How NCCL calls a plugin (src/plugin/profiler.cc, src/enqueue.cc, src/transport/profiler.cc):
//
//   init          once a communicator, on the thread that makes it. The mask is one variable of the process, which each
//                 init overwrites and launching threads read by relaxed loads.
//   startEvent    kGroupApi, kCollectiveApi, kPointApi (v5 on): inside ncclAllReduce() and others, on the caller's
//                 thread. They come when a bit of their children is in the mask, whether their own is or not.
//                 kGroup, kCollective, kPoint: after the kernel's launch, on the thread that launched: that of
//                 ncclGroupEnd(). For a captured CUDA graph on a thread of CUDA's instead, at each replay, and only
//                 where proxy work or kernel channels go with it.
//                 kKernelChannel, kProxyOperation: on the progress thread of the proxy, any time later.
//   stopEvent     of a collective: on the same thread, when it is enqueued. It says nothing about its completion.
//                 Children start before or after it.
//   A null handle is no event: NCCL does not stop it and starts children with a null parent. 2.23 to 2.25 stop a
//   collective all the same, and 2.23 to 2.27 tell of collectives only where the group's handle is not null.
namespace rangefinder::nccl {

inline constexpr int kSuccess = 0;  // ncclSuccess

/// Kinds of events, and the bits of the activation mask.
enum EventKind : std::uint64_t {
  kGroup = 1 << 0,  ///< a kernel is launched: the collectives and points in it
  kCollective = 1 << 1,
  kPoint = 1 << 2,           ///< a send or a receive
  kProxyOperation = 1 << 3,  ///< network work of one channel
  kProxyStep = 1 << 4,
  kProxyControl = 1 << 5,
  kKernelChannel = 1 << 6,  ///< v3 on: one channel of a collective's kernel
  kNetworkPlugin = 1 << 7,
  kGroupApi = 1 << 8,  ///< v5 on
  kCollectiveApi = 1 << 9,
  kPointApi = 1 << 10,
  kKernelLaunch = 1 << 11,
  kCopyEngine = 1 << 12,  ///< v6 on: a collective by copy engines instead of a kernel
  kCopyEngineSync = 1 << 13,
  kCopyEngineBatch = 1 << 14,
};

/// NCCL's log function (ncclDebugLogger_t).
using Logger = void (*)(int level, unsigned long flags, const char* file, int line, const char* format, ...);

// ---- what an event is about; names and numbers as NCCL has them
// -------------------------------------------------------

struct CollectiveV1 {
  const char* communicator_name;
  std::uint64_t communicator_hash;
  std::uint64_t sequence_number;  ///< counted for each function of a communicator
  std::uint8_t function;          ///< ncclFunc_t
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  std::uint8_t datatype;  ///< ncclDataType_t
  std::uint32_t operation;
  std::size_t traffic_bytes;
  std::uint8_t max_channels;
  std::uint8_t warps;
  std::uint8_t algorithm;  ///< NCCL_ALGO_*
  std::uint8_t protocol;   ///< NCCL_PROTO_*
  int is_collnet;
  int is_nvls;
};

struct CollectiveV2 {
  const char* communicator_name;
  std::uint64_t communicator_hash;
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  std::size_t traffic_bytes;
  std::uint8_t max_channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct CollectiveV3 {
  const char* communicator_name;
  std::uint64_t communicator_hash;
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t max_channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct CollectiveV4 {
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct CollectiveV5 {
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parent_group;  ///< the parent is the API event since v5
};

struct PointV1 {
  const char* communicator_name;
  std::uint64_t communicator_hash;
  std::uint8_t function;
  void* buffer;
  std::uint8_t datatype;
  std::size_t count;
  int peer;
};

struct PointV2 {
  const char* communicator_name;
  std::uint64_t communicator_hash;
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};

struct PointV4 {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

struct PointV5 {
  const char* function;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
  std::uint8_t channels;
  void* parent_group;
};

struct GroupApi {
  bool graph_captured;
  int depth;
};

struct CollectiveApi {
  const char* function;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool graph_captured;
};

struct PointApi {
  const char* function;
  std::size_t count;
  const char* datatype;
  void* stream;
  bool graph_captured;
};

struct KernelLaunch {
  void* stream;
};

struct ProxyOperation {
  pid_t pid;  ///< whose addresses the parent is of: with PXN another process may work for it
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct ProxyStep {
  int step;
};

struct KernelChannelV3 {
  std::uint8_t channel;
};

struct KernelChannelV4 {
  std::uint8_t channel;
  std::uint64_t device_time;  ///< of the device's global timer
};

struct NetworkPlugin {
  std::int64_t id;
  void* data;
};

struct CopyEngine {
  std::uint64_t sequence_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  const char* sync_strategy;
  bool syncs_in_batch;
  std::uint32_t batch_size;
  std::uint32_t batches;
  std::uint32_t copy_engine_number;
  void* stream;
};

struct CopyEngineSync {
  bool is_complete;
  int ranks;
};

struct CopyEngineBatch {
  int operations;
  std::size_t total_bytes;
  bool syncs_inside;
};

// ---- descriptors of events
// -------------------------------------------------------------------------------------------

template <typename Collective, typename Point>
struct DescriptorOfFirstVersions {
  std::uint8_t type;  ///< EventKind
  void* parent;
  int rank;
  union {
    Collective collective;
    Point point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
  };
};
using DescriptorV1 = DescriptorOfFirstVersions<CollectiveV1, PointV1>;
using DescriptorV2 = DescriptorOfFirstVersions<CollectiveV2, PointV2>;

template <typename Collective, typename Point, typename KernelChannel>
struct DescriptorOfMiddleVersions {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Point point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    KernelChannel kernel_channel;
    NetworkPlugin network_plugin;
  };
};
using DescriptorV3 = DescriptorOfMiddleVersions<CollectiveV3, PointV2, KernelChannelV3>;
using DescriptorV4 = DescriptorOfMiddleVersions<CollectiveV4, PointV4, KernelChannelV4>;

struct DescriptorV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollectiveApi collective_api;
    PointApi point_api;
    KernelLaunch kernel_launch;
    CollectiveV5 collective;
    PointV5 point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    KernelChannelV4 kernel_channel;
    NetworkPlugin network_plugin;
  };
};

struct DescriptorV6 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApi group_api;
    CollectiveApi collective_api;
    PointApi point_api;
    KernelLaunch kernel_launch;
    CollectiveV5 collective;
    PointV5 point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    KernelChannelV4 kernel_channel;
    NetworkPlugin network_plugin;
    CopyEngine copy_engine;
    CopyEngineSync copy_engine_sync;
    CopyEngineBatch copy_engine_batch;
  };
};

// ---- what a plugin exports as ncclProfiler_vN
// ------------------------------------------------------------------------

/// States (an enumeration of NCCL's) and what comes with them are not looked at.
template <typename Init, typename DescriptorOfVersion>
struct Profiler {
  using Descriptor = DescriptorOfVersion;
  const char* name;
  Init init;
  int (*start_event)(void* context, void** handle, Descriptor* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

using InitV1 = int (*)(void** context, int* activation_mask);
using InitV4 = int (*)(void** context, int* activation_mask, const char* communicator_name,
                       std::uint64_t communicator_hash, int nodes, int ranks, int rank, Logger logger);
using InitV5 = int (*)(void** context, std::uint64_t communicator_hash, int* activation_mask,
                       const char* communicator_name, int nodes, int ranks, int rank, Logger logger);

using ProfilerV1 = Profiler<InitV1, DescriptorV1>;
using ProfilerV2 = Profiler<InitV1, DescriptorV2>;
using ProfilerV3 = Profiler<InitV1, DescriptorV3>;
using ProfilerV4 = Profiler<InitV4, DescriptorV4>;
using ProfilerV5 = Profiler<InitV5, DescriptorV5>;
using ProfilerV6 = Profiler<InitV5, DescriptorV6>;

// As plugins see them: bytes of a descriptor, and where its parts begin.
static_assert(sizeof(void*) == 8);
static_assert(sizeof(DescriptorV1) == 120 && offsetof(DescriptorV1, collective) == 24 &&
              offsetof(CollectiveV1, count) == 48 && offsetof(CollectiveV1, protocol) == 83 &&
              offsetof(PointV1, peer) == 48);
static_assert(sizeof(DescriptorV2) == 128 && offsetof(DescriptorV2, collective) == 24 &&
              offsetof(CollectiveV2, count) == 48 && offsetof(CollectiveV2, protocol) == 96 &&
              offsetof(PointV2, peer) == 48);
static_assert(sizeof(DescriptorV3) == 120 && offsetof(DescriptorV3, collective) == 24 &&
              offsetof(CollectiveV3, count) == 48 && offsetof(CollectiveV3, protocol) == 88);
static_assert(sizeof(DescriptorV4) == 104 && offsetof(DescriptorV4, collective) == 24 &&
              offsetof(CollectiveV4, count) == 32 && offsetof(CollectiveV4, protocol) == 72 &&
              offsetof(PointV4, peer) == 32);
static_assert(sizeof(DescriptorV5) == 112 && offsetof(DescriptorV5, collective) == 24 &&
              offsetof(CollectiveV5, count) == 32 && offsetof(CollectiveV5, protocol) == 72 &&
              offsetof(PointV5, peer) == 32);
static_assert(sizeof(DescriptorV6) == 112 && offsetof(DescriptorV6, collective) == 24 &&
              offsetof(CopyEngine, datatype) == 48);
static_assert(offsetof(ProxyOperation, channel) == 4 && offsetof(KernelChannelV4, device_time) == 8);
static_assert(sizeof(ProfilerV1) == 48 && sizeof(ProfilerV6) == 48);

}  // namespace rangefinder::nccl
