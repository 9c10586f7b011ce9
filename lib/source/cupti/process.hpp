// SPDX-License-Identifier: MIT
#pragma once

#include "base/never_destroyed.hpp"
#include "source/cupti/activity_decoder.hpp"
#include "source/cupti/call_thread.hpp"
#include "source/cupti/callbacks.hpp"
#include "source/cupti/collector.hpp"
#include "source/cupti/cupti_source.hpp"
#include "source/cupti/subscription.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace rangefinder::source::cupti {

/// One at a time, for those who can wait only so long. Not a mutex: it may be held while another thread calls CUPTI,
/// and no callback takes it.
class Turn {
 public:
  class Held {
   public:
    Held(Turn& turn, std::chrono::steady_clock::time_point deadline);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    explicit operator bool() const noexcept { return got_; }

   private:
    Turn& turn_;
    const bool got_;
  };

 private:
  bool take(std::chrono::steady_clock::time_point deadline);
  std::mutex mutex_;
  std::condition_variable free_;
  bool taken_ = false;
};

/// What the process has of CUPTI, for whichever source records. Never destroyed: CUPTI's threads, a call that hangs and
/// the exit of the process all may outlive any source.
class Process {
 public:
  static Process& instance();

  using Time = std::chrono::steady_clock::time_point;

  /// A working state, or why there is none. `owner` tells sources apart.
  SourceState start(const void* owner, RowSink& sink, const CuptiOptions& options, const CuptiSeams& seams);
  /// Opens CUPTI without recording.
  SourceState prepare(const CuptiOptions& options, const CuptiSeams& seams);
  void set_active(bool active);
  void flush(Time deadline);
  /// The owner stays one where a thread is inside of the sink until `deadline`: another call waits on.
  void stop(const void* owner, Time deadline);
  Status release(Time deadline);
  /// Of a recording that runs.
  SourceState state() const;

  /// The source that records; null when none does.
  const void* owner() const noexcept { return owner_.load(std::memory_order_acquire); }

 private:
  /// One opening of CUPTI. Whoever uses it holds on to it: a call that hangs outlives a release.
  struct Opened {
    Opened(CuptiApi api, CallThread& calls, RealtimeClock realtime)
        : subscription(std::move(api), realtime),
          decoder(subscription.api(), subscription.runtime_names(), subscription.driver_names()),
          collector(calls, subscription, decoder, realtime) {}
    Subscription subscription;
    ActivityDecoder decoder;
    Collector collector;
    bool saw_graphs = false;  // in any recording
  };

  friend class base::NeverDestroyed<Process>;
  Process() = default;
  SourceState on_call_thread(std::function<Status()> work, std::chrono::milliseconds patience);
  Status open_if_needed(const CuptiOptions& options, const CuptiSeams& seams);
  Status open_ahead(const CuptiOptions& options, const CuptiSeams& seams);
  Status open_and_start(const CuptiOptions& options, const CuptiSeams& seams);
  Status open(const CuptiOptions& options, const CuptiSeams& seams);
  Status or_close(const std::function<Status()>& work);
  Status provide_buffers(const CuptiOptions& options);
  void report_failure(RowSink& sink);
  void end_device(const std::shared_ptr<Opened>& opened, Time deadline);
  std::shared_ptr<Opened> opened() const;
  void set_opened(std::shared_ptr<Opened> opened);

  // Start, stop and release exclude each other, each for as long as its deadline allows.
  Turn control_;
  CallThread calls_;
  std::atomic<const void*> owner_{nullptr};

  mutable std::mutex opened_mutex_;  // of the pointer alone
  std::shared_ptr<Opened> opened_;

  CuptiOptions options_;       // of the recording
  bool saw_launches_ = false;  // in this process; of who flushes
  bool device_ended_ = false;  // of it, by a stop; under control_
  NoteLaunch note_ = nullptr;
  std::mutex active_mutex_;
  bool active_ = false;
  std::unique_ptr<LaunchThreads> launch_threads_;
  // The last one is in use. CUPTI may be inside an older one's `take` for an instant, so none is destroyed.
  std::vector<std::unique_ptr<BufferPool>> pools_;
  CuptiOptions pool_options_;
};

}  // namespace rangefinder::source::cupti
