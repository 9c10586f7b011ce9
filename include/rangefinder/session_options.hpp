// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The options are declared in lib/session/options.toml, from which scripts/session_options.py writes the marked
// regions.
namespace rangefinder {

// [generated: enumerations]
/// Where records go while the program runs.
enum class CaptureMode : std::uint8_t {
  /// A live file beside the capture, mapped into the process. It survives kill -9. The default.
  kMapped,
  /// Flight recorder: keeps the last `ring_bytes` or `ring_time` in memory and writes them when asked to.
  kRing,
  /// Private memory, for file systems where mapping is slow. A crash loses what was not yet written.
  kBuffered,
};

/// What a thread does when the memory bound is reached.
enum class OverflowPolicy : std::uint8_t {
  /// Drops the record and counts it. The default.
  kDrop,
  /// Waits up to one second for the background thread, then drops and counts.
  kWait,
  /// Takes more memory, up to `grow_limit_bytes`, then drops and counts.
  kGrow,
};

/// How the work of CUDA graphs is recorded. Recording each operation slows graphs down on the device.
enum class GraphTracing : std::uint8_t {
  /// Each operation. The default.
  kNodes,
  /// One record for each launch, with its time and without operations. By operation where CUPTI would crash: at graphs
  /// that were instantiated before.
  kWhole,
  /// One record for each launch; and each operation in `graph_node_replays` launches of a graph, from its third or so
  /// on. Meanwhile all graphs are recorded by operation.
  kAutomatic,
};

/// What CUPTI does while nothing is recorded: in pauses of a schedule, and between sessions.
enum class CudaIdle : std::uint8_t {
  /// Off, except where switching it on again would give launches of CUDA graphs wrong ids: before CUDA 13.1 update 1 it
  /// stays on in pauses, and between sessions once there were graphs. The default.
  kAutomatic,
  /// On; its records are thrown away. Costs as much as recording.
  kGate,
  /// Off.
  kDisable,
};
// [/generated]

/// Which steps are recorded, as in torch.profiler: skips `skip_first` steps, then repeats cycles of `wait` steps off,
/// `warmup` steps with the sources running and nothing kept, and `active` steps recorded.
struct Schedule {
  // [generated: schedule]
  /// Steps to skip before the first cycle of the schedule.
  std::uint32_t skip_first = 0;
  /// Steps at the start of each cycle that are not recorded.
  std::uint32_t wait = 0;
  /// Steps after `wait` in which the sources run and nothing is kept.
  std::uint32_t warmup = 0;
  /// Steps recorded in each cycle. 0: no schedule; every step is recorded, and all time outside of steps.
  std::uint32_t active = 0;
  /// Number of cycles. 0: no limit.
  std::uint32_t repeat = 0;
  // [/generated]
};

/// A capture that is complete; see SessionOptions::on_capture_ready.
struct CaptureReady {
  std::string path;
  std::uint64_t number = 1;      ///< 1 for the session's first capture
  std::uint64_t first_step = 0;  ///< recorded, by Session::step_number
  std::uint64_t last_step = 0;   ///< likewise; the one that stop() ended counts
  Status status;                 ///< what went wrong while it was written
};

/// Everything about a recording. The defaults suit a training job. RANGEFINDER_CONFIG in the environment overrides them
/// (docs/reference/configuration.md), for example `output=/tmp/run.rfcap,cuda=off,wait=10,active=5`.
///
///   rangefinder::SessionOptions options;
///   options.output = "train-%p.rfcap";
///   options.counters = {"memory", "tensor_active_ratio"};
///   options.schedule = {.wait = 10, .active = 5};  // C++20 spelling
///
/// Errors: a session checks its options and does not start with a value outside of the limits given here; its status
///         names the member, the value and the limits.
struct SessionOptions {
  // [generated: members]
  // Capture file
  /// The capture file. `%p` is the process id, `%h` the host name, `%r` the rank, `%c` the number of the cycle, `%%` a
  /// percent sign. Empty: `<program>-<pid>.rfcap` in the working directory. With `%c` each cycle of the schedule gets a
  /// capture of its own.
  std::string output{};
  /// Replace an earlier capture of that name. Off: the start fails if there is one. Any other file of that name makes
  /// the start fail.
  bool replace = true;
  /// Where records go while the program runs.
  CaptureMode mode = CaptureMode::kMapped;

  // Memory
  /// Memory bound for host records and CUPTI's buffers together. At least 8 MiB.
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;
  /// What a thread does when the memory bound is reached: drop and count; wait up to one second, then drop; or take
  /// more memory.
  OverflowPolicy overflow = OverflowPolicy::kDrop;
  /// Memory bound with `OverflowPolicy::kGrow`.
  std::uint64_t grow_limit_bytes = std::uint64_t{4} << 30;

  // Schedule
  /// Which steps are recorded.
  Schedule schedule{};

  // Captures that follow each other
  /// Called when a capture is complete and closed, on a thread of its own, one call at a time. That is at the end of
  /// each cycle of the schedule, of each recording that `record_signal` starts, and of the session. With a schedule
  /// each cycle gets a file of its own (`%c` in `output`, or `.1`, `.2` ... before the suffix). What it throws is
  /// caught, logged, and counted in the next capture's metadata (callbacks_failed). `stop` and the exit of the process
  /// wait for it up to `stop_timeout`. A call that takes longer keeps running, and later calls are skipped, which makes
  /// `stop` return kTimeout.
  std::function<void(const CaptureReady&)> on_capture_ready{};
  /// Record nothing until the process gets this signal, then `record_steps` steps, then wait for the next one. Each
  /// recording is a capture of its own. The schedule is ignored. 0: none.
  int record_signal = 0;
  /// Steps to record after `record_signal`. 0: until the next signal.
  std::uint32_t record_steps = 10;

