// SPDX-License-Identifier: MIT
#include "session/capture_series.hpp"

#include "base/never_destroyed.hpp"
#include "base/signals_blocked.hpp"
#include "base/text.hpp"
#include "session/dependencies.hpp"
#include "session/option_table.hpp"
#include "session/options.hpp"
#include "session/signal_watch.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <utility>

namespace rangefinder::session {
namespace {

using Clock = std::chrono::steady_clock;

// Never destroyed, so that the exit handler finds it whatever static destructors have run.
struct CurrentSeries {
  std::atomic<int> pid{0};  // looked at first: a child of fork may find the mutex taken for good
  std::mutex mutex;
  std::shared_ptr<CaptureSeries> series;
};
CurrentSeries& current_series() noexcept {
  static base::NeverDestroyed<CurrentSeries> value;
  return *value;
}

void stop_at_exit() {
  static const int registered = std::atexit([] {
    if (const std::shared_ptr<CaptureSeries> series = CaptureSeries::current(); series != nullptr) (void)series->stop();
  });
  (void)registered;
}

/// Calls `use` with what stands between the placeholders of the cycle's number; true where there is one.
template <typename Use>
bool divide_at_number(const std::string& pattern, Use use) {
  std::size_t from = 0;
  bool any = false;
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '%') continue;
    if (pattern[++at] != 'c') continue;
    use(pattern.substr(from, at - 1 - from));
    any = true;
    from = at + 1;
  }
  use(pattern.substr(from));
  return any;
}

bool has_number(const std::string& pattern) {
  return divide_at_number(pattern, [](const std::string&) {});
}

/// The pattern with the number filled in: for `%c`, or before the ending where `always` asks for it.
std::string of_cycle(std::string pattern, std::uint64_t number, bool always) {
  const std::string digits = std::to_string(number);
  if (pattern.empty()) pattern = base::with_doubled_percents(resolve_output({}));
  std::string out;
  bool first = true;
  const bool named = divide_at_number(pattern, [&](const std::string& piece) {
    out += first ? piece : digits + piece;
    first = false;
  });
  return named || !always ? out : with_number(out, number);
}

Status calls_left_out(std::size_t count) noexcept try {
  const Error error(ErrorCode::kTimeout, "stop: on_capture_ready was not called for " + std::to_string(count) +
                                             " captures that are whole: an earlier call took longer than stop_timeout");
  log(LogLevel::kError, {error.message()});
  return error;
} catch (const std::exception&) {
  return no_memory();
}

}  // namespace

bool CaptureSeries::wanted(const SessionOptions& options) {
  return options.on_capture_ready != nullptr || options.record_signal != 0 || has_number(options.output);
}

CaptureSeries::CaptureSeries(SessionOptions options, MakeDependencies make_dependencies)
    : options_(std::move(options)), make_dependencies_(std::move(make_dependencies)), pid_(::getpid()) {}

CaptureSeries::~CaptureSeries() = default;

bool CaptureSeries::in_child() const noexcept { return ::getpid() != pid_; }

Result<std::shared_ptr<CaptureSeries>> CaptureSeries::start(SessionOptions options,
                                                            MakeDependencies make_dependencies) {
  {
    const std::lock_guard lock(current_series().mutex);
    if (current_series().series != nullptr && current_series().series->running())
      return Error(ErrorCode::kBusy, "session: one runs already in this process (" + current_series().series->output() +
                                         "); stop it first");
  }
  std::shared_ptr<CaptureSeries> series(new CaptureSeries(std::move(options), std::move(make_dependencies)));
  if (Status status = series->open(); !status.ok()) return std::move(status).error().with_context("session");
  stop_at_exit();
  const std::lock_guard lock(current_series().mutex);
  current_series().pid.store(::getpid());
  current_series().series = series;
  return series;
}

std::shared_ptr<CaptureSeries> CaptureSeries::current() noexcept {
  if (current_series().pid.load() != ::getpid()) return nullptr;
  const std::lock_guard lock(current_series().mutex);
  return current_series().series;
}

