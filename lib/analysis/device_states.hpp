// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/communication_names.hpp"
#include "analysis/spans.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::analysis {

/// What runs on a device: bits of Span::kind.
enum DeviceWork : std::uint8_t {
  kComputing = 1,
  kCommunicating = 2,
  kCopying = 4,
  kOrphan = 8,  ///< beside one of the above: the launch is not in the data
  kGraph = 16,  ///< beside kComputing: a CUDA graph that was recorded as a whole
};
inline constexpr std::uint8_t kAnyWork = 31;

/// Where nothing runs, Span::kind is one of these.
enum class DeviceIdle : std::uint8_t {
  kHostWait = 32,
  kKernelWait = 33,
  kSyncWait = 34,
  kOther = 35,
  kNotRecorded = 36,  ///< outside of Timeline::windows
};
constexpr bool is_work(std::uint8_t kind) noexcept { return (kind & kAnyWork) == kind; }

/// Times come from files. Between times within this, each distance is a number; others are moved to its ends.
inline constexpr std::int64_t kFarthestNs = (std::int64_t{1} << 62) - 1;
constexpr bool is_in_reach(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  return begin_ns >= -kFarthestNs && end_ns <= kFarthestNs && begin_ns < end_ns;
}

/// Finds what each device did at every moment, and why it did nothing.
///
///   DeviceStates states(timeline, usual_gap_ns, [](ActivityIndex) { return false; });
///   for (DeviceIndex device{0}; device < timeline.devices.size(); ++device)
///     for (const Span& span : states.of(device)) use(span);
///
/// Cost: O(n log n) in activities and synchronisations; 4 bytes an activity, and for one device at a time 40 bytes an
/// activity more.
class DeviceStates {
 public:
  /// `is_before`: whether an activity without a launch was launched before the recording.
  DeviceStates(const Timeline& timeline, std::int64_t usual_gap_ns, std::function<bool(ActivityIndex)> is_before);

  /// In order of begin.
  std::span<const ActivityIndex> activities_of(DeviceIndex device) const noexcept {
    return {order_.data() + first_[device], first_[device + 1] - first_[device]};
  }
  /// Adjoining, in order, from -kFarthestNs to kFarthestNs; no two neighbours are of one kind. Of a device without
  /// activities nothing. Valid until the next call.
  std::span<const Span> of(DeviceIndex device);

  /// Bits of DeviceWork.
  std::uint8_t work_of(ActivityIndex activity) const;
  std::int64_t begin_ns(ActivityIndex activity) const noexcept;
  /// Not before the begin.
  std::int64_t end_ns(ActivityIndex activity) const noexcept;
  /// When it was launched; kNoTime where that is not in the data.
  std::int64_t launch_ns(ActivityIndex activity) const noexcept;
  /// Of those that begin at one time, the one that was launched first: it could have begun first. Not of none.
  ActivityIndex first_launched(std::span<const ActivityIndex> next) const noexcept;
  /// Why nothing ran from `gap_ns` until `next` began, whose stream had its last activity launched at `previous_ns`
  /// (kNoTime: not known). Not kNotRecorded.
  DeviceIdle reason_before(ActivityIndex next, std::int64_t gap_ns, std::int64_t previous_ns) const;
  /// Times that were not recorded; disjoint, in order.
  const std::vector<Span>& unrecorded() const noexcept { return unrecorded_; }

 private:
  void find_order();
  void find_unrecorded();
  void find_stream_waits();
  DeviceIdle reason_of(std::int64_t gap_ns, std::span<const ActivityIndex> next) const;
  bool waits_for_event(StreamIndex stream, std::int64_t after_ns, std::int64_t until_ns) const;
  void begin(ActivityIndex activity);
  void count(std::uint8_t work, std::uint32_t by) noexcept;
  std::uint8_t state() const noexcept;
  void advance(std::int64_t to_ns);
  void add(std::int64_t end_ns, std::uint8_t kind);
  void add_idle(std::int64_t end_ns, DeviceIdle reason);

  const Timeline& timeline_;
  std::int64_t usual_gap_ns_;
  std::function<bool(ActivityIndex)> is_before_;
  std::vector<ActivityIndex> order_;  // by device, then begin
  std::vector<std::size_t> first_;    // of each device in order_, and the end
  mutable CommunicationNames communication_;
  std::vector<Span> unrecorded_;                                    // disjoint, in order
  std::vector<std::pair<StreamIndex, std::int64_t>> stream_waits_;  // sorted
  std::vector<std::int64_t> launched_ns_;  // by stream: the launch of its last activity so far; kNoTime: not known

  // Of the device at hand.
  std::vector<Span> spans_;
  std::vector<std::pair<std::int64_t, std::uint8_t>> ends_;  // of its activities, in order
  std::size_t next_end_ = 0;
  std::size_t next_unrecorded_ = 0;
  static constexpr unsigned kWorkBits = 5;
  std::uint32_t running_[kWorkBits] = {};  // activities by bit of DeviceWork
  std::int64_t now_ns_ = 0;
};

}  // namespace rangefinder::analysis
