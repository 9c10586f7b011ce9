// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// The scoped ranges of one kind and process, as they nest among themselves by time and thread.
struct NestedRanges {
  std::vector<RangeIndex> order;      ///< by thread and begin, outer ones first
  std::vector<RangeIndex> parent;     ///< of each in `order`; kNone: none
  std::vector<bool> inside_its_like;  ///< one of its name is open around it
};

NestedRanges nest_ranges(const Timeline& timeline, RangeKind kind, ProcessIndex process);

/// The innermost of the ranges that was open on the event's thread, for each of these rows of AllocatorEventTable;
/// kNone: none. The rows are in order of time within each thread.
std::vector<RangeIndex> owners_of(const Timeline& timeline, const NestedRanges& nested,
                                  const std::vector<std::uint32_t>& rows);

}  // namespace rangefinder::analysis
