// SPDX-License-Identifier: MIT
#include "fake_state.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

// What the program does: calls that fire callbacks and leave records, and work that runs on the simulated device.

struct FakeNode {
  std::uint64_t id;
  FakeKernel kernel;
  std::string name;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  FakeSet set{};
  bool as_kernel = true;            // it leaves a kernel's record
  std::shared_ptr<FakeGraph> body;  // what it runs
  bool in_condition = false;        // it is of a conditional node's body
};

struct FakeGraph {
  std::uint32_t id = 0;
  std::deque<FakeNode> nodes;  // addresses stay: they stand for CUgraphNode
  std::uint32_t next_node = 0;
};

struct FakeGraphExec {
  std::uint32_t id = 0;
  FakeGraph body;
  bool whole = false;  // GRAPH_TRACE was on when it was made
};

namespace fake {
namespace {

std::atomic<std::uint32_t> g_graph_ids{0};

struct Times {
  std::uint64_t begin;  // as recorded
  std::uint64_t end;
  std::uint64_t done_at;  // on the device's clock; 0: done
  bool open;
};

Times schedule(const FakeWork& work, std::uint32_t stream_id) {
  if (work.untimed) return {0, 0, 0, false};
  if (work.open) return {0, 0, 0, true};
  if (work.begin_ns != 0 || work.end_ns != 0) return {work.begin_ns, work.end_ns, 0, false};
  State& s = state();
  const std::lock_guard lock(s.mutex);
  auto stream = std::find_if(s.streams.begin(), s.streams.end(),
                             [&](const Stream& one) { return one.context == work.context && one.id == stream_id; });
  if (stream == s.streams.end()) stream = s.streams.insert(s.streams.end(), {work.context, stream_id, 0});
  const std::uint64_t begin = std::max(device_now() + s.launch_latency_ns, stream->free_at);
  stream->free_at = begin + work.duration_ns;
  return {stamp(begin), stamp(stream->free_at), stream->free_at, false};
}

void run_kernel(const FakeKernel& kernel, std::uint32_t stream, std::uint32_t correlation, std::uint64_t node,
                std::uint32_t graph) {
  const Times times = schedule(kernel, stream);
  if (!state().kind_on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) return;
  CUpti_ActivityKernel10 r{};
  r.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  r.start = times.begin;
  r.end = times.end;
  r.deviceId = kernel.device;
  r.contextId = kernel.context;
  r.streamId = stream;
  r.correlationId = correlation;
  r.name = kept_name(kernel.name);
  r.gridX = static_cast<std::int32_t>(kernel.grid[0]);
  r.gridY = static_cast<std::int32_t>(kernel.grid[1]);
  r.gridZ = static_cast<std::int32_t>(kernel.grid[2]);
  r.blockX = static_cast<std::int32_t>(kernel.block[0]);
  r.blockY = static_cast<std::int32_t>(kernel.block[1]);
  r.blockZ = static_cast<std::int32_t>(kernel.block[2]);
  r.clusterX = kernel.cluster[0];
  r.clusterY = kernel.cluster[1];
  r.clusterZ = kernel.cluster[2];
  r.registersPerThread = static_cast<std::uint16_t>(kernel.registers);
  r.staticSharedMemory = static_cast<std::int32_t>(kernel.static_shared);
  r.dynamicSharedMemory = static_cast<std::int32_t>(kernel.dynamic_shared);
  r.localMemoryPerThread = kernel.local;
  r.launchType = static_cast<std::uint8_t>(kernel.launch_type);
  r.sharedMemoryExecuted = kernel.shared_executed;
  r.maxActiveClusters = kernel.max_active_clusters;
  r.queued = kernel.queued_ns;
  r.submitted = kernel.submitted_ns;
  r.graphNodeId = node;
  r.graphId = graph;
  append(&r, sizeof r, times.done_at, correlation, times.open);
}

bool leaves_record(const FakeNode& node) {
  return node.type == CU_GRAPH_NODE_TYPE_KERNEL || node.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

// The operations run all the same; one record tells of them.
void run_graph(const FakeGraphExec& exec, std::uint32_t stream, std::uint32_t correlation) {
  CUpti_ActivityGraphTrace2 r{};
  r.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  r.correlationId = correlation;
  r.graphId = exec.id;
  r.streamId = stream;
  Times whole{0, 0, 0, false};
  for (const FakeNode& node : exec.body.nodes) {
    if (!leaves_record(node)) continue;
    const Times times = schedule(node.kernel, stream);
    whole.begin = whole.begin == 0 ? times.begin : std::min(whole.begin, times.begin);
    whole.end = std::max(whole.end, times.end);
    whole.done_at = std::max(whole.done_at, times.done_at);
    whole.open = whole.open || times.open;
    r.deviceId = r.endDeviceId = node.kernel.device;
    r.contextId = r.endContextId = node.kernel.context;
  }
  r.start = whole.begin;
  r.end = whole.end;
  append(&r, sizeof r, whole.done_at, correlation, whole.open);
}

template <typename Record>
void fill_copy(Record& r, const FakeCopy& copy, const Times& times, std::uint32_t correlation, std::uint64_t node,
               std::uint32_t graph) {
  r.copyKind = static_cast<std::uint8_t>(copy.kind);
  r.srcKind = static_cast<std::uint8_t>(copy.source);
  r.dstKind = static_cast<std::uint8_t>(copy.target);
  r.flags = copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0;
  r.bytes = copy.bytes;
  r.start = times.begin;
  r.end = times.end;
  r.deviceId = copy.device;
  r.contextId = copy.context;
  r.streamId = copy.stream;
  r.correlationId = correlation;
  r.graphNodeId = node;
  r.graphId = graph;
}

void run_copy(const FakeCopy& copy, std::uint32_t correlation, std::uint64_t node = 0, std::uint32_t graph = 0) {
  const Times times = schedule(copy, copy.stream);
  if (copy.peer) {
    if (!state().kind_on[CUPTI_ACTIVITY_KIND_MEMCPY2]) return;
    CUpti_ActivityMemcpyPtoP4 r{};
    r.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    fill_copy(r, copy, times, correlation, node, graph);
    r.srcDeviceId = copy.source_device;
    r.srcContextId = copy.source_context;
    r.dstDeviceId = copy.target_device;
    r.dstContextId = copy.target_context;
    append(&r, sizeof r, times.done_at, correlation, times.open);
    return;
  }
  if (!state().kind_on[CUPTI_ACTIVITY_KIND_MEMCPY]) return;
  CUpti_ActivityMemcpy6 r{};
  r.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  fill_copy(r, copy, times, correlation, node, graph);
  append(&r, sizeof r, times.done_at, correlation, times.open);
}

void run_set(const FakeSet& set, std::uint32_t stream, std::uint32_t correlation, std::uint64_t node,
             std::uint32_t graph) {
  const Times times = schedule(set, stream);
  if (!state().kind_on[CUPTI_ACTIVITY_KIND_MEMSET]) return;
  CUpti_ActivityMemset4 r{};
  r.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  r.value = set.value;
  r.bytes = set.bytes;
  r.start = times.begin;
  r.end = times.end;
  r.deviceId = set.device;
  r.contextId = set.context;
  r.streamId = stream;
  r.correlationId = correlation;
  r.graphNodeId = node;
  r.graphId = graph;
  r.flags = set.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
  r.memoryKind = static_cast<std::uint16_t>(set.memory);
  append(&r, sizeof r, times.done_at, correlation, times.open);
}

// With times as they are recorded.
void record_call(CUpti_ActivityKind kind, std::uint32_t id, std::uint64_t begin, std::uint64_t end,
                 std::uint32_t correlation, std::uint32_t result) {
  CUpti_ActivityAPI r{};
  r.kind = kind;
  r.cbid = id;
  r.start = begin;
  r.end = end;
  r.processId = static_cast<std::uint32_t>(::getpid());
  r.threadId = thread_id();
  r.correlationId = correlation;
  r.returnValue = result;
  append(&r, sizeof r);
}

// Of a public function, where such records are wanted.
void record_call(const Function& function, std::uint64_t begin, std::uint64_t end, std::uint32_t correlation,
                 std::uint32_t result) {
  const State& s = state();
  const bool runtime = function.domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  const CUpti_ActivityKind kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  if (s.kind_on[kind] && !s.api_off[runtime ? 1 : 0][function.id])
    record_call(kind, function.id, begin, end, correlation, result);
}

CUpti_CallbackData callback_data(const char* function, std::uint32_t& result, std::uint64_t& between) {
  CUpti_CallbackData data{};
  data.functionName = function;
  data.functionReturnValue = &result;
  data.correlationData = &between;
  data.contextUid = 1;
  return data;
}

// One call of a public function: callbacks around its body, and its record.
template <typename Body>
void call(const char* name, std::uint32_t correlation, std::uint32_t result, Body body,
          const void* parameters = nullptr) {
  const Function function = find_function(name);
  if (function.domain == CUPTI_CB_DOMAIN_INVALID) return;
  std::uint64_t between = 0;
  CUpti_CallbackData data = callback_data(name, result, between);
  data.functionParams = parameters;
  data.correlationId = correlation;
  const std::uint64_t begin = device_now();
  data.callbackSite = CUPTI_API_ENTER;
  fire(function.domain, function.id, &data);
  body();
  data.callbackSite = CUPTI_API_EXIT;
  fire(function.domain, function.id, &data);
  record_call(function, stamp(begin), stamp(std::max(device_now(), begin)), correlation, result);
}

// One half of a call, for those that are played.
Function tell_half(const char* name, CUpti_ApiCallbackSite site, std::uint32_t correlation, std::uint32_t result) {
  const Function function = find_function(name);
  if (function.domain == CUPTI_CB_DOMAIN_INVALID) return function;
  std::uint64_t between = 0;
  CUpti_CallbackData data = callback_data(name, result, between);
  data.correlationId = correlation;
  data.callbackSite = site;
  fire(function.domain, function.id, &data);
  return function;
}

std::uint32_t next_correlation() { return state().correlation.fetch_add(1); }

void tell_calls(const char* name, std::uint64_t calls) {
  const Function function = find_function(name);
  if (function.domain == CUPTI_CB_DOMAIN_INVALID) return;
  std::uint64_t between = 0;
  std::uint32_t result = 0;
  CUpti_CallbackData data = callback_data(name, result, between);
  for (std::uint64_t i = 0; i < calls; ++i) {
    data.correlationId = next_correlation();
    data.callbackSite = CUPTI_API_ENTER;
    fire(function.domain, function.id, &data);
    data.callbackSite = CUPTI_API_EXIT;
    fire(function.domain, function.id, &data);
  }
}

void fire_node(CUpti_CallbackIdResource id, FakeGraph& graph, FakeNode& node, FakeGraph* original_graph,
               FakeNode* original) {
  CUpti_GraphData graph_data{};
  graph_data.graph = reinterpret_cast<CUgraph>(&graph);
  graph_data.node = reinterpret_cast<CUgraphNode>(&node);
  graph_data.originalGraph = reinterpret_cast<CUgraph>(original_graph);
  graph_data.originalNode = reinterpret_cast<CUgraphNode>(original);
  // CUPTI 13.0 does not say of which type it is.
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph_data;
  fire(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void fire_graph(CUpti_CallbackIdResource id, FakeGraph* graph, FakeGraphExec* exec = nullptr) {
  CUpti_GraphData graph_data{};
  graph_data.graph = reinterpret_cast<CUgraph>(graph);
  graph_data.graphExec = reinterpret_cast<CUgraphExec>(exec);
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph_data;
  fire(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void begin_graph(FakeGraph& graph) {
  graph.id = ++g_graph_ids;
  fire_graph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &graph);
}

FakeNode& number(FakeGraph& graph, FakeNode node) {
  node.id = std::uint64_t{graph.id} << 32 | graph.next_node++;
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back();
}

FakeNode& add(FakeGraph& graph, FakeNode node) {
  FakeNode& added = number(graph, std::move(node));
  fire_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, added, nullptr, nullptr);
  return added;
}

std::shared_ptr<FakeGraph> copy_of(FakeGraph& from);

// Clone and instantiate announce each new node as created and then as cloned, and the graph that it runs before it.
void copy_nodes(FakeGraph& from, FakeGraph& to) {
  for (FakeNode& original : from.nodes) {
    FakeNode node = original;
    if (original.body != nullptr) node.body = copy_of(*original.body);
    FakeNode& copy = add(to, std::move(node));
    fire_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, to, copy, &from, &original);
  }
}

std::shared_ptr<FakeGraph> copy_of(FakeGraph& from) {
  const std::shared_ptr<FakeGraph> copy(new FakeGraph, [](FakeGraph* graph) {
    let_go(graph);
    delete graph;
  });
  keep(copy.get());
  begin_graph(*copy);
  copy_nodes(from, *copy);
  return copy;
}

// The driver puts what nodes run behind the others, breadth first, and says nothing of it; the nodes of child graphs
// go.
void put_bodies_behind(FakeGraph& graph) {
  std::vector<FakeNode*> running;
  const auto look = [&](FakeNode& node) {
    if (node.body != nullptr) running.push_back(&node);
  };
  for (FakeNode& node : graph.nodes) look(node);
  for (std::size_t next = 0; next < running.size(); ++next) {
    const FakeNode& of = *running[next];
    for (const FakeNode& inner : of.body->nodes) {
      FakeNode& copy = number(graph, inner);
      copy.in_condition = of.in_condition || of.type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
      look(copy);
    }
  }
  for (FakeNode* const node : running) {
    if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
      fire_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, graph, *node, nullptr, nullptr);
    fire_graph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, node->body.get());
  }
}

// Inside of the runtime's function: the driver's of the same id, which leaves no record.
template <typename Body>
void driver_call(const char* name, std::uint32_t correlation, Body body, const void* parameters = nullptr) {
  const Function function = find_function(name);
  std::uint32_t result = 0;
  std::uint64_t between = 0;
  CUpti_CallbackData data = callback_data(name, result, between);
  data.functionParams = parameters;
  data.correlationId = correlation;
  data.callbackSite = CUPTI_API_ENTER;
  if (function.domain != CUPTI_CB_DOMAIN_INVALID) fire(function.domain, function.id, &data);
  body();
  data.callbackSite = CUPTI_API_EXIT;
  if (function.domain != CUPTI_CB_DOMAIN_INVALID) fire(function.domain, function.id, &data);
}

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

std::uint32_t fakecupti_launch(const char* function, const FakeKernel* kernel) {
  const std::uint32_t correlation = next_correlation();
  // CUPTI opens the kernel's record inside the call, so it lies before the call's own.
  call(function, correlation, 0, [&] { run_kernel(*kernel, kernel->stream, correlation, 0, 0); });
  return correlation;
}

std::uint32_t fakecupti_launch_nested(const char* outer, const char* inner, bool of_inner, const FakeKernel* kernel) {
  const std::uint32_t outer_id = next_correlation();
  const std::uint32_t inner_id = next_correlation();
  call(outer, outer_id, 0, [&] {
    call(inner, inner_id, 0, [&] { run_kernel(*kernel, kernel->stream, of_inner ? inner_id : outer_id, 0, 0); });
  });
  return outer_id;
}

std::uint32_t fakecupti_launch_internal(const FakeKernel* kernel) {
  const std::uint32_t correlation = next_correlation();
  const std::uint64_t begin = device_now();
  run_kernel(*kernel, kernel->stream, correlation, 0, 0);
  if (state().kind_on[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API]) {
    record_call(CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, 0, stamp(begin), stamp(std::max(device_now(), begin)),
                correlation, 0);
  }
  return correlation;
}

std::uint32_t fakecupti_copy(const char* function, const FakeCopy* copy) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] { run_copy(*copy, correlation); });
  return correlation;
}

