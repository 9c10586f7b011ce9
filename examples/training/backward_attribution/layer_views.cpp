// SPDX-License-Identifier: MIT
#include "layer_views.hpp"

#include <rangefinder/projection.hpp>

#include <algorithm>

namespace examples {
namespace {

using namespace rangefinder;

class Views {
 public:
  Views(const Timeline& timeline, const std::vector<std::string>& layers)
      : timeline_(timeline), ranges_(timeline.ranges) {
    for (const std::string& layer : layers) rows_.push_back({layer});
    row_of_.assign(ranges_.size(), kNone);
    for (RangeIndex range{0}; range < ranges_.size(); ++range) {
      if (ranges_.kind[range] != RangeKind::kAnnotation) continue;
      const auto found = std::find(layers.begin(), layers.end(), timeline.text(ranges_.name[range]));
      if (found == layers.end()) continue;
      row_of_[range] = static_cast<std::uint32_t>(found - layers.begin());
      rows_[row_of_[range]].host_ns += ranges_.end_ns[range] - ranges_.begin_ns[range];
    }
  }

  /// Device time: the library has both answers.
  void add_device_time() {
    ProjectionOptions options;
    options.attribution = Attribution::kLaunch;
    const Projection launch = project(timeline_, options);
    options.attribution = Attribution::kForward;
    const Projection forward = project(timeline_, options);
    for (RangeIndex range{0}; range < ranges_.size(); ++range) {
      if (row_of_[range] == kNone) continue;
      rows_[row_of_[range]].launch_ns += launch.inclusive[range].gpu_sum_ns;
      rows_[row_of_[range]].forward_ns += forward.inclusive[range].gpu_sum_ns;
    }
  }

  /// Operators and nodes, each without those inside it, so that no time counts twice.
  void add_host_time() {
    ProjectionOptions options;
    options.operators = true;
    const std::vector<RangeIndex> parents = project(timeline_, options).parent;
    for (RangeIndex range{0}; range < ranges_.size(); ++range) {
      if (ranges_.kind[range] != RangeKind::kOperator) continue;
      const RangeIndex around = parents[range];
      if (around != kNone && ranges_.kind[around] == RangeKind::kOperator) continue;
      const std::uint32_t row = layer_around(around, parents);
      if (row == kNone) continue;
      const std::int64_t took_ns = ranges_.end_ns[range] - ranges_.begin_ns[range];
      rows_[row].launch_ns += took_ns;
      // What a node does counts below, where the forward pass had made it.
      if (!is_node(range)) rows_[row].forward_ns += took_ns;
    }
    const AutogradNodeTable& nodes = timeline_.autograd_nodes;
    std::int64_t to = kNoTime;  // nodes are in order of thread and begin: the end of the outermost one that runs
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      const bool is_inside = node > 0 && nodes.thread[node - 1] == nodes.thread[node] && nodes.begin_ns[node] < to;
      if (is_inside) continue;
      to = nodes.end_ns[node];
      // Gradients are added up for no layer: that stays where it ran.
      const bool is_made = nodes.forward_ns[node] != kNoTime;
      const std::uint32_t row = is_made ? layer_at(nodes.forward_thread[node], nodes.forward_ns[node])
                                        : layer_at(nodes.thread[node], nodes.begin_ns[node]);
      if (row != kNone) rows_[row].forward_ns += nodes.end_ns[node] - nodes.begin_ns[node];
    }
  }

  std::vector<LayerViews> rows() && { return std::move(rows_); }

 private:
  /// An operator that is a node, or runs in one.
  bool is_node(RangeIndex range) const {
    const AutogradNodeTable& nodes = timeline_.autograd_nodes;
    for (std::size_t node = 0; node < nodes.size(); ++node)
      if (nodes.thread[node] == ranges_.thread[range] && nodes.begin_ns[node] < ranges_.end_ns[range] &&
          ranges_.begin_ns[range] < nodes.end_ns[node])
        return true;
    return false;
  }

  std::uint32_t layer_around(RangeIndex range, const std::vector<RangeIndex>& parents) const {
    while (range != kNone && row_of_[range] == kNone) range = parents[range];
    return range == kNone ? kNone : row_of_[range];
  }

  /// Layers do not nest here.
  std::uint32_t layer_at(ThreadIndex thread, std::int64_t time_ns) const {
    for (RangeIndex range{0}; range < ranges_.size(); ++range)
      if (row_of_[range] != kNone && ranges_.thread[range] == thread && ranges_.begin_ns[range] <= time_ns &&
          time_ns < ranges_.end_ns[range])
        return row_of_[range];
    return kNone;
  }

  const Timeline& timeline_;
  const RangeTable& ranges_;
  std::vector<LayerViews> rows_;
  std::vector<std::uint32_t> row_of_;  // by range; kNone: no layer
};

}  // namespace

std::vector<LayerViews> layer_views(const Timeline& timeline, const std::vector<std::string>& layers) {
  Views views(timeline, layers);
  if (timeline.activities.size() != 0)
    views.add_device_time();
  else
    views.add_host_time();
  return std::move(views).rows();
}

}  // namespace examples
