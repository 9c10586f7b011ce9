// SPDX-License-Identifier: MIT
#pragma once

#include "bench/rank_progress.hpp"

#include <sys/types.h>

#include <cstdint>

namespace rangefinder::bench {

/// What the system says of a process.
struct ProcessLook {
  bool stopped = false;     ///< by a signal: SIGSTOP, SIGTSTP
  bool has_work = false;    ///< a thread runs, wants to, or waits for a disk; or a child process may do its work
  std::int64_t cpu_ns = 0;  ///< of all its threads so far
};

/// Costs reading a file, and another two a thread where the process used hardly any CPU time since `cpu_ns_before`.
ProcessLook look_at(pid_t pid, std::int64_t cpu_ns_before);

/// Tells a rank that has come to rest from one that works. It counts looks, not time: a harness that was stopped itself
/// must not take the time for its ranks' own.
class RankWatch {
 public:
  /// `stall_ns`: for which a rank may sleep in the same step, with less than 5 % of a processor.
  explicit RankWatch(std::int64_t stall_ns) noexcept;

  /// Between looks: an eighth of the stall, at most 0.9 s.
  std::int64_t look_ns() const noexcept { return look_ns_; }
  /// At the begin of each request.
  void begin() noexcept;
  void add(const ProcessLook& look, RankPosition position) noexcept;

  bool asleep() const noexcept { return asleep_ >= looks_of_stall_; }
  /// At four looks, one after the other: for `stopped_ns` at least.
  bool stopped() const noexcept { return stopped_ >= kLooksStopped; }
  std::int64_t stopped_ns() const noexcept { return (kLooksStopped - 1) * look_ns_; }
  std::int64_t cpu_ns() const noexcept { return cpu_ns_; }

 private:
  static constexpr std::int64_t kLooksStopped = 4;

  std::int64_t look_ns_;
  std::int64_t looks_of_stall_;
  std::int64_t cpu_ns_ = 0;
  RankPosition position_;
  std::int64_t asleep_ = 0;
  std::int64_t stopped_ = 0;
};

}  // namespace rangefinder::bench
