// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/profiler_api.hpp"
#include "source/source.hpp"

#include <rangefinder/result.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rangefinder::source {

/// What to count, for one recording; see SessionOptions::counters.
struct CounterOptions {
  std::vector<std::string> metrics;
  std::vector<std::string> ranges;  ///< name patterns; empty: all
  std::string category;             ///< empty: any
  int depth = -1;                   ///< -1: any
  /// Ranges of a context that are counted before what was counted is taken out of CUPTI. More take more memory: some 20
  /// KiB each, as the metrics are.
  std::size_t ranges_at_once = 256;
};

/// Where counters come from; a test puts a double there. Default: counters::load_profiler.
using LoadProfiler = std::function<Result<counters::ProfilerApi>()>;

/// Counts hardware counters of ranges with CUPTI's range profiler: one pass, user ranges, no replay. The device is
/// waited for at both ends of each range that is counted, and a range at a time is counted in a context, with all that
/// the context does meanwhile, whoever launches it.
///
/// The profiler of a context is opened by the first range that is to be counted there. A range that cannot be (its
/// thread has no context, or another range is being counted in it) is counted in CaptureHealth::uncounted_ranges. What
/// was counted is evaluated by `flush`, on its caller's thread.
///
/// Threads: ranges are counted on the threads that they are of. One recording at a time.
/// Errors:  no rights, no hardware, another tool: the state says so, once, and what to do; ranges are recorded without
///          counters then. Nothing fails in the program.
/// Fork:    in a child nothing is counted.
class CounterSource final : public Source {
 public:
  explicit CounterSource(CounterOptions options, LoadProfiler load = {});
  ~CounterSource() override;

  std::string_view name() const noexcept override { return "counters"; }
  bool records_device_work() const noexcept override { return false; }
  SourceState start(RowSink& sink) noexcept override;
  void set_active(bool active) noexcept override;
  void flush(std::chrono::steady_clock::time_point deadline) noexcept override;
  void stop(std::chrono::steady_clock::time_point deadline) noexcept override;
  SourceState state() const noexcept override;

 private:
  const CounterOptions options_;
  const LoadProfiler load_;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rangefinder::source
