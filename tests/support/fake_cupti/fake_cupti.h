// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

// Control of the simulated CUPTI. The code under test sees plain CUPTI: it opens the library and calls cupti*
// functions. The functions below play the program and its device: what CUDA would do when a program launches, copies
// and waits, and what goes wrong. All may be called from any thread; a "call" is made by the thread that calls here.

/// A kernel, copy or memset on the simulated device. With `duration_ns` it begins when it has reached the device and
/// its stream is free, and lasts that long; with times of its own it has those.
struct FakeWork {
  std::uint64_t duration_ns = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  bool untimed = false;  ///< CUPTI has no device buffer left: a record with zero times
  bool open = false;     ///< incomplete until fakecupti_complete
  std::uint32_t device = 0;
  std::uint32_t context = 1;
  std::uint32_t stream = 7;
};

struct FakeKernel : FakeWork {
  const char* name = "kernel";
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {128, 1, 1};
  std::uint32_t cluster[3] = {0, 0, 0};
  std::uint32_t registers = 32;
  std::uint32_t static_shared = 0;
  std::uint32_t dynamic_shared = 0;
  std::uint32_t local = 0;
  std::uint32_t launch_type = 0;
  std::uint32_t shared_executed = 0;
  std::uint32_t max_active_clusters = 0;
  std::uint64_t queued_ns = 0;
  std::uint64_t submitted_ns = 0;
};

struct FakeCopy : FakeWork {
  std::uint64_t bytes = 0;
  std::uint32_t kind = 1;    // CUpti_ActivityMemcpyKind; 1 host to device
  std::uint32_t source = 2;  // CUpti_ActivityMemoryKind; 2 pinned
  std::uint32_t target = 3;  // 3 device
  bool async = true;
  bool peer = false;
  std::uint32_t source_device = 0, source_context = 0;
  std::uint32_t target_device = 0, target_context = 0;
};

struct FakeSet : FakeWork {
  std::uint64_t bytes = 0;
  std::uint32_t value = 0;
  std::uint32_t memory = 3;
  bool async = true;
};

/// A call that allocates or frees.
struct FakeMemory {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t kind = 3;  // CUpti_ActivityMemoryKind; 3 device
  bool freed = false;
  bool async = false;  // in order of `stream`, from `pool`
  std::uint64_t pool = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 1;
  std::uint32_t stream = 7;
};

struct FakeGraph;
struct FakeGraphExec;

enum FakeCallback {
  kFakeApiCallback,       ///< of a runtime or driver function, at its begin or end
  kFakeResourceCallback,  ///< of graphs and what they are made of
  kFakeOtherCallback,
  kFakeBufferRequested,
  kFakeBufferCompleted,
};

enum FakeDelivery {
  kFakeInOrder,
  kFakeReversed,
  kFakeHeld,  ///< until fakecupti_deliver
};

