// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/visibility.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rangefinder {

/// Where records go while the program runs.
enum class CaptureMode : std::uint8_t {
  kMapped,    ///< a live file beside the capture, mapped into the process: survives kill -9. The default
  kRing,      ///< flight recorder: the last `ring_bytes` or `ring_time` are kept, and written when something asks
  kBuffered,  ///< private memory, for file systems where mapping is slow; a crash loses what was not yet written
};

/// What a thread does when the memory bound is reached.
enum class OverflowPolicy : std::uint8_t {
  kDrop,  ///< drops and counts. The default
  kWait,  ///< waits up to one second for the background thread, then drops and counts
  kGrow,  ///< takes more memory, up to `grow_limit_bytes`, then drops and counts
};

/// How the work of CUDA graphs is recorded. Node by node each operation costs time on the device, as a graph that is
/// launched alone would not.
enum class GraphTracing : std::uint8_t {
  kNodes,  ///< each operation. The default
  kWhole,  ///< a launch as a whole: its time, and no operations
  /// Each operation in the first `graph_node_replays` launches of every graph, then launches as a whole, whose time
  /// counts where that of the operations did. While a graph is new all graphs are recorded node by node.
  kAutomatic,
};

/// What becomes of CUPTI while nothing is recorded: in pauses of a schedule, and between sessions.
enum class CudaIdle : std::uint8_t {
  /// Switched off, so that the program runs at full speed; but before CUDA 13.1 update 1, where switching it on again
  /// gives launches of CUDA graphs wrong ids, kept on in pauses, and between sessions once there were graphs. The
  /// default
  kAutomatic,
  kGate,     ///< kept on, and what it brings is thrown away: costs as much as recording
  kDisable,  ///< switched off
};

/// Which steps are recorded, as in torch.profiler: after `skip_first` steps, cycles of `wait` steps off, `warmup` steps
/// with the sources running and nothing kept, `active` steps recorded; `repeat` cycles, 0 = for ever.
/// `active` 0 (the default): every step, and all time outside of steps.
struct Schedule {
  std::uint32_t skip_first = 0;
  std::uint32_t wait = 0;
  std::uint32_t warmup = 0;
  std::uint32_t active = 0;
  std::uint32_t repeat = 0;
};

/// A capture that is done; see SessionOptions::on_capture_ready.
struct CaptureReady {
  std::string path;
  std::uint64_t number = 1;      ///< 1 for the session's first capture
  std::uint64_t first_step = 0;  ///< recorded, by Session::step_number
  std::uint64_t last_step = 0;   ///< likewise; the one that stop() ended counts
  Status status;                 ///< what went wrong while it was written
};

/// Everything about a recording. The defaults suit a training job; RANGEFINDER_CONFIG in the environment overrides them
/// (docs/reference/configuration.md), for example `output=/tmp/run.rfcap,cuda=off,wait=10,active=5`.
struct SessionOptions {
  /// The capture file. Empty: `<program>-<pid>.rfcap` in the working directory. `%p` stands for the process id, `%c`
  /// for the number of the cycle: each cycle of the schedule then gets a capture of its own.
  std::string output;
  /// An earlier file of that name: true replaces it, false makes the start fail with kExists.
  bool replace = true;
  CaptureMode mode = CaptureMode::kMapped;
  /// Memory for host records and for CUPTI's buffers together. At least 8 MiB.
  std::uint64_t memory_bytes = std::uint64_t{64} << 20;
  OverflowPolicy overflow = OverflowPolicy::kDrop;
  /// kGrow only.
  std::uint64_t grow_limit_bytes = std::uint64_t{4} << 30;
  Schedule schedule{};

  /// Called when a capture is whole and closed: at the end of each cycle of the schedule, of each recording that
  /// `record_signal` asked for, and of the session. With a schedule each cycle gets a file of its own (`%c` in
  /// `output`, or `.1`, `.2` ... before its ending). Runs on a thread of its own, one call after the other, never on a
  /// thread of the program; it may take its time. What it throws is caught, logged, and counted in the next capture's
  /// metadata (callbacks_failed). `stop`, and the exit of the process, wait for it within `stop_timeout`: a call that
  /// takes longer goes on beside what follows, and calls that would come after it are left out, which makes `stop`
  /// return kTimeout.
  std::function<void(const CaptureReady&)> on_capture_ready{};

  /// The session waits, with everything off, until the process gets this signal; then it records `record_steps` steps,
  /// or up to the next such signal, closes the capture, and waits for the next one. 0: none. The
  /// schedule is not looked at then.
  int record_signal = 0;
  std::uint32_t record_steps = 10;  ///< 0: until the next signal

  /// Nothing is recorded before `delay` has passed since the start; CUPTI is opened all the same. After `duration` of
  /// recording, or when step `until_step` begins, the session stops, and the program runs on. 0: no such limit. Not
  /// where captures follow each other.
  std::chrono::milliseconds delay{0};
  std::chrono::milliseconds duration{0};
  std::uint32_t until_step = 0;

