// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/health.hpp>
#include <rangefinder/result.hpp>
#include <rangefinder/session_options.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rangefinder {

/// Where the recording of device activity stands.
struct DeviceState {
  bool full = false;   ///< activity is recorded
  std::string reason;  ///< why not, who holds it, and what to do; empty when full
};

/// Figures of one range path. A range counts once it is over, and the device work that it owns by attribution `auto`
/// (see Attribution) as it arrives: work that is still queued when a range ends, a backward pass that runs later and
/// replays of a CUDA graph captured in it are added then. Ranges in which a graph was captured before the recording
/// have a row if they own any of it, with `count` 0.
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
  /// Parts of gpu_sum_ns, see Pass. Work of nodes whose forward operator is not known is in none of them.
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
  std::uint64_t pending_launches = 0;  ///< made, but no activity of theirs has arrived: not in the figures yet
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
  /// Releases the CUPTI subscription for another profiler (torch.profiler, say), before or after `stop`; before
  /// that profiler's first use in the process, since torch.profiler asks for the place only once. What the
  /// device has done so far is in the capture; ranges are recorded on. The next session subscribes again,
  /// and by the next capture of a schedule.
  ///
  /// Errors: kTimeout when CUPTI does not answer within `stop_timeout`; kBusy while another session records the device.
  Status release_cupti() noexcept;

  /// Projection of what has arrived, while the program runs: the owners are those that reports name. May be called
  /// after each step: it costs a flush (of device records too, and a chunk of the capture of some 500 bytes), and work
  /// for what came since the last call and for the ranges that are open; memory is one row per path, what is open and
  /// what device work to come can belong to, however often it is called. Where captures follow each other, it is of the
  /// last one.
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

/// Opens CUPTI now and keeps it open, so that what has to be set before CUDA is used is set, and no other profiler
/// can subscribe. Call it first in main. Sessions do it themselves. CUDA graphs that are captured from then on are
/// known to every later session: ranges opened while one is captured are recorded and kept.
RANGEFINDER_EXPORT DeviceState prepare() noexcept;

}  // namespace rangefinder
