// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/counter_source.hpp"
#include "source/counters/device_facts.hpp"
#include "source/counters/metric_set.hpp"
#include "source/counters/profiler_api.hpp"
#include "source/counters/range_choice.hpp"
#include "source/counters/range_profiler.hpp"
#include "source/source.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace rangefinder::source::counters {

/// How a recording stands that could have counted, and has not so far.
inline constexpr char kNothingCounted[] =
    "none of the ranges that counter_ranges, counter_category and counter_depth choose ran while its thread used a "
    "device";

/// A range that was counted, by the number that CUPTI knows it by.
struct CountedRange {
  std::uint64_t number;
  std::uint64_t begin_ticks;
  std::uint64_t end_ticks;
  std::uint32_t thread;
  std::uint32_t name;
};

/// The ranges counted in one context. What threads of the program call touches no sink: a call of CUPTI may come back
/// when the recording is over.
class ContextCounting {
 public:
  ContextCounting(const ProfilerApi& api, CUcontext context, std::uint32_t device, std::size_t most_ranges)
      : api_(api), context_(context), device_(device), most_ranges_(most_ranges) {}

  /// Resolves the metrics for the context's device and opens its profiler.
  Status open(const std::vector<std::string>& selection);

  /// False where another range is being counted, and once the profiler has failed or is closed.
  bool begin(std::uint32_t name, std::uint32_t thread);
  void end();

  /// The next end takes what was counted out of CUPTI.
  void ask_for_ranges() noexcept { wanted_.store(true, std::memory_order_relaxed); }
  /// Writes what was taken out, what was lost, and what there is to know. Alone: by the thread that collects.
  void write(RowSink& sink);
  /// Something was written; known to that thread.
  bool has_counted() const noexcept { return described_; }
  /// Takes all there is and closes the profiler; a range that is open is lost. False when a call of another thread did
  /// not come back in time.
  bool close(std::chrono::steady_clock::time_point deadline);
  /// Why it stands still; empty while it works.
  std::string failure() const;

 private:
  struct Batch {
    CountedRanges counted;
    std::vector<CountedRange> ranges;
  };
  void take(Result<CountedRanges> counted);
  void fail(const Error& error);
  void write_batch(const Batch& batch, RowSink& sink) const;

  const ProfilerApi& api_;
  const CUcontext context_;
  const std::uint32_t device_;
  const std::size_t most_ranges_;

  mutable std::mutex mutex_;  // of all below; held while CUPTI is called
  DeviceFacts facts_;
  std::unique_ptr<MetricSet> metrics_;
  std::unique_ptr<RangeProfiler> profiler_;  // null: broken or closed
  std::vector<CountedRange> ranges_;         // pushed since the last take
  std::uint64_t pushed_ = 0;
  bool is_open_ = false;  // a range is

  std::atomic<bool> wanted_{false};
  std::atomic<std::uint64_t> lost_{0};
  mutable std::mutex results_mutex_;  // of the next two
  std::vector<Batch> batches_;
  std::string failure_;
  bool described_ = false;  // in the capture
};

/// One recording's counting, on all contexts. Hears of ranges as the listener of lib/buffer.
class RangeCounting {
 public:
  RangeCounting(const CounterOptions& options, ProfilerApi api);

  void set_active(bool active) noexcept { active_.store(active, std::memory_order_relaxed); }
  bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  std::uint64_t generation() const noexcept { return generation_; }
  bool chooses(std::uint32_t name, std::uint32_t category, std::uint32_t depth) noexcept {
    return choice_.contains(name, category, depth);
  }

  /// Null: not counted, and counted as such. Else `end` is to be called with it.
  ContextCounting* begin(std::uint32_t name, std::uint32_t thread) noexcept;
  void end(ContextCounting& context) noexcept;

  /// Writes what there is, and asks for more.
  void flush(RowSink& sink);
  bool close(std::chrono::steady_clock::time_point deadline);
  std::string failure() const;

 private:
  ContextCounting* context();
  std::vector<std::shared_ptr<ContextCounting>> all() const;

  const CounterOptions options_;
  const ProfilerApi api_;
  RangeChoice choice_;
  const std::uint64_t generation_;
  std::atomic<bool> active_{false};
  std::atomic<std::uint64_t> uncounted_{0};
  std::atomic<std::uint64_t> lost_{0};
  mutable std::mutex mutex_;
  std::map<CUcontext, std::shared_ptr<ContextCounting>> contexts_;
};

/// Ranges are told to this recording from now on; null: to none. kBusy where another listener has the ranges.
Status count_ranges(std::shared_ptr<RangeCounting> counting);

}  // namespace rangefinder::source::counters
