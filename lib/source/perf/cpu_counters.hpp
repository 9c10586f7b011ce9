// SPDX-License-Identifier: MIT
#pragma once

#include "buffer/recorder.hpp"

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace rangefinder::source {

/// The calls that counting takes; tests put their own in.
struct PerfApi {
  /// An event of the calling thread, on any processor; -errno on failure.
  int (*open)(const perf_event_attr& attributes, int group) noexcept;
  /// As read(2).
  long (*read)(int fd, void* to, std::size_t bytes) noexcept;
  void (*close)(int fd) noexcept;
  /// Most descriptors that the process may have.
  int (*limit)() noexcept;
};
const PerfApi& system_perf_api() noexcept;

/// What can be counted here.
struct CpuCounters {
  const buffer::CpuCounterHook* hook = nullptr;
  /// "full", or what is missing and why.
  std::string state;
  std::string fix;  ///< how to get it; empty where there is nothing to do
};

/// Finds out, on the calling thread, and makes the hook that counts from now on.
///
/// Counted are events in user mode: instructions, cycles, cache references and misses, branch misses of the thread, by
/// one perf_event group; CPU time, page faults and context switches by the system's own accounts, which need no rights.
/// A thread opens its group, up to five descriptors, when it is first counted, and closes it when it ends.
/// A thread that is refused descriptors, or would take more than half of what the process may have, goes without, and
/// is counted (threads_without_cpu_counters).
CpuCounters cpu_counters(const PerfApi& api = system_perf_api()) noexcept;

}  // namespace rangefinder::source
