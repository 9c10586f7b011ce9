// SPDX-License-Identifier: MIT
#include "session/session_core.hpp"

#include "base/cpu_key.hpp"
#include "base/host_name.hpp"
#include "base/lists.hpp"
#include "base/never_destroyed.hpp"
#include "base/signals_blocked.hpp"
#include "buffer/held_records.hpp"
#include "buffer/name_table.hpp"
#include "buffer/recorder.hpp"
#include "buffer/thread_log.hpp"
#include "session/dependencies.hpp"
#include "session/option_table.hpp"
#include "session/options.hpp"
#include "session/signal_watch.hpp"

#include <rangefinder/version.hpp>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>
#include <utility>

namespace rangefinder::session {
namespace {

// Sources that have a state of their own, beside that of device activity.
constexpr std::string_view kSamples = "samples";
constexpr std::string_view kCounters = "counters";

// Never destroyed, so that the exit handler finds them whatever static destructors have run.
std::mutex& current_mutex() noexcept {
  static base::NeverDestroyed<std::mutex> mutex;
  return *mutex;
}
std::shared_ptr<SessionCore>& current() noexcept {
  static base::NeverDestroyed<std::shared_ptr<SessionCore>> session;
  return *session;
}
std::atomic<bool> starting{false};

/// Once in a process: stop at exit; and in a child of fork, find what other threads held in order.
void register_with_process() noexcept {
  static const int at_exit = std::atexit([] {
    if (const std::shared_ptr<SessionCore> session = current_session(); session != nullptr) (void)session->stop();
  });
  static const int at_fork = ::pthread_atfork(
      [] {
        current_mutex().lock();
        lock_signals();
      },
      [] {
        unlock_signals();
        current_mutex().unlock();
      },
      [] {
        unlock_signals();
        current_mutex().unlock();
        starting.store(false);
      });
  (void)at_exit, (void)at_fork;
}

/// Held while a session starts: two at once must not both find that none runs.
class Starting {
 public:
  Starting() noexcept : first_(!starting.exchange(true)) {}
  ~Starting() {
    if (first_) starting.store(false);
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;
  bool first() const noexcept { return first_; }

 private:
  bool first_;
};

}  // namespace

bool is_limited(const SessionOptions& options) noexcept {
  return options.delay.count() > 0 || options.duration.count() > 0 || options.until_step != 0;
}

std::shared_ptr<SessionCore> current_session() noexcept {
  const std::lock_guard lock(current_mutex());
  return current();
}

void forget_session(const SessionCore& session) noexcept {
  std::shared_ptr<SessionCore> last;  // given up outside of the lock
  const std::lock_guard lock(current_mutex());
  if (current().get() == &session) last = std::move(current());
}

Phase phase_of_step(const Schedule& schedule, std::uint64_t step) noexcept {
  if (schedule.active == 0) return Phase::kActive;
  if (step < schedule.skip_first) return Phase::kOff;
  step -= schedule.skip_first;
  const std::uint64_t cycle = std::uint64_t{schedule.wait} + schedule.warmup + schedule.active;
  if (schedule.repeat != 0 && step / cycle >= schedule.repeat) return Phase::kOff;
  const std::uint64_t position = step % cycle;
  if (position < schedule.wait) return Phase::kOff;
  return position < std::uint64_t{schedule.wait} + schedule.warmup ? Phase::kWarmup : Phase::kActive;
}

SessionCore::SessionCore(SessionOptions options, Dependencies dependencies)
    : options_(std::move(options)),
      dependencies_(std::move(dependencies)),
      output_(resolve_output(options_.output)),
      pid_(::getpid()),
      clock_(dependencies_.clock != nullptr ? dependencies_.clock : &clock::system_clock()),
      delayed_(options_.delay.count() > 0) {}

SessionCore::~SessionCore() = default;

Result<std::shared_ptr<SessionCore>> SessionCore::start(SessionOptions options, Dependencies dependencies) {
  register_with_process();
  if (Status status = check(options); !status.ok()) return std::move(status).error();
  const Starting now;
  const std::shared_ptr<SessionCore> running = current_session();
  if (!now.first() || (running != nullptr && !running->in_child())) {
    return Error(ErrorCode::kBusy, "a session runs already in this process (" +
                                       (running != nullptr ? running->output() : std::string("just starting")) +
                                       "); stop it first");
  }
  if (buffer::Recorder::instance().generation() != 0 && !buffer::HeldRecords::instance().holding())
    return Error(ErrorCode::kBusy, "the last session of this process is still being written");
  std::shared_ptr<SessionCore> core(new SessionCore(std::move(options), std::move(dependencies)));
  Status status;
  try {
    status = core->open();
    if (!status) return std::move(status).error().with_context("session");
    core->writer_->sample_clock();
    core->write_facts();
    core->write_held();
    core->start_sources();
    status = core->start_threads();
  } catch (const std::exception& error) {
    status = error_of(error);
  }
  if (!status) {
    (void)core->stop();
    // Where there was no thread to do it: they know the writer.
    for (const auto& source : core->dependencies_.sources) source->stop(std::chrono::steady_clock::now());
    return std::move(status).error().with_context("session");
  }
  {
    const std::lock_guard lock(current_mutex());
    current() = core;
  }
  watch_signal(SignalUse::kDump, core->options_.dump_signal);
  if (!core->dependencies_.waits && !core->delayed_) core->begin();
  core->writer_->write_queued();
  if (status = core->start_limits(); !status) {
    (void)core->stop();
    return std::move(status).error().with_context("session");
  }
  log(LogLevel::kInfo, {"recording to ", core->output_});
  return core;
}

void SessionCore::write_facts() {
  const auto fact = [&](const char* key, const std::string& value) { writer_->meta(key, value); };
  fact("rangefinder_version", RANGEFINDER_VERSION);
  fact("program", ::program_invocation_short_name);
  fact("host", base::host_name());
  // Containers of one machine have names of their own and share its clock.
  std::string boot;
  if (std::ifstream("/proc/sys/kernel/random/boot_id") >> boot) fact("boot", boot);
  fact("cpu_key", base::cpu_key());
  if (const int rank = rank_from_environment(); rank >= 0) fact("rank", std::to_string(rank));
  if (const int size = world_size_from_environment(); size >= 0) fact("world_size", std::to_string(size));
  if (dependencies_.cpu_counters != nullptr) fact("cpu_counters", dependencies_.cpu_counters_state);
  for (const auto& [key, value] : options_.metadata) writer_->meta(key, value);
}

/// What was recorded of captures of CUDA graphs before.
void SessionCore::write_held() {
  if (dependencies_.sources.empty()) return;  // who records no device replays nothing
  buffer::HeldRecords& held = buffer::HeldRecords::instance();
  // It is older than all else and never out of date.
  const auto keep = [this](bool on) {
    if (ring_ != nullptr) writer_->with_output([&](ChunkOutput&) { ring_->keep_for_good(on); });
  };
  for (const clock::ClockPoint& point : held.clock_points()) writer_->write_clock(point);
  keep(true);
  const CaptureHealth lost = held.replay(*writer_);
  keep(false);
  for (const CaptureHealth::Entry& entry : lost.entries()) {
    if (entry.count != 0) writer_->count(entry.number, entry.count);
  }
}

void SessionCore::start_sources() {
  for (const auto& source : dependencies_.sources) {
    const source::SourceState state = source->start(*writer_);
    if (!state.working && (source->name() == kSamples || source->name() == kCounters))
      log(LogLevel::kWarn, {source->name(), ": ", state.reason});
  }
  write_device_state();
}

void SessionCore::write_device_state() {
  const DeviceState state = device();
  writer_->meta("device_state", state.full ? "full" : "host_only: " + state.reason);
  if (!state.full) log(LogLevel::kWarn, {"device activity is not recorded: ", state.reason});
}

Status SessionCore::start_threads() {
  const base::SignalsBlocked blocked;
  // The threads keep the session alive: a stop that runs out of time leaves them behind.
  const std::shared_ptr<SessionCore> self = shared_from_this();
  const auto begin = [&](std::thread& thread, bool& ended, void (SessionCore::*loop)() noexcept, const char* name) {
    {
      const std::lock_guard lock(state_mutex_);
      ended = false;
    }
    try {
      thread = std::thread([self, loop] { ((*self).*loop)(); });
    } catch (...) {
      const std::lock_guard lock(state_mutex_);
      ended = true;
      throw;
    }
    ::pthread_setname_np(thread.native_handle(), name);
  };
  try {
    begin(collect_thread_, collect_ended_, &SessionCore::collect_loop, "rf-collect");
    begin(drain_thread_, drain_ended_, &SessionCore::drain_loop, "rf-drain");
  } catch (const std::exception& error) {
    return error_of(error, "cannot start a background thread: ");
  }
  return {};
}

bool SessionCore::in_child() const noexcept { return ::getpid() != pid_; }

void SessionCore::enter_phase(Phase phase, std::uint64_t items_done) noexcept {
  const bool was = phase_ == Phase::kActive;
  const bool is = phase == Phase::kActive;
  phase_ = phase;
  auto& recorder = buffer::Recorder::instance();
  const auto number = static_cast<std::uint32_t>(step_.load(std::memory_order_relaxed));
  if (is && !was) {
    window_begin_ = clock_->ticks();
    writer_->write_window({window_begin_, 0, ++windows_});
    for (const auto& source : dependencies_.sources) source->set_active(true);
    recorder.set_recording(true);
  }
  // Also when the recording goes off now: a step ends where the next one is noted.
  if (is || was) {
    buffer::before_step();
    buffer::note_step(number, was ? items_done : 0, is);
  }
  if (was && !is) {
    recorder.set_recording(false);
    for (const auto& source : dependencies_.sources) source->set_active(false);
    writer_->write_window({window_begin_, clock_->ticks(), windows_});
    window_begin_ = 0;
  }
}

void SessionCore::begin() noexcept {
  const ActivityLock stepping(*this, kStepping);
  if (stopping_.load(std::memory_order_acquire)) return;
  delayed_ = false;
  enter_phase(phase_of_step(options_.schedule, step_number()));
}

void SessionCore::step(std::uint64_t items) noexcept {
  const std::uint64_t next = step_number() + 1;
  const bool is_last = options_.until_step != 0 && next >= options_.until_step;
  step_to(next, is_last ? Phase::kOff : phase_of_step(options_.schedule, next), items);
  if (!is_last) return;
  {
    const std::lock_guard lock(state_mutex_);
    limit_reached_ = true;
  }
  changed_.notify_all();
}

void SessionCore::step_to(std::uint64_t number, Phase phase, std::uint64_t items) noexcept {
  if (in_child()) return;
  const ActivityLock stepping(*this, kStepping);
  if (stopping_.load(std::memory_order_acquire)) return;
  step_.store(number, std::memory_order_relaxed);
  if (delayed_) return;
  if (options_.dump_step_over.count() > 0) {
    const std::uint64_t now = clock_->ticks();
    const auto limit = static_cast<std::uint64_t>(static_cast<unsigned __int128>(options_.dump_step_over.count()) *
                                                  clock_->ticks_per_second() / 1'000'000'000u);
    if (step_begin_ != 0 && now - step_begin_ > limit) {
      {
        const std::lock_guard lock(state_mutex_);
        slow_steps_.fetch_add(1, std::memory_order_relaxed);
      }
      changed_.notify_all();
    }
    step_begin_ = now;
  }
  enter_phase(phase, items);
}

Status SessionCore::flush() noexcept try {
  if (in_child()) return {};
  std::unique_lock lock(state_mutex_);
  if (stopping_.load(std::memory_order_relaxed)) return {};
  const std::uint64_t mine = ++flushes_asked_;
  changed_.notify_all();
  changed_.wait_for(lock, options_.stop_timeout,
                    [&] { return flushes_done_ >= mine || stopping_.load(std::memory_order_relaxed); });
  if (flushes_done_ >= mine) return copy_of(flush_status_);
  if (stopping_.load(std::memory_order_relaxed)) return {};  // which writes it
  return Error(ErrorCode::kTimeout, "flush: disk or device did not answer within " +
                                        std::to_string(options_.stop_timeout.count()) + " ms; the live file has it");
} catch (const std::exception&) {
  return no_memory();
}

bool SessionCore::release(Deadline deadline) noexcept {
  if (in_child()) return true;
  const ActivityLock collecting(*this, kCollecting, deadline);
  if (!collecting) return false;
  if (stopping_.load(std::memory_order_acquire)) return true;
  const bool recorded = device().full;
  for (const auto& source : dependencies_.sources) {
    if (!source->uses_cupti()) continue;
    source->set_active(false);
    source->stop(deadline);
    if (source->at_sink()) return false;
  }
  if (recorded) {
    released_.store(true, std::memory_order_relaxed);
    writer_->meta("device_state", kReleasedState);
  }
  return true;
}

void SessionCore::start_device_again() noexcept try {
  // CUPTI may call cuInit, which brings a thread of its own here.
  if (in_child() || released_.load(std::memory_order_relaxed) || starting_again_.exchange(true)) return;
  {
    const Deadline deadline = std::chrono::steady_clock::now() + options_.stop_timeout;
    const ActivityLock stepping(*this, kStepping, deadline);
    const ActivityLock collecting(*this, kCollecting, deadline);
    bool any = false;
    for (const auto& source : dependencies_.sources) {
      if (!stepping || !collecting || stopping_.load(std::memory_order_acquire)) break;
      if (!source->uses_cupti() || source->state().working || !source->start(*writer_).working) continue;
      source->set_active(phase_ == Phase::kActive);
      any = true;
    }
    if (any) write_device_state();
  }
  starting_again_.store(false);
} catch (const std::exception&) {  // no memory: what is recorded goes on
  starting_again_.store(false);
}

CaptureHealth SessionCore::health() const noexcept {
  if (in_child()) return {};  // which may find the mutexes taken for good
  {
    const std::lock_guard lock(state_mutex_);
    if (stop_ended_) return final_health_;
  }
  return buffer::Recorder::instance().health();
}

DeviceState SessionCore::device() const noexcept try {
  if (in_child()) return {false, kChild};
  if (!options_.counters.empty())
    return {false,
            "switched off: counters=" + base::joined(options_.counters, "+") + " waits for the device around ranges"};
  if (!options_.cuda) return {false, "switched off (cuda=off)"};
  if (!has_device_source()) return {false, kNoCupti};
  if (released_.load(std::memory_order_relaxed)) return {false, kReleased};
  for (const auto& source : dependencies_.sources) {
    if (!source->records_device_work()) continue;
    const source::SourceState state = source->state();
    if (!state.working) return {false, state.reason};
  }
  return {true, {}};
} catch (const std::exception&) {
  return {false, no_memory().message()};
}

bool SessionCore::has_device_source() const noexcept {
  for (const auto& source : dependencies_.sources) {
    if (source->records_device_work()) return true;
  }
  return false;
}

bool SessionCore::running() const noexcept { return !stopping_.load(std::memory_order_acquire) && !in_child(); }

}  // namespace rangefinder::session
