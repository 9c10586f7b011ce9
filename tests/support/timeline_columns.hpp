// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>

namespace rangefinder::testing {

/// Whether all columns are of one length.
inline bool has_whole_rows(const RangeTable& ranges) {
  for (const std::size_t size :
       {ranges.domain.size(), ranges.category.size(), ranges.kind.size(), ranges.style.size(), ranges.flags.size(),
        ranges.thread.size(), ranges.end_thread.size(), ranges.begin_ns.size(), ranges.end_ns.size(),
        ranges.source_row.size(), ranges.external_id.size()})
    if (size != ranges.size()) return false;
  return true;
}

}  // namespace rangefinder::testing
