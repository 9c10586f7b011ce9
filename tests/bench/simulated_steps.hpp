// SPDX-License-Identifier: MIT
#pragma once

#include "bench/step_time.hpp"
#include "support/timeline_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace rangefinder::testing {

inline constexpr std::int64_t kMicrosecond = 1'000, kMillisecond = 1'000'000;  ///< in nanoseconds

inline void repeat(int times, const std::function<void()>& what) {
  for (int i = 0; i < times; ++i) what();
}

/// What a step's time is divided into, added up.
inline std::int64_t sum_of_parts(const bench::StepTime& time) {
  return time.computing_ns + time.communicating_ns + time.to_device_ns + time.to_host_ns + time.input_ns +
         time.exchange_ns + time.waited_ns + time.host_ns + time.unnamed_ns + time.queued_ns + time.other_ns;
}

/// The timeline of a program on a simulated host and device: a launch takes 4 us of the host, its work begins 5 us
/// after the launch at the earliest, and after all that its stream was given before; a wait returns 6 us after the
/// work.
///
///   SimulatedSteps simulated;
///   simulated.step([&] {
///     simulated.range("data", [&] { simulated.work(8 * kMillisecond); });
///     simulated.kernel(50 * kMicrosecond);
///   });
///   const Timeline timeline = simulated.build();
class SimulatedSteps {
 public:
  static constexpr std::int64_t kCallNs = 4 * kMicrosecond, kLatencyNs = 5 * kMicrosecond, kReturnNs = 6 * kMicrosecond;

  /// As the worker's: it synchronizes the device at both ends.
  template <typename Body>
  void step(Body body) {
    range("step", [&] {
      wait();
      body();
      wait();
    });
  }
  template <typename Body>
  void range(std::string_view name, Body body) {
    const std::int64_t begin_ns = now_ns_;
    body();
    builder_.on_thread(1).range(name, begin_ns, now_ns_);
  }
  /// An operator of one kernel, with the shapes and types of its inputs.
  void op(std::string_view name, const char* shapes, const char* types, std::int64_t kernel_ns) {
    const std::int64_t begin_ns = now_ns_;
    kernel(kernel_ns);
    builder_.range(name, begin_ns, now_ns_).given(shapes, types);
  }
  /// The host is busy, or stands still.
  void work(std::int64_t ns) { now_ns_ += ns; }
  void kernel(std::int64_t ns, std::string_view name = "kernel", std::int64_t stream = 7) {
    const auto [begin_ns, end_ns] = launch("cudaLaunchKernel_v7000", ns, stream);
    builder_.kernel(begin_ns, end_ns, name);
  }
  /// CUPTI's kinds: 1 to the device, 2 to the host, 8 within.
  void copy(std::uint32_t kind, std::int64_t ns, std::int64_t stream = 7) {
    const auto [begin_ns, end_ns] = launch("cudaMemcpyAsync_v3020", ns, stream);
    builder_.memcpy(begin_ns, end_ns, static_cast<std::uint64_t>(ns), kind);
  }
  /// One launch of many nodes, each `gap_ns` after the one before.
  void graph(int nodes, std::int64_t node_ns, std::int64_t gap_ns) {
    auto [begin_ns, end_ns] = launch("cudaGraphLaunch_v10000", node_ns, 7);
    for (int i = 0; i < nodes; ++i) {
      builder_.kernel(begin_ns, end_ns, "node");
      begin_ns = end_ns + gap_ns;
      end_ns = begin_ns + node_ns;
    }
    free_ns_[7] = end_ns;
  }
  void wait(std::string_view call = "cudaDeviceSynchronize_v3020") {
    const std::int64_t begin_ns = now_ns_;
    for (const auto& [stream, free_ns] : free_ns_) now_ns_ = std::max(now_ns_, free_ns);
    now_ns_ += kReturnNs;
    builder_.on_thread(1).call(call, begin_ns, now_ns_);
  }
  /// On another thread, all the time.
  void beside(std::string_view name) { builder_.on_thread(2).range(name, 0, now_ns_).launch(0).on_thread(1); }
  /// The metric's value in each sample of 100 us.
  void sampled(std::string_view metric, double value) {
    Timeline& timeline = builder_.timeline();
    for (std::int64_t begin_ns = 0; begin_ns < now_ns_; begin_ns += 100 * kMicrosecond)
      timeline.pm_samples.append({.device = DeviceIndex{0},
                                  .metric = timeline.intern(metric),
                                  .begin_ns = begin_ns,
                                  .end_ns = begin_ns + 100 * kMicrosecond,
                                  .value = value});
  }

  Timeline build() {
    builder_.timeline().devices[0].name = "GPU 9000";
    return builder_.build();
  }

 private:
  std::pair<std::int64_t, std::int64_t> launch(std::string_view call, std::int64_t ns, std::int64_t stream) {
    const std::int64_t begin_ns = std::max(now_ns_ + kLatencyNs, free_ns_[stream]);
    builder_.on_thread(1).on_stream(stream).launch_call(call, now_ns_, now_ns_ + kCallNs);
    now_ns_ += kCallNs;
    free_ns_[stream] = begin_ns + ns;
    return {begin_ns, begin_ns + ns};
  }

  TimelineBuilder builder_;
  std::int64_t now_ns_ = 0;
  std::map<std::int64_t, std::int64_t> free_ns_;
};

}  // namespace rangefinder::testing
