// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// What a synchronisation was for.
enum class WaitReason : std::uint8_t {
  kStream,
  kEvent,
  kDevice,
  kContext,
  kCopy,            ///< a copy between host and device whose call returns when it is done
  kFree,            ///< memory of a device is given back: all its work is waited for
  kStreamForEvent,  ///< a stream is told to wait for an event; the host goes on
  kQuery,           ///< asked whether work is done; the host goes on
  kUnknown,
};

/// A synchronisation: a record of CUPTI's, or a call that waits, by its name, where there is no record of it.
struct Wait {
  WaitReason reason = WaitReason::kUnknown;
  std::uint32_t sync = kNone;  ///< row of SyncTable; kNone: known from the call alone
  CallIndex call = kNone;      ///< kNone: not in the data
  ThreadIndex thread = kNone;  ///< who waited; kNone: not known
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  /// Whose work was waited for: a stream (of a copy its own), or all of a device. Both kNone: the data do not say.
  StreamIndex stream = kNone;
  DeviceIndex device = kNone;
  /// Of that work, what ran while the wait lasted: time with any of it running, and the activity that ended last.
  std::int64_t busy_ns = 0;
  ActivityIndex last = kNone;

  /// Whether the thread stood still meanwhile.
  bool blocks_host() const noexcept { return reason != WaitReason::kStreamForEvent && reason != WaitReason::kQuery; }
  std::int64_t length_ns() const noexcept { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
};

/// In order of begin. Calls inside of a wait (the driver's inside of the runtime's) are that wait.
///
/// O(n log n) in synchronisations, calls and activities.
std::vector<Wait> waits_of(const Timeline& timeline);
/// The same without the work that was waited for, and in no order.
std::vector<Wait> waits_without_work(const Timeline& timeline);

}  // namespace rangefinder::analysis