std::uint32_t fakecupti_set(const char* function, const FakeSet* set) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] { run_set(*set, set->stream, correlation, 0, 0); });
  return correlation;
}

void fakecupti_begin_call(const char* function, std::uint32_t correlation) {
  tell_half(function, CUPTI_API_ENTER, correlation, 0);
}

void fakecupti_end_call(const char* function, std::uint32_t correlation, std::uint32_t result, std::uint64_t begin_ns,
                        std::uint64_t end_ns) {
  const Function found = tell_half(function, CUPTI_API_EXIT, correlation, result);
  if (found.domain != CUPTI_CB_DOMAIN_INVALID) record_call(found, begin_ns, end_ns, correlation, result);
}

void fakecupti_record_kernel(const FakeKernel* kernel, std::uint32_t correlation, std::uint64_t node,
                             std::uint32_t graph) {
  run_kernel(*kernel, kernel->stream, correlation, node, graph);
}

void fakecupti_record_copy(const FakeCopy* copy, std::uint32_t correlation, std::uint64_t node, std::uint32_t graph) {
  run_copy(*copy, correlation, node, graph);
}

void fakecupti_record_set(const FakeSet* set, std::uint32_t correlation, std::uint64_t node, std::uint32_t graph) {
  run_set(*set, set->stream, correlation, node, graph);
}

