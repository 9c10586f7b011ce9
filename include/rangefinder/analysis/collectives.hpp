// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Collectives of a job, matched over its ranks: how long each took, who waited, and for whom.
namespace rangefinder {

/// One rank's part of a matched collective.
struct CollectivePart {
  CollectiveIndex collective = kNone;
  ProcessIndex process{0};
  std::int64_t begin_ns = 0;  ///< of its work: on the device; without one, as its library told; else of the call
  std::int64_t end_ns = 0;
  /// Until the last rank began. kNoTime where the clocks of the ranks cannot be compared.
  std::int64_t wait_ns = kNoTime;
};

struct MatchedCollective {
  CollectiveKind kind = CollectiveKind::kOther;
  ProcessGroupIndex group = kNone;  ///< kNone: the input does not tell groups
  std::int64_t number = 0;          ///< among the collectives of its group, as told; else counted from 0
  std::size_t first_part = 0;       ///< in MatchedCollectives::parts, by process
  std::uint32_t part_count = 0;
  std::uint32_t ranks = 0;  ///< of the group; more than part_count where recordings are missing
  /// Of a rank, as NCCL's tests count: elements times their size; of an all-gather those that come out, else those that
  /// go in. 0: not known.
  std::uint64_t bytes = 0;
  std::int64_t latency_ns = 0;  ///< least duration of a part: the last rank to come does not wait
  std::int64_t longest_ns = 0;  ///< greatest duration of a part
  /// From the first rank's begin to the last one's. kNoTime as with CollectivePart::wait_ns.
  std::int64_t skew_ns = kNoTime;
  std::int64_t clock_error_ns = kNoTime;  ///< most that skew and waits can be off; kNoTime: not known
  std::uint32_t last_part = kNone;        ///< which part began last, from first_part on; kNone: not known
  RangeIndex last_range = kNone;          ///< innermost range of its rank that was open when it was called
  double algorithm_bandwidth = 0;         ///< bytes / latency, bytes a second; 0: not known
  /// The same times 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather, reduce-scatter and all-to-all, 1 for all
  /// others, n ranks: what a link carries, whatever the number of ranks. As in NCCL's tests.
  double bus_bandwidth = 0;
  double imbalance = 1;  ///< of an all-to-all: greatest over mean bytes of a rank
};

/// Collectives that may belong together and were not matched.
struct RefusedCollectives {
  ProcessGroupIndex group = kNone;
  std::uint64_t parts = 0;  ///< how many, over all ranks
  std::string reason;       ///< for people
};

struct MatchedCollectives {
  std::vector<MatchedCollective> collectives;  ///< in order of their first begin
  std::vector<CollectivePart> parts;
  std::vector<RefusedCollectives> refused;
};

/// Matches collectives over the processes of a job. Two are one where group and number are the same; where numbers are
/// not told, where they have the same place in the same step of a group (a stream of the device, where groups are not
/// told), or in all of it. Kind, type and bytes must agree, and parts of what no rank leaves before the last has come
/// must overlap; else nothing is matched that could be wrong, and `refused` says why.
///
/// Threads: any; a timeline is not changed.
/// Cost:    sorts collectives, steps and ranges.
RANGEFINDER_EXPORT MatchedCollectives match_collectives(const Timeline& timeline);

/// "all_reduce", "reduce_scatter", "other"; static.
RANGEFINDER_EXPORT const char* to_string(CollectiveKind kind) noexcept;

}  // namespace rangefinder
