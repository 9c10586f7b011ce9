// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>
#include <rangefinder/types.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder {

enum class BreakdownBy : std::uint8_t {
  kDevice,  ///< one row per device, and one per process without work on a device
  kStep,    ///< one row per device and step, and one of what the device did outside of steps; of processes likewise
  kRange,   ///< one row per device and name of range, and rows of the work that no range owns
};

struct BreakdownOptions {
  BreakdownBy by = BreakdownBy::kDevice;
  /// The device was idle for at most so long between two activities, and the second was launched in time: kernel wait.
  /// Nanoseconds, at least 0.
  std::int64_t usual_gap_ns = 30'000;
  /// Which range owns an activity, for rows by range. Rows by device and step do not depend on it.
  ProjectionOptions projection;
};

/// Idle time of a device by its reason, which is that of the activity that ended the gap, A.
struct IdleReasons {
  /// A was launched after the gap began. Also the time before the first activity of the device.
  std::int64_t host_wait_ns = 0;
  /// A was launched before the gap began, and the gap is not longer than BreakdownOptions::usual_gap_ns.
  std::int64_t kernel_wait_ns = 0;
  /// The gap is longer, and A's stream was told to wait for an event after the stream's activity before A was launched.
  std::int64_t sync_wait_ns = 0;
  /// All else: a long gap without such a wait, the launch of A is not known, nothing follows.
  std::int64_t other_ns = 0;
};

/// What a device did, nanoseconds. Times are lengths of unions: what overlaps counts once. `busy_ns + idle_ns` is
/// `total_ns` of rows by device and step, and `busy_ns + other_work_ns + idle_ns` of rows by range.
struct BreakdownRow {
  ProcessIndex process{0};
  /// kNone: of the host, in a process without work on a device (a job on CPUs, with Gloo). It computes while a thread
  /// is in an operator (in a range, where no operators were recorded) and neither calls a collective nor waits for one;
  /// it communicates while a collective's work runs. Idle time has no reason then.
  DeviceIndex device{0};
  /// BreakdownBy::kStep: the step's number; nothing for what the device did outside of steps.
  std::optional<std::int64_t> step;
  /// BreakdownBy::kRange: the name of the ranges; kEmpty where `unowned` is set.
  StringId range = StringId::kEmpty;
  std::optional<Unowned> unowned;
  /// Runs of the range on the host. 1 in other rows.
  std::uint64_t instances = 1;

  /// Kernels and memsets that are not communication, and launches of CUDA graphs that were recorded as a whole.
  std::int64_t computation_ns = 0;
  /// Kernels whose name has `nccl` or `rccl` in it, in any case.
  std::int64_t communication_ns = 0;
  /// Of that, the time in which the device computed nothing.
  std::int64_t exposed_communication_ns = 0;
  std::int64_t memcpy_ns = 0;
  /// Of that, the time in which the device neither computed nor communicated.
  std::int64_t exposed_memcpy_ns = 0;
  std::int64_t busy_ns = 0;
  std::int64_t idle_ns = 0;
  /// By device: from the first begin to the last end of its activities. By step: the step on the host. By range: from
  /// the first begin to the last end of what each instance owns, added up. Without idle time outside of
  /// Timeline::windows, which was not recorded.
  std::int64_t total_ns = 0;
  IdleReasons idle;
  /// BreakdownBy::kRange: of `total_ns`, the time in which only work of other ranges ran.
  std::int64_t other_work_ns = 0;

  /// Activities; of the host collectives. By step: those that begin in the step.
  std::uint64_t ops = 0;
  /// Of those, the ones whose launch is not in the data. They are part of all figures.
  std::uint64_t orphan_ops = 0;
  std::int64_t orphan_busy_ns = 0;
  /// Launches of CUDA graphs that were recorded as a whole, or parts of such (split_graph_launches). What ran inside is
  /// not known: copies and communication count as computation.
  std::uint64_t graph_ops = 0;
  std::int64_t graph_busy_ns = 0;
};

/// How much of its time each device computed, communicated, copied and did nothing, and why it did nothing.
///
///   for (const rangefinder::BreakdownRow& row : rangefinder::breakdown(*timeline))
///     std::cout << row.exposed_communication_ns << " of " << row.total_ns << " ns\n";
///
/// Rows are in the order of devices, then steps by time, or ranges by name of the first; devices without activities
/// have none. Rows of the host come last. By range a row has the work of the ranges of that name and of all inside
/// them; "exposed" is against all work of the device.
///
/// Times of launches are the host's: reasons of gaps that are shorter than Timeline::clock_error_ns may be wrong.
///
/// Threads: any; a timeline is not changed.
/// Cost:    O(n log n) in activities, synchronisations and ranges; by range, and where launches are missing, a
/// projection.
RANGEFINDER_EXPORT std::vector<BreakdownRow> breakdown(const Timeline& timeline, const BreakdownOptions& options = {});

}  // namespace rangefinder
