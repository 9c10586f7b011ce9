// SPDX-License-Identifier: MIT
#include "timeline/engine_threads.hpp"

#include <optional>
#include <vector>

namespace rangefinder::timeline {

bool is_engine_thread(std::string_view name) noexcept { return name.starts_with("pt_autograd"); }

void last_until_the_next(AutogradNodeTable& nodes, std::size_t first,
                         const std::function<bool(ThreadIndex)>& is_engine) {
  std::vector<AutogradNodeIndex> running;  // innermost last
  for (AutogradNodeIndex next(first); next < nodes.size(); ++next) {
    if (next == first || nodes.thread[next - 1] != nodes.thread[next]) running.clear();
    std::optional<AutogradNodeIndex> before;  // that ran in the same node, or in none
    while (!running.empty() && nodes.end_ns[running.back()] <= nodes.begin_ns[next]) {
      before = running.back();
      running.pop_back();
    }
    if (before && is_engine(nodes.thread[next])) nodes.set_end(*before, nodes.begin_ns[next]);
    running.push_back(next);
  }
}

}  // namespace rangefinder::timeline
