// SPDX-License-Identifier: MIT
#include "analysis/backward_times.hpp"

#include "analysis/range_at.hpp"
#include "projection/figures.hpp"

#include <algorithm>

namespace rangefinder::analysis {
namespace {

using projection::minus;
using projection::plus;

/// Of each node, without the nodes inside it. Nodes are in order of begin within a thread.
std::vector<std::int64_t> own_times(const Timeline& timeline) {
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  std::vector<std::int64_t> own_ns(nodes.size());
  std::vector<std::vector<AutogradNodeIndex>> open(timeline.threads.size());
  for (AutogradNodeIndex node{0}; node < nodes.size(); ++node) {
    if (nodes.thread[node] >= open.size() || nodes.end_ns[node] <= nodes.begin_ns[node]) continue;
    std::vector<AutogradNodeIndex>& around = open[nodes.thread[node]];
    while (!around.empty() && nodes.end_ns[around.back()] <= nodes.begin_ns[node]) around.pop_back();
    own_ns[node] = minus(nodes.end_ns[node], nodes.begin_ns[node]);
    if (!around.empty()) {
      const std::int64_t end_ns = std::min(nodes.end_ns[node], nodes.end_ns[around.back()]);
      own_ns[around.back()] = minus(own_ns[around.back()], minus(end_ns, nodes.begin_ns[node]));
    }
    around.push_back(node);
  }
  return own_ns;
}

void add(BackwardTimes::Own& to, std::int64_t ns) noexcept {
  to.ns = plus(to.ns, ns);
  ++to.nodes;
}

}  // namespace

BackwardTimes backward_times(const Timeline& timeline, const ProjectionOptions& options) {
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  BackwardTimes out;
  out.ranges.resize(timeline.ranges.size());
  std::vector<HostMoment> moments;
  moments.reserve(nodes.size());
  for (AutogradNodeIndex node{0}; node < nodes.size(); ++node)
    moments.push_back({nodes.forward_thread[node], nodes.forward_ns[node]});
  const std::vector<RangeIndex> forward = ranges_at(timeline, options, moments);
  const std::vector<std::int64_t> own_ns = own_times(timeline);
  for (AutogradNodeIndex node{0}; node < nodes.size(); ++node) {
    add(out.total, own_ns[node]);
    if (nodes.sequence[node] < 0)
      add(out.accumulation, own_ns[node]);
    else if (nodes.forward_thread[node] >= timeline.threads.size())
      add(out.unmatched, own_ns[node]);
    else if (forward[node] == kNone)
      add(out.outside, own_ns[node]);
    else
      add(out.ranges[forward[node]], own_ns[node]);
  }
  return out;
}

}  // namespace rangefinder::analysis
