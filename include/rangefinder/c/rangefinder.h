// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// rangefinder for C, and for whatever calls C: C11 or C++17, and nothing else. docs/reference/c-api.md has an example.
//
// Structs: whoever calls writes sizeof of the struct, as compiled, into its first member, struct_size; the functions
//          *_init do. A struct of an older version gets the defaults for what it lacks. In one of a newer version, what
//          this library does not know must be zero, else RF_STATUS_UNSUPPORTED; in structs that are filled for the
//          caller it is set to zero.
// Errors:  a function that fails returns a status, or the value that stands at its declaration, and leaves a message
//          for rf_last_error(). Nothing is thrown, printed or aborted. Handles may be null: RF_STATUS_INVALID_ARGUMENT.
// Text:    UTF-8, ended by a zero byte; copied where the library keeps it.
// Threads: any, where a declaration does not say otherwise. One handle is used by one thread at a time.
// Range, mark, session, rf_session_health and summary functions are missing in libraries built without the recording
// half.

#if defined(__GNUC__) || defined(__clang__)
#define RF_API __attribute__((visibility("default")))
#else
#define RF_API
#endif
#define RF_CALLS_BACK  // a callback may end its thread, which unwinds
#if defined(__cplusplus)
#define RF_NOEXCEPT noexcept
extern "C" {
#else
#define RF_NOEXCEPT
#endif

/// Version of this interface: grows with everything that is added, from the first release on. Nothing is removed or
/// redefined under one soname then.
#define RF_ABI_VERSION 1

/// What kind of thing went wrong; 0 is success. The message says the rest.
typedef enum rf_status {
  RF_STATUS_OK = 0,
  RF_STATUS_INVALID_ARGUMENT = 1,  ///< wrong use: a null, an option, a value, a combination
  RF_STATUS_NOT_FOUND = 2,         ///< no such file, view, range
  RF_STATUS_UNREADABLE = 3,        ///< input that is not what it claims to be, or is damaged beyond use
  RF_STATUS_UNSUPPORTED = 4,       ///< a version, option or platform that this library does not handle
  RF_STATUS_EXISTS = 5,            ///< the output is there already and may not be replaced
  RF_STATUS_IO = 6,                ///< the operating system refused: disk full, permission
  RF_STATUS_BUSY = 7,              ///< in use by another session or another profiler
  RF_STATUS_TIMEOUT = 8,           ///< a bounded wait ran out
  RF_STATUS_INCOMPLETE = 9,        ///< data are missing
  RF_STATUS_INTERNAL = 10,         ///< our mistake, or no memory
  RF_STATUS_TOO_LARGE = 11         ///< needs more memory than it may use
} rf_status;

/// "unreadable", "not found", ...; "unknown status" for a number that is none.
RF_API const char* rf_status_name(rf_status status) RF_NOEXCEPT;

/// What went wrong in the calling thread's last call that failed: what, where, and what to do. "" when none has. Holds
/// until the next call of that thread that fails; at most 2 KiB, cut where it is longer.
RF_API const char* rf_last_error(void) RF_NOEXCEPT;

/// Of the library that is loaded: "0.1.0", and RF_ABI_VERSION as it was built.
RF_API const char* rf_version(void) RF_NOEXCEPT;
RF_API uint32_t rf_abi_version(void) RF_NOEXCEPT;

/// A text that the library made. Null counts as empty.
typedef struct rf_text rf_text;
RF_API const char* rf_text_data(const rf_text* text) RF_NOEXCEPT;
/// Bytes, without the zero at the end.
RF_API size_t rf_text_size(const rf_text* text) RF_NOEXCEPT;
RF_API void rf_text_free(rf_text* text) RF_NOEXCEPT;

// ---- ranges -------------------------------------------------------------------------------------------------------

/// An interned name; 0: none, such ranges are recorded unnamed and counted.
typedef uint32_t rf_name;
/// An interned category, by which filters and exporters group ranges; 0: none.
typedef uint32_t rf_category;

/// For the life of the process; keep the result, one per call site. 0 on failure, also when the table is full (65,535
/// categories). Text past 16 KiB is cut and counted.
RF_API rf_name rf_name_intern(const char* text) RF_NOEXCEPT;
RF_API rf_category rf_category_intern(const char* text) RF_NOEXCEPT;

typedef enum rf_value_kind {
  RF_VALUE_NONE = 0,
  RF_VALUE_UNSIGNED = 1,
  RF_VALUE_SIGNED = 2,
  RF_VALUE_DOUBLE = 3,
  RF_VALUE_TEXT = 4  ///< interned like a name
} rf_value_kind;

/// A value that travels with a range, a mark or a counter. Made by the functions below.
typedef struct rf_value {
  uint64_t kind;  ///< an rf_value_kind
  union {
    uint64_t as_unsigned;
    int64_t as_signed;
    double as_double;
    const char* as_text;
  } of;
} rf_value;

static inline rf_value rf_none(void) {
  rf_value value;
  value.kind = RF_VALUE_NONE;
  value.of.as_unsigned = 0;
  return value;
}
static inline rf_value rf_unsigned(uint64_t number) {
  rf_value value;
  value.kind = RF_VALUE_UNSIGNED;
  value.of.as_unsigned = number;
  return value;
}
static inline rf_value rf_signed(int64_t number) {
  rf_value value;
  value.kind = RF_VALUE_SIGNED;
  value.of.as_signed = number;
  return value;
}
static inline rf_value rf_double(double number) {
  rf_value value;
  value.kind = RF_VALUE_DOUBLE;
  value.of.as_double = number;
  return value;
}
static inline rf_value rf_string(const char* text) {
  rf_value value;
  value.kind = RF_VALUE_TEXT;
  value.of.as_text = text;
  return value;
}

/// Opens a range on the calling thread; rf_range_pop closes the innermost that these functions opened there. Device
/// activity launched meanwhile is projected onto it, as onto a ProfileRange of C++, with which they nest.
///
///   static rf_name forward;  // = rf_name_intern("forward")
///   rf_range_push(forward);
///   loss = model_forward(model, batch);
///   rf_range_pop();
///
/// Units:   nanoseconds on the capture clock.
/// Errors:  a range that could not be opened is popped like others. RF_STATUS_INVALID_ARGUMENT for a null name, a
///          category past 65,535 and a value that is none; RF_STATUS_INCOMPLETE deeper than 65,536 ranges, and where
///          there is no memory for the thread's stack of 1 MiB, taken as it is used. What else gets lost is counted in
///          the session's health.
/// Threads: pop on the thread that pushed; threads share no lock.
/// Signals: as ProfileRange in a handler, where the thread has pushed a range while something listened.
/// Cost:    two calls, each with a load or two and a branch, while nothing listens; the calls besides what a
///          ProfileRange takes while recording; no allocation after a thread's first range. By text: strlen and a hash
///          too. Measured in docs/reference/measured.md.
RF_API rf_status rf_range_push(rf_name name) RF_NOEXCEPT;
RF_API rf_status rf_range_push_text(const char* name) RF_NOEXCEPT;
/// With a category (0: none) and a value (rf_none(): none).
RF_API rf_status rf_range_push_with(const char* name, rf_category category, rf_value value) RF_NOEXCEPT;
/// Does nothing where no range of the thread is open: it may have been pushed before anything listened.
RF_API void rf_range_pop(void) RF_NOEXCEPT;

/// How many ranges the calling thread has open: pushed, since something listened, and not popped.
RF_API uint32_t rf_range_depth(void) RF_NOEXCEPT;
/// Pops until `depth` ranges are left; does nothing where there are not so many. For code that is left in ways that
/// pass by its pops: a longjmp, an interrupt, an exception of another language.
///
///   const uint32_t depth = rf_range_depth();
///   rf_range_push(step);
///   run(interpreter, script);  // may come back with ranges of the script open
///   rf_range_pop_to(depth);
RF_API void rf_range_pop_to(uint32_t depth) RF_NOEXCEPT;

/// Pops the innermost range of that name, for blocks that may end in another order than they began: those of
/// coroutines. True: it was the innermost of all, or the thread has none open. Else the ranges inside of it stay open,
/// or there is none of that name and nothing is popped.
RF_API bool rf_range_pop_named(rf_name name) RF_NOEXCEPT;

/// A range that its thread has left; 0 in all members: nothing.
typedef struct rf_suspended_range {
  uint64_t token;
  uint64_t word;
  uint64_t since;
} rf_suspended_range;

/// Takes the innermost range off the calling thread until rf_range_resume opens it again, innermost: for coroutines and
/// fibers, whose ranges must be closed while others run on their thread. One range for reports, which count it once and
/// whose host time is that from its push to its pop; what is launched while it is suspended does not belong to it.
///
///   rf_suspended_range mine = rf_range_suspend();  // this coroutine waits
///   run_the_others();
///   rf_range_resume(mine);
///
/// For rf_range_depth they are a pop and a push. A range that is never resumed counts as unfinished. One that is
/// resumed in another recording, or in a pause of the schedule, is not recorded from there on. Threads: resume once, on
/// the thread that suspended. On another thread the time until then may be missing from the
///          range's host time.
/// Cost:    two records and two calls of the slow path, about as two ranges with a value.
RF_API rf_suspended_range rf_range_suspend(void) RF_NOEXCEPT;
RF_API void rf_range_resume(rf_suspended_range range) RF_NOEXCEPT;

/// False while nothing records ranges, marks and counters: then there is no need to compute their values. Cost: a load.
RF_API bool rf_listening(void) RF_NOEXCEPT;

/// Names a range that begins on one thread and may end on another.
typedef uint64_t rf_range_handle;

/// Opens a range that rf_range_end closes, from any thread. Such ranges overlap freely; device activity belongs to
/// pushed ranges first, and to these only on the thread that opened them. 0 while nothing listens, and for a null name.
RF_API rf_range_handle rf_range_start(const char* name, rf_category category) RF_NOEXCEPT;
/// 0 does nothing.
RF_API void rf_range_end(rf_range_handle range) RF_NOEXCEPT;

/// Records an instant on the calling thread, with a value or rf_none().
RF_API rf_status rf_mark(const char* name, rf_value value) RF_NOEXCEPT;
/// Records one sample of a named series of the process (loss, queue length, tokens). Numbers only.
RF_API rf_status rf_counter(const char* name, rf_value value) RF_NOEXCEPT;
/// The same by a name that is interned, which is not hashed again.
RF_API rf_status rf_mark_named(rf_name name, rf_value value) RF_NOEXCEPT;
RF_API rf_status rf_counter_named(rf_name name, rf_value value) RF_NOEXCEPT;

// ---- session ------------------------------------------------------------------------------------------------------

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

/// A fact to store with the capture: "model" = "resnet50".
typedef struct rf_metadata {
  const char* key;
  const char* value;
} rf_metadata;

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

// ---- health -------------------------------------------------------------------------------------------------------

/// What a recording lost, by cause, at one moment.
typedef struct rf_health rf_health;

typedef struct rf_health_entry {
  size_t struct_size;
  const char* name;  ///< "dropped_ranges", ...; never freed
  const char* text;  ///< for people; never freed
  uint64_t count;
  uint32_t number;  ///< in the capture file
  bool loss;        ///< data are missing where count is not 0; false: a note
} rf_health_entry;

RF_API rf_status rf_session_health(const rf_session* session, rf_health** health) RF_NOEXCEPT;
/// True when nothing is missing; false for null.
RF_API bool rf_health_complete(const rf_health* health) RF_NOEXCEPT;
/// Entries, those with a count of 0 included.
RF_API size_t rf_health_count(const rf_health* health) RF_NOEXCEPT;
/// RF_STATUS_NOT_FOUND past the last one. The caller sets entry->struct_size.
RF_API rf_status rf_health_at(const rf_health* health, size_t index, rf_health_entry* entry) RF_NOEXCEPT;
/// The count of the entry with that name. RF_STATUS_NOT_FOUND, and *count is 0, for a name that this library does not
/// have; later versions have more entries, and their numbers and names stay.
///
///   uint64_t dropped;
///   rf_health_get(health, "dropped_ranges", &dropped);
RF_API rf_status rf_health_get(const rf_health* health, const char* name, uint64_t* count) RF_NOEXCEPT;
RF_API void rf_health_free(rf_health* health) RF_NOEXCEPT;

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

// ---- reading ------------------------------------------------------------------------------------------------------
// `input` below: a capture, a folder of captures, a trace of torch.profiler, or an SQLite export of Nsight Systems.

/// Who owns device work; see projection.hpp.
typedef enum rf_attribution {
  RF_ATTRIBUTION_AUTO = 0,
  RF_ATTRIBUTION_LAUNCH = 1,
  RF_ATTRIBUTION_FORWARD = 2,
  RF_ATTRIBUTION_CAPTURE = 3
} rf_attribution;

typedef enum rf_compression {
  RF_COMPRESSION_BY_SUFFIX = 0,  ///< gzip when the output's name ends in .gz
  RF_COMPRESSION_PLAIN = 1,
  RF_COMPRESSION_GZIP = 2
} rf_compression;

/// What goes into a Chrome JSON trace; rf_chrome_options_init sets the defaults, which stand behind each member.
typedef struct rf_chrome_options {
  size_t struct_size;
  int64_t begin_ns;       ///< only what lies in [begin_ns, end_ns) or reaches into it; INT64_MIN
  int64_t end_ns;         ///< INT64_MAX
  uint32_t compression;   ///< an rf_compression; by suffix
  uint32_t attribution;   ///< an rf_attribution; auto
  bool replace;           ///< an output file that exists; false
  bool pretty;            ///< indented; false
  bool api_calls;         ///< true
  bool syncs;             ///< true
  bool overheads;         ///< true
  bool counters;          ///< true
  bool flows;             ///< true
  bool exclusive_ranges;  ///< without inclusive_ranges: the same by activities whose innermost range they are; true
  bool inclusive_ranges;  ///< ranges on the device, from the first to the last activity launched in them; true
  bool reserved[7];       ///< false
  /// Called now and then with the work done and in all; false ends the export: RF_STATUS_INCOMPLETE, and no file. May
  /// be null.
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  uint64_t max_memory_bytes;  ///< as in rf_report_options; a capture needs little
} rf_chrome_options;

/// What an export did. The caller sets struct_size.
typedef struct rf_chrome_report {
  size_t struct_size;
  uint64_t events;
  uint64_t json_bytes;  ///< before compression
  uint64_t output_bytes;
  uint64_t overlapping;  ///< slices that would have cut another one and stand on a row beside it
  uint64_t left_out;     ///< of the input; the trace says why
} rf_chrome_report;

RF_API rf_status rf_chrome_options_init(rf_chrome_options* options, size_t struct_size) RF_NOEXCEPT;
/// Writes the Chrome JSON dialect of torch.profiler, for chrome://tracing, Perfetto and TensorBoard; as
/// export_chrome_trace of exporters.hpp. `output` "-" is standard output; `options` and `report` may be null.
///
/// Errors: RF_STATUS_NOT_FOUND, RF_STATUS_UNREADABLE, RF_STATUS_UNSUPPORTED, RF_STATUS_TOO_LARGE, RF_STATUS_EXISTS,
///         RF_STATUS_IO; RF_STATUS_INCOMPLETE where `progress` ended it. An output file appears only when it is whole.
/// Cost:   docs/reference/chrome-export.md.
RF_API rf_status rf_export_chrome_trace(const char* input, const char* output, const rf_chrome_options* options,
                                        rf_chrome_report* report) RF_CALLS_BACK;

typedef enum rf_snapshot_moment {
  RF_SNAPSHOT_END = 0,
  RF_SNAPSHOT_PEAK = 1  ///< when the most was allocated
} rf_snapshot_moment;

/// Writes allocations as the pickle that PyTorch's memory viewer opens. `moment`: an rf_snapshot_moment.
///
/// Errors: as above; RF_STATUS_NOT_FOUND also where the input holds no allocations.
RF_API rf_status rf_export_memory_snapshot(const char* input, const char* output, uint32_t moment,
                                           bool replace) RF_NOEXCEPT;

/// rf_snapshot_options_init sets the defaults, which stand behind each member.
typedef struct rf_snapshot_options {
  size_t struct_size;
  uint64_t max_memory_bytes;  ///< as in rf_report_options
  uint32_t moment;            ///< an rf_snapshot_moment; end
  bool replace;               ///< an output file that exists; false
  bool reserved[3];           ///< false
} rf_snapshot_options;

RF_API rf_status rf_snapshot_options_init(rf_snapshot_options* options, size_t struct_size) RF_NOEXCEPT;
/// The same with options, which may be null.
RF_API rf_status rf_export_memory_snapshot_with(const char* input, const char* output,
                                                const rf_snapshot_options* options) RF_NOEXCEPT;

/// rf_html_options_init sets the defaults, which stand behind each member.
typedef struct rf_html_options {
  size_t struct_size;
  const char* title;          ///< what the recording is called on the page; null: the name of the input file
  uint64_t most_slices;       ///< of more, short ones that are neighbours become one; 1,000,000
  uint64_t max_memory_bytes;  ///< as in rf_report_options
  uint32_t attribution;       ///< an rf_attribution; auto
  bool replace;               ///< an output file that exists; false
  bool reserved[3];           ///< false
  /// As in rf_chrome_options, of bytes read. May be null.
  bool (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
} rf_html_options;

/// What an export as a page did. The caller sets struct_size.
typedef struct rf_html_report {
  size_t struct_size;
  uint64_t slices;    ///< on the page's timeline
  uint64_t left_out;  ///< slices, samples and rows that are not in it, or only as a part of another; the page says why
  uint64_t output_bytes;
} rf_html_report;

RF_API rf_status rf_html_options_init(rf_html_options* options, size_t struct_size) RF_NOEXCEPT;
/// Writes one HTML file with everything to look at, which works from disk; as export_html of exporters.hpp. `output`
/// "-" is standard output; `options` and `report` may be null.
///
/// Errors: as of rf_export_chrome_trace.
RF_API rf_status rf_export_html(const char* input, const char* output, const rf_html_options* options,
                                rf_html_report* report) RF_CALLS_BACK;

typedef enum rf_report_format {
  RF_REPORT_TEXT = 0,  ///< aligned columns for people
  RF_REPORT_CSV = 1,   ///< exact numbers, units in the header
  RF_REPORT_JSON = 2   ///< one object with schema_version
} rf_report_format;

/// What to show, and how; rf_report_options_init sets the defaults. As ReportOptions of report.hpp, but for `peaks`,
/// which the component `bench` reads.
typedef struct rf_report_options {
  size_t struct_size;
  const char* view;        ///< "tree", "kernels", ...; null: "ranges"
  const char* step_names;  ///< the view steps: which ranges are which part of a step; null: by their usual names
  const char* filter;      ///< rows whose name has this in it; null: all
  const char* sort;        ///< a column, "+" or "-" in front for up or down; null: the view's own order
  uint64_t depth;          ///< the view tree: at most so many ranges deep; 0: all
  uint64_t top;            ///< at most so many rows; 0: all
  uint64_t width;          ///< text: columns of the terminal; 0: no limit
  uint32_t format;         ///< an rf_report_format; text
  uint32_t attribution;    ///< an rf_attribution; auto
  bool instances;          ///< one row per instance instead of one per name; false
  bool by_shape;           ///< the view ops: one row per name and shapes of inputs; false
  bool fold;               ///< the view tree: numbers in names count as one; false
  bool filter_is_regex;    ///< false
  bool annotations;        ///< ranges of the program take part; true
  bool operators;          ///< operators of a framework take part; false
  bool utf8;               ///< text: true
  bool colour;             ///< text: false
  /// The input is refused (RF_STATUS_TOO_LARGE) where it would need more memory; 0: half of what the machine or the
  /// control group has, at least 1 GiB; UINT64_MAX: no bound.
  uint64_t max_memory_bytes;
  const char* columns;  ///< titles or keys with commas between, "range,count"; null: the view's own; "help": a list
  const char* payload;  ///< the view ranges: only instances whose payload fulfils this, "batch>=64"; null: all
  bool by_payload;      ///< the view ranges: one row per name and payload; false
  bool overview;        ///< the view ranges in text and JSON begins with a summary of the capture; true
  bool absolute_times;  ///< text: points in time on the timeline's clock instead of since its begin; false
  bool terminal;        ///< CSV shows control characters of names as text does; false
  bool reserved[4];     ///< false
  const char* by;       ///< the view breakdown: "step", "range"; null: one row per device
} rf_report_options;

RF_API rf_status rf_report_options_init(rf_report_options* options, size_t struct_size) RF_NOEXCEPT;
/// The report of a file as a text, to be freed. `options` may be null.
///
/// Errors: RF_STATUS_NOT_FOUND for a file or view that is not there, with the nearest name; RF_STATUS_INVALID_ARGUMENT
///         for a broken expression or column; RF_STATUS_UNREADABLE, RF_STATUS_UNSUPPORTED, RF_STATUS_TOO_LARGE for the
///         input.
/// Cost:   memory about 100 bytes an event.
RF_API rf_status rf_report(const char* input, const rf_report_options* options, rf_text** report) RF_NOEXCEPT;
/// The same of several captures, or folders of captures, or of several traces of torch.profiler, as one job.
///
/// Errors: as of rf_report; RF_STATUS_UNSUPPORTED for captures and traces together and for an export of Nsight Systems
///         among several inputs, RF_STATUS_INVALID_ARGUMENT for a file that is given twice and for no input.
RF_API rf_status rf_report_job(const char* const* inputs, size_t count, const rf_report_options* options,
                               rf_text** report) RF_NOEXCEPT;

/// A view of rf_report_options. Its texts are never freed. The caller sets struct_size.
typedef struct rf_report_view {
  size_t struct_size;
  const char* name;
  const char* description;
  bool nsight_compatible;  ///< equals Nsight Systems' report of that name
} rf_report_view;

RF_API size_t rf_report_view_count(void) RF_NOEXCEPT;
/// In the order of `rangefinder report --view help`; RF_STATUS_NOT_FOUND past the last one.
RF_API rf_status rf_report_view_at(size_t index, rf_report_view* view) RF_NOEXCEPT;

typedef enum rf_key_averages_order {
  RF_KEY_AVERAGES_FIRST = 0,  ///< not sorted
  RF_KEY_AVERAGES_CPU_TOTAL = 1,
  RF_KEY_AVERAGES_CPU_SELF = 2,
  RF_KEY_AVERAGES_DEVICE_TOTAL = 3,
  RF_KEY_AVERAGES_DEVICE_SELF = 4,
  RF_KEY_AVERAGES_CALLS = 5,
  RF_KEY_AVERAGES_FLOPS = 6
} rf_key_averages_order;

/// Operators of an input by name, with the rules of torch.profiler's key_averages(); see analysis/key_averages.hpp.
typedef struct rf_key_averages rf_key_averages;

/// The operators of one name, added up. Total: with all inside; self: without. Its texts hold until the averages are
/// freed.
typedef struct rf_operator_group {
  size_t struct_size;
  const char* name;
  const char* shapes;  ///< of the inputs; "" unless grouped by them
  uint64_t calls;
  uint64_t flops;  ///< of the calls whose FLOPs are known
  int64_t cpu_total_ns;
  int64_t cpu_self_ns;
  int64_t device_total_ns;
  int64_t device_self_ns;
  int64_t host_total_bytes;  ///< allocated less given back, while they ran
  int64_t host_self_bytes;
  int64_t device_total_bytes;
  int64_t device_self_bytes;
  uint64_t calls_without_flops;  ///< that `flops` leaves out: no formula for the operator, or no shapes of its inputs
} rf_operator_group;

/// `by_shape`: operators of one name and different shapes are groups of their own.
///
/// Errors, cost: as of rf_report.
RF_API rf_status rf_key_averages_load(const char* input, bool by_shape, rf_key_averages** averages) RF_NOEXCEPT;
/// Groups; 0 for null.
RF_API size_t rf_key_averages_count(const rf_key_averages* averages) RF_NOEXCEPT;
/// In order of the first of each; RF_STATUS_NOT_FOUND past the last one. The caller sets group->struct_size.
RF_API rf_status rf_key_averages_at(const rf_key_averages* averages, size_t index,
                                    rf_operator_group* group) RF_NOEXCEPT;
/// What shares are of: self time of all operators, ranges and CUDA calls, and all device time. Either may be null.
RF_API rf_status rf_key_averages_totals(const rf_key_averages* averages, int64_t* cpu_ns,
                                        int64_t* device_ns) RF_NOEXCEPT;
/// As the text of torch.profiler's `key_averages().table()`, to be freed. `order`: an rf_key_averages_order, the
/// greatest first. `row_limit` 0: all.
RF_API rf_status rf_key_averages_table(const rf_key_averages* averages, uint32_t order, size_t row_limit,
                                       rf_text** table) RF_NOEXCEPT;
RF_API void rf_key_averages_free(rf_key_averages* averages) RF_NOEXCEPT;

/// What can be said of a capture without reading its events, as `rangefinder info` shows it.
typedef struct rf_capture rf_capture;

/// The caller sets struct_size. Texts hold until the capture is freed.
typedef struct rf_capture_facts {
  size_t struct_size;
  const char* path;
  const char* clock;         ///< "TSC at 2.60 GHz"
  const char* device_state;  ///< "full", or why device activity was not recorded
  uint64_t file_bytes;
  int64_t start_realtime_ns;  ///< since 1970
  int64_t duration_ns;        ///< from the start to the last record
  int64_t clock_error_ns;     ///< most that a device time can be off against a host time
  uint32_t format_major;
  uint32_t format_minor;
  uint32_t pid;
  uint32_t threads;
  uint32_t devices;
  uint32_t names;
  bool ended_cleanly;
  bool flight_recorder;
  bool simulated;
} rf_capture_facts;

/// How much of a kind of record a capture holds.
typedef struct rf_capture_content {
  size_t struct_size;
  const char* kind;  ///< "host events", "kernels", ...
  uint64_t chunks;
  uint64_t rows;
  uint64_t bytes;  ///< in the file, headers included
} rf_capture_content;

/// Something wrong with a capture file.
typedef struct rf_capture_finding {
  size_t struct_size;
  const char* text;
  uint64_t offset;  ///< byte of the file
  uint64_t bytes;
} rf_capture_finding;

/// Opens a capture, or a live file that a dead program left. `deep`: every piece is unpacked, so that all damage shows.
///
/// Errors: RF_STATUS_NOT_FOUND; RF_STATUS_UNREADABLE when it is no capture; RF_STATUS_UNSUPPORTED for a newer format.
/// Cost:   milliseconds a gigabyte; deep: about a second a gigabyte.
RF_API rf_status rf_capture_inspect(const char* path, bool deep, rf_capture** capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_get_facts(const rf_capture* capture, rf_capture_facts* facts) RF_NOEXCEPT;
/// Three lists; RF_STATUS_NOT_FOUND past the last one. The caller sets struct_size, which rf_metadata has not.
RF_API size_t rf_capture_content_count(const rf_capture* capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_content_at(const rf_capture* capture, size_t index,
                                       rf_capture_content* content) RF_NOEXCEPT;
RF_API size_t rf_capture_metadata_count(const rf_capture* capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_metadata_at(const rf_capture* capture, size_t index, rf_metadata* metadata) RF_NOEXCEPT;
RF_API size_t rf_capture_finding_count(const rf_capture* capture) RF_NOEXCEPT;
RF_API rf_status rf_capture_finding_at(const rf_capture* capture, size_t index,
                                       rf_capture_finding* finding) RF_NOEXCEPT;
/// What the recording lost, with what this look at the file found; to be freed.
RF_API rf_status rf_capture_health(const rf_capture* capture, rf_health** health) RF_NOEXCEPT;
RF_API void rf_capture_free(rf_capture* capture) RF_NOEXCEPT;
/// Writes what can be read of a capture, and of the live file beside it, as a new whole one. `records`, unless null,
/// gets how many are in it. `replace`: a file that is there already.
///
/// Errors: as of rf_capture_inspect; RF_STATUS_EXISTS, RF_STATUS_IO.
RF_API rf_status rf_capture_repair(const char* damaged, const char* repaired, bool replace,
                                   uint64_t* records) RF_NOEXCEPT;

// ---- queries ------------------------------------------------------------------------------------------------------

/// SQL over an input: docs/reference/query-schema.md lists tables and columns. A query only reads; statements that
/// write, attach a file, load an extension or set something are refused.
///
///   rf_query* query;
///   rf_rows* rows;
///   if (rf_query_open(&path, 1, NULL, &query) != RF_STATUS_OK) return fail();
///   if (rf_query_run(query, "SELECT name, duration_ns FROM activities", NULL, &rows) != RF_STATUS_OK) return fail();
typedef struct rf_query rf_query;
/// The result of one query.
typedef struct rf_rows rf_rows;

/// rf_query_options_init sets the defaults, which stand behind each member.
typedef struct rf_query_options {
  size_t struct_size;
  uint64_t timeout_ms;        ///< a query that takes longer is ended; 0: never; 30,000
  uint64_t max_rows;          ///< of a result; 0: all; 100,000
  uint64_t max_query_bytes;   ///< memory of a query for sorting, grouping and its result; 0: no limit; 1 GiB
  uint64_t max_memory_bytes;  ///< of reading the input, as in rf_report_options
  uint32_t attribution;       ///< an rf_attribution; auto; of rf_query_open
  bool annotations;           ///< ranges of the program take part; true; of rf_query_open
  bool operators;             ///< operators of a framework take part; false; of rf_query_open
  bool reserved[2];           ///< false
} rf_query_options;

RF_API rf_status rf_query_options_init(rf_query_options* options, size_t struct_size) RF_NOEXCEPT;
/// Reads captures, traces or folders of them as one job, or an export. `options` may be null.
///
/// Errors: as of rf_report_job.
RF_API rf_status rf_query_open(const char* const* inputs, size_t count, const rf_query_options* options,
                               rf_query** query) RF_NOEXCEPT;
/// Runs one SELECT. `options` may be null. The rows are freed by rf_rows_free, before or after the query.
///
/// Errors: RF_STATUS_INVALID_ARGUMENT for SQL that is wrong or refused; RF_STATUS_TIMEOUT, RF_STATUS_TOO_LARGE for what
///         passes a limit.
RF_API rf_status rf_query_run(rf_query* query, const char* sql, const rf_query_options* options,
                              rf_rows** rows) RF_NOEXCEPT;
/// The same as a text, to be freed. `format`: an rf_report_format.
RF_API rf_status rf_query_text(rf_query* query, const char* sql, const rf_query_options* options, uint32_t format,
                               rf_text** text) RF_NOEXCEPT;
RF_API void rf_query_free(rf_query* query) RF_NOEXCEPT;
/// Tables and columns as a text, to be freed.
RF_API rf_status rf_query_schema(rf_text** text) RF_NOEXCEPT;

/// 0 for null.
RF_API size_t rf_rows_count(const rf_rows* rows) RF_NOEXCEPT;
RF_API size_t rf_rows_column_count(const rf_rows* rows) RF_NOEXCEPT;
/// Null past the last one. Holds until the rows are freed.
RF_API const char* rf_rows_column_name(const rf_rows* rows, size_t column) RF_NOEXCEPT;
/// There were more rows than max_rows; false for null.
RF_API bool rf_rows_truncated(const rf_rows* rows) RF_NOEXCEPT;
/// RF_VALUE_NONE for NULL, RF_VALUE_SIGNED, RF_VALUE_DOUBLE or RF_VALUE_TEXT. A text holds until the rows are freed.
/// RF_STATUS_NOT_FOUND past the last row or column.
RF_API rf_status rf_rows_value(const rf_rows* rows, size_t row, size_t column, rf_value* value) RF_NOEXCEPT;
RF_API void rf_rows_free(rf_rows* rows) RF_NOEXCEPT;

// ---- doctor -------------------------------------------------------------------------------------------------------

typedef enum rf_doctor_state {
  RF_DOCTOR_GOOD = 0,
  RF_DOCTOR_NOTE = 1,    ///< works, but worth knowing
  RF_DOCTOR_MISSING = 2  ///< part of a recording is not possible
} rf_doctor_state;

/// What a recording depends on, and how it stands on this machine, as `rangefinder doctor` shows it.
typedef struct rf_doctor rf_doctor;

/// Texts hold until the doctor is freed. The caller sets struct_size.
typedef struct rf_doctor_finding {
  size_t struct_size;
  const char* topic;   ///< "driver", "CUPTI", "clock", ...
  const char* detail;  ///< what was found
  const char* fix;     ///< what to do; "" when good
  uint32_t state;      ///< an rf_doctor_state
} rf_doctor_finding;

/// Looks at the driver, CUPTI, NVML, LibTorch, rights, the clock, the file system of `folder` (null: the working
/// directory) and the environment. Loads libraries into the process; starts nothing.
RF_API rf_status rf_doctor_run(const char* folder, rf_doctor** doctor) RF_NOEXCEPT;
/// Findings; 0 for null.
RF_API size_t rf_doctor_count(const rf_doctor* doctor) RF_NOEXCEPT;
/// RF_STATUS_NOT_FOUND past the last one.
RF_API rf_status rf_doctor_at(const rf_doctor* doctor, size_t index, rf_doctor_finding* finding) RF_NOEXCEPT;
RF_API void rf_doctor_free(rf_doctor* doctor) RF_NOEXCEPT;

#if defined(__cplusplus)
}  // extern "C"
#endif
