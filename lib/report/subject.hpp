// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <optional>

namespace rangefinder::report {

/// What a report is about: a timeline and, made when somebody first asks and then kept, its projection.
class Subject {
 public:
  Subject(const Timeline& timeline, const ProjectionOptions& options) : timeline_(timeline), options_(options) {}

  const Timeline& timeline() const noexcept { return timeline_; }
  const ProjectionOptions& projection_options() const noexcept { return options_; }
  const Projection& projection() const {
    if (!projection_) projection_ = project(timeline_, options_);
    return *projection_;
  }
  /// The same by another attribution, made anew unless it is this one.
  Projection projection_by(Attribution attribution) const {
    if (attribution == options_.attribution) return projection();
    return project(timeline_, {attribution, options_.annotations, options_.operators});
  }

 private:
  const Timeline& timeline_;
  ProjectionOptions options_;
  mutable std::optional<Projection> projection_;
};

}  // namespace rangefinder::report
