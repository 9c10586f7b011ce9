// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/device_states.hpp"
#include "analysis/step_rules.hpp"
#include "analysis/waits.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace rangefinder::analysis {

/// Why a device or a stream did nothing: the class of the gap (see IdleReasons), and of kHostWait what the thread did
/// that launched too late.
enum class IdleCause : std::uint8_t {
  kHostLate,         ///< it did something else, or nothing that was recorded
  kInput,            ///< it was in a range that waits for data (StepPart::kData)
  kSynchronisation,  ///< it waited for a device
  kCommunication,    ///< it was in a collective
  kEngine,           ///< it waited for the autograd engine
  /// From the launch to the begin, where that is all there is (kernel wait), and where the launch came too late.
  kLaunchLatency,
  kEvent,  ///< sync wait: the stream waited for an event
  kOther,  ///< launched in time, and none of these; or the launch is not in the data
};

/// Idle time of one place for one cause, while the host was in one range.
struct IdleTime {
  DeviceIndex device = kNone;
  StreamIndex stream = kNone;  ///< whose next activity ended the gap
  IdleCause cause = IdleCause::kOther;
  std::optional<WaitReason> wait;     ///< of kSynchronisation: for what
  StringId range = StringId::kEmpty;  ///< see idle_times; kEmpty: none
  std::uint64_t gaps = 0;             ///< that have such time
  std::int64_t idle_ns = 0;
  std::int64_t longest_ns = 0;
};

enum class IdleOf : std::uint8_t {
  kDevices,  ///< gaps in which no stream of the device was busy
  kStreams,  ///< gaps between the activities of each stream, whatever others did
};

struct IdleTimesOptions {
  IdleOf of = IdleOf::kDevices;
  std::int64_t usual_gap_ns = 30'000;  ///< as BreakdownOptions
  ProjectionOptions projection;
};

/// Idle time between the first and the last activity of each device or stream, without time that was not recorded, in
/// parts: what each thread did meanwhile divides a gap without remainder. The range is the innermost one of the thread
/// that launched what ended the gap; of a thread of the autograd engine that is in none, the innermost one of the
/// thread that waits for it. The longest first.
///
/// Cost: O(n log n) in activities, ranges and waits.
std::vector<IdleTime> idle_times(const Timeline& timeline, const Projection& projection, const StepRules& rules,
                                 const IdleTimesOptions& options);

}  // namespace rangefinder::analysis
