// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/memory_owners.hpp"

#include <rangefinder/analysis/key_averages.hpp>
#include <rangefinder/timeline.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

// What Timeline::memory says of a program: how much each range and operator allocated, how high memory stood, and what
// it consisted of then. Bytes are those that the allocator tells of: what was asked for in our captures, blocks of the
// caching allocator in torch.profiler's traces.
namespace rangefinder::analysis {

/// The host's memory or a device's, of one process.
struct MemoryPlace {
  ProcessIndex process{0};
  std::int32_t device = -1;  ///< -1: the host

  auto operator<=>(const MemoryPlace&) const = default;
};

struct MemoryFigures {
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::int64_t allocated_bytes = 0;
  std::int64_t freed_bytes = 0;

  std::int64_t delta_bytes() const noexcept;
  void add(const MemoryFigures& other) noexcept;
};

/// One place over time.
struct PlaceMemory {
  MemoryPlace place;
  std::vector<std::uint32_t> rows;    ///< of AllocatorEventTable, in order of time
  std::vector<std::int64_t> level;    ///< allocated bytes after each of them; from 0 on where the input has no totals
  std::int64_t first_bytes = 0;       ///< before the first row
  std::int64_t peak_bytes = 0;        ///< the most that was allocated at a time
  std::size_t peak = 0;               ///< position in `rows` of the event that led to it
  std::int64_t peak_reserved = -1;    ///< -1: not known
  std::int64_t unused_reserved = -1;  ///< the most that was reserved and not allocated at a time
  std::uint64_t segments = 0;         ///< taken from the system
  std::uint64_t out_of_memory = 0;    ///< requests that failed
  MemoryFigures all;
  std::map<std::uint64_t, std::int64_t> pool_peaks;  ///< bytes of the private pools; 0: the default one

  /// How many of `rows` there were when the most was allocated; 0: it was before the first.
  std::size_t events_to_peak() const noexcept;
  /// Allocated bytes at a time: before the events of that time.
  std::int64_t level_at(const Timeline& timeline, std::int64_t time_ns) const;
};

/// Every place of which there is an event, the host first.
std::vector<PlaceMemory> memory_of_places(const Timeline& timeline);

/// The ranges of one name, of one place, their figures added up over instances. Events belong to what was open on their
/// thread: a free by another thread is another range's, a block that lives on counts only where it was made.
struct RangeMemory {
  StringId name = StringId::kEmpty;
  RangeIndex first = kNone;  ///< of them
  std::uint64_t count = 0;
  MemoryFigures inclusive;       ///< with ranges inside; a range inside one of its own name adds nothing
  MemoryFigures exclusive;       ///< without ranges of the same kind inside
  std::int64_t peak_bytes = 0;   ///< the most that all threads had allocated while one of them was open
  std::int64_t above_begin = 0;  ///< the same less what was allocated when that one began, the most of any
};

/// Of ranges of that kind (annotations or operators) in which anything was allocated, freed, or which were open while
/// something was. In order of the first of each name; `instances`: a row each, with all of its own.
std::vector<RangeMemory> memory_of_ranges(const RangeNesting& nesting, const PlaceMemory& place, RangeKind kind,
                                          bool instances = false);

/// Blocks that were there when the most was allocated, by what allocated them.
struct PeakShare {
  StringId range = StringId::kEmpty;  ///< innermost annotation, or innermost operator; kEmpty: none was open
  std::uint64_t blocks = 0;
  std::int64_t bytes = 0;
};

struct PeakComposition {
  std::vector<PeakShare> by_range;     ///< largest first
  std::vector<PeakShare> by_operator;  ///< largest first
  std::int64_t earlier_bytes = 0;      ///< of blocks whose allocation is not in the data
};

PeakComposition peak_composition(const RangeNesting& nesting, const PlaceMemory& place);

/// What was allocated when each step of the process ended: a program that leaks nothing ends its steps alike.
struct StepMemory {
  std::vector<std::int64_t> end_bytes;  ///< in order of time
  /// Bytes a step, from the end of the first step to the end of the last; 0 with fewer than two.
  std::int64_t growth() const noexcept;
};

StepMemory memory_of_steps(const Timeline& timeline, const PlaceMemory& place);

/// Numbers that a file may claim do not wrap.
void add(AllocatedBytes& to, const AllocatedBytes& bytes) noexcept;
void subtract(AllocatedBytes& from, const AllocatedBytes& bytes) noexcept;

/// Sums of what was allocated less what was freed, on the host and on devices, by time and whatever the thread: how
/// torch.profiler counts for operators.
class MemoryByTime {
 public:
  explicit MemoryByTime(const Timeline& timeline);
  /// Whether nothing was allocated or freed.
  bool empty() const noexcept { return times_.empty(); }
  /// Both ends included. Fast where the stretch is near the one asked for before: O(log of the events between them).
  AllocatedBytes between(std::int64_t begin_ns, std::int64_t end_ns) noexcept;

 private:
  template <typename IsBehind>
  std::size_t first_from(std::size_t from, IsBehind is_behind) const noexcept;

  std::vector<std::int64_t> times_;
  std::vector<AllocatedBytes> up_to_;  // one more than times_
  std::size_t near_ = 0;               // where the last stretch began
};

}  // namespace rangefinder::analysis
