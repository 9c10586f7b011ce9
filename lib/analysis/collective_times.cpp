// SPDX-License-Identifier: MIT
#include "analysis/collective_times.hpp"

#include "analysis/device_states.hpp"

#include <cstdint>

namespace rangefinder::analysis {

std::vector<std::vector<Span>> times_in_collectives(const Timeline& timeline) {
  std::vector<std::vector<Span>> times(timeline.threads.size());
  const auto add = [&](ThreadIndex thread, std::int64_t begin_ns, std::int64_t end_ns) {
    if (thread < times.size() && is_in_reach(begin_ns, end_ns)) times[thread].push_back({begin_ns, end_ns});
  };
  const CollectiveTable& table = timeline.collectives;
  for (CollectiveIndex row{0}; row < table.size(); ++row) {
    add(table.thread[row], table.begin_ns[row], table.end_ns[row]);
    add(table.wait_thread[row], table.wait_begin_ns[row], table.wait_end_ns[row]);
  }
  return times;
}

bool is_collective_work(std::string_view range_name) noexcept { return range_name.starts_with("gloo:"); }

}  // namespace rangefinder::analysis