  // Start and end
  /// Record nothing until this much time has passed since the start. CUPTI is opened at the start all the same.
  /// `delay`, `duration` and `until_step` do not go together with captures that follow each other.
  std::chrono::milliseconds delay{0};
  /// Stop the session after this much recording; the program runs on. 0: no limit.
  std::chrono::milliseconds duration{0};
  /// Stop the session when this step begins; the program runs on. 0: no limit.
  std::uint32_t until_step = 0;

  // CUDA activity
  /// Record device activity through CUPTI.
  bool cuda = true;
  /// Record every CUDA API call, at about 1 us a call. Needed by the api view; also checks how launches are matched
  /// with activities.
  bool cuda_api = true;
  /// Record synchronization: waits for streams, events and contexts.
  bool cuda_sync = true;
  /// Record CUPTI's own overhead, and loading and compiling of code (lazy loading, PTX).
  bool cuda_overhead = true;
  /// How CUDA graphs are recorded: each operation, each launch as a whole, or launches as a whole except
  /// `graph_node_replays` of each graph.
  GraphTracing graph_tracing = GraphTracing::kNodes;
  /// Launches of each graph that `GraphTracing::kAutomatic` records by operation. At least 1.
  std::uint32_t graph_node_replays = 10;
  /// Record calls of CUDA's own allocation functions, with address and bytes. A caching allocator makes few of them.
  bool cuda_memory = true;
  /// Record when each kernel launch was queued and submitted to the device. Slows down launches. Takes effect only if
  /// it is on before the program uses CUDA.
  bool cuda_latency = false;
  /// What CUPTI does in pauses of a schedule and between sessions: off where that is safe, on at the cost of recording,
  /// or off.
  CudaIdle cuda_idle = CudaIdle::kAutomatic;

  // Hardware counters of devices
  /// Hardware counters of ranges: names of metric sets or metrics, such as `memory` or `roofline`. Empty: none. See
  /// docs/reference/counters.md. CUPTI's range profiler synchronizes the device at both ends of each counted range, so
  /// device activity is not recorded in the same run.
  std::vector<std::string> counters{};
  /// Count only ranges whose name matches one of these patterns, with `*` and `?`. Empty: all ranges. Of nested ranges
  /// that match, the outermost is counted.
  std::vector<std::string> counter_ranges{};
  /// Count only ranges of this category. Empty: any category.
  std::string counter_category{};
  /// Count only ranges with this many ranges around them on their thread. -1: any depth.
  int counter_depth = -1;
  /// PM sampling: sample these hardware counters of the devices over time: names as in `counters`, such as `device`.
  /// Empty: none.
  std::vector<std::string> pm_sampling{};
  /// Time between two PM samples. At most 2,016 samples fit in a `flush_period`. At least 10 us.
  std::chrono::nanoseconds pm_sampling_interval{1'000'000};

  // Other sources
  /// Record in which range each autograd node was created, in programs that link `rangefinder::torch`. Backward work is
  /// attributed to that range. A range reads a sequence number at both ends, and a node takes two or three records.
  bool autograd = true;
  /// How often sensors of the devices in use are read through NVML: power, clocks, utilization, temperature, energy. 0:
  /// never. Boards update their power reading about every 20 ms. A background thread reads them.
  std::chrono::milliseconds nvml_period{0};
  /// Count CPU events (instructions, cycles, cache misses, ...) in each range: two or three system calls at both ends.
  /// For runs of their own, and for ranges of at least some microseconds.
  bool cpu_counters = false;
  /// Send ranges as NVTX to a tool that listens, such as Nsight Systems.
  bool nvtx = true;

  // Background work
  /// How often device records are collected and the clock is sampled. At least 1 ms.
  std::chrono::milliseconds flush_period{200};
  /// Longest time that stopping may take. Records not written by then are counted as lost.
  std::chrono::milliseconds stop_timeout{5'000};

  // Flight recorder
  /// Packed records kept with `CaptureMode::kRing`. 64 MiB hold about 20 million ranges.
  std::uint64_t ring_bytes = std::uint64_t{64} << 20;
  /// Longest time to keep records with `CaptureMode::kRing`. 0: only `ring_bytes` counts.
  std::chrono::milliseconds ring_time{0};
  /// Write a dump when the process gets this signal, with `CaptureMode::kRing`.
  int dump_signal = 0;
  /// Write a dump when a step takes longer than this, with `CaptureMode::kRing`. 0: never.
  std::chrono::nanoseconds dump_step_over{0};
  /// Most dumps by signal and by slow steps. Later ones are only counted.
  std::uint32_t max_dumps = 16;

  /// Facts to store with the capture, such as `model` = `resnet50`.
  std::vector<std::pair<std::string, std::string>> metadata{};
  // [/generated]

  /// Applies `key=value,...` on top. Unknown keys and bad values are left out and named in the error; the rest holds.
  RANGEFINDER_EXPORT Status apply(std::string_view config);

  /// The options that differ from their defaults as `key=value,...`, which `apply` takes, in this process or another:
  /// for RANGEFINDER_CONFIG of a child process, or for a log. Without `on_capture_ready`.
  ///
  /// Errors: kInvalidArgument for a value outside of its limits; kUnsupported for a text that a configuration cannot
  ///         hold, such as one with a comma.
  RANGEFINDER_EXPORT Result<std::string> config() const;
};

}  // namespace rangefinder
