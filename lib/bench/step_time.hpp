// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/result.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>

namespace rangefinder::bench {

/// Where the time of the profiled steps went: parts that do not overlap and add up to `step_ns`.
struct StepTime {
  std::int64_t step_ns = 0;
  bool on_device = false;  ///< device work was recorded

  // The device works. While it does several of these, the first one counts.
  std::int64_t computing_ns = 0;      ///< kernels, memsets, copies within a device
  std::int64_t communicating_ns = 0;  ///< kernels of NCCL and RCCL, copies between devices
  std::int64_t to_device_ns = 0;      ///< copies from the host
  std::int64_t to_host_ns = 0;        ///< copies to the host

  // The device is idle, or there is none.
  std::int64_t input_ns = 0;     ///< the host is in a range that gets input: data, dataload*, input*, fetch*, ...
  std::int64_t exchange_ns = 0;  ///< the host is in a range that communicates: all_reduce, all_gather, ...
  std::int64_t waited_ns = 0;    ///< the host had waited for the device: time in which it could have launched instead
  std::int64_t host_ns = 0;      ///< the host works, in ranges, calls or for at most a millisecond between them
  std::int64_t unnamed_ns = 0;   ///< longer stretches of host time about which no range and no call says anything
  std::int64_t queued_ns = 0;    ///< the next work was launched long before, and has not begun
  std::int64_t other_ns = 0;     ///< the launch of the next work is not known; the harness waits at the end of a step

  std::string input_range;  ///< of the ranges that get input, the name of the longest; empty: there is none
};

/// Steps are the ranges named "step". A gap ends with the next device work; who is to blame for it follows from when
/// and on which thread that work was launched, and what that thread did since the gap began. Work that begins within
/// 20 us of its launch was not queued: the host is what it waited for.
///
/// Errors:  as of write_report.
/// Cost:    O(n log n) in activities, ranges and calls.
Result<StepTime> step_time(const Timeline& timeline);

}  // namespace rangefinder::bench
