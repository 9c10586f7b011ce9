// SPDX-License-Identifier: MIT
#pragma once

#include "session/ready_calls.hpp"
#include "session/session_core.hpp"

#include <rangefinder/session.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace rangefinder::session {

/// Captures of one session, one after the other: one a cycle of the schedule, or one each time that a signal asks for
/// it. Each is a recording of its own, from start to stop. A background thread starts and stops them, since that takes
/// milliseconds and may take seconds; between them nothing is on.
///
/// A cycle that begins while the capture before it is still being finished waits for that in `step`, flush_period at
/// most; past that its first steps are not recorded, and counted in the capture's metadata (steps_missed).
class CaptureSeries : public std::enable_shared_from_this<CaptureSeries> {
 public:
  using MakeDependencies = std::function<Dependencies(const SessionOptions&)>;

  /// Whether the options ask for more than one plain capture.
  static bool wanted(const SessionOptions& options);
  static Result<std::shared_ptr<CaptureSeries>> start(SessionOptions options, MakeDependencies make_dependencies);
  /// The one that runs in this process, if any.
  static std::shared_ptr<CaptureSeries> current() noexcept;
  ~CaptureSeries();

  void step(std::uint64_t items) noexcept;
  std::uint64_t step_number() const noexcept;
  Status stop() noexcept;
  bool running() const noexcept;
  /// The recording of now; null between two.
  std::shared_ptr<SessionCore> core() const noexcept;
  /// Of the recording of now, or of the last one.
  CaptureHealth health() const noexcept;
  DeviceState device() const;
  /// The first capture's.
  const std::string& output() const noexcept { return first_output_; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class State : std::uint8_t { kWaiting, kStarting, kReady, kFinishing };
  /// What a step is to be.
  struct Wanted {
    Phase phase = Phase::kOff;
    std::uint64_t cycle = 0;  ///< from 1; 0: none
  };

  CaptureSeries(SessionOptions options, MakeDependencies make_dependencies);
  Status open();
  bool in_child() const noexcept;
  bool on_demand() const noexcept { return options_.record_signal != 0; }
  Wanted wanted_at(std::uint64_t step) const noexcept;
  SessionOptions options_of(std::uint64_t cycle) const;

  using Lock = std::unique_lock<std::mutex>;
  // With mutex_ held; those that take the lock give it up meanwhile.
  bool signalled() noexcept;
  Wanted asked_for() noexcept;
  void end_recording(Lock& lock, std::uint64_t items, bool at_once);
  void begin_recording(Lock& lock);
  void wait_until_ready(Lock& lock, std::uint64_t cycle);
  void ask_ahead();
  void ask_to_start(std::uint64_t cycle);
  void ask_to_finish();

  // The background thread's.
  void run() noexcept;
  void watch_without_steps(Lock& lock);
  Status start_capture(Lock& lock);
  void finish_capture(Lock& lock);
  Status close(SessionCore& core, CaptureReady ready, bool used) noexcept;

  SessionOptions options_;
  MakeDependencies make_dependencies_;
  std::string first_output_;
  int pid_;
  std::shared_ptr<ReadyCalls> calls_;  // null without a callback

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kWaiting;
  std::shared_ptr<SessionCore> core_;
  std::uint64_t step_ = 0;
  std::uint64_t cycle_ = 0;       // of core_, or being started; of captures asked for by a signal, their number
  std::uint64_t last_cycle_ = 0;  // that is over, or cannot be recorded
  std::uint64_t first_step_ = 0;  // recorded, of this cycle
  std::uint64_t last_step_ = 0;
  std::uint64_t finish_at_ = 0;   // the step at which a cycle that has ended is closed; 0: none has
  std::uint64_t missed_ = 0;      // steps, for want of a capture that was ready
  std::uint64_t waited_for_ = 0;  // the cycle that a step has waited for
  std::uint32_t deliveries_seen_ = 0;
  bool asked_ = false;  // by a signal that could not be followed at once
  bool recording_ = false;
  bool used_ = false;  // something was recorded in this cycle
  bool stop_begun_ = false;
  bool stop_ended_ = false;
  bool thread_ended_ = true;
  Status final_status_;
  CaptureHealth last_health_;
  std::thread thread_;
};

}  // namespace rangefinder::session
