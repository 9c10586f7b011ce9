// SPDX-License-Identifier: MIT
#include "source/cupti/process.hpp"

#include "base/health_numbers.hpp"
#include "buffer/thread_log.hpp"
#include "source/cupti/cupti_error.hpp"
#include "source/cupti/graph_nodes.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>

namespace rangefinder::source::cupti {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// A pause of the schedule ends on the training thread.
constexpr auto kResumePatience = 2s;
constexpr auto kExitPatience = 2s;
// Of the stop of a recording whose deadline CUPTI has used up: for what has come to be decoded and written.
constexpr auto kLastPatience = 1s;
constexpr std::size_t kPreparedAtStart = 4;
constexpr std::size_t kSmallestBuffer = 64 << 10;

std::int64_t realtime_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void stop_at_exit() noexcept {
  // A child of fork has our state, but neither our threads nor a say in the parent's files.
  if (callback_state().closed.load() != Closed::kNo) return;
  Process& process = Process::instance();
  // A session that was not stopped: its records are still wanted. Registered when CUPTI was opened, so this runs before
  // the handlers of a driver that was initialised earlier; and again by the first flush after a launch. The last one
  // that was registered does it.
  try {
    if (const void* owner = process.owner()) process.stop(owner, steady_clock::now() + kExitPatience);
  } catch (...) {
  }
  // CUPTI's threads go on until the process is gone; what they bring is discarded. cuptiFinalize is not called: it
  // races with the program's other threads.
  Closed open = Closed::kNo;
  callback_state().closed.compare_exchange_strong(open, Closed::kExiting);
}

void watch_process() {
  static const int registered = [] {
    std::atexit(&stop_at_exit);
    return ::pthread_atfork(nullptr, nullptr, &cupti_after_fork_in_child);
  }();
  (void)registered;
}

SourceState host_only(std::string reason) { return {false, std::move(reason)}; }

// docs/reference/cupti.md, "Pauses", weighs the two. `harmless`: what is switched on again works as before.
bool disables(const CuptiOptions& options, bool harmless) noexcept {
  switch (options.idle) {
    case CuptiOptions::Idle::kGate:
      return false;
    case CuptiOptions::Idle::kDisable:
      return true;
    case CuptiOptions::Idle::kAuto:
      break;
  }
  return harmless;
}

bool pauses_disable(const CuptiOptions& options, std::uint32_t cupti_version) noexcept {
  return disables(options, cupti_version >= kCorrelationsSurvive);
}

}  // namespace

Process& Process::instance() {
  static base::NeverDestroyed<Process> process;
  return *process;
}

Turn::Held::Held(Turn& turn, std::chrono::steady_clock::time_point deadline) : turn_(turn), got_(turn.take(deadline)) {}

Turn::Held::~Held() {
  if (!got_) return;
  {
    const std::lock_guard lock(turn_.mutex_);
    turn_.taken_ = false;
  }
  turn_.free_.notify_one();
}

bool Turn::take(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (!free_.wait_until(lock, deadline, [this] { return !taken_; })) return false;
  return taken_ = true;
}

std::shared_ptr<Process::Opened> Process::opened() const {
  const std::lock_guard lock(opened_mutex_);
  return opened_;
}

void Process::set_opened(std::shared_ptr<Opened> opened) {
  const std::lock_guard lock(opened_mutex_);
  opened_.swap(opened);
}

// ---- start -----------------------------------------------------------------------------------------------------

