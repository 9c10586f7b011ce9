// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// The scoped ranges of one kind and process, as they nest among themselves by time and thread.
struct NestedRanges {
  std::vector<RangeIndex> order;      ///< by thread and begin, outer ones first
  std::vector<RangeIndex> parent;     ///< of each in `order`; kNone: none
  std::vector<bool> inside_its_like;  ///< one of its name is open around it
};

/// Nests the ranges of one process after the other: all of them are read once for each kind, whatever the number of
/// processes. Of each kind the process that was asked for last is kept. Not for several threads.
class RangeNesting {
 public:
  explicit RangeNesting(const Timeline& timeline) : timeline_(timeline) {}
  const Timeline& timeline() const noexcept { return timeline_; }
  /// Of annotations or operators. Valid until another process of that kind is asked for.
  const NestedRanges& of(RangeKind kind, ProcessIndex process) const;

 private:
  struct Kind {
    bool read = false;
    std::vector<RangeIndex> ranges;  // by process, then in order of rows
    std::vector<std::size_t> first;  // of each process, and the end
    ProcessIndex process = kNone;    // of `nested`
    NestedRanges nested;
  };
  void read(RangeKind kind, Kind& into) const;

  const Timeline& timeline_;
  mutable std::array<Kind, 2> kinds_;
};

/// The innermost of the ranges that was open on the event's thread, for each of these rows of AllocatorEventTable;
/// kNone: none. The rows are in order of time within each thread.
std::vector<RangeIndex> owners_of(const Timeline& timeline, const NestedRanges& nested,
                                  const std::vector<std::uint32_t>& rows);

}  // namespace rangefinder::analysis
