// SPDX-License-Identifier: MIT
#include "bench/copy_overlap.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace rangefinder::bench {
namespace {

/// A copy or a kernel begins (+1) or ends (-1).
struct Edge {
  std::int64_t at_ns;
  int copies = 0, kernels = 0;
};

void add(CopyOverlap& sum, std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  int copies = 0, kernels = 0;
  std::int64_t last_ns = 0;
  for (const Edge& edge : edges) {
    if (copies > 0) sum.copy_ns += edge.at_ns - last_ns;
    if (copies > 0 && kernels > 0) sum.hidden_ns += edge.at_ns - last_ns;
    copies += edge.copies;
    kernels += edge.kernels;
    last_ns = edge.at_ns;
  }
}

}  // namespace

CopyOverlap copy_overlap(const Timeline& timeline) {
  const ActivityTable& activities = timeline.activities;
  std::map<DeviceIndex, std::vector<Edge>> of_device;
  for (std::size_t row = 0; row < activities.size(); ++row) {
    const int copies = activities.kind[row] == ActivityKind::kMemcpy,
              kernels = activities.kind[row] == ActivityKind::kKernel;
    std::vector<Edge>& edges = of_device[timeline.streams[activities.stream[row]].device];
    edges.push_back({activities.begin_ns[row], copies, kernels});
    edges.push_back({activities.end_ns[row], -copies, -kernels});
  }
  CopyOverlap sum;
  for (auto& [device, edges] : of_device) add(sum, edges);
  return sum;
}

}  // namespace rangefinder::bench
