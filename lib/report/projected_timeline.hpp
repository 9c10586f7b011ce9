// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/range_rollup.hpp"
#include "projection/project.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::report {

/// What a report is about: a timeline and, made on first use and then kept, its groups and its projection
/// (without figures by stream, which no report has).
class ProjectedTimeline {
 public:
  ProjectedTimeline(const Timeline& timeline, const ProjectionOptions& options)
      : timeline_(timeline), options_(options) {}
  /// Of a window of a capture; `keys` name its ranges in all windows.
  ProjectedTimeline(const Timeline& timeline, const ProjectionOptions& options, Projection projection,
                    std::span<const std::uint64_t> keys)
      : timeline_(timeline), options_(options), projection_(std::move(projection)), keys_(keys) {}

  const Timeline& timeline() const noexcept { return timeline_; }
  const ProjectionOptions& projection_options() const noexcept { return options_; }
  const Projection& projection() const {
    if (!projection_) projection_ = projection::project_without_streams(timeline_, options_);
    return *projection_;
  }
  /// What users know a range by.
  std::int64_t id_of(RangeIndex range) const noexcept {
    return keys_.empty() ? std::int64_t{range} + 1 : static_cast<std::int64_t>(keys_[range]);
  }
  /// Frees the memory of what has been made.
  void forget_projection() const noexcept {
    by_name_.reset();
    projection_.reset();
  }
  /// Its ranges by name: the overview and the table below it are both of them.
  const analysis::RangeGroups& groups_by_name() const {
    if (!by_name_) by_name_ = analysis::roll_up_ranges(timeline_, projection(), options_, analysis::GroupBy::kName);
    return *by_name_;
  }
  /// Projection::owner by another attribution; the rest of that projection is not kept.
  std::vector<std::uint32_t> owners_by(Attribution attribution) const {
    return attribution == options_.attribution ? projection().owner : projection_by(attribution).owner;
  }
  /// By another attribution, made anew.
  Projection projection_by(Attribution attribution) const {
    return projection::project_without_streams(timeline_, {attribution, options_.annotations, options_.operators});
  }

 private:
  const Timeline& timeline_;
  ProjectionOptions options_;
  mutable std::optional<Projection> projection_;
  mutable std::optional<analysis::RangeGroups> by_name_;
  std::span<const std::uint64_t> keys_{};
};

}  // namespace rangefinder::report