Status CaptureSeries::open() try {
  if (Status status = check(options_); !status.ok()) return status;
  if (is_limited(options_))
    return Error(ErrorCode::kInvalidArgument, "delay, duration, until_step: not where captures follow each other");
  first_output_ = resolve_output(options_of(1).output);
  std::unique_lock lock(mutex_);
  if (on_demand()) {
    if (options_.cuda) (void)prepare_device(options_);  // no other profiler subscribes until the signal comes
    deliveries_seen_ = signal_deliveries(options_.record_signal);
    watch_signal(SignalUse::kRecord, options_.record_signal);
  } else {
    // The first one now, so that what is wrong is known to who starts the session.
    cycle_ = 1;
    state_ = State::kStarting;
    if (Status status = start_capture(lock); !status.ok()) return status;
    first_output_ = core_->output();
    if (wanted_at(0).phase == Phase::kActive) begin_recording(lock);
  }
  const base::SignalsBlocked blocked;
  try {
    if (options_.on_capture_ready != nullptr) {
      calls_ = std::make_shared<ReadyCalls>(options_.on_capture_ready);
      calls_->start();
    }
    thread_ended_ = false;
    thread_ = std::thread([self = shared_from_this()] { self->run(); });
    ::pthread_setname_np(thread_.native_handle(), "rf-series");
  } catch (...) {
    if (core_ != nullptr) (void)core_->stop();
    if (calls_ != nullptr) (void)calls_->finish(Clock::now());
    throw;
  }
  return {};
} catch (const std::exception& error) {
  return error_of(error);
}

CaptureSeries::Wanted CaptureSeries::wanted_at(std::uint64_t step) const noexcept {
  const Schedule& schedule = options_.schedule;
  if (schedule.active == 0) return {Phase::kActive, 1};
  if (step < schedule.skip_first) return {};
  const std::uint64_t length = std::uint64_t{schedule.wait} + schedule.warmup + schedule.active;
  const std::uint64_t cycle = (step - schedule.skip_first) / length + 1;
  if (schedule.repeat != 0 && cycle > schedule.repeat) return {};
  return {phase_of_step(schedule, step), cycle};
}

SessionOptions CaptureSeries::options_of(std::uint64_t cycle) const {
  SessionOptions options = options_;
  options.output = of_cycle(options_.output, cycle, on_demand() || options_.schedule.active != 0);
  options.schedule = {};
  options.record_signal = 0;
  options.on_capture_ready = nullptr;
  options.metadata.emplace_back("cycle", std::to_string(cycle));
  return options;
}

// ---- the program's side -----------------------------------------------------------------------------------------

bool CaptureSeries::signalled() noexcept {
  const std::uint32_t now = signal_deliveries(options_.record_signal);
  return std::exchange(deliveries_seen_, now) != now;
}

/// What signals make of this step.
CaptureSeries::Wanted CaptureSeries::asked_for() noexcept {
  const bool asked = signalled();
  if (recording_) {
    const bool over = asked || (options_.record_steps != 0 && step_ - first_step_ >= options_.record_steps);
    return {over ? Phase::kOff : Phase::kActive, cycle_};
  }
  if (state_ == State::kReady && finish_at_ == 0) return {Phase::kActive, cycle_};
  asked_ = asked_ || (asked && state_ != State::kStarting);
  return {};
}

void CaptureSeries::step(std::uint64_t items) noexcept try {
  if (in_child()) return;
  Lock lock(mutex_);
  if (stop_begun_) return;
  ++step_;
  const Wanted want = on_demand() ? asked_for() : wanted_at(step_);
  const bool goes_on = recording_ && want.phase == Phase::kActive && want.cycle == cycle_;
  if (goes_on) {
    const std::shared_ptr<SessionCore> core = core_;
    const std::uint64_t number = step_;
    lock.unlock();
    core->step_to(number, Phase::kActive, items);
    return;
  }
  const bool active_soon =
      want.phase == Phase::kActive || (!on_demand() && wanted_at(step_ + 1).phase == Phase::kActive);
  if (recording_) end_recording(lock, items, active_soon);
  if (want.phase == Phase::kActive) {
    wait_until_ready(lock, want.cycle);
    if (state_ == State::kReady && finish_at_ == 0 && cycle_ == want.cycle)
      begin_recording(lock);
    else if (want.cycle != 0)
      ++missed_;
  }
  if (finish_at_ != 0 && step_ >= finish_at_) ask_to_finish();
  ask_ahead();
} catch (...) {  // no memory: this step is not recorded
}

