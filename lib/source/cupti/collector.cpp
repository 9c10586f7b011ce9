// SPDX-License-Identifier: MIT
#include "source/cupti/collector.hpp"

#include "base/health_numbers.hpp"
#include "base/signals_blocked.hpp"
#include "source/cupti/cupti_error.hpp"
#include "source/cupti/graph_nodes.hpp"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>

namespace rangefinder::source::cupti {
namespace {

// How many cleared buffers wait for CUPTI: one each for a few threads, without holding the whole bound resident.
constexpr std::size_t kPreparedAhead = 4;
// Of the schedule between two flushes; more find room where there is memory.
constexpr std::size_t kMaxChanges = 16;
// More than slewing moves it between two flushes; see clock_table.cpp.
constexpr std::int64_t kStepNs = 10'000'000;

std::int64_t steady_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Collector::Collector(CallThread& calls, Subscription& subscription, ActivityDecoder& decoder, RealtimeClock realtime)
    : calls_(calls), subscription_(subscription), decoder_(decoder), realtime_(realtime) {}

// ---- called from outside ---------------------------------------------------------------------------------------

void Collector::start(RowSink& sink, const CuptiOptions& options) {
  CallbackState& state = callback_state();
  const BufferPool& pool = *state.pool.load();
  sink_ = &sink;
  options_ = options;
  patience_ms_ = options.flush_patience.count();
  {
    const std::lock_guard lock(mutex_);
    window_changes_.clear();
    window_changes_.reserve(kMaxChanges);
    timeouts_ = 0;
    ending_ = ended_ = false;
  }
  taken_over_ = noticed_late_ = false;
  quiet_launches_ = 0;
  flush_pending_ = false;
  next_flush_ = std::chrono::steady_clock::now() + options.flush_period;
  notes_.clear();
  refused_seen_ = state.refused.load();
  foreign_seen_ = state.foreign_buffers.load();
  emergencies_seen_ = pool.emergencies();
  activity_seen_ = state.requests.load() + state.returns.load();
  launches_seen_ = state.launches.load();
  quiet_flushes_ = 0;
  doubt_reported_ = false;
  problem_reported_ = Problem::kNone;
  realtime_offset_ns_ = realtime_() - steady_ns();
  decoder_.begin(sink, options.noisy_api_filter, subscription_.system_thread_ids(), state.threads.load());
  graph_nodes().begin();
  graphs_whole_ = options.graph_tracing != CuptiOptions::GraphTracing::kNodes;
  const bool automatic = options.graph_tracing == CuptiOptions::GraphTracing::kAutomatic;
  decoder_.graphs().begin(automatic ? std::max(1u, options.graph_node_replays) : 0);
  report_facts(false);
  sink.meta("cupti_clock", decoder_.clock().description());
  const base::SignalsBlocked blocked;
  thread_ = std::thread([this] {
    run();
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    served_changed_.notify_all();
  });
  ::pthread_setname_np(thread_.native_handle(), "rf-cupti");
}

void Collector::change_window(bool open) {
  const std::uint64_t newest = callback_state().newest_correlation.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  try {
    window_changes_.push_back({open, realtime_(), newest});
  } catch (const std::exception&) {  // no memory: what it lets in or keeps out is not told apart
    sink_->count(health::records_not_written, 1);
  }
}

void Collector::open_window() { change_window(true); }
void Collector::close_window() { change_window(false); }

bool Collector::flush(Time deadline) {
  const CallThread::Ticket ticket = calls_.post([this] { subscription_.flush(0); });
  const bool answered = calls_.wait(ticket, deadline);
  if (!answered) note_timeout();
  // What came back by itself is decoded even so.
  return drain_now(deadline) && answered;
}

void Collector::note_timeout() {
  const CallThread::Ticket hanging = calls_.oldest_unfinished();
  const std::lock_guard lock(mutex_);
  if (timeout_noted_for_ == hanging) return;
  timeout_noted_for_ = hanging;
  ++timeouts_;
}

bool Collector::drain_now(Time deadline) {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = ++drains_asked_;
  ::sem_post(&callback_state().work);
  return served_changed_.wait_until(lock, deadline, [&] { return drains_served_ >= mine || ending_; });
}

bool Collector::stop(Time deadline) {
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    ::sem_post(&callback_state().work);
    served_changed_.notify_all();
    if (!served_changed_.wait_until(lock, deadline, [this] { return ended_; })) return false;
  }
  if (thread_.joinable()) thread_.join();
  graph_nodes().end();
  sink_ = nullptr;
  return true;
}

// ---- the thread ------------------------------------------------------------------------------------------------

void Collector::run() {
  ignore_callbacks_of_this_thread();
  for (bool last = false; !last;) {
    std::uint64_t asked;
    {
      const std::lock_guard lock(mutex_);
      last = ending_;
      asked = drains_asked_;
    }
    drain(last);
    {
      const std::lock_guard lock(mutex_);
      drains_served_ = asked;
    }
    served_changed_.notify_all();
    if (last) break;
    const Time now = std::chrono::steady_clock::now();
    try {
      tick(now);
    } catch (const std::exception&) {  // no thread for the call: the next period tries again
      next_flush_ = now + options_.flush_period;
    }
    wait_for_work(flush_pending_ ? now + std::chrono::milliseconds(50) : next_flush_);
  }
}

void Collector::wait_for_work(Time until) {
  sem_t* const work = &callback_state().work;
  if (options_.flush_period.count() == 0 && !flush_pending_) {
    while (::sem_wait(work) != 0 && errno == EINTR) {
    }
  } else {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count();
    timespec at{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    // steady_clock is CLOCK_MONOTONIC: a step of CLOCK_REALTIME must not stop the flushes.
    while (::sem_clockwait(work, CLOCK_MONOTONIC, &at) != 0 && errno == EINTR) {
    }
  }
  while (::sem_trywait(work) == 0) {
  }
}

void Collector::tick(Time now) {
  if (flush_pending_ && calls_.finished(flush_ticket_)) {
    flush_pending_ = false;
    next_flush_ = now + options_.flush_period;
    return;
  }
  if (flush_pending_) {
    if (calls_.busy_for() > options_.flush_patience) note_timeout();
    return;
  }
  if (options_.flush_period.count() == 0 || now < next_flush_) return;
  flush_ticket_ = calls_.post([this] {
    subscription_.flush(0);
    ::sem_post(&callback_state().work);
  });
  flush_pending_ = true;
}

void Collector::drain(bool last) {
  // One by one: what there is no memory for keeps nothing else from the capture.
  const auto attempt = [this](const auto& step) {
    try {
      step();
    } catch (const std::exception&) {
      sink_->count(health::cupti_errors, 1);
    }
  };
  attempt([&] { report_facts(last); });
  watch_clock();
  attempt([&] { decode_buffers(last); });
  attempt([&] { decoder_.finish(); });
  attempt([&] { report_graph_nodes(); });
  if (!last) attempt([&] { choose_graph_tracing(); });
  if (last) attempt([&] { report_latency(); });
  attempt([&] { report_counts(); });
  attempt([&] { report_problem(last); });
}

void Collector::decode_buffers(bool last) {
  BufferPool& pool = *callback_state().pool.load(std::memory_order_acquire);
  for (BufferPool::Filled filled; pool.pop(filled);) {
    try {
      held_.push_back(filled);
    } catch (const std::exception&) {
      sink_->count(health::cupti_truncated, 1);
      pool.recycle(filled);
    }
  }
  // After the buffers are taken: a change that came before their records is known by now.
  apply_windows();
  if (decoder_.clock().needs_another_pair() && !last) return;
  while (!held_.empty()) {
    // Should decoding throw, the rest of the buffer is lost and nothing read twice.
    BufferPool::Filled filled = held_.front();
    held_.erase(held_.begin());
    try {
      filled.zeroed = decoder_.decode(filled.data, filled.valid);
    } catch (const std::exception&) {
      sink_->count(health::cupti_truncated, 1);
    }
    pool.recycle(filled);
  }
  if (!last) pool.prepare(kPreparedAhead);
}

void Collector::apply_windows() {
  const std::lock_guard lock(mutex_);
  ActivityWindows& windows = decoder_.windows();
  for (const WindowChange& change : window_changes_) {
    if (change.open)
      windows.open(change.realtime_ns, change.newest_launch);
    else
      windows.close(change.realtime_ns, change.newest_launch);
  }
  window_changes_.clear();
}

void Collector::watch_clock() {
  const std::int64_t offset = realtime_() - steady_ns();
  if (std::llabs(offset - realtime_offset_ns_) > kStepNs) decoder_.windows().clock_stepped();
  realtime_offset_ns_ = offset;
}

void Collector::report_facts(bool last) {
  CallFacts facts = subscription_.take_facts();
  if (facts.dropped != 0) sink_->count(health::cupti_dropped, facts.dropped);
  if (facts.errors != 0) sink_->count(health::cupti_errors, facts.errors);
  if (facts.kept != 0) sink_->count(health::kept_buffers, facts.kept);
  if (facts.flushes != 0) {
    flushed_ = true;
    watch(last);
  }
  const std::string before = decoder_.clock().description();
  for (const ClockPair& pair : facts.clock_pairs) decoder_.clock().add(pair);
  if (!facts.clock_pairs.empty()) {
    sink_->sample_clock();
    if (std::string now = decoder_.clock().description(); now != before) sink_->meta("cupti_clock", now);
  }
  const std::size_t notes = notes_.size();
  notes_.insert(facts.notes.begin(), facts.notes.end());
  if (decoder_.saw_graphs() && !doubt_reported_ && subscription_.correlations_doubtful()) {
    doubt_reported_ = true;
    notes_.insert(
        "CUPTI " + version_text(subscription_.api().version) +
        " gives graph launches wrong correlation ids once it was switched off and on again: graphs may belong "
        "to another launch than shown (fixed in CUDA 13.1 update 1)");
  }
  if (decoder_.saw_graphs() && graph_nodes().missed_updates()) {
    notes_.insert(
        "CUDA graphs were not watched while CUPTI was given up: what was updated then counts where it was captured "
        "before");
  }
  if (notes_.size() != notes) write_notes();
}

void Collector::report_latency() {
  if (!options_.latency_timestamps || !decoder_.never_queued()) return;
  notes_.insert("no kernel has a queue time: cuda_latency must be set before CUDA is initialised");
  write_notes();
}

void Collector::write_notes() {
  std::string text;
  for (const std::string& note : notes_) text.append(text.empty() ? "" : "; ").append(note);
  sink_->meta("cupti_notes", text);
}

void Collector::report_counts() {
  CallbackState& state = callback_state();
  const auto report = [this](std::uint32_t number, std::uint64_t now, std::uint64_t& seen) {
    if (now != seen) sink_->count(number, now - seen);
    seen = now;
  };
  report(health::cupti_refused_buffers, state.refused.load(std::memory_order_relaxed), refused_seen_);
  report(health::cupti_errors, state.foreign_buffers.load(std::memory_order_relaxed), foreign_seen_);
  if (const std::uint64_t now = state.pool.load()->emergencies(); now != emergencies_seen_) {
    sink_->meta("cupti_emergency_buffers", std::to_string(now));
    emergencies_seen_ = now;
  }
  std::uint64_t timeouts = 0;
  {
    const std::lock_guard lock(mutex_);
    timeouts = std::exchange(timeouts_, 0);
  }
  if (timeouts != 0) sink_->count(health::flush_timeouts, timeouts);
  if (const std::uint64_t failed = calls_.take_failed(); failed != 0) sink_->count(health::cupti_errors, failed);
}

/// What is on its way when CUPTI is asked is recorded as before.
void Collector::choose_graph_tracing() {
  using GraphTracing = CuptiOptions::GraphTracing;
  const bool flushed = std::exchange(flushed_, false);
  if (!flushed || options_.graph_tracing == GraphTracing::kNodes) return;
  const bool wanted = options_.graph_tracing == GraphTracing::kWhole || decoder_.graphs().decide();
  const bool whole = wanted && !graph_nodes().must_be_nodes();
  if (whole == graphs_whole_) return;
  calls_.post([this, whole] { graphs_whole_ = subscription_.trace_whole_graphs(whole); });
}

void Collector::report_graph_nodes() {
  const GraphNodes::News news = graph_nodes().take_news();
  sink_->write(std::span<const format::GraphNodeRow>(news.rows));
  if (news.dropped != 0) sink_->count(health::unnoted_graph_nodes, news.dropped);
}

void Collector::watch(bool last) {
  const CallbackState& state = callback_state();
  const std::uint64_t activity =
      state.requests.load(std::memory_order_relaxed) + state.returns.load(std::memory_order_relaxed);
  const std::uint64_t launches = state.launches.load(std::memory_order_relaxed);
  if (activity != activity_seen_) {
    if (taken_over_.exchange(false)) sink_->count(health::launches_without_records, quiet_launches_);
    activity_seen_ = activity;
    launches_seen_ = launches;
    quiet_launches_ = 0;
    quiet_flushes_ = 0;
    return;
  }
  // Twice: launches between a flush and this look are not late.
  quiet_launches_ = launches - launches_seen_;
  if (quiet_launches_ >= options_.watchdog_launches && ++quiet_flushes_ >= 2) taken_over_ = true;
  if (!last) return;
  // All launches came before this flush and no buffer is out. A call that leaves no device work leaves its own record.
  const bool all_is_back = state.pool.load()->outstanding() == 0;
  if (quiet_launches_ != 0 && all_is_back && subscription_.recorded_calls() && !taken_over_)
    noticed_late_ = taken_over_ = true;
  if (taken_over_) sink_->count(health::launches_without_records, quiet_launches_);
}

// ---- state -----------------------------------------------------------------------------------------------------

Collector::Problem Collector::problem() const noexcept {
  if (callback_state().fatal.load(std::memory_order_acquire)) return Problem::kFatal;
  if (calls_.busy_for() > std::chrono::milliseconds(patience_ms_.load())) return Problem::kStuck;
  return taken_over_.load(std::memory_order_relaxed) ? Problem::kTakenOver : Problem::kNone;
}

std::string Collector::problem_text(Problem problem) const {
  const std::string who = problem == Problem::kTakenOver ? likely_profiler() : std::string();
  switch (problem) {
    case Problem::kNone:
      break;
    case Problem::kFatal:
      return describe_failure("CUPTI has shut itself down",
                              static_cast<CUptiResult>(callback_state().fatal_result.load())) +
             "; ranges go on without device activity";
    case Problem::kTakenOver:
      if (noticed_late_) {
        return std::to_string(quiet_launches_.load()) +
               " launches at the end left no record: another profiler in this process may have taken over CUPTI's "
               "buffers" +
               (who.empty() ? "" : "; " + who);
      }
      return "another profiler in this process took over CUPTI's buffers: " + std::to_string(quiet_launches_.load()) +
             " launches without a record; " + (who.empty() ? "" : who + "; ") + "device activity is missing since then";
    case Problem::kStuck:
      return "CUPTI does not answer: a call has not returned for " +
             std::to_string(std::chrono::duration_cast<std::chrono::seconds>(calls_.busy_for()).count()) +
             " s; device activity is missing since then";
  }
  return {};
}

void Collector::report_problem(bool last) {
  const Problem now = problem();
  const bool new_problem = now != problem_reported_;
  // At the end once more: launches, or seconds, have been added.
  if (!new_problem && !(last && now != Problem::kNone)) return;
  problem_reported_ = now;
  if (new_problem && (now == Problem::kTakenOver || now == Problem::kFatal)) sink_->count(health::device_outages, 1);
  sink_->meta("device_state", now == Problem::kNone ? "full" : "host_only: " + problem_text(now));
}

}  // namespace rangefinder::source::cupti