SourceState Process::start(const void* owner, RowSink& sink, const CuptiOptions& options, const CuptiSeams& seams) {
  const Turn::Held turn(control_, steady_clock::now() + 10s);
  if (!turn || this->owner() != nullptr) return host_only("another recording of this process uses CUPTI");
  if (calls_.busy_for() > 0ns) {
    return host_only("CUPTI does not answer: a call of an earlier recording has not returned for " +
                     std::to_string(std::chrono::duration_cast<std::chrono::seconds>(calls_.busy_for()).count()) +
                     " s");
  }
  SourceState state =
      on_call_thread([this, options, seams] { return open_and_start(options, seams); }, options.start_patience);
  if (!state.working) {
    report_failure(sink);
    (void)calls_.end(steady_clock::now() + 1s);
    return state;
  }
  options_ = options;
  device_ended_ = false;
  note_ = seams.note_launch != nullptr ? seams.note_launch : &buffer::note_launch;
  const std::shared_ptr<Opened> opened = this->opened();
  const CuptiApi& api = opened->subscription.api();
  try {
    sink.meta("cupti_version", version_text(api.version));
    sink.meta("cupti_library", api.path);
    if (api.driver_version != 0) sink.meta("cuda_driver_version", std::to_string(api.driver_version));
    if (api.simulated) sink.meta("simulated", "yes");
    sink.meta("cupti_kinds", opened->subscription.kinds_text());
    opened->collector.start(sink, options);
  } catch (...) {
    // No thread would decode what comes.
    calls_.post([opened] { opened->subscription.close(); });
    throw;
  }
  owner_.store(owner, std::memory_order_release);
  return state;
}

SourceState Process::prepare(const CuptiOptions& options, const CuptiSeams& seams) {
  const Turn::Held turn(control_, steady_clock::now() + 10s);
  if (!turn) return host_only("another recording of this process uses CUPTI");
  if (owner() != nullptr) return state();
  SourceState state =
      on_call_thread([this, options, seams] { return open_ahead(options, seams); }, options.start_patience);
  (void)calls_.end(steady_clock::now() + 1s);
  return state;
}

SourceState Process::on_call_thread(std::function<Status()> work, std::chrono::milliseconds patience) {
  // The task may outlive this call: it has its own copies.
  const auto outcome = std::make_shared<Status>(Error(ErrorCode::kTimeout, "no memory"));
  enum Stage : int { kWanted, kDone, kGivenUp };
  const auto stage = std::make_shared<std::atomic<int>>(kWanted);
  const CallThread::Ticket ticket = calls_.post([this, outcome, stage, work = std::move(work)] {
    try {
      *outcome = work();
    } catch (const std::exception& error) {
      *outcome = Error(ErrorCode::kInternal, std::string("opening CUPTI: ") + error.what());
    }
    // The caller has stopped waiting: what was opened and enabled would cost the program for the rest of its life.
    const std::shared_ptr<Opened> opened = this->opened();
    if (stage->exchange(kDone) == kGivenUp && opened != nullptr) opened->subscription.close();
  });
  if (!calls_.wait(ticket, steady_clock::now() + patience) && stage->exchange(kGivenUp) != kDone)
    return host_only("CUPTI did not answer within " + std::to_string(patience.count()) +
                     " ms; the subscription is released when it does");
  if (!outcome->ok()) return host_only(outcome->error().message());
  return {true, {}};
}

Status Process::open_if_needed(const CuptiOptions& options, const CuptiSeams& seams) {
  CallbackState& state = callback_state();
  if (state.fatal.load()) {
    return Error(ErrorCode::kUnsupported, describe_failure("CUPTI has shut itself down in this process",
                                                           static_cast<CUptiResult>(state.fatal_result.load())));
  }
  prepare_callback_state();
  if (Status status = provide_buffers(options); !status.ok()) return status;
  // What came back after the last recording belongs to none. The collector is not running yet.
  for (BufferPool::Filled filled; pools_.back()->pop(filled);) pools_.back()->recycle(filled);
  if (options.api_records) {
    if (launch_threads_ == nullptr) launch_threads_ = std::make_unique<LaunchThreads>();
    launch_threads_->clear();
  }
  state.threads.store(options.api_records ? launch_threads_.get() : nullptr);
  const std::shared_ptr<Opened> opened = this->opened();
  if (opened != nullptr && opened->subscription.is_open()) return {};
  return or_close([&] { return open(options, seams); });
}