extern "C" {

// ---- the process -----------------------------------------------------------------------------------------------

/// A fresh process: CUDA 13.0.1, a driver, one device with context 1 and stream 7, no subscriber, CLOCK_REALTIME.
/// Buffers that are out are forgotten.
void fakecupti_reset();
/// Before anything is asked of it: the CUPTI of CUDA 12.1 (18), 12.4 (22), 12.6 (24), 12.8 (26), 12.9.1 (28) or 13.0.1
/// (130001), with their functions, callbacks, attributes, kinds and lengths of records; a newer one has more of each.
void fakecupti_become(std::uint32_t api_version);
/// A symbol of that library. All are here for dlsym; to call one that it lacks is a breach of its rules.
bool fakecupti_has(const char* function);
/// The number alone.
void fakecupti_set_version(std::uint32_t api_version);
void fakecupti_set_driver(bool present);
/// Records of a kind, as long as another version of CUPTI makes them: cut, or filled with 0xEE. 0: as in our header. A
/// kind that the header lacks becomes known to the parser of this library.
void fakecupti_set_record_bytes(std::uint32_t kind, std::size_t bytes);
void fakecupti_set_next_correlation(std::uint32_t id);
/// One more, or another name for one that is there.
void fakecupti_add_device(std::uint32_t id, const char* name);
void fakecupti_add_context(std::uint32_t id, std::uint32_t device);
/// The program has none on any device.
void fakecupti_destroy_contexts();
void fakecupti_add_stream(std::uint32_t context, std::uint32_t id, std::uint32_t priority);

// ---- the clock -------------------------------------------------------------------------------------------------

/// Of records and of cuptiGetTimestamp, CLOCK_REALTIME unless it was changed.
std::uint64_t fakecupti_now();
/// Time stands still but for fakecupti_advance and waits for the device.
void fakecupti_set_manual_clock(std::uint64_t now_ns);
void fakecupti_advance(std::uint64_t ns);
/// The clock is set forward or back.
void fakecupti_step_clock(std::int64_t ns);
/// From the launching call to the earliest begin on the device; 3000 ns.
void fakecupti_set_launch_latency(std::uint64_t ns);

// ---- what the program does -------------------------------------------------------------------------------------
// `function` is CUPTI's name of a runtime or driver function, such as "cudaLaunchKernel_v7000" or "cuLaunchKernelEx".
// The answer is the correlation id of the work.

std::uint32_t fakecupti_launch(const char* function, const FakeKernel* kernel);
/// A runtime call that reaches the driver, which has a correlation id of its own; the kernel carries the inner one's if
/// `of_inner`. Answers the outer id; the inner is the next.
std::uint32_t fakecupti_launch_nested(const char* outer, const char* inner, bool of_inner, const FakeKernel* kernel);
/// By a library, past the public functions: no callback, a record of kind INTERNAL_LAUNCH_API.
std::uint32_t fakecupti_launch_internal(const FakeKernel* kernel);
std::uint32_t fakecupti_copy(const char* function, const FakeCopy* copy);
std::uint32_t fakecupti_set(const char* function, const FakeSet* set);
/// A call in two halves, with a correlation id and times that something else knows, for programs that were recorded
/// before. Both by the calling thread; what it calls and launches in between is its own.
void fakecupti_begin_call(const char* function, std::uint32_t correlation);
void fakecupti_end_call(const char* function, std::uint32_t correlation, std::uint32_t result, std::uint64_t begin_ns,
                        std::uint64_t end_ns);
/// The record of a piece of work of such a call, whenever the device gets to it; of a graph, with the node's id.
void fakecupti_record_kernel(const FakeKernel* kernel, std::uint32_t correlation, std::uint64_t node,
                             std::uint32_t graph);
void fakecupti_record_copy(const FakeCopy* copy, std::uint32_t correlation, std::uint64_t node, std::uint32_t graph);
void fakecupti_record_set(const FakeSet* set, std::uint32_t correlation, std::uint64_t node, std::uint32_t graph);
/// Only the callbacks of so many calls, without work or records: what a launch is to the subscriber.
void fakecupti_tell_calls(const char* function, std::uint64_t calls);
/// A call without device work.
std::uint32_t fakecupti_call(const char* function, std::uint32_t result);
/// The same, of a function whose first parameter is a stream's handle, such as "cudaStreamBeginCapture_v10000".
std::uint32_t fakecupti_call_on_stream(const char* function, const void* stream, std::uint32_t result);
/// Waits for the work of a stream, of a context with stream 0xFFFFFFFF; real time unless the clock is manual.
std::uint32_t fakecupti_synchronize(const char* function, std::uint32_t context, std::uint32_t stream);
/// Records an event on a stream; answers the number by which waits know it.
std::uint64_t fakecupti_record_event(const char* function, std::uint32_t context, std::uint32_t stream);
/// Waits for the work of that stream, as a wait for an event that was recorded so.
std::uint32_t fakecupti_wait_event(const char* function, std::uint32_t context, std::uint64_t event);
void fakecupti_overhead(std::uint32_t kind, std::uint64_t duration_ns);
std::uint32_t fakecupti_memory(const char* function, const FakeMemory* memory);
/// The driver's compiler, or its cache: CUpti_ActivityJitEntryType and CUpti_ActivityJitOperationType.
void fakecupti_jit(std::uint32_t entry, std::uint32_t operation, std::uint64_t duration_ns, const char* cache_path);
/// Ends an open piece of work.
void fakecupti_complete(std::uint32_t correlation, std::uint64_t begin_ns, std::uint64_t end_ns);
/// A record as it stands, into the calling thread's buffer.
void fakecupti_append(const void* record, std::size_t bytes);

FakeGraph* fakecupti_graph_create();
/// Captures a kernel; answers the node's id.
std::uint64_t fakecupti_graph_add(FakeGraph* graph, const FakeKernel* kernel);
/// The same inside a call that is captured, such as "cudaLaunchKernel_v7000", or that adds the node by hand.
std::uint64_t fakecupti_graph_capture(const char* function, FakeGraph* graph, const FakeKernel* kernel);
/// A memset as a node, which leaves a record of a memset, or, as drivers do where it suits them, of a kernel.
std::uint64_t fakecupti_graph_capture_set(const char* function, FakeGraph* graph, const FakeSet* set, bool as_kernel);
/// A host function as a node: no record tells of it. Before CUDA 13.1 none ever does.
void fakecupti_graph_add_host(const char* function, FakeGraph* graph);
/// A conditional node, whose body runs as often as the device decides; one iteration of it is recorded.
void fakecupti_graph_add_conditional(const char* function, FakeGraph* graph, FakeGraph* body);
/// A node for a child graph: its body is a copy.
void fakecupti_graph_add_child(const char* function, FakeGraph* graph, FakeGraph* child);
FakeGraph* fakecupti_graph_clone(FakeGraph* graph);
FakeGraphExec* fakecupti_graph_instantiate(FakeGraph* graph);
/// The nodes run one after the other on the stream, all with the launch's correlation id; while GRAPH_TRACE is enabled
/// one record tells of all of them. Before CUDA 13.1 update 1, with the id of the launch before once kernels were
/// switched off and on again.
std::uint32_t fakecupti_graph_launch(const char* function, FakeGraphExec* exec, std::uint32_t stream);
/// The executable graph takes over the kernels of another graph of the same shape; its node ids stay.
void fakecupti_graph_update(FakeGraphExec* exec, FakeGraph* graph);
/// The same of one node, by the callback that CUPTI has for that.
void fakecupti_graph_tell_update(FakeGraphExec* exec, std::size_t node, FakeGraph* graph);
/// A node of the executable graph gets another kernel, as by cudaGraphExecKernelNodeSetParams; its id stays.
void fakecupti_graph_set_params(FakeGraphExec* exec, std::size_t node, const FakeKernel* kernel);
void fakecupti_graph_destroy(FakeGraph* graph, FakeGraphExec* exec);
/// Whether the nodes of a graph that is destroyed are announced one by one, beside the graph; they are at first.
void fakecupti_tell_destroyed_nodes(bool tell);

// ---- hardware counters -----------------------------------------------------------------------------------------

/// Of all devices; "GH100".
void fakecupti_set_chip(const char* name);
/// Of the calling thread; 0: none, as every thread has at first.
void fakecupti_set_current_context(std::uint32_t id);
/// What a metric of CUPTI's is: so much for each nanosecond of a range or sample, 1 unless it was set; of a percentage
/// (pct in its name) the percentage.
void fakecupti_set_metric(const char* metric, double value);
/// The chip does not have it.
void fakecupti_forget_metric(const char* metric);
/// The range profiler has no room for the next so many ranges that it decodes.
void fakecupti_drop_ranges(std::size_t ranges);
/// The range profiler says that one pass was not enough.
void fakecupti_want_another_pass(bool wanted);
/// The hardware buffer of samples is full when it is decoded next, and stays so until sampling is started again.
void fakecupti_overflow_samples();
/// Range profilers and samplings that were enabled and not disabled.
std::size_t fakecupti_profilers_open();

// ---- what goes wrong -------------------------------------------------------------------------------------------

/// Every call of a function fails with a CUptiResult from now on; 0: works again.
void fakecupti_fail(const char* function, int result);
/// cuptiActivityEnable and EnableAndDump of one kind fail.
void fakecupti_fail_kind(std::uint32_t kind, int result);
/// Calls of a function do not return, and hold CUPTI's lock, until fakecupti_release_hangs.
void fakecupti_hang(const char* function);
/// Returns once a call hangs.
void fakecupti_wait_hanging();
void fakecupti_release_hangs();
/// Another tool holds the subscriber slot, under this name; null: gone.
void fakecupti_set_holder(const char* name);
/// Another tool registers its own buffers over the present ones, or gives them up (then none are registered).
void fakecupti_steal_buffers(bool stolen);
/// CUPTI meets a fatal error, tells the subscriber and finalizes itself.
void fakecupti_fatal_error(int result);
/// Records lost inside CUPTI.
void fakecupti_add_dropped(std::uint64_t records);
void fakecupti_set_delivery(FakeDelivery delivery);
/// Hands out held buffers, last one first, from another thread.
void fakecupti_deliver();
/// The next buffer to be delivered lacks the last bytes.
void fakecupti_cut_next_buffer(std::uint32_t bytes);
/// Returns the last delivered buffer once more.
void fakecupti_return_again();
/// Returns memory that was never handed out.
void fakecupti_return_foreign();
/// Asks for a buffer and returns it with nothing in it.
void fakecupti_return_empty();
/// The program destroys the context while work in it is open: that work never gets its times.
void fakecupti_destroy_context();

// ---- what was done ---------------------------------------------------------------------------------------------

/// Calls of a cupti function, begun so far.
std::uint64_t fakecupti_calls(const char* function);
/// The client's code is watched while it runs in one of its callbacks, the subscriber's and those of buffers: what
/// `allocations` counts for the calling thread meanwhile is added up, by the kind of callback. Null: no longer.
void fakecupti_watch_allocations(std::uint64_t (*allocations)());
/// Since then, over all threads.
std::uint64_t fakecupti_allocations(FakeCallback callback);
/// Callbacks of that kind meanwhile.
std::uint64_t fakecupti_callbacks(FakeCallback callback);
/// Returns once there were that many.
void fakecupti_wait_calls(const char* function, std::uint64_t calls);
bool fakecupti_kind_enabled(std::uint32_t kind);
bool fakecupti_callback_enabled(const char* function);
/// A record of this function is made when its kind is on.
bool fakecupti_api_enabled(const char* function);
bool fakecupti_subscribed();
/// 0xFFFF: never set.
std::uint32_t fakecupti_attribute(std::uint32_t attribute);
std::uint64_t fakecupti_buffers_out();
/// The first breach of CUPTI's rules by its client, such as a call from inside a callback; null: none.
const char* fakecupti_misuse();

}  // extern "C"
