// SPDX-License-Identifier: MIT
#pragma once

#include "clock/clock.hpp"
#include "session/capture_writer.hpp"
#include "source/source.hpp"

#include <rangefinder/session.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder::session {

/// What a recording is made of besides its options; tests put their own clock and sources in.
struct Parts {
  clock::Clock* clock = nullptr;  ///< null: the machine's
  std::vector<std::shared_ptr<source::Source>> sources;
  bool simulated = false;
};

/// What a step is under a schedule.
enum class Phase : std::uint8_t { kOff, kWarmup, kActive };
Phase phase_of_step(const Schedule& schedule, std::uint64_t step) noexcept;

/// A running recording. Two threads of its own: one drains blocks into the capture, one collects from the sources, samples
/// the clock and serves dump requests, so that a source that hangs does not hold up the drain.
class SessionCore : public std::enable_shared_from_this<SessionCore> {
 public:
  static Result<std::shared_ptr<SessionCore>> start(SessionOptions options, Parts parts);
  ~SessionCore();

  void step() noexcept;
  std::uint64_t step_number() const noexcept { return step_.load(std::memory_order_relaxed); }
  Status flush() noexcept;
  Result<std::string> dump(const std::string& path) noexcept;
  Status stop() noexcept;
  CaptureHealth health() const noexcept;
  DeviceState device() const noexcept;
  bool running() const noexcept;
  const std::string& output() const noexcept { return output_; }
  const SessionOptions& options() const noexcept { return options_; }
  CaptureWriter& writer() noexcept { return *writer_; }

 private:
  SessionCore(SessionOptions options, Parts parts);
  Status open();
  void start_sources();
  void write_facts();
  Status start_threads();
  void drain_loop();
  void collect_loop();
  void drain(bool partial) noexcept;
  void flush_sources(std::chrono::steady_clock::time_point deadline) noexcept;
  void enter_phase(Phase phase) noexcept;
  void serve_dump_requests() noexcept;
  void write_last() noexcept;
  bool in_child() const noexcept;

  SessionOptions options_;
  Parts parts_;
  std::string output_;
  int pid_;
  clock::Clock* clock_;
  std::unique_ptr<CaptureWriter> writer_;
  RingOutput* ring_ = nullptr;  // owned by the writer; used under its lock

  std::mutex step_mutex_;
  std::atomic<std::uint64_t> step_{0};
  Phase phase_ = Phase::kOff;
  std::uint32_t windows_ = 0;
  std::uint64_t window_begin_ = 0;
  std::uint64_t step_begin_ = 0;

  std::mutex drain_mutex_;
  std::atomic<bool> stopping_{false};
  std::mutex state_mutex_;
  std::condition_variable wake_;
  std::condition_variable ended_;
  bool drain_ended_ = false;
  bool collect_ended_ = false;
  bool stopped_ = false;
  std::atomic<std::uint32_t> dumps_{0};
  std::uint32_t dump_requests_seen_ = 0;
  std::atomic<std::uint32_t> slow_steps_{0};
  std::uint32_t slow_steps_seen_ = 0;
  std::atomic<bool> finished_{false};
  CaptureHealth final_health_;  // once finished_
  std::thread drain_thread_, collect_thread_;
};

/// The session that runs in this process, if any; for exit and for tests.
std::shared_ptr<SessionCore> current_session() noexcept;

}  // namespace rangefinder::session