Status Process::open_ahead(const CuptiOptions& options, const CuptiSeams& seams) {
  if (Status status = open_if_needed(options, seams); !status.ok()) return status;
  opened()->subscription.trace_whole_graphs_ahead(options);
  return {};
}

/// What opens CUPTI half and then has no more memory gives the place up again.
Status Process::or_close(const std::function<Status()>& work) try { return work(); } catch (const std::exception&) {
  if (const std::shared_ptr<Opened> opened = this->opened(); opened != nullptr) opened->subscription.close();
  throw;
}

Status Process::open_and_start(const CuptiOptions& options, const CuptiSeams& seams) {
  if (Status status = open_if_needed(options, seams); !status.ok()) return status;
  const std::shared_ptr<Opened> opened = this->opened();
  Status status = or_close([&] { return opened->subscription.start(options); });
  // Without kernels we have no use for the place; somebody else may.
  if (!status.ok()) opened->subscription.close();
  return status;
}

Status Process::open(const CuptiOptions& options, const CuptiSeams& seams) {
  if (Status status = check_left_to_others(); !status.ok()) return status;
  Result<CuptiApi> api = seams.load ? seams.load() : load_cupti();
  if (!api) return std::move(api).error();
  callback_state().never_refuse = api->version < kRefusalIsSafe;
  // Callbacks come as soon as we subscribe, and a fork may come at any time.
  watch_process();
  set_opened(std::make_shared<Opened>(std::move(*api), calls_,
                                      seams.realtime_ns != nullptr ? seams.realtime_ns : &realtime_ns));
  return opened()->subscription.open(options);
}

Status Process::provide_buffers(const CuptiOptions& options) {
  const bool fits = !pools_.empty() && pool_options_.memory_bytes == options.memory_bytes &&
                    pool_options_.buffer_bytes == options.buffer_bytes;
  // Buffers that CUPTI still has come back to the pool they are from; until then the old bound holds.
  if (!fits && (pools_.empty() || pools_.back()->outstanding() == 0)) {
    const std::size_t share = std::max(options.memory_bytes / 8, kSmallestBuffer);
    std::unique_ptr<BufferPool> pool = BufferPool::create(options.memory_bytes, std::min(options.buffer_bytes, share));
    if (pool == nullptr) {
      return Error(ErrorCode::kIo,
                   "no address space for " + std::to_string(options.memory_bytes) + " bytes of activity buffers");
    }
    if (!pools_.empty()) {
      for (BufferPool::Filled filled; pools_.back()->pop(filled);) pools_.back()->recycle(filled);
      pools_.back()->release_memory();
    }
    pools_.push_back(std::move(pool));
    pool_options_ = options;
    callback_state().pool.store(pools_.back().get(), std::memory_order_release);
  }
  pools_.back()->prepare(kPreparedAtStart);
  return {};
}

void Process::report_failure(RowSink& sink) {
  const std::shared_ptr<Opened> opened = this->opened();
  if (opened == nullptr) return;
  const CallFacts facts = opened->subscription.take_facts();
  if (facts.errors != 0) sink.count(health::cupti_errors, facts.errors);
}

// ---- a recording -----------------------------------------------------------------------------------------------

void Process::set_active(bool active) {
  const std::shared_ptr<Opened> opened = this->opened();
  const bool switches = pauses_disable(options_, opened->subscription.api().version);
  const auto enable = [opened](bool on) { return [opened, on] { (void)opened->subscription.enable_work(on); }; };
  std::unique_lock lock(active_mutex_);
  const bool was = std::exchange(active_, active);
  if (!active) {
    stop_noting();
    if (was) opened->collector.close_window();
    if (switches) calls_.post(enable(false));  // also when a schedule begins with a pause
    return;
  }
  if (was) return;
  if (switches) {
    lock.unlock();
    bool enabled = false;
    try {
      enabled = calls_.wait(calls_.post(enable(true)), steady_clock::now() + kResumePatience);
    } catch (const std::exception&) {  // no memory for the task
    }
    if (!enabled) opened->collector.note_timeout();
    lock.lock();
    if (!active_) return;  // stopped meanwhile
  }
  opened->collector.open_window();
  start_noting(note_, options_.api_records ? launch_threads_.get() : nullptr);
}

