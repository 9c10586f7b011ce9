// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/roofline.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rangefinder::analysis {

/// An operator whose operations or bytes are known, and no such operator around it.
struct CountedOperator {
  RangeIndex range;
  RangeIndex owner = kNone;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  double flops;
  double bytes;
  Precision precision;
  std::int64_t time_ns = 0;  ///< of its own, on the device or on the host

  /// Without its time.
  Work work() const noexcept {
    Work work;
    work.flops[static_cast<std::size_t>(precision)] = flops;
    work.bytes = bytes;
    return work;
  }
};

/// By thread, in order of time, disjoint.
using CountedByThread = std::vector<std::vector<CountedOperator>>;

/// The operators of a timeline whose operations or bytes follow from the shapes of their inputs. Adds to
/// `without_shapes` those that would be among them, had their inputs been recorded. Owners and times are not set.
///
/// Cost: O(n log n) in operators.
CountedByThread counted_operators(const Timeline& timeline, std::uint64_t& without_shapes);

}  // namespace rangefinder::analysis
