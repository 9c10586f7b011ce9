// SPDX-License-Identifier: MIT
#pragma once

#include "base/record_id.hpp"
#include "buffer/recorder.hpp"
#include "clock/clock.hpp"
#include "session/capture_writer.hpp"
#include "session/output_name.hpp"
#include "source/source.hpp"

#include <rangefinder/session.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace rangefinder::session {

/// What a recording is made of besides its options; tests put their own clock and sources in.
struct Dependencies {
  clock::Clock* clock = nullptr;  ///< null: the machine's
  std::vector<std::shared_ptr<source::Source>> sources;
  const buffer::CpuCounterHook* cpu_counters = nullptr;  ///< read at both ends of ranges; null: not
  std::string cpu_counters_state{};                      ///< "full", or what is missing
  bool simulated = false;
  bool waits = false;                      ///< nothing is recorded before the first step_to
  std::optional<base::RecordId> record{};  ///< its processes share one name for their captures; none: the name is ours
};

/// Why a child of fork has no device activity.
inline constexpr char kChild[] = "a child of fork records nothing; start a session in it";

/// What a step is under a schedule.
enum class Phase : std::uint8_t { kOff, kWarmup, kActive };
Phase phase_of_step(const Schedule& schedule, std::uint64_t step) noexcept;

/// Whether the recording begins or ends by the clock, or ends with a step.
bool is_limited(const SessionOptions& options) noexcept;

