// SPDX-License-Identifier: MIT
#pragma once

#include "source/cupti/callback_ids.hpp"
#include "source/cupti/cupti_api.hpp"
#include "source/cupti/cupti_options.hpp"
#include "source/cupti/device_clock.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace rangefinder::source::cupti {

/// Who may hold the subscription if CUPTI gives no name; empty if unknown.
std::string likely_profiler();

/// What the calls to CUPTI brought to light, for the collector to report.
struct CallFacts {
  std::uint64_t dropped = 0;       // records, as CUPTI counts them
  std::uint64_t errors = 0;        // calls that failed
  std::uint64_t kept = 0;          // buffers that stayed away
  std::uint64_t flushes = 0;       // that came back
  std::vector<std::string> notes;  // in words; a text once
  std::vector<ClockPair> clock_pairs;
};

/// The CUPTI subscription: one subscriber for the process, opened once and kept. Every member runs on the call thread,
/// but for `take_facts` and what is constant while it is open.
class Subscription {
 public:
  Subscription(CuptiApi api, RealtimeClock realtime);

  /// Subscribes, sets attributes, registers the buffers. The error is what the user reads.
  Status open(const CuptiOptions& options);
  /// Asks for everything that the options name, and for the devices, contexts and streams that exist. Fails when
  /// kernels cannot be recorded.
  Status start(const CuptiOptions& options);
  /// Kinds and launch callbacks on or off; leaves alone what is.
  Status enable_work(bool on);
  /// Launches of CUDA graphs as a whole from now on, or node by node, until the next `start`. Answers which of both it
  /// is: node by node also where CUPTI would crash.
  bool trace_whole_graphs(bool on);
  /// For graphs that are instantiated before the first recording, which may then record their launches as a whole.
  void trace_whole_graphs_ahead(const CuptiOptions& options);
  /// Makes CUPTI deliver, reads its count of dropped records, looks at its clock.
  void flush(std::uint32_t flag);
  /// The last flush of a recording: waits for running work until `patience`, then takes what is incomplete.
  void finish(bool disable, std::chrono::steady_clock::time_point patience);
  /// The same where another profiler has the buffers: kinds stay as they are, since they are his now, and nothing of
  /// his is fetched before it is complete.
  void finish_taken_over();
  /// Gives CUPTI back to whoever wants it.
  void close();
  /// Our buffers were taken over; registers them again at the next start.
  void forget_registration() noexcept { registered_ = false; }
  bool is_open() const noexcept { return subscriber_ != nullptr; }

  CallFacts take_facts();

  const CuptiApi& api() const noexcept { return api_; }
  const CallbackNames& runtime_names() const noexcept { return runtime_names_; }
  const CallbackNames& driver_names() const noexcept { return driver_names_; }
  bool system_thread_ids() const noexcept { return system_thread_ids_; }
  /// Each API call of the recording leaves a record.
  bool recorded_calls() const noexcept { return recorded_calls_.load(std::memory_order_relaxed); }
  /// Kinds were enabled, then disabled: this CUPTI may give graph launches wrong correlation ids from now on.
  bool correlations_doubtful() const noexcept { return enabled_again_ && api_.version < kCorrelationsSurvive; }
  /// "CONCURRENT_KERNEL MEMCPY ...": what is on.
  std::string kinds_text() const;

 private:
  struct Kind {
    CUpti_ActivityKind kind;
    const char* name;
    bool required;
    bool on = false;
  };
  /// Replaces the records of a graph's operations by one.
  static Kind whole_graphs() { return {CUPTI_ACTIVITY_KIND_GRAPH_TRACE, "GRAPH_TRACE", false}; }
  Status subscribe();
  void set_flag(CUpti_ActivityAttribute attribute, const char* name, const char* without);
  Status register_buffers();
  void choose_kinds(const CuptiOptions& options);
  Status enable_kind(Kind& kind);
  void disable_kind(Kind& kind);
  void dump_objects();
  void leave_out_noise();
  void enable_callbacks(bool on);
  void watch_graphs();
  void watch_graph_calls(CUpti_CallbackDomain domain, const CallbackNames& names);
  bool may_trace_whole();
  void sample_clock();
  void note(std::string text);
  void failed(std::string_view call, CUptiResult result) noexcept;
  /// Notes what goes on `without` the thing where this CUPTI is too old for it; else the call has failed.
  void refused(std::string_view call, CUptiResult result, std::string_view what, std::string_view without);
  void set_latency(bool wanted);
  void note_kept_buffers();
  bool usable() const noexcept;

  CuptiApi api_;
  RealtimeClock realtime_;
  CallbackNames runtime_names_;
  CallbackNames driver_names_;
  std::vector<std::uint32_t> runtime_launches_;
  std::vector<std::uint32_t> driver_launches_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<Kind> kinds_;
  bool filter_noise_ = false;
  bool registered_ = false;
  bool system_thread_ids_ = false;
  bool latency_asked_ = false;
  bool work_enabled_ = false;
  bool disabled_once_ = false;
  std::atomic<bool> enabled_again_{false};   // read by the collector
  std::atomic<bool> recorded_calls_{false};  // likewise

  std::mutex facts_mutex_;  // never held while calling CUPTI
  CallFacts facts_;
};

}  // namespace rangefinder::source::cupti
