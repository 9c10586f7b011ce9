// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/activity_decoder.hpp"
#include "source/cupti/call_thread.hpp"
#include "source/cupti/cupti_options.hpp"
#include "source/cupti/subscription.hpp"
#include "source/source.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rangefinder::source::cupti {

/// The thread that asks for complete records every flush period, decodes what came back, and reports to the sink. It
/// makes no call that can hang: flushes run on the call thread.
class Collector {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Collector(CallThread& calls, Subscription& subscription, ActivityDecoder& decoder, RealtimeClock realtime);

  void start(RowSink& sink, const CuptiOptions& options);
  void open_window();
  void close_window();
  /// Fetches what is complete and decodes it; false when CUPTI did not answer in time.
  bool flush(Time deadline);
  /// A call did not return in time; counts once for each call.
  void note_timeout();
  /// Decodes what is there and ends the thread. False where it is inside of the sink until `deadline`: the sink is used
  /// until another call has answered true.
  bool stop(Time deadline);

  enum class Problem : std::uint8_t { kNone, kFatal, kTakenOver, kStuck };
  Problem problem() const noexcept;
  /// For people; empty for kNone.
  std::string problem_text(Problem problem) const;

 private:
  struct WindowChange {
    bool open;
    std::int64_t realtime_ns;
    std::uint64_t newest_launch;
  };
  void run();
  void wait_for_work(Time until);
  void tick(Time now);
  void drain(bool last);
  void decode_buffers(bool last);
  void apply_windows();
  void report_facts(bool last);
  void report_latency();
  void write_notes();
  void report_counts();
  void report_graph_nodes();
  void choose_graph_tracing();
  void watch(bool last);
  void watch_clock();
  bool drain_now(Time deadline);
  void change_window(bool open);
  void report_problem(bool last);

  CallThread& calls_;
  Subscription& subscription_;
  ActivityDecoder& decoder_;
  RealtimeClock realtime_;

  RowSink* sink_ = nullptr;
  CuptiOptions options_;
  std::atomic<std::chrono::milliseconds::rep> patience_ms_{0};
  std::thread thread_;

  // Shared with those who call in.
  std::mutex mutex_;
  std::condition_variable served_changed_;
  std::vector<WindowChange> window_changes_;
  std::uint64_t drains_asked_ = 0;
  std::uint64_t drains_served_ = 0;
  std::uint64_t timeouts_ = 0;
  CallThread::Ticket timeout_noted_for_ = 0;
  bool ending_ = false;
  bool ended_ = true;  // the thread uses nothing any more
  std::atomic<bool> taken_over_{false};
  std::atomic<bool> noticed_late_{false};  // by the end alone
  std::atomic<std::uint64_t> quiet_launches_{0};

  // The thread's own.
  CallThread::Ticket flush_ticket_ = 0;
  bool flush_pending_ = false;
  Time next_flush_{};
  std::vector<BufferPool::Filled> held_;  // decoded once the foreign clock's rate is known
  std::set<std::string> notes_;
  std::int64_t realtime_offset_ns_ = 0;  // CLOCK_REALTIME - steady clock at the last look
  std::uint64_t refused_seen_ = 0;
  std::uint64_t foreign_seen_ = 0;
  std::uint64_t emergencies_seen_ = 0;
  std::uint64_t activity_seen_ = 0;  // buffers asked for or returned
  std::uint64_t launches_seen_ = 0;  // at that time
  unsigned quiet_flushes_ = 0;
  bool doubt_reported_ = false;
  bool flushed_ = false;                   // since the last choice
  std::atomic<bool> graphs_whole_{false};  // what CUPTI was asked for last; the call thread says what came of it
  Problem problem_reported_ = Problem::kNone;
};

}  // namespace rangefinder::source::cupti