void fakecupti_tell_calls(const char* function, std::uint64_t calls) { tell_calls(function, calls); }

std::uint32_t fakecupti_call(const char* function, std::uint32_t result) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, result, [] {});
  return correlation;
}

std::uint32_t fakecupti_call_on_stream(const char* function, const void* stream, std::uint32_t result) {
  const std::uint32_t correlation = next_correlation();
  const void* const parameters[] = {stream, nullptr};
  call(
      function, correlation, result, [] {}, parameters);
  return correlation;
}

std::uint32_t fakecupti_synchronize(const char* function, std::uint32_t context, std::uint32_t stream) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] {
    State& s = state();
    const bool whole = stream == CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    std::uint64_t free_at = 0;
    {
      const std::lock_guard lock(s.mutex);
      for (const Stream& one : s.streams) {
        if (one.context == context && (whole || one.id == stream)) free_at = std::max(free_at, one.free_at);
      }
    }
    const std::uint64_t begin = device_now();
    wait_until(free_at);
    if (!s.kind_on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION]) return;
    CUpti_ActivitySynchronization2 r{};
    r.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    r.type = whole ? CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE
                   : CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    r.start = stamp(begin);
    r.end = stamp(std::max(device_now(), begin));
    r.correlationId = correlation;
    r.contextId = context;
    r.streamId = stream;
    r.cudaEventId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    append(&r, sizeof r);
  });
  return correlation;
}