  /// Device activity through CUPTI. Off: ranges only.
  bool cuda = true;
  /// A record of every CUDA API call: cross-check of the launch mapping, and the api view. About 1 us a call.
  bool cuda_api = true;
  bool cuda_sync = true;
  /// What CUPTI itself takes, and loading and compiling of code (lazy loading, PTX).
  bool cuda_overhead = true;
  /// Hardware counters of ranges, by CUPTI's range profiler: names of metric sets or metrics between plus signs, such
  /// as "memory" or "roofline" (docs/reference/counters.md). Empty: none. The device is waited for at the begin and the
  /// end of each range that is counted, so this is a run of its own: device activity is not recorded in it.
  std::string counters{};
  /// Which ranges are counted: names with * and ?, between vertical bars; empty: all. Of ranges inside each other, the
  /// outermost that is chosen.
  std::string counter_ranges{};
  std::string counter_category{};  ///< only ranges of this category; empty: of any
  int counter_depth = -1;          ///< only ranges with so many around them on their thread; -1: any
  /// Samples of the devices' counters over time, beside whatever else is recorded: names as in `counters`, such as
  /// "device". Empty: none.
  std::string samples{};
  std::chrono::nanoseconds sample_interval{1'000'000};  ///< 10 us at least
  GraphTracing graph_tracing = GraphTracing::kNodes;
  std::uint32_t graph_node_replays = 10;  ///< kAutomatic only; at least 1
  /// Calls of CUDA's own allocation functions, with address and bytes; a caching allocator makes few.
  bool cuda_memory = true;
  /// When each kernel's launch was queued and handed to the device. Extra work at each launch; has to be asked for
  /// before the program uses CUDA, or nothing comes of it.
  bool cuda_latency = false;
  CudaIdle cuda_idle = CudaIdle::kAutomatic;
  /// In which range each node of autograd was made, so that backward work can be given to it. Has a meaning in programs
  /// that link rangefinder::torch; there a range asks for a number at both ends, and a node takes two records or three.
  bool autograd = true;
  /// How often sensors of the devices in use are read through NVML: power, clocks, utilisation, temperature, energy.
  /// 0: not at all, the default; on: 20 ms, in which boards measure power anew. A background thread does it.
  std::chrono::milliseconds nvml_period{0};
  /// Count events of the processor (instructions, cycles, cache misses, ...) in each range. Two to three system calls
  /// at both ends of every range: for runs of their own, and not for ranges of less than some microseconds.
  bool cpu_counters = false;
  /// Emit ranges to a listening tool (Nsight Systems) as NVTX.
  bool nvtx = true;

  /// How often device records are collected and the clock is sampled.
  std::chrono::milliseconds flush_period{200};
  /// Most that `stop` may take. What could not be written by then is counted.
  std::chrono::milliseconds stop_timeout{5000};

  // Flight recorder (kRing).
  std::uint64_t ring_bytes = std::uint64_t{64} << 20;  ///< of packed records, about 20 million ranges
  std::chrono::milliseconds ring_time{0};              ///< keep no more than this; 0: only ring_bytes counts
  int dump_signal = 0;                                 ///< writes a dump when the process gets it; 0: none
  std::chrono::nanoseconds dump_step_over{0};          ///< writes a dump when a step takes longer; 0: never
  std::uint32_t max_dumps = 16;                        ///< by signal and threshold; later ones are only counted

  /// Facts to store with the capture: "model" = "resnet50".
  std::vector<std::pair<std::string, std::string>> metadata{};

  /// Applies `key=value,...` on top. Unknown keys and bad values are left out and named in the error; the rest holds.
  RANGEFINDER_EXPORT Status apply(std::string_view config);
};

/// Where the recording of device activity stands.
struct DeviceState {
  bool full = false;   ///< activity is recorded
  std::string reason;  ///< why not, who holds it, and what to do; empty when full
};

/// Figures of one range path, over all finished steps (or all finished ranges, without steps). A replay of a CUDA graph
/// is work of the range that replays it, but for the figures by pass: there it belongs to the ranges that captured it,
/// as in reports. Those that did so before the recording have a row if they own any, with all else 0.
struct SummaryRow {
  std::string path;  ///< "step/forward/layer0"
  std::string name;  ///< the last part
  std::uint32_t depth = 0;
  std::uint64_t count = 0;    ///< instances; 0: it ran before the recording alone
  std::int64_t host_ns = 0;   ///< added up
  std::uint64_t gpu_ops = 0;  ///< inclusive, as all figures here
  std::int64_t gpu_sum_ns = 0;
  std::int64_t gpu_busy_ns = 0;
  std::int64_t gpu_span_ns = 0;  ///< last end - first start of each instance, added up
  /// Device time by attribution `auto` (see Attribution), durations added up. Counted as it arrives, so that a range
  /// that has not ended may lead a little. A graph that was recorded as a whole (SessionOptions::graph_tracing) is not
  /// divided, as reports do: it stays with the range that replays it.
  std::int64_t gpu_forward_ns = 0;  ///< not by nodes: the forward pass, and all other work
  std::int64_t gpu_backward_ns = 0;
  std::int64_t gpu_recompute_ns = 0;     ///< of a forward pass that a node did again
  std::int64_t gpu_accumulation_ns = 0;  ///< of gradients; belongs to the range around the backward pass, if any
};

