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

/// Operators that are not counted, and why.
struct NotCounted {
  std::uint64_t without_shapes = 0;  ///< would have been, had their inputs been recorded
  std::uint64_t of_lists = 0;        ///< of lists of tensors (cat, foreach, fused optimizers), whose types are not told
};

/// The operators of a timeline whose operations or bytes follow from the shapes of their inputs. Adds the others to
/// `not_counted`. Owners and times are not set.
///
/// Cost: O(n log n) in operators.
CountedByThread counted_operators(const Timeline& timeline, NotCounted& not_counted);

}  // namespace rangefinder::analysis
