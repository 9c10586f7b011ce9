// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/types.hpp>
#include <rangefinder/visibility.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// How libraries that see collectives (rangefinder::torch, the profiler plugin of NCCL) put them into the recording.
namespace rangefinder::detail {

/// What is known when a collective is called. Texts are copied.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kOther;
  CollectiveSource source = CollectiveSource::kC10d;
  std::string_view name;          ///< as its library calls it: "allreduce", "_allgather_base", "AllReduce"
  std::uint32_t group = 0;        ///< by collective_group(); 0: not known
  std::int64_t number = -1;       ///< its position among those of the group; -1: not known
  std::int64_t elements_in = -1;  ///< of this rank; -1: not known
  std::int64_t elements_out = -1;
  std::string_view dtype;      ///< as its library calls it: "Float", "ncclBfloat16"
  std::int32_t peer = -1;      ///< rank within the group: the root, or the other end of a send or receive; -1: none
  std::string_view in_splits;  ///< of an all-to-all with unequal parts: "[3, 5]"; empty: equal
  std::string_view out_splits;
  std::string_view algorithm;  ///< "RING", "TREE"; empty: not known
  std::string_view protocol;   ///< "LL", "LL128", "SIMPLE"
  std::int32_t channels = 0;   ///< 0: not known
};

/// Members of a communicator or process group.
struct CollectiveGroup {
  std::string_view name;         ///< unique within the job: c10d's group name, NCCL's communicator hash in hexadecimal
  std::string_view description;  ///< "default_pg"; may be empty
  const std::int64_t* ranks = nullptr;  ///< of the job, in the order of the group; null: not known
  std::size_t rank_count = 0;
  std::int32_t size = 0;   ///< 0: not known
  std::int32_t rank = -1;  ///< of this process within it
};

/// Names a group for collectives; the same number whenever it is named alike, for the life of the process. 0 when no
/// name is to be had. May allocate.
RANGEFINDER_EXPORT std::uint32_t collective_group(const CollectiveGroup& group) noexcept;

/// Notes that the calling thread calls a collective now, in the range that is open there. Returns its handle, unique in
/// the process; 0 while nothing is recorded, or where no block was free (CaptureHealth::dropped_collectives).
///
/// Threads: any. Never waits, since libraries call it under locks of their own.
RANGEFINDER_EXPORT std::uint32_t begin_collective(const CollectiveCall& call) noexcept;

enum class CollectivePhase : std::uint8_t {
  kReturned = 1,   ///< the call came back
  kStarted = 2,    ///< its work began: on the host's worker, on the device
  kCompleted = 3,  ///< and was done
  kWaitBegan = 4,  ///< the calling thread waits until it is done
  kWaitEnded = 5,
};

/// Notes how far a collective is, now, from any thread. Does nothing for handle 0.
RANGEFINDER_EXPORT void note_collective(std::uint32_t handle, CollectivePhase phase) noexcept;

/// A collective was not told of, or not its end, for want of memory: CaptureHealth::dropped_collectives.
RANGEFINDER_EXPORT void count_lost_collective() noexcept;

}  // namespace rangefinder::detail
