// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/span_nesting.hpp"
#include "projection/range_order.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::chrome {

/// How ranges nest on their threads, as SpanNesting wants it: start/end ranges left out.
class SpanOwners {
 public:
  SpanOwners(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options);

  bool nests(RangeIndex range) const noexcept { return order_.is_scoped(range); }
  std::uint32_t depth(RangeIndex range) const noexcept { return depth_[range]; }
  RangeIndex parent(RangeIndex range) const noexcept { return parent_[range]; }

  /// The owner where it nests, else none.
  RangeIndex owner(ActivityIndex activity) const;
  /// The innermost range to which it belongs, of those that are shown.
  RangeIndex innermost(ActivityIndex activity) const;

 private:
  RangeIndex around(RangeIndex start_end, ActivityIndex activity) const;

  const Timeline& timeline_;
  const Projection& projection_;
  projection::RangeOrder order_;
  std::vector<RangeIndex> parent_;
  std::vector<std::uint32_t> depth_;
  std::vector<RangeIndex> shown_;  // itself, or the one around it that is not too deep
};

}  // namespace rangefinder::chrome