std::uint64_t fakecupti_record_event(const char* function, std::uint32_t context, std::uint32_t stream) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] {
    if (!state().kind_on[CUPTI_ACTIVITY_KIND_CUDA_EVENT]) return;
    CUpti_ActivityCudaEvent2 r{};
    r.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    r.correlationId = correlation;
    r.contextId = context;
    r.streamId = stream;
    r.eventId = 1;  // the same event again and again
    r.cudaEventSyncId = correlation;
    append(&r, sizeof r);
  });
  return correlation;
}

std::uint32_t fakecupti_wait_event(const char* function, std::uint32_t context, std::uint64_t event) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] {
    if (!state().kind_on[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION]) return;
    CUpti_ActivitySynchronization2 r{};
    r.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    r.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    r.start = r.end = stamp(device_now());
    r.correlationId = correlation;
    r.contextId = context;
    r.streamId = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
    r.cudaEventId = 1;
    r.cudaEventSyncId = event;
    append(&r, sizeof r);
  });
  return correlation;
}

void fakecupti_overhead(std::uint32_t kind, std::uint64_t duration_ns) {
  if (!state().kind_on[CUPTI_ACTIVITY_KIND_OVERHEAD]) return;
  CUpti_ActivityOverhead3 r{};
  r.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  r.overheadKind = static_cast<CUpti_ActivityOverheadKind>(kind);
  r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  r.objectId.pt.processId = static_cast<std::uint32_t>(::getpid());
  r.objectId.pt.threadId = thread_id();
  r.start = stamp(device_now());
  r.end = r.start + duration_ns;
  append(&r, sizeof r);
}

