// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <vector>

// Which collective a job hangs in, and which rank never came to it.
namespace rangefinder {

/// Where a rank stands when the recordings end.
enum class HangState : std::uint8_t {
  kWaits,      ///< it called the collective and has not left it
  kLeft,       ///< it called the collective and is through
  kNeverCame,  ///< it did not call it
  kDisagrees,  ///< it called another kind, or another size, in its place
  kMissing,    ///< there is no recording of it
};

struct HangRank {
  std::int32_t rank = -1;        ///< of the job; -1: not known
  ProcessIndex process = kNone;  ///< kNone with kMissing
  HangState state = HangState::kWaits;
  CollectiveIndex last_called = kNone;  ///< of this group
  CollectiveIndex last_left = kNone;    ///< of this group
  /// Innermost range that the thread that called last was still in when its recording ended; of a rank that came and
  /// is in none any more, that in which it called.
  RangeIndex range = kNone;
  /// Since when: its call; of a rank that never came, when it left the last collective of the group that it left.
  std::int64_t since_ns = kNoTime;
};

/// A collective that some ranks of a group wait in.
struct Hang {
  ProcessGroupIndex group = kNone;
  std::int64_t number = -1;  ///< among the collectives of the group, as told; else counted from 0 in the recordings
  CollectiveKind kind = CollectiveKind::kOther;
  std::int64_t elements_in = -1;
  StringId dtype = StringId::kEmpty;
  std::int64_t since_ns = kNoTime;  ///< when the first rank called it
  std::vector<HangRank> ranks;      ///< in the order of ranks
};

/// For each group the first collective that some rank called and has not left and another one did not come to; where
/// all came, the first that some rank has not left. The oldest hang first: the others follow from it. For recordings of
/// ranks that were killed or still stand; a capture and its live file hold what they did to their last moment.
///
/// A rank has left a collective when its work was done, where the recordings of the group tell that; else when the call
/// returned. Work that failed was not done. Sends and receives are left out.
///
/// Threads: any; a timeline is not changed.
/// Cost:    O(n log n) in collectives, ranks, threads and ranges; of a group that hangs, O(ranks log ranks) more for
/// each
///          collective that is looked at.
RANGEFINDER_EXPORT std::vector<Hang> find_hangs(const Timeline& timeline);

/// "waits", "never came"; static.
RANGEFINDER_EXPORT const char* to_string(HangState state) noexcept;

}  // namespace rangefinder
