// SPDX-License-Identifier: MIT
#include "analysis/range_at.hpp"

#include "projection/range_order.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

namespace rangefinder::analysis {

std::vector<RangeIndex> ranges_at(const Timeline& timeline, const ProjectionOptions& options,
                                  std::span<const HostMoment> moments) {
  const projection::RangeOrder order(timeline, options);
  std::vector<std::uint32_t> by_time(moments.size());
  std::iota(by_time.begin(), by_time.end(), 0u);
  std::sort(by_time.begin(), by_time.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(moments[a].thread, moments[a].time_ns) < std::tie(moments[b].thread, moments[b].time_ns);
  });

  std::vector<RangeIndex> found(moments.size(), kNone);
  std::vector<RangeIndex> candidates;  // of one thread, in order
  std::vector<RangeIndex> open;        // in order; ended ones stay until they are on top
  std::size_t next = 0;
  ThreadIndex thread = kNone;
  for (const std::uint32_t at : by_time) {
    const HostMoment& moment = moments[at];
    if (moment.thread >= timeline.threads.size()) break;  // kNone sorts last
    if (moment.thread != thread) {
      thread = moment.thread;
      const auto scoped = order.scoped(thread), start_end = order.start_end(thread);
      candidates.clear();
      std::merge(scoped.begin(), scoped.end(), start_end.begin(), start_end.end(), std::back_inserter(candidates),
                 [&](RangeIndex a, RangeIndex b) { return order.before(a, b); });
      open.clear();
      next = 0;
    }
    for (; next < candidates.size() && timeline.ranges.begin_ns[candidates[next]] <= moment.time_ns; ++next)
      open.push_back(candidates[next]);
    while (!open.empty() && !order.contains(open.back(), moment.time_ns)) open.pop_back();
    if (!open.empty()) found[at] = open.back();
  }
  return found;
}

}  // namespace rangefinder::analysis
