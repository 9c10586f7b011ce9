// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace examples {

/// "0-3,8,10-11" of the kernel's files as numbers. What is no such list is empty.
std::vector<int> cpu_list(std::string_view text);

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
};

/// Nodes with processors that this process may run on, and those processors. `folder` is the kernel's
/// /sys/devices/system/node; where it tells nothing, one node has all of `allowed`.
std::vector<NumaNode> numa_nodes(const std::string& folder, const std::vector<int>& allowed);

/// Processors that this thread may run on.
std::vector<int> allowed_cpus();
/// The calling thread runs on that processor alone from now on; false where the system refuses.
bool pin_to(int cpu);

/// Processors for that many threads: in turns from each node, so that all memory controllers have work, and again from
/// the first one when there are more threads than processors.
std::vector<int> spread_over_nodes(const std::vector<NumaNode>& nodes, std::size_t threads);

/// The node that holds each of the pages that begin at these addresses; empty where the kernel does not tell. Negative:
/// the page has no memory yet.
std::vector<int> nodes_of_pages(const std::vector<void*>& pages);
/// The node on which the calling thread runs; negative: not known.
int current_node();

}  // namespace examples