/// Ranges that are open as the recording goes off end before the next step does: their ends belong into the capture, so
/// that is when it is closed, unless the next recording is near.
void CaptureSeries::end_recording(Lock& lock, std::uint64_t items, bool at_once) {
  const std::shared_ptr<SessionCore> core = core_;
  const std::uint64_t number = step_;
  recording_ = false;
  last_step_ = number - 1;
  finish_at_ = at_once ? number : number + 1;
  lock.unlock();
  core->step_to(number, Phase::kOff, items);
  lock.lock();
  if (at_once) ask_to_finish();
}

void CaptureSeries::begin_recording(Lock& lock) {
  const std::shared_ptr<SessionCore> core = core_;
  const std::uint64_t number = step_;
  recording_ = used_ = true;
  first_step_ = number;
  lock.unlock();
  core->step_to(number, Phase::kActive, 0);
  lock.lock();
}

void CaptureSeries::wait_until_ready(Lock& lock, std::uint64_t cycle) {
  if (cycle == waited_for_) return;
  waited_for_ = cycle;
  if (state_ == State::kReady && finish_at_ != 0) ask_to_finish();
  const Deadline deadline = Clock::now() + options_.flush_period;
  while (!stop_begun_ && cycle > last_cycle_ && !(state_ == State::kReady && cycle_ == cycle)) {
    if (state_ == State::kWaiting) ask_to_start(cycle);
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) return;
  }
}

/// Has a capture started before its first step comes.
void CaptureSeries::ask_ahead() {
  if (state_ != State::kWaiting) return;
  if (on_demand()) {
    if (std::exchange(asked_, false)) ask_to_start(last_cycle_ + 1);
    return;
  }
  const Wanted now = wanted_at(step_);
  const Wanted next = wanted_at(step_ + 1);
  if (now.phase != Phase::kOff && now.cycle > last_cycle_)
    ask_to_start(now.cycle);
  else if (next.phase != Phase::kOff && next.cycle > last_cycle_)
    ask_to_start(next.cycle);
}

void CaptureSeries::ask_to_start(std::uint64_t cycle) {
  cycle_ = cycle;
  state_ = State::kStarting;
  changed_.notify_all();
}

void CaptureSeries::ask_to_finish() {
  if (state_ != State::kReady) return;
  state_ = State::kFinishing;
  changed_.notify_all();
}

// ---- the background thread --------------------------------------------------------------------------------------

void CaptureSeries::run() noexcept {
  Lock lock(mutex_);
  while (!stop_begun_) {
    const auto work = [&] { return stop_begun_ || state_ == State::kStarting || state_ == State::kFinishing; };
    if (on_demand() && step_ == 0)
      changed_.wait_for(lock, options_.flush_period, work);
    else
      changed_.wait(lock, work);
    if (stop_begun_) break;
    if (state_ == State::kStarting)
      (void)start_capture(lock);
    else if (state_ == State::kFinishing)
      finish_capture(lock);
    if (on_demand() && step_ == 0) watch_without_steps(lock);
  }
  thread_ended_ = true;
  changed_.notify_all();
}

/// Programs that have no steps: the second signal ends what the first one began.
void CaptureSeries::watch_without_steps(Lock& lock) {
  const bool asked = signalled();
  if (recording_) {
    if (!asked) return;
    recording_ = false;
    ask_to_finish();
  } else if (state_ == State::kReady) {
    begin_recording(lock);
  } else if (asked && state_ == State::kWaiting) {
    ask_to_start(last_cycle_ + 1);
  }
}

Status CaptureSeries::start_capture(Lock& lock) {
  const std::uint64_t cycle = cycle_;
  lock.unlock();
  std::shared_ptr<SessionCore> core;
  Status status;
  try {
    SessionOptions options = options_of(cycle);
    Dependencies dependencies = make_dependencies_(options);
    dependencies.waits = true;
    Result<std::shared_ptr<SessionCore>> started = SessionCore::start(std::move(options), std::move(dependencies));
    if (started.ok())
      core = std::move(*started);
    else
      status = std::move(started).error();
  } catch (const std::exception& error) {
    status = error_of(error);
  }
  lock.lock();
  if (core != nullptr) {
    if (missed_ != 0) core->writer().meta("steps_missed", std::to_string(missed_));
    if (calls_ != nullptr && calls_->failed() != 0)
      core->writer().meta("callbacks_failed", std::to_string(calls_->failed()));
    core_ = std::move(core);
    state_ = State::kReady;
    used_ = false;
    finish_at_ = 0;
  } else {
    log(LogLevel::kError, {status.error().message()});
    last_cycle_ = cycle;
    state_ = State::kWaiting;
  }
  changed_.notify_all();
  return status;
}