std::uint32_t fakecupti_memory(const char* function, const FakeMemory* memory) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] {
    if (!state().kind_on[CUPTI_ACTIVITY_KIND_MEMORY2]) return;
    CUpti_ActivityMemory4 r{};
    r.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    r.memoryOperationType =
        memory->freed ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    r.memoryKind = static_cast<CUpti_ActivityMemoryKind>(memory->kind);
    r.correlationId = correlation;
    r.address = memory->address;
    r.bytes = memory->bytes;
    r.timestamp = stamp(device_now());
    r.processId = static_cast<std::uint32_t>(::getpid());
    r.deviceId = memory->device;
    r.contextId = memory->context;
    r.streamId = memory->stream;
    r.isAsync = memory->async ? 1 : 0;
    r.memoryPoolConfig.address = memory->pool;
    append(&r, sizeof r);
  });
  return correlation;
}

void fakecupti_jit(std::uint32_t entry, std::uint32_t operation, std::uint64_t duration_ns, const char* cache_path) {
  if (!state().kind_on[CUPTI_ACTIVITY_KIND_JIT]) return;
  CUpti_ActivityJit2 r{};
  r.kind = CUPTI_ACTIVITY_KIND_JIT;
  r.jitEntryType = static_cast<CUpti_ActivityJitEntryType>(entry);
  r.jitOperationType = static_cast<CUpti_ActivityJitOperationType>(operation);
  r.start = stamp(device_now());
  r.end = r.start + duration_ns;
  r.jitOperationCorrelationId = 1;
  r.cachePath = cache_path != nullptr ? kept_name(cache_path) : nullptr;
  r.processId = static_cast<std::uint32_t>(::getpid());
  r.threadId = thread_id();
  append(&r, sizeof r);
}