void Process::flush(Time deadline) {
  // CUDA is in use by now. What it registered for the exit since we were opened would run before our handler.
  if (!saw_launches_ && callback_state().launches.load(std::memory_order_relaxed) != 0)
    saw_launches_ = std::atexit(&stop_at_exit) == 0;
  (void)opened()->collector.flush(deadline);
}

void Process::stop(const void* owner, Time deadline) {
  // Another stop has it while the sink does not answer.
  const Turn::Held turn(control_, deadline);
  if (!turn || this->owner() != owner) return;
  const std::shared_ptr<Opened> opened = this->opened();
  if (!std::exchange(device_ended_, true)) end_device(opened, deadline);
  if (!opened->collector.stop(std::max<Time>(deadline, steady_clock::now() + kLastPatience))) return;
  // A thread that is stuck in CUPTI stays behind and ends when CUPTI lets it go.
  const bool stuck = calls_.busy_for() > 0ns;
  if (!stuck && opened->collector.problem() == Collector::Problem::kTakenOver)
    opened->subscription.forget_registration();  // also where that was seen at the very end
  if (calls_.end(stuck ? deadline : steady_clock::now() + kLastPatience) && options_.idle != CuptiOptions::Idle::kGate)
    pools_.back()->release_memory();
  owner_.store(nullptr, std::memory_order_release);
}

void Process::end_device(const std::shared_ptr<Opened>& opened, Time deadline) {
  {
    const std::lock_guard active_lock(active_mutex_);
    stop_noting();
    if (std::exchange(active_, false)) opened->collector.close_window();
  }
  const Time now = steady_clock::now();
  const Time patience = std::min<Time>(now + options_.stop_patience, now + (deadline - now) / 2);
  // Of a program without graphs no ids go wrong, and it runs on for hours.
  opened->saw_graphs = opened->saw_graphs || opened->decoder.saw_graphs() || graph_nodes().any_seen();
  const bool disable =
      disables(options_, opened->subscription.api().version >= kCorrelationsSurvive || !opened->saw_graphs);
  const bool taken_over = opened->collector.problem() == Collector::Problem::kTakenOver;
  bool answered = false;
  try {
    answered = calls_.wait(calls_.post([opened, disable, patience, taken_over] {
      if (taken_over)
        opened->subscription.finish_taken_over();
      else
        opened->subscription.finish(disable, patience);
    }),
                           deadline);
  } catch (const std::exception&) {  // no memory for the task: the recording ends with what it has
  }
  if (!answered) opened->collector.note_timeout();
}

Status Process::release(Time deadline) {
  const Turn::Held turn(control_, deadline);
  if (!turn) return Error(ErrorCode::kBusy, "a recording of this process is starting or ending and still uses CUPTI");
  if (owner() != nullptr) return Error(ErrorCode::kBusy, "another recording of this process uses CUPTI");
  const std::shared_ptr<Opened> opened = this->opened();
  if (opened == nullptr) return {};
  if (calls_.wait(calls_.post([opened] { opened->subscription.close(); }), deadline) && calls_.end(deadline)) return {};
  return Error(ErrorCode::kTimeout, "CUPTI does not answer; the subscription is released when it does");
}

SourceState Process::state() const {
  const std::shared_ptr<Opened> opened = this->opened();
  const Collector::Problem problem = opened->collector.problem();
  return {problem == Collector::Problem::kNone, opened->collector.problem_text(problem)};
}

}  // namespace rangefinder::source::cupti