void CaptureSeries::finish_capture(Lock& lock) {
  const std::shared_ptr<SessionCore> core = core_;
  CaptureReady ready;
  ready.number = cycle_;
  ready.first_step = first_step_;
  ready.last_step = last_step_;
  const bool used = used_;
  lock.unlock();
  (void)close(*core, std::move(ready), used);
  const CaptureHealth health = core->health();
  lock.lock();
  last_health_ = health;
  last_cycle_ = cycle_;
  core_.reset();
  finish_at_ = 0;
  state_ = State::kWaiting;
  changed_.notify_all();
}

Status CaptureSeries::close(SessionCore& core, CaptureReady ready, bool used) noexcept try {
  if (!used) core.drop_capture();  // no step of it came
  Status status = core.stop();
  if (used && calls_ != nullptr) {
    ready.path = core.output();
    ready.status = status;
    calls_->add(std::move(ready));
  }
  return status;
} catch (const std::exception& error) {  // no memory: the capture is there, without a callback
  if (used && calls_ != nullptr) calls_->note_failed();
  return error_of(error);
}

// ---- the end ----------------------------------------------------------------------------------------------------

Status CaptureSeries::stop() noexcept {
  if (in_child()) return {};
  const std::shared_ptr<CaptureSeries> self = shared_from_this();  // a callback may be who stops, and others let go
  const Deadline deadline = Clock::now() + options_.stop_timeout;
  std::shared_ptr<SessionCore> core;
  CaptureReady ready;
  bool used = false;
  bool ended = false;
  {
    Lock lock(mutex_);
    if (stop_begun_) {
      changed_.wait_until(lock, deadline, [&] { return stop_ended_; });
      return stop_ended_ ? copy_of(final_status_) : Status();
    }
    stop_begun_ = true;
    changed_.notify_all();
    ended = changed_.wait_until(lock, deadline, [&] { return thread_ended_; });
    if (ended) core = core_;  // else the thread is at it
    ready.number = cycle_;
    ready.first_step = first_step_;
    ready.last_step = recording_ ? step_ : last_step_;
    used = used_;
  }
  if (on_demand()) watch_signal(SignalUse::kRecord, 0);
  if (thread_.joinable()) ended ? thread_.join() : thread_.detach();
  Status status;
  if (core != nullptr) status = close(*core, std::move(ready), used);
  const std::size_t not_made = calls_ != nullptr ? calls_->finish(deadline) : 0;
  if (not_made != 0 && status.ok()) status = calls_left_out(not_made);
  {
    const std::lock_guard lock(mutex_);
    if (core != nullptr) last_health_ = core->health();
    core_.reset();
    final_status_ = copy_of(status);
    stop_ended_ = true;
  }
  changed_.notify_all();
  std::shared_ptr<CaptureSeries> last;  // given up outside of the lock
  const std::lock_guard lock(current_series().mutex);
  if (current_series().series.get() == this) last = std::move(current_series().series);
  return status;
}

// ---- what is asked ----------------------------------------------------------------------------------------------

// A child of fork may find the mutex taken for good; it has one thread, and needs none.

std::uint64_t CaptureSeries::step_number() const noexcept {
  if (in_child()) return step_;
  const std::lock_guard lock(mutex_);
  return step_;
}

bool CaptureSeries::running() const noexcept {
  if (in_child()) return false;
  const std::lock_guard lock(mutex_);
  return !stop_begun_;
}

std::shared_ptr<SessionCore> CaptureSeries::core() const noexcept {
  if (in_child()) return nullptr;
  const std::lock_guard lock(mutex_);
  return core_;
}

CaptureHealth CaptureSeries::health() const noexcept {
  if (in_child()) return {};
  const std::shared_ptr<SessionCore> now = core();
  if (now != nullptr) return now->health();
  const std::lock_guard lock(mutex_);
  return last_health_;
}

DeviceState CaptureSeries::device() const {
  if (in_child()) return {false, kChild};
  if (const std::shared_ptr<SessionCore> now = core(); now != nullptr) return now->device();
  return {false, "nothing is recorded now"};
}

}  // namespace rangefinder::session
