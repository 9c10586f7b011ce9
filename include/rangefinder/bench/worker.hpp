// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/benchmark.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// The program that holds the benchmarks. The harness starts it, once per variant, and tells it what to do.
namespace rangefinder::bench {

enum class ProfileLevel : std::uint8_t {
  kNone,      ///< timing only
  kMinimal,   ///< ranges, device activity, allocators
  kDeep,      ///< stacks of the host by samples, operators with shapes, memory snapshot
  kRoofline,  ///< operators with shapes: FLOPs, bytes and the point under the roofline of each range and operator
};

RANGEFINDER_EXPORT std::string_view to_string(ProfileLevel level) noexcept;

/// A processor or accelerator that the worker can use.
struct DeviceFacts {
  std::string name;  ///< "NVIDIA H200"
  unsigned count = 0;
  int capability = 0;  ///< 90: sm_90
};

/// Samples of one peak, one per repetition: floating point operations or bytes per second, or seconds for a latency.
/// `what` and `type` are those of MachinePeak.
struct PeakSamples {
  std::string what;
  std::string type;
  std::vector<double> samples;
};

/// What a framework knows and the library does not. Every member may be empty: what it would have told is then "not
/// measured".
struct WorkerHooks {
  /// Nanoseconds from anywhere; empty: CLOCK_MONOTONIC, and CLOCK_PROCESS_CPUTIME_ID.
  std::function<std::int64_t()> wall_ns{};
  std::function<std::int64_t()> cpu_ns{};
  /// Bytes that are allocated now, and at most since the last reset, on the device that is measured.
  std::function<std::int64_t(const std::string& device)> live_bytes{};
  std::function<std::int64_t(const std::string& device)> peak_bytes{};
  std::function<void(const std::string& device)> reset_peak{};
  /// Mark the device's queue before and after a timed step; and, once the device has caught up, the nanoseconds between
  /// the marks on its own clock, -1: not measured on this device. All three or none.
  std::function<void(const std::string& device)> begin_device_span{};
  std::function<void(const std::string& device)> end_device_span{};
  std::function<std::int64_t(const std::string& device)> device_span_ns{};
  /// Millijoules that the device has taken, from anywhere; -1: not measured on this device.
  std::function<std::int64_t(const std::string& device)> energy_mj{};
  /// Nanoseconds after which that reading changes, asked at set-up; -1: not known. Energy of a step is told only where
  /// a round of steps outlasts ten of them.
  std::function<std::int64_t(const std::string& device)> energy_period_ns{};
  /// Fills the device's caches with something that no step uses.
  std::function<void(const std::string& device)> flush_cache{};
  /// Around the profiled steps: operators, memory. Files that `end` writes into `folder` are named in the results.
  std::function<void(ProfileLevel)> begin_profile{};
  std::function<std::vector<std::string>(ProfileLevel, const std::string& folder)> end_profile{};
  /// Samples of the peaks of the device, from about `seconds` of work per peak. Types that it lacks have no row.
  std::function<std::vector<PeakSamples>(const std::string& device, double seconds)> measure_peaks{};
  /// What CUDA device there is; count 0, or empty: none.
  std::function<DeviceFacts()> cuda{};
  /// Called before each set-up: seeds generators, sets the number of threads.
  std::function<void(const Setup&)> before_setup{};
  std::string torch_version{};
  std::string cuda_version{};
  std::string driver_version{};
};

/// Call it before worker_main.
RANGEFINDER_EXPORT void set_worker_hooks(WorkerHooks hooks);

/// The worker's whole main: lists its benchmarks (`list`), or serves a harness on the socket that it was given
/// (`--serve FD`). Returns the exit code.
///
///   int main(int argc, char** argv) {
///     rangefinder::bench::set_worker_hooks(hooks_of_libtorch());
///     return rangefinder::bench::worker_main(argc, argv);
///   }
///
/// Errors:  what a benchmark throws is told to the harness; a message that is none ends the worker with 70.
/// Threads: benchmarks run on the calling thread.
RANGEFINDER_EXPORT int worker_main(int argc, char** argv);

}  // namespace rangefinder::bench
