// SPDX-License-Identifier: MIT
#pragma once

#include "exporter/chrome/span_nesting.hpp"
#include "projection/range_order.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rangefinder::chrome {

/// How ranges nest on their threads, as SpanNesting wants it: start/end ranges left out.
class SpanOwners {
 public:
  /// Refers to both.
  SpanOwners(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options);

  bool all_nest() const noexcept { return !order_; }
  bool nests(RangeIndex range) const noexcept { return !order_ || order_->is_scoped(range); }
  std::uint32_t depth(RangeIndex range) const noexcept { return depth_[range]; }
  RangeIndex parent(RangeIndex range) const noexcept { return parent_[range]; }

  /// By row of range.
  std::span<const RangeIndex> parents() const noexcept { return parent_; }
  std::span<const std::uint32_t> depths() const noexcept { return depth_; }

  /// The owner where it nests, else none.
  RangeIndex owner(ActivityIndex activity) const;
  /// The innermost range to which it belongs, of those that are shown.
  RangeIndex innermost(ActivityIndex activity) const;

 private:
  void leave_out_start_end(const ProjectionOptions& options);
  void find_shown();
  RangeIndex around(RangeIndex start_end, ActivityIndex activity) const;

  const Timeline& timeline_;
  const Projection& projection_;
  std::optional<projection::RangeOrder> order_;  // where not all ranges nest
  std::vector<RangeIndex> own_parent_;           // likewise
  std::vector<std::uint32_t> own_depth_;
  std::span<const RangeIndex> parent_;
  std::span<const std::uint32_t> depth_;
  std::vector<RangeIndex> shown_;  // of those that are too deep, the one around it that is not
};

}  // namespace rangefinder::chrome