/// A running recording. Two threads of its own: one drains blocks into the capture, one collects from the sources,
/// samples the clock and serves dump requests, so that a source that hangs does not hold up the drain.
///
/// No thread waits for a disk or a driver without a limit: whoever drains, collects or steps has taken that activity,
/// under state_mutex_, which is held for a few instructions only; the others wait for it until their deadline.
class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  static Result<std::shared_ptr<SessionCore>> start(SessionOptions options, Dependencies dependencies);
  ~SessionCore();
  /// Of a process that cannot be recorded: a capture that says so, and holds nothing. Reads no list of libraries.
  static void write_refusal(SessionOptions options, Dependencies dependencies, std::string_view why);

  void step(std::uint64_t items = 0) noexcept;
  /// Ends a step, in which `items` were done, and begins step `number`, whatever the schedule says.
  void step_to(std::uint64_t number, Phase phase, std::uint64_t items) noexcept;
  std::uint64_t step_number() const noexcept { return step_.load(std::memory_order_relaxed); }
  /// By the collecting thread. kTimeout where that does not come to it within `stop_timeout`.
  Status flush() noexcept;
  Result<std::string> dump(const std::string& path) noexcept;
  Status stop() noexcept;
  /// The capture goes when it is finished.
  void drop_capture() noexcept { unwanted_.store(true); }
  /// Ends what uses CUPTI; the rest of the recording goes on. False where another thread was at the sources until the
  /// deadline.
  bool release(std::chrono::steady_clock::time_point deadline) noexcept;
  /// What uses CUPTI and could not start is started again: it may have come into the process since.
  void start_device_again() noexcept;
  CaptureHealth health() const noexcept;
  DeviceState device() const noexcept;
  bool running() const noexcept;
  const std::string& output() const noexcept { return output_; }
  const SessionOptions& options() const noexcept { return options_; }
  CaptureWriter& writer() noexcept { return *writer_; }
  clock::Clock& clock() noexcept { return *clock_; }
  /// What was over by then is no part of the recording, though it may stand in the capture.
  std::uint64_t start_ticks() const noexcept { return start_ticks_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  /// Something that one thread does at a time.
  enum Activity : std::uint8_t { kDraining, kCollecting, kStepping, kActivities };
  class ActivityLock;

  SessionCore(SessionOptions options, Dependencies dependencies);
  void write_facts();
  void write_held();
  void start_sources();
  void write_device_state();
  Status start_threads();
  Status start_limits();
  void begin() noexcept;
  void enter_phase(Phase phase, std::uint64_t items_done = 0) noexcept;
  bool in_child() const noexcept;
  bool has_device_source() const noexcept;

  // session_output.cpp
  Status open();
  Status open_file(format::FileHeader& header);
  Status open_output(format::FileHeader& header);
  Status open_recorder(const format::FileHeader& header);
  OutputRules output_rules() const;
  Result<base::TemporaryFile> write_ring(const std::string& path);
  Result<std::string> write_dump(const std::string& path);
  Status write_ring_output() noexcept;
  void let_go_of_output() noexcept;

  // session_threads.cpp
  void drain_loop() noexcept;
  void drain(bool partial, Deadline deadline = Deadline::max()) noexcept;
  void write_last() noexcept;
  void collect_loop() noexcept;
  void keep_limits() noexcept;
  void flush_sources(Deadline deadline) noexcept;
  Status write_all() noexcept;
  void serve_dump_requests() noexcept;
  void stop_recording(Deadline deadline) noexcept;
  bool wait_for_threads(Deadline deadline) noexcept;
  Status result_of(bool drained) const noexcept;
  void close_recorder(bool remove_live) noexcept;

  SessionOptions options_;
  Dependencies dependencies_;
  std::string output_;
  int pid_;
  clock::Clock* clock_;
  std::uint64_t start_ticks_ = 0;
  std::shared_ptr<OutputFile> file_;     // the capture; of a flight recorder empty
  std::unique_ptr<OutputFile> written_;  // what has taken the place of the empty one
  std::atomic<bool> unwanted_{false};
  bool has_live_ = false;
  std::unique_ptr<CaptureWriter> writer_;
  RingOutput* ring_ = nullptr;  // owned by the writer; used under its lock

  // Used by the stepping thread, and by the drain once no thread can step.
  std::atomic<std::uint64_t> step_{0};
  Phase phase_ = Phase::kOff;
  bool delayed_ = false;  // no phase but off
  std::uint32_t windows_ = 0;
  std::uint64_t window_begin_ = 0;
  std::uint64_t step_begin_ = 0;

  mutable std::mutex state_mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stopping_{false};  // set under state_mutex_
  bool active_[kActivities] = {};
  bool drain_ended_ = true;  // or not begun
  bool collect_ended_ = true;
  bool limit_reached_ = false;  // step until_step has begun
  bool sources_late_ = false;   // the capture was finished without waiting for them any longer
  bool abandoned_ = false;      // stop gave up waiting: who drains closes the recorder
  bool closed_ = false;         // the recorder is no longer ours
  bool stop_begun_ = false;
  bool stop_ended_ = false;
  Deadline stop_deadline_{};
  std::uint64_t flushes_asked_ = 0;
  std::uint64_t flushes_done_ = 0;
  Status flush_status_;                  // of the last one
  Status final_status_;                  // once stop_ended_
  CaptureHealth final_health_;           // likewise
  std::atomic<std::uint64_t> dumps_{1};  // number of the next
  std::uint32_t dumps_asked_for_ = 0;    // by signals and slow steps; the collecting thread's
  std::uint32_t dump_requests_seen_ = 0;
  std::atomic<bool> released_{false};
  std::atomic<bool> starting_again_{false};
  std::atomic<std::uint32_t> slow_steps_{0};
  std::uint32_t slow_steps_seen_ = 0;
  std::thread drain_thread_, collect_thread_;
};

/// An activity, taken for the life of the object where it was free or became so in time.
class SessionCore::ActivityLock {
 public:
  ActivityLock(SessionCore& core, Activity activity, Deadline deadline) noexcept;
  ActivityLock(SessionCore& core, Activity activity) noexcept : ActivityLock(core, activity, Deadline::max()) {}
  ~ActivityLock();
  ActivityLock(const ActivityLock&) = delete;
  ActivityLock& operator=(const ActivityLock&) = delete;
  explicit operator bool() const noexcept { return taken_; }

 private:
  SessionCore& core_;
  Activity activity_;
  bool taken_ = false;
};

/// The session that runs in this process, if any; for exit and for tests.
std::shared_ptr<SessionCore> current_session() noexcept;
/// No longer the current one.
void forget_session(const SessionCore& session) noexcept;

}  // namespace rangefinder::session
