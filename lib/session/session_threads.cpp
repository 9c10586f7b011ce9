// SPDX-License-Identifier: MIT
// What a session does in its own threads, and how it ends.
#include "base/health_numbers.hpp"
#include "base/signals_blocked.hpp"
#include "buffer/held_records.hpp"
#include "buffer/recorder.hpp"
#include "session/left_out_domains.hpp"
#include "session/options.hpp"
#include "session/session_core.hpp"
#include "session/signal_watch.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>

namespace rangefinder::session {
namespace {
using Clock = std::chrono::steady_clock;
constexpr auto kIdle = std::chrono::milliseconds(20);
constexpr auto kQuiet = std::chrono::seconds(1);  // most that threads inside a slow path are waited for
}  // namespace

// ---- one at a time ----------------------------------------------------------------------------------------------

SessionCore::ActivityLock::ActivityLock(SessionCore& core, Activity activity, Deadline deadline) noexcept
    : core_(core), activity_(activity) {
  std::unique_lock lock(core_.state_mutex_);
  const auto is_free = [&] { return !core_.active_[activity_]; };
  if (deadline == Deadline::max())
    core_.changed_.wait(lock, is_free);
  else
    core_.changed_.wait_until(lock, deadline, is_free);
  taken_ = is_free();
  if (taken_) core_.active_[activity_] = true;
}

SessionCore::ActivityLock::~ActivityLock() {
  if (!taken_) return;
  {
    const std::lock_guard lock(core_.state_mutex_);
    core_.active_[activity_] = false;
  }
  core_.changed_.notify_all();
}

// ---- the drain --------------------------------------------------------------------------------------------------

void SessionCore::drain(bool partial, Deadline deadline) noexcept {
  const ActivityLock draining(*this, kDraining, deadline);
  if (!draining) return;
  {
    const std::lock_guard lock(state_mutex_);
    if (closed_) return;
  }
  buffer::HeldRecords::instance().drain_recorder(*writer_, partial);
  writer_->write_queued();
  bool close = false;
  {
    const std::lock_guard lock(state_mutex_);
    close = abandoned_ && !closed_;
    closed_ = closed_ || close;
  }
  if (close) buffer::HeldRecords::instance().finish_recorder(false);
}

void SessionCore::drain_loop() noexcept {
  auto& recorder = buffer::Recorder::instance();
  auto next_partial = Clock::now() + options_.flush_period;
  while (!stopping_.load(std::memory_order_acquire)) {
    recorder.forget_unloaded_literals();
    if (recorder.prepare_ahead()) {
      drain(false);
      continue;
    }
    recorder.wait_for_work(std::min<std::chrono::milliseconds>(kIdle, options_.flush_period));
    // Without a live file, what lies in open blocks is lost in a crash: write it out as often as device records.
    const auto now = Clock::now();
    const bool partial = options_.mode == CaptureMode::kBuffered && now >= next_partial;
    if (partial) next_partial = now + options_.flush_period;
    drain(partial);
  }
  {
    // The sources end first, so that their last rows and our last chunk are in order; but not at the price of the
    // capture.
    std::unique_lock lock(state_mutex_);
    const Deadline latest = stop_deadline_ - options_.stop_timeout / 4;
    sources_late_ = !changed_.wait_until(lock, latest, [&] { return collect_ended_; });
  }
  write_last();
  {
    const std::lock_guard lock(state_mutex_);
    drain_ended_ = true;
  }
  changed_.notify_all();
}

void SessionCore::write_last() noexcept {
  auto& recorder = buffer::Recorder::instance();
  if (sources_late_) recorder.count(health::flush_timeouts, 1);
  write_left_out_domains(*writer_);
  drain(true);
  writer_->sample_clock();
  if (window_begin_ != 0) writer_->write_window({window_begin_, clock_->ticks(), windows_});
  CaptureHealth health = recorder.health();
  {
    const std::lock_guard lock(state_mutex_);
    if (closed_) return;  // given up by stop: without its end, the capture is read together with the live file
  }
  // A capture without its end is read together with the live file, which holds the counters too: a full disk may have
  // had room for the end alone.
  bool ended = writer_->write_health(health) && writer_->write_end();
  if (!ended && !has_live_) ended = writer_->write_end_over_events();
  Status status = writer_->status();
  if (!ended && status.ok()) status = no_memory();
  if (ring_ != nullptr) {
    if (Status written = write_ring_output(); status.ok()) status = std::move(written);
  }
  health = recorder.health();  // with what just failed
  const std::lock_guard lock(state_mutex_);
  if (stop_ended_) return;
  final_health_ = health;
  final_status_ = std::move(status);
}

// ---- the sources ------------------------------------------------------------------------------------------------

/// For who flushes: he waits for as long as a stop may take, and the ranges need some of that.
Status SessionCore::write_all() noexcept {
  const Deadline begun = Clock::now();
  writer_->sample_clock();
  flush_sources(begun + options_.stop_timeout * 3 / 4);
  drain(true, begun + options_.stop_timeout);
  writer_->write_health(buffer::Recorder::instance().health());
  return writer_->status();
}

void SessionCore::flush_sources(Deadline deadline) noexcept {
  const ActivityLock collecting(*this, kCollecting, deadline);
  if (!collecting || stopping_.load(std::memory_order_acquire)) return;
  for (const auto& source : dependencies_.sources) source->flush(deadline);
}

void SessionCore::collect_loop() noexcept {
  for (;;) {
    std::uint64_t asked = 0;
    {
      std::unique_lock lock(state_mutex_);
      changed_.wait_for(lock, options_.flush_period, [&] {
        return stopping_.load(std::memory_order_relaxed) || flushes_asked_ != flushes_done_ ||
               slow_steps_.load(std::memory_order_relaxed) != slow_steps_seen_;
      });
      if (stopping_.load(std::memory_order_relaxed)) break;
      asked = flushes_asked_;
    }
    if (asked != flushes_done_) {  // which no other thread changes
      Status status = write_all();
      const std::lock_guard lock(state_mutex_);
      flush_status_ = std::move(status);
      flushes_done_ = asked;
    } else {
      writer_->sample_clock();
      flush_sources(Clock::now() + options_.stop_timeout);
      writer_->write_health(buffer::Recorder::instance().health());
    }
    changed_.notify_all();
    serve_dump_requests();
  }
  {
    const Deadline deadline = Clock::now() + options_.stop_timeout / 2;
    const ActivityLock collecting(*this, kCollecting);
    for (const auto& source : dependencies_.sources) {
      source->set_active(false);
      source->stop(deadline);
      // Who stops the session waits for its own deadline, not for this.
      while (source->at_sink()) source->stop(Clock::now() + options_.stop_timeout);
    }
  }
  {
    const std::lock_guard lock(state_mutex_);
    collect_ended_ = true;
  }
  changed_.notify_all();
}

void SessionCore::serve_dump_requests() noexcept {
  const std::uint32_t signals = signal_deliveries(options_.dump_signal);
  const std::uint32_t slow = slow_steps_.load(std::memory_order_relaxed);
  const bool wanted = signals != dump_requests_seen_ || slow != slow_steps_seen_;
  dump_requests_seen_ = signals;
  slow_steps_seen_ = slow;
  if (!wanted || ring_ == nullptr) return;
  if (++dumps_asked_for_ > options_.max_dumps) {
    writer_->meta("dumps_not_made", std::to_string(dumps_asked_for_ - options_.max_dumps));
    return;
  }
  try {
    const Status status = write_all();
    const Result<std::string> path = status.ok() ? write_dump({}) : Result<std::string>(status.error());
    if (path.ok())
      log(LogLevel::kInfo, {"flight recorder written to ", *path});
    else
      log(LogLevel::kError, {path.error().message()});
  } catch (const std::exception&) {
    log(LogLevel::kError, {no_memory().message()});
  }
}

// ---- limits -----------------------------------------------------------------------------------------------------

/// Last: it may stop the session at once.
Status SessionCore::start_limits() try {
  if (!is_limited(options_)) return {};
  const base::SignalsBlocked blocked;
  std::thread thread([self = shared_from_this()] { self->keep_limits(); });
  ::pthread_setname_np(thread.native_handle(), "rf-limits");
  thread.detach();  // who stops does not wait for it: it may be who stops
  return {};
} catch (const std::exception& error) {
  return error_of(error, "cannot start a background thread: ");
}

void SessionCore::keep_limits() noexcept {
  std::unique_lock lock(state_mutex_);
  const auto is_over = [&] { return stop_begun_ || limit_reached_; };
  if (options_.delay.count() > 0 && !changed_.wait_for(lock, options_.delay, is_over)) {
    lock.unlock();
    begin();
    lock.lock();
  }
  if (options_.duration.count() > 0)
    changed_.wait_for(lock, options_.duration, is_over);
  else
    changed_.wait(lock, is_over);
  const bool stops = !stop_begun_;
  lock.unlock();
  if (stops) (void)stop();
}

// ---- the end ----------------------------------------------------------------------------------------------------

void SessionCore::stop_recording(Deadline deadline) noexcept {
  // A step that hangs in a source holds up the end of its phase, not ours.
  const ActivityLock stepping(*this, kStepping, deadline);
  buffer::Recorder::instance().quiesce(std::min(deadline, Clock::now() + kQuiet));
  const std::lock_guard lock(state_mutex_);
  stop_deadline_ = deadline;
  stopping_.store(true, std::memory_order_release);
}

void SessionCore::close_recorder(bool remove_live) noexcept {
  {
    const std::lock_guard lock(state_mutex_);
    if (closed_) return;
    if (active_[kDraining]) {
      abandoned_ = true;
      return;
    }
    closed_ = true;
  }
  buffer::HeldRecords::instance().finish_recorder(remove_live);
}

/// True when all that was recorded has been drained. Threads that do not end are left behind: they keep the session
/// alive until they are through.
bool SessionCore::wait_for_threads(Deadline deadline) noexcept {
  bool drained = false;
  bool collected = false;
  {
    std::unique_lock lock(state_mutex_);
    drained = changed_.wait_until(lock, deadline, [&] { return drain_ended_ && !active_[kDraining]; });
    collected = collect_ended_;
  }
  if (drain_thread_.joinable()) drained ? drain_thread_.join() : drain_thread_.detach();
  if (collect_thread_.joinable()) collected ? collect_thread_.join() : collect_thread_.detach();
  return drained;
}

Status SessionCore::result_of(bool drained) const noexcept try {
  const std::string time = std::to_string(options_.stop_timeout.count()) + " ms";
  if (!drained)
    return Error(ErrorCode::kTimeout,
                 "stop: the capture was not finished within " + time +
                     (has_live_ ? "; the live file keeps what was not written"
                                : "; what was not written by then is lost, since there is no live file"));
  const std::lock_guard lock(state_mutex_);
  if (final_status_.ok() && sources_late_)
    return Error(ErrorCode::kTimeout,
                 "stop: device records were not delivered within " + time + "; all else is in the capture");
  return final_status_;
} catch (const std::exception&) {
  return no_memory();
}

Status SessionCore::stop() noexcept {
  if (in_child()) return {};
  const Deadline deadline = Clock::now() + options_.stop_timeout;
  {
    std::unique_lock lock(state_mutex_);
    if (stop_begun_) {
      changed_.wait_until(lock, deadline, [&] { return stop_ended_; });
      return stop_ended_ ? copy_of(final_status_) : Status();
    }
    stop_begun_ = true;
  }
  watch_signal(SignalUse::kDump, 0);
  stop_recording(deadline);
  changed_.notify_all();
  buffer::Recorder::instance().wake();
  const bool drained = wait_for_threads(deadline);
  const CaptureHealth last_seen = buffer::Recorder::instance().health();
  Status result = result_of(drained);
  close_recorder(drained && (result.ok() || result.error().code() == ErrorCode::kTimeout));
  if (drained) let_go_of_output();
  forget_session(*this);  // before others are told that it has ended: they may start the next one
  {
    const std::lock_guard lock(state_mutex_);
    if (!drained) final_health_ = last_seen;
    final_status_ = copy_of(result);
    stop_ended_ = true;
  }
  changed_.notify_all();
  if (!result.ok()) log(LogLevel::kError, {result.error().message()});
  return result;
}

}  // namespace rangefinder::session
