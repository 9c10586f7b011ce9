// SPDX-License-Identifier: MIT
#include "query/model.hpp"

#include "analysis/range_forest.hpp"
#include "projection/split_graph_launches.hpp"

#include <cstdint>

namespace rangefinder::query {

Model::Model(Timeline timeline, const ProjectionOptions& options)
    : recorded_(std::move(timeline)),
      divided_(projection::with_split_graph_launches(recorded_, options)),
      projected_(divided_ ? *divided_ : recorded_, options) {
  if (divided_) plain_.emplace(recorded_, options);
}

bool Model::is_recursive(RangeIndex range) const {
  if (!recursive_) {
    const RangeTable& ranges = timeline().ranges;
    recursive_ = analysis::inside_their_like(ranges.size(), analysis::RangeForest(projection()), [&](RangeIndex each) {
      return std::uint64_t{static_cast<std::uint32_t>(ranges.name[each])};
    });
  }
  return (*recursive_)[range];
}

}  // namespace rangefinder::query
