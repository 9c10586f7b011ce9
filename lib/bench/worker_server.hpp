// SPDX-License-Identifier: MIT
#pragma once

#include "bench/channel.hpp"

#include <rangefinder/bench/worker.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace rangefinder::bench {

/// Answers the requests of a harness, one after the other:
///   describe                                  benchmarks, versions, devices
///   skip  benchmark device size seed          why it cannot run here
///   estimate benchmark device size            what its variants take, without making one
///   check benchmark variant ... steps perturb_after file
///                                             a new variant; all of its outputs into the file
///   open  benchmark variant ...               the variant that is timed
///   run   steps flush                         wall, CPU and device nanoseconds of each; energy of all, and in how long
///   reset_peak, memory                        bytes of the allocator
///   profile level steps capture folder        untimed, recorded
///   measure_peaks device seconds              samples of the peaks of the device
///   finish                                    work and metrics
///   quit
class WorkerServer {
 public:
  /// `start_ns`: since the process began.
  explicit WorkerServer(const WorkerHooks& hooks, std::int64_t start_ns = 0) : hooks_(hooks), start_ns_(start_ns) {}

  /// Whatever a benchmark throws becomes {"error": ...}. All other answers tell how long they took, `request_ns`, and
  /// what energy the device took meanwhile; the first one `start_ns`, too.
  Json answer(JsonView request);

 private:
  struct Times;

  Json dispatch(JsonView request);
  Json describe() const;
  Json skip(JsonView request) const;
  Json estimate(JsonView request) const;
  Json check(JsonView request);
  Json open(JsonView request);
  Json run(JsonView request);
  Json memory() const;
  Json profile(JsonView request);
  Json finish();
  Json measure_peaks(JsonView request) const;

  std::unique_ptr<Variant> make(JsonView request, const Setup& setup);
  Variant& timed();
  void timed_step(Variant& variant, Times& times) const;
  void flush_cache(Variant& variant) const;
  std::int64_t energy_mj(const std::string& device) const;
  std::int64_t wall_ns() const;
  std::int64_t cpu_ns() const;

  const WorkerHooks& hooks_;
  std::int64_t start_ns_;
  std::unique_ptr<Variant> variant_;
  Setup setup_;
  std::int64_t setup_bytes_ = 0;
  std::int64_t energy_period_ns_ = -1;
};

}  // namespace rangefinder::bench