/// What a program can know of itself while it runs.
struct Summary {
  std::vector<SummaryRow> rows;  ///< in order of first appearance, parents before children
  std::uint64_t steps = 0;       ///< finished and recorded
  std::int64_t step_ns = 0;      ///< of those, added up
  /// Percentiles, by nearest rank, of the newest of them.
  static constexpr std::size_t kStepsOfPercentiles = 1000;
  std::int64_t step_p50_ns = 0;
  std::int64_t step_p95_ns = 0;
  std::int64_t step_p99_ns = 0;
  std::uint64_t items = 0;        ///< that step(items) told of
  std::int64_t items_ns = 0;      ///< time of those steps
  std::int64_t gpu_total_ns = 0;  ///< all device time seen, owned or not
  std::int64_t gpu_owned_ns = 0;
  std::uint64_t pending_launches = 0;  ///< made, but their activities have not arrived: not in the figures yet
  CaptureHealth health;
  DeviceState device;

  /// 0 where no step told of any.
  double items_per_second() const noexcept {
    return items_ns > 0 ? static_cast<double>(items) * 1e9 / static_cast<double>(items_ns) : 0;
  }

  /// The row of a path; null when there is none.
  const SummaryRow* find(std::string_view path) const noexcept {
    for (const SummaryRow& row : rows) {
      if (row.path == path) return &row;
    }
    return nullptr;
  }
};

/// Records ranges and device activity from construction to `stop` or destruction. One at a time in a process.
///
///   rangefinder::Session session{"train.rfcap"};
///   for (auto& batch : loader) {
///     { rangefinder::ProfileRange range{"forward"};
///       ... }
///     session.step();
///   }
///
/// Errors:  a session that could not start records nothing and says why in `status()`; the program runs on. Nothing is
///          thrown and, unless RANGEFINDER_LOG asks for it, nothing printed.
/// Threads: `step` and `stop` by one thread at a time; the rest by any.
/// Exit:    a session that is alive at exit() is stopped there. After fork the child records nothing.
/// Cost:    two background threads and `memory_bytes`; start 5 to 50 ms.
class RANGEFINDER_EXPORT Session {
 public:
  explicit Session(SessionOptions options = {}) noexcept;
  /// The defaults, into that file (SessionOptions::output).
  template <typename Text, std::enable_if_t<std::is_convertible_v<const Text&, std::string_view>, int> = 0>
  explicit Session(const Text& output) : Session(options_for(output)) {}
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Whether it records, and if not, why.
  const Status& status() const noexcept;
  /// True between start and stop, in pauses of the schedule too.
  bool running() const noexcept;
  /// The capture's path, with all placeholders filled in; of captures that follow each other, the first one's.
  const std::string& output() const noexcept;

  /// Ends a step and begins the next; drives the schedule.
  void step() noexcept;
  /// The same, with what was done in the step that ends: tokens, samples, whatever the program counts. Reports give
  /// items a second; 0: nothing to tell.
  void step(std::uint64_t items) noexcept;
  /// Steps begun so far, minus one: 0 during the first.
  std::uint64_t step_number() const noexcept;

  /// Writes everything recorded and complete by now to the capture. kTimeout when disk or device do not answer within
  /// `stop_timeout`.
  Status flush() noexcept;
  /// The flight recorder's content, as a capture of its own. Empty path: the next of `<output>.1.rfcap`, `.2` ...
  /// Returns the path written.
  Result<std::string> dump(const std::string& path = {}) noexcept;
  /// Ends the recording within `stop_timeout`. Further calls do nothing.
  Status stop() noexcept;
  /// Gives the process's one place in CUPTI to another profiler (torch.profiler, say), before or after `stop`; before
  /// that profiler's first use in the process, since torch.profiler asks for the place only once. What the
  /// device has done so far is in the capture; ranges are recorded on. The place is taken again by the next session,
  /// and by the next capture of a schedule.
  ///
  /// Errors: kTimeout when CUPTI does not answer within `stop_timeout`; kBusy while another session records the device.
  Status release() noexcept;

  /// Projection of what is finished, while the program runs. May be called after each step: it costs a flush (of device
  /// records too, and a chunk of the capture of some 500 bytes), and work for what came since the last call; memory is
  /// a row a path and what is open, however often it is called. Where captures follow each other, it is of the last
  /// one.
  Summary summary() noexcept;
  CaptureHealth health() const noexcept;
  DeviceState device() const noexcept;

  struct Impl;

 private:
  static SessionOptions options_for(std::string_view output) {
    SessionOptions options;
    options.output = output;
    return options;
  }
  std::shared_ptr<Impl> impl_;
};

/// Opens CUPTI now and keeps it open, so that what has to be set before CUDA is used is set, and no profiler can take
/// its place. Call it first in main. Sessions do it themselves. CUDA graphs that are captured from then on are known to
/// every later session: ranges opened while one is captured are recorded and kept.
RANGEFINDER_EXPORT DeviceState prepare() noexcept;

}  // namespace rangefinder
