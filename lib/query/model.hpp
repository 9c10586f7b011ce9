// SPDX-License-Identifier: MIT
#pragma once

#include "report/projected_timeline.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace rangefinder::query {

/// What the columns of tables are read from. Launches of CUDA graphs that were recorded as a whole are divided, as in
/// reports, so that sums over activities are the sums of the views.
class Model {
 public:
  Model(Timeline timeline, const ProjectionOptions& options);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const Timeline& timeline() const noexcept { return divided_ ? *divided_ : recorded_; }
  /// As it was recorded: Nsight's views are about that.
  const Timeline& recorded() const noexcept { return recorded_; }
  /// Made on first use.
  const Projection& projection() const { return projected_.projection(); }
  /// Whether a range of its name is around it, which has all that is its own. Made on first use.
  bool is_recursive(RangeIndex range) const;
  const report::ProjectedTimeline& projected() const noexcept { return projected_; }
  const report::ProjectedTimeline& recorded_projected() const noexcept { return divided_ ? *plain_ : projected_; }

  ProcessIndex process_of(ThreadIndex thread) const noexcept { return timeline().threads[thread].process; }
  DeviceIndex device_of(StreamIndex stream) const noexcept { return timeline().streams[stream].device; }
  ProcessIndex process_of(DeviceIndex device) const noexcept { return timeline().devices[device].process; }

 private:
  Timeline recorded_;
  std::optional<Timeline> divided_;
  report::ProjectedTimeline projected_;
  std::optional<report::ProjectedTimeline> plain_;
  mutable std::optional<std::vector<bool>> recursive_;
};

}  // namespace rangefinder::query