FakeGraph* fakecupti_graph_create() {
  auto* graph = new FakeGraph;
  keep(graph);
  begin_graph(*graph);
  return graph;
}

std::uint64_t fakecupti_graph_add(FakeGraph* graph, const FakeKernel* kernel) {
  return add(*graph, {0, *kernel, kernel->name}).id;
}

std::uint64_t fakecupti_graph_capture(const char* function, FakeGraph* graph, const FakeKernel* kernel) {
  std::uint64_t node = 0;
  call(function, next_correlation(), 0, [&] { node = fakecupti_graph_add(graph, kernel); });
  return node;
}

std::uint64_t fakecupti_graph_capture_set(const char* function, FakeGraph* graph, const FakeSet* set, bool as_kernel) {
  call(function, next_correlation(), 0, [&] {
    FakeNode node{0, {}, "memset as a kernel", CU_GRAPH_NODE_TYPE_MEMSET, *set, as_kernel};
    node.kernel.duration_ns = set->duration_ns;
    add(*graph, std::move(node));
  });
  return graph->nodes.back().id;
}

void fakecupti_graph_add_host(const char* function, FakeGraph* graph) {
  call(function, next_correlation(), 0, [&] { add(*graph, {0, {}, "host", CU_GRAPH_NODE_TYPE_HOST}); });
}

void fakecupti_graph_add_conditional(const char* function, FakeGraph* graph, FakeGraph* body) {
  std::uint64_t handle = 0;
  const void* const parameters[] = {&handle, graph};
  driver_call(
      "cuGraphConditionalHandleCreate", next_correlation(), [] {}, parameters);
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] {
    driver_call("cuGraphAddNode_v2", correlation, [&] {
      FakeNode node{0, {}, "while", CU_GRAPH_NODE_TYPE_CONDITIONAL};
      node.body = copy_of(*body);
      add(*graph, std::move(node));
    });
  });
}

void fakecupti_graph_add_child(const char* function, FakeGraph* graph, FakeGraph* child) {
  const std::uint32_t correlation = next_correlation();
  call(function, correlation, 0, [&] {
    driver_call("cuGraphAddChildGraphNode", correlation, [&] {
      FakeNode node{0, {}, "child", CU_GRAPH_NODE_TYPE_GRAPH};
      node.body = copy_of(*child);
      add(*graph, std::move(node));
    });
  });
}

FakeGraph* fakecupti_graph_clone(FakeGraph* graph) {
  auto* clone = new FakeGraph;
  keep(clone);
  driver_call("cuGraphClone", next_correlation(), [&] {
    begin_graph(*clone);
    copy_nodes(*graph, *clone);
  });
  return clone;
}

