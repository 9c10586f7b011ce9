// SPDX-License-Identifier: MIT
#pragma once

#include "bench/channel.hpp"
#include "bench/rank_progress.hpp"

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
/// Where several ranks run a variant, requests with a variant have `rank`, `ranks` and `store`, too.
class WorkerServer {
 public:
  /// `start_ns`: since the process began. `progress`: of a rank, outlives the server; null: of a single process.
  explicit WorkerServer(const WorkerHooks& hooks, std::int64_t start_ns = 0, RankProgress* progress = nullptr)
      : hooks_(hooks), start_ns_(start_ns), progress_(progress) {}

  /// Whatever a benchmark throws becomes {"error": ..., "failed_ns": when, by CLOCK_MONOTONIC}. All other answers tell
  /// how long they took, `request_ns`, and what energy the device took meanwhile; the first one `start_ns`, too.
  Json answer(JsonView request);

 private:
  struct Times;

  Json dispatch(JsonView request);
  Json describe() const;
  Json skip(JsonView request) const;
  Json estimate(JsonView request) const;
  Json check(JsonView request);
  static void add_outputs(JsonView request, Variant& variant, Json& answer);
  Json open(JsonView request);
  Json run(JsonView request);
  Json memory() const;
  Json profile(JsonView request);
  Json finish();
  Json measure_peaks(JsonView request) const;

  /// Into `out`, so that what is made lives on when set-up throws.
  Variant& make(JsonView request, const Setup& setup, std::unique_ptr<Variant>& out);
  void at(RankDoing doing, std::int64_t step = 0) const noexcept;
  Variant& timed();
  void timed_step(Variant& variant, Times& times) const;
  void flush_cache(Variant& variant) const;
  std::int64_t energy_mj(const std::string& device) const;
  std::int64_t wall_ns() const;
  std::int64_t cpu_ns() const;

  const WorkerHooks& hooks_;
  std::int64_t start_ns_;
  RankProgress* progress_;
  std::unique_ptr<Variant> variant_;
  /// Of a check that threw, until the next request: its end closes connections, and other ranks would answer with what
  /// they make of that before this one has said what happened.
  std::unique_ptr<Variant> checked_;
  Setup setup_;
  std::int64_t setup_bytes_ = 0;
  std::int64_t energy_period_ns_ = -1;
};

}  // namespace rangefinder::bench
