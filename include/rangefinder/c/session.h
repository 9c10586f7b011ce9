// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/c/base.h>
#include <rangefinder/c/health.h>
#include <rangefinder/c/ranges.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Recordings, and figures of them while the program runs. Missing in libraries built without the recording half.

#if defined(__cplusplus)
extern "C" {
#endif

// [generated: enumerations] from lib/session/options.toml by scripts/session_options.py
/// Where records go while the program runs.
typedef enum rf_capture_mode {
  /// A live file beside the capture, mapped into the process. It survives kill -9. The default.
  RF_CAPTURE_MAPPED = 0,
  /// Flight recorder: keeps the last `ring_bytes` or `ring_time_ms` in memory and writes them when asked to.
  RF_CAPTURE_RING = 1,
  /// Private memory, for file systems where mapping is slow. A crash loses what was not yet written.
  RF_CAPTURE_BUFFERED = 2
} rf_capture_mode;

/// What a thread does when the memory bound is reached.
typedef enum rf_overflow {
  /// Drops the record and counts it. The default.
  RF_OVERFLOW_DROP = 0,
  /// Waits up to one second for the background thread, then drops and counts.
  RF_OVERFLOW_WAIT = 1,
  /// Takes more memory, up to `grow_limit_bytes`, then drops and counts.
  RF_OVERFLOW_GROW = 2
} rf_overflow;

/// How the work of CUDA graphs is recorded. Recording each operation slows graphs down on the device.
typedef enum rf_graph_tracing {
  /// Each operation. The default.
  RF_GRAPHS_NODES = 0,
  /// One record for each launch, with its time and without operations. By operation where CUPTI would crash: at graphs
  /// that were instantiated before.
  RF_GRAPHS_WHOLE = 1,
  /// One record for each launch; and each operation in `graph_node_replays` launches of a graph, from its third or so
  /// on. Meanwhile all graphs are recorded by operation.
  RF_GRAPHS_AUTOMATIC = 2
} rf_graph_tracing;

/// What CUPTI does while nothing is recorded: in pauses of a schedule, and between sessions.
typedef enum rf_cuda_idle {
  /// Off, except where switching it on again would give launches of CUDA graphs wrong ids: before CUDA 13.1 update 1 it
  /// stays on in pauses, and between sessions once there were graphs. The default.
  RF_CUDA_IDLE_AUTOMATIC = 0,
  /// On; its records are thrown away. Costs as much as recording.
  RF_CUDA_IDLE_GATE = 1,
  /// Off.
  RF_CUDA_IDLE_DISABLE = 2
} rf_cuda_idle;
// [/generated]

/// A capture that is done.
typedef struct rf_capture_ready {
  size_t struct_size;
  const char* path;     ///< this and `message` hold until the callback returns
  uint64_t number;      ///< 1 for the session's first capture
  uint64_t first_step;  ///< recorded, by rf_session_step_number
  uint64_t last_step;
  rf_status status;     ///< what went wrong while it was written
  const char* message;  ///< "" when nothing did
} rf_capture_ready;

/// Everything about a recording; rf_session_options_init sets the defaults. RANGEFINDER_CONFIG in the environment
/// overrides them (docs/reference/configuration.md). The members are those of SessionOptions in session_options.hpp,
/// which says more about each. A value outside of its limits makes the start fail and is named in the message.
typedef struct rf_session_options {
  // [generated: members] from lib/session/options.toml by scripts/session_options.py
  size_t struct_size;
  /// The capture file. `%p` is the process id, `%h` the host name, `%r` the rank, `%c` the number of the cycle, `%%` a
  /// percent sign. Null: PROGRAM-PID.rfcap.
  const char* output;
  /// A configuration, "key=value,...", applied on top of all members. Null: none.
  const char* config;
  /// Facts to store with the capture, such as `model` = `resnet50`.
  const rf_metadata* metadata;
  size_t metadata_count;
  /// Memory bound for host records and CUPTI's buffers together. Default 64 MiB, at least 8 MiB.
  uint64_t memory_bytes;
  /// Memory bound with RF_OVERFLOW_GROW. Default 4 GiB.
  uint64_t grow_limit_bytes;
  /// Packed records kept with RF_CAPTURE_RING. Default 64 MiB.
  uint64_t ring_bytes;
  /// Longest time to keep records with RF_CAPTURE_RING. 0: only `ring_bytes` counts. Default 0.
  int64_t ring_time_ms;
  /// Write a dump when a step takes longer than this, with RF_CAPTURE_RING. 0: never. Default 0.
  int64_t dump_step_over_ns;
  /// How often device records are collected and the clock is sampled. Default 200, at least 1.
  int64_t flush_period_ms;
  /// Longest time that stopping may take. Records not written by then are counted as lost. Default 5000.
  int64_t stop_timeout_ms;
  /// Where records go while the program runs. An rf_capture_mode; default RF_CAPTURE_MAPPED.
  uint32_t mode;
  /// What a thread does when the memory bound is reached: drop and count; wait up to one second, then drop; or take
  /// more memory. An rf_overflow; default RF_OVERFLOW_DROP.
  uint32_t overflow;
  /// Steps to skip before the first cycle of the schedule. Default 0.
  uint32_t skip_first;
  /// Steps at the start of each cycle that are not recorded. Default 0.
  uint32_t wait;
  /// Steps after `wait` in which the sources run and nothing is kept. Default 0.
  uint32_t warmup;
  /// Steps recorded in each cycle. 0: no schedule; every step is recorded, and all time outside of steps. Default 0.
  uint32_t active;
  /// Number of cycles. 0: no limit. Default 0.
  uint32_t repeat;
  /// Record nothing until the process gets this signal, then `record_steps` steps, then wait for the next one. Default
  /// 0: none.
  int32_t record_signal;
  /// Steps to record after `record_signal`. 0: until the next signal. Default 10.
  uint32_t record_steps;
  /// Write a dump when the process gets this signal, with RF_CAPTURE_RING. Default 0: none.
  int32_t dump_signal;
  /// Most dumps by signal and by slow steps. Later ones are only counted. Default 16.
  uint32_t max_dumps;
  /// What CUPTI does in pauses of a schedule and between sessions: off where that is safe, on at the cost of recording,
  /// or off. An rf_cuda_idle; default RF_CUDA_IDLE_AUTOMATIC.
  uint32_t cuda_idle;
  /// Replace an earlier capture of that name. Off: the start fails if there is one. Default true.
  bool replace;
  /// Record device activity through CUPTI. Default true.
  bool cuda;
  /// Record every CUDA API call, at about 1 us a call. Default true.
  bool cuda_api;
  /// Record synchronization: waits for streams, events and contexts. Default true.
  bool cuda_sync;
  /// Record CUPTI's own overhead, and loading and compiling of code (lazy loading, PTX). Default true.
  bool cuda_overhead;
  /// Record in which range each autograd node was created, in programs that link `rangefinder::torch`. Default true.
  bool autograd;
  /// Send ranges as NVTX to a tool that listens, such as Nsight Systems. Default true.
  bool nvtx;
  /// Record calls of CUDA's own allocation functions, with address and bytes. Default true.
  bool cuda_memory;
  /// Record when each kernel launch was queued and submitted to the device. Slows down launches. Default false.
  bool cuda_latency;
  /// Count CPU events (instructions, cycles, cache misses, ...) in each range: two or three system calls at both ends.
  /// Default false.
  bool cpu_counters;
  /// Must be false.
  bool reserved[6];
  /// Called when a capture is complete and closed, on a thread of its own, one call at a time. Null: not called. A call
  /// that takes longer than stop_timeout_ms outlives rf_session_stop and rf_session_free, and `user` has to outlive it;
  /// later calls are skipped.
  void (*on_capture_ready)(void* user, const rf_capture_ready* capture);
  void* on_capture_ready_user;
  /// How CUDA graphs are recorded: each operation, each launch as a whole, or launches as a whole except
  /// `graph_node_replays` of each graph. An rf_graph_tracing; default RF_GRAPHS_NODES.
  uint32_t graph_tracing;
  /// Launches of each graph that RF_GRAPHS_AUTOMATIC records by operation. Default 10, at least 1.
  uint32_t graph_node_replays;
  /// Record nothing until this much time has passed since the start. Default 0.
  int64_t delay_ms;
  /// Stop the session after this much recording; the program runs on. 0: no limit. Default 0.
  int64_t duration_ms;
  /// How often sensors of the devices in use are read through NVML: power, clocks, utilization, temperature, energy. 0:
  /// never. Default 0.
  int64_t nvml_period_ms;
  /// Time between two PM samples. At most 2,016 samples fit in a `flush_period_ms`. Default 1000000, at least 10000.
  int64_t pm_sampling_interval_ns;
  /// PM sampling: sample these hardware counters of the devices over time: names as in `counters`, such as `device`.
  /// Empty: none. Names separated by +; null counts as empty.
  const char* pm_sampling;
  /// Hardware counters of ranges: names of metric sets or metrics, such as `memory` or `roofline`. Empty: none. Names
  /// separated by +; null counts as empty.
  const char* counters;
  /// Count only ranges whose name matches one of these patterns, with `*` and `?`. Empty: all ranges. Names separated
  /// by |; null counts as empty.
  const char* counter_ranges;
  /// Count only ranges of this category. Empty: any category. Null counts as empty.
  const char* counter_category;
  /// Count only ranges with this many ranges around them on their thread. -1: any depth. Default -1.
  int32_t counter_depth;
  /// Stop the session when this step begins; the program runs on. 0: no limit. Default 0.
  uint32_t until_step;
  // [/generated]
} rf_session_options;

/// Sets the defaults.
///
///   rf_session_options options;
///   rf_session_options_init(&options, sizeof options);
RF_API rf_status rf_session_options_init(rf_session_options* options, size_t struct_size) RF_NOEXCEPT;
/// The options that differ from their defaults as "key=value,...", for RANGEFINDER_CONFIG of another process or a log;
/// with `config` applied, without the callback. `text` is to be freed.
///
/// Errors: RF_STATUS_INVALID_ARGUMENT for a value outside of its limits; RF_STATUS_UNSUPPORTED for a text that a
///         configuration cannot hold, such as one with a comma.
RF_API rf_status rf_session_options_text(const rf_session_options* options, rf_text** text) RF_NOEXCEPT;

/// Records ranges and device activity from rf_session_start to rf_session_stop. One at a time in a process.
typedef struct rf_session rf_session;

/// Starts a recording. `options` may be null: the defaults.
///
/// Errors: *session is null then, which the functions below refuse without harm, so that the program runs on;
///         RF_STATUS_BUSY while another session records, RF_STATUS_INVALID_ARGUMENT for an option or a `config` that
///         means nothing, RF_STATUS_EXISTS, RF_STATUS_IO.
/// Exit:   a session that runs at exit() is stopped there. After fork the child records nothing.
/// Cost:   two background threads and memory_bytes; 5 to 50 ms.
RF_API rf_status rf_session_start(const rf_session_options* options, rf_session** session) RF_NOEXCEPT;
/// Ends a step and begins the next; drives the schedule. `items`: what was done in the step that ends (tokens,
/// samples), from which reports give items a second; 0: nothing to tell.
RF_API rf_status rf_session_step(rf_session* session, uint64_t items) RF_NOEXCEPT;
/// Steps begun so far, minus one: 0 during the first, and for a null session.
RF_API uint64_t rf_session_step_number(const rf_session* session) RF_NOEXCEPT;
/// True between start and stop, in pauses of the schedule too; false for a null session.
RF_API bool rf_session_running(const rf_session* session) RF_NOEXCEPT;
/// The capture's path, until the session is freed; "" for a null session.
RF_API const char* rf_session_output(const rf_session* session) RF_NOEXCEPT;
/// Writes everything recorded and complete by now to the capture. RF_STATUS_TIMEOUT when disk or device do not answer
/// within stop_timeout_ms.
RF_API rf_status rf_session_flush(rf_session* session) RF_NOEXCEPT;
/// The flight recorder's content, as a capture of its own. `path` null: the next of `<output>.1.rfcap`, `.2` ...
/// `written`, unless null, gets the path, to be freed.
RF_API rf_status rf_session_dump(rf_session* session, const char* path, rf_text** written) RF_NOEXCEPT;
/// Ends the recording within stop_timeout_ms. Further calls do nothing. RF_STATUS_TIMEOUT, too, where the file is whole
/// and on_capture_ready was not called for every capture.
RF_API rf_status rf_session_stop(rf_session* session) RF_NOEXCEPT;
/// Releases the CUPTI subscription for another profiler (torch.profiler, say), before or after rf_session_stop;
/// before that profiler's first use in the process, since torch.profiler subscribes only once. What the device
/// has done so far is in the capture; ranges are recorded on. The next session subscribes again.
///
/// Errors: RF_STATUS_TIMEOUT when CUPTI does not answer within stop_timeout_ms; RF_STATUS_BUSY while another session
///         records the device.
RF_API rf_status rf_session_release_cupti(rf_session* session) RF_NOEXCEPT;
/// Stops where that was not done, and frees. Null does nothing. What is of other handles stays.
RF_API void rf_session_free(rf_session* session) RF_NOEXCEPT;

/// Whether device activity is recorded. `reason` gets why not and what to do ("" when it is), to be freed. Either may
/// be null.
RF_API rf_status rf_session_device(const rf_session* session, bool* full, rf_text** reason) RF_NOEXCEPT;
/// Opens CUPTI now and keeps it open, so that what has to be set before CUDA is used is set, and no other profiler
/// can subscribe. Call it first in main; sessions do it themselves. Results as of rf_session_device.
RF_API rf_status rf_prepare(bool* full, rf_text** reason) RF_NOEXCEPT;

RF_API rf_status rf_session_health(const rf_session* session, rf_health** health) RF_NOEXCEPT;

// ---- summary ------------------------------------------------------------------------------------------------------

/// What a program can know of itself while it runs: figures of what has arrived so far.
typedef struct rf_summary rf_summary;

typedef struct rf_summary_totals {
  size_t struct_size;
  uint64_t steps;        ///< finished and recorded
  int64_t step_ns;       ///< of those, added up
  int64_t step_p50_ns;   ///< of the newest 1000 of them
  int64_t step_p95_ns;   ///< likewise
  int64_t step_p99_ns;   ///< likewise
  uint64_t items;        ///< that rf_session_step told of
  int64_t items_ns;      ///< time of those steps
  int64_t gpu_total_ns;  ///< all device time seen, owned or not
  int64_t gpu_owned_ns;
  uint64_t pending_launches;  ///< made, but no activity of theirs has arrived: not in the figures yet
} rf_summary_totals;

/// Figures of one range path, inclusive. Its texts hold until the summary is freed. A range counts once it is over, and
/// device work that it owns by attribution `auto`, as in reports, when it arrives.
typedef struct rf_summary_row {
  size_t struct_size;
  const char* path;  ///< "step/forward/layer0"
  const char* name;  ///< the last part
  uint64_t count;    ///< instances; 0: a graph was captured in it before the recording
  int64_t host_ns;   ///< added up
  uint64_t gpu_ops;
  int64_t gpu_sum_ns;
  int64_t gpu_busy_ns;
  int64_t gpu_span_ns;     ///< last end - first start of each instance, added up
  int64_t gpu_forward_ns;  ///< of gpu_sum_ns: not by nodes of autograd
  int64_t gpu_backward_ns;
  int64_t gpu_recompute_ns;
  int64_t gpu_accumulation_ns;
  uint32_t depth;
} rf_summary_row;

/// The figures now. Costs a flush, and work for what came since the last call; may be called after each step.
RF_API rf_status rf_session_summary(rf_session* session, rf_summary** summary) RF_NOEXCEPT;
/// The caller sets struct_size of what the next three fill.
RF_API rf_status rf_summary_get_totals(const rf_summary* summary, rf_summary_totals* totals) RF_NOEXCEPT;
/// Rows come in order of first appearance, parents before children. RF_STATUS_NOT_FOUND past the last one.
RF_API rf_status rf_summary_row_at(const rf_summary* summary, size_t index, rf_summary_row* row) RF_NOEXCEPT;
/// The row of a path; RF_STATUS_NOT_FOUND when there is none.
RF_API rf_status rf_summary_find(const rf_summary* summary, const char* path, rf_summary_row* row) RF_NOEXCEPT;
RF_API size_t rf_summary_row_count(const rf_summary* summary) RF_NOEXCEPT;
RF_API void rf_summary_free(rf_summary* summary) RF_NOEXCEPT;

#if defined(__cplusplus)
}
#endif