FakeGraphExec* fakecupti_graph_instantiate(FakeGraph* graph) {
  auto* exec = new FakeGraphExec;
  keep(exec);
  driver_call("cuGraphInstantiateWithFlags", next_correlation(), [&] {
    begin_graph(exec->body);
    exec->id = exec->body.id;
    copy_nodes(*graph, exec->body);
    put_bodies_behind(exec->body);
    exec->whole = state().kind_on[CUPTI_ACTIVITY_KIND_GRAPH_TRACE];
    fire_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, graph, exec);
  });
  return exec;
}

std::uint32_t fakecupti_graph_launch(const char* function, FakeGraphExec* exec, std::uint32_t stream) {
  const std::uint32_t launch = next_correlation();
  call(function, launch, 0, [&] {
    const std::uint32_t correlation = state().graph_ids_wrong ? launch - 1 : launch;
    if (state().kind_on[CUPTI_ACTIVITY_KIND_GRAPH_TRACE]) {
      if (!exec->whole) misuse("a graph is launched that was instantiated without GRAPH_TRACE: CUPTI 13.0 crashes");
      return run_graph(*exec, stream, correlation);
    }
    for (FakeNode& node : exec->body.nodes) {
      if (!leaves_record(node)) continue;
      const std::uint32_t told = node.in_condition ? 0 : correlation;
      if (!node.as_kernel) {
        run_set(node.set, stream, told, node.id, exec->id);
        continue;
      }
      FakeKernel kernel = node.kernel;
      kernel.name = node.name.c_str();
      run_kernel(kernel, stream, told, node.id, exec->id);
    }
  });
  return launch;
}

void fakecupti_graph_update(FakeGraphExec* exec, FakeGraph* graph) {
  const void* const parameters[] = {exec, graph, nullptr};
  // No callback tells of the nodes.
  driver_call(
      "cuGraphExecUpdate_v2", next_correlation(),
      [&] {
        std::vector<FakeGraph*> from = {graph};
        std::size_t changed = 0;
        for (std::size_t next = 0; next < from.size(); ++next) {
          for (FakeNode& node : from[next]->nodes) {
            if (node.body != nullptr) from.push_back(node.body.get());
            if (changed == exec->body.nodes.size()) return;
            exec->body.nodes[changed].kernel = node.kernel;
            exec->body.nodes[changed++].name = node.name;
          }
        }
      },
      parameters);
}

void fakecupti_graph_tell_update(FakeGraphExec* exec, std::size_t node, FakeGraph* graph) {
  FakeNode& from = graph->nodes.at(node);
  exec->body.nodes.at(node).kernel = from.kernel;
  exec->body.nodes.at(node).name = from.name;
  fire_node(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, exec->body, exec->body.nodes.at(node), graph, &from);
}

void fakecupti_graph_set_params(FakeGraphExec* exec, std::size_t node, const FakeKernel* kernel) {
  FakeNode& changed = exec->body.nodes.at(node);
  call("cudaGraphExecKernelNodeSetParams_v10010", next_correlation(), 0, [&] {
    changed.kernel = *kernel;
    changed.name = kernel->name;
    fire_node(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, exec->body, changed, nullptr, nullptr);
  });
}

void fakecupti_tell_destroyed_nodes(bool tell) { state().tells_destroyed_nodes = tell; }

void fakecupti_graph_destroy(FakeGraph* graph, FakeGraphExec* exec) {
  for (FakeGraph* body : {graph, exec != nullptr ? &exec->body : nullptr}) {
    if (body == nullptr) continue;
    if (body == graph)
      fire_graph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, graph);
    else
      fire_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, nullptr, exec);
    if (!state().tells_destroyed_nodes) continue;
    for (FakeNode& node : body->nodes)
      fire_node(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, *body, node, nullptr, nullptr);
  }
  let_go(graph);
  let_go(exec);
  delete graph;
  delete exec;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
  if (node == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<FakeNode*>(node)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, std::uint32_t* id) {
  if (graph == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<FakeGraph*>(graph)->id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, std::uint32_t* id) {
  if (!has(state(), "cuptiGetGraphExecId")) misuse("cuptiGetGraphExecId called, which this version lacks");
  if (exec == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = reinterpret_cast<FakeGraphExec*>(exec)->id;
  return CUPTI_SUCCESS;
}

}  // extern "C"
