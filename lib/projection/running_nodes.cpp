// SPDX-License-Identifier: MIT
#include "projection/running_nodes.hpp"

namespace rangefinder::projection {

std::vector<std::vector<AutogradNodeIndex>> nodes_by_thread(const Timeline& timeline) {
  const AutogradNodeTable& table = timeline.autograd_nodes;
  std::vector<std::vector<AutogradNodeIndex>> out(timeline.threads.size());
  for (AutogradNodeIndex node{0}; node < table.size(); ++node)
    if (table.thread[node] < out.size()) out[table.thread[node]].push_back(node);
  for (std::vector<AutogradNodeIndex>& nodes : out)
    std::stable_sort(nodes.begin(), nodes.end(), [&](AutogradNodeIndex a, AutogradNodeIndex b) {
      if (table.begin_ns[a] != table.begin_ns[b]) return table.begin_ns[a] < table.begin_ns[b];
      return table.end_ns[a] > table.end_ns[b];
    });
  return out;
}

}  // namespace rangefinder::projection
