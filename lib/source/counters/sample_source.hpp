// SPDX-License-Identifier: MIT
#pragma once

#include "source/counters/counter_source.hpp"
#include "source/source.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rangefinder::source {

/// What to sample, for one recording; see SessionOptions::samples.
struct SampleOptions {
  std::vector<std::string> metrics;
  std::chrono::nanoseconds interval{1'000'000};
  /// How often `flush` is called: samples are kept for at least twice as long.
  std::chrono::nanoseconds flush_period{200'000'000};
  std::int64_t (*realtime_ns)() noexcept = nullptr;  ///< null: CLOCK_REALTIME
  bool describe_devices = false;                     ///< the recording has no activities: no other source does
};

/// Samples hardware counters of the devices that the process uses, with CUPTI's PM sampling, beside whatever else is
/// recorded. A device is sampled from the first `flush` on at which the program uses it: has a primary context on it,
/// or has initialised CUDA and sees no other device. Samples are kept by their own times, of when the recording was on.
/// Those that were lost since a buffer was full are told by CaptureHealth::sample_overflows, once each time.
///
/// Threads: any. CUPTI is called on a thread of its own, so that no call here waits longer than its deadline.
/// Errors:  no rights, no hardware, another tool: the state says so, once, and what to do.
/// Fork:    in a child nothing is sampled.
class SampleSource final : public Source {
 public:
  explicit SampleSource(SampleOptions options, LoadProfiler load = {});
  ~SampleSource() override;

  std::string_view name() const noexcept override { return "samples"; }
  bool records_device_work() const noexcept override { return false; }
  SourceState start(RowSink& sink) noexcept override;
  void set_active(bool active) noexcept override;
  void flush(std::chrono::steady_clock::time_point deadline) noexcept override;
  void stop(std::chrono::steady_clock::time_point deadline) noexcept override;
  SourceState state() const noexcept override;

 private:
  struct Shared;
  const SampleOptions options_;
  const LoadProfiler load_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace rangefinder::source
