// SPDX-License-Identifier: MIT
#include "projection/forward.hpp"

#include "projection/running_nodes.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace rangefinder::projection {
namespace {

/// What the sweeps over all threads find.
struct Found {
  std::vector<Pass> pass;                   ///< by launch
  std::vector<AutogradNodeIndex> moved_to;  ///< by launch: the node to whose making it moves; kNone: it stays
  std::vector<AutogradNodeIndex> made_in;   ///< by node: the node that ran where it was made, outside of any range that
                                            ///< was opened meanwhile; kNone: none
};

bool is_matched(const Timeline& timeline, AutogradNodeIndex node) noexcept {
  const AutogradNodeTable& nodes = timeline.autograd_nodes;
  return nodes.sequence[node] >= 0 && nodes.forward_thread[node] < timeline.threads.size() &&
         nodes.forward_ns[node] != kNoTime;
}

/// The launches of one thread that ran nodes, and the nodes made on it, in order of time, against its nodes and ranges.
class ThreadSweep {
 public:
  ThreadSweep(const Timeline& timeline, const RangeOrder& order, std::span<const AutogradNodeIndex> nodes,
              std::span<const AutogradNodeIndex> made_here, ThreadIndex thread, Found& found)
      : timeline_(timeline),
        table_(timeline.autograd_nodes),
        ranges_(timeline.ranges),
        order_(order),
        running_(timeline, nodes, thread),
        scoped_(order.scoped(thread)),
        made_here_(made_here),
        found_(found) {}

  /// `launches`, like the nodes made here, in order of time.
  void run(std::span<const LaunchIndex> launches) {
    std::size_t made = 0;
    for (const LaunchIndex launch : launches) {
      const std::int64_t time = timeline_.launches.time_ns[launch];
      for (; made < made_here_.size() && table_.forward_ns[made_here_[made]] <= time; ++made)
        visit_made(made_here_[made]);
      visit_launch(launch, time);
    }
    for (; made < made_here_.size(); ++made) visit_made(made_here_[made]);
  }

 private:
  void visit_launch(LaunchIndex launch, std::int64_t time) {
    advance(time);
    if (running_.empty()) return;
    const AutogradNodeIndex node = running_.innermost().node;
    Pass& pass = found_.pass[launch];
    if (table_.sequence[node] < 0) {
      pass = Pass::kAccumulation;
    } else if (has_own_range(launch, node, time)) {
      pass = makes_nodes(node) ? Pass::kRecompute : Pass::kBackward;
    } else if (!is_matched(timeline_, node)) {
      pass = Pass::kUnmatched;
    } else {
      pass = Pass::kBackward;
      found_.moved_to[launch] = node;
    }
  }

  void visit_made(AutogradNodeIndex node) {
    const std::int64_t time = table_.forward_ns[node];
    advance(time);
    if (!running_.empty() && !is_in_own_range(time)) found_.made_in[node] = running_.innermost().node;
  }

  // Nodes and ranges in order of begin; at the same time the node comes first, so that the range is inside it.
  void advance(std::int64_t time) {
    for (;;) {
      const std::int64_t node_begin = running_.next_begin();
      const std::int64_t range_begin =
          next_range_ < scoped_.size() ? ranges_.begin_ns[scoped_[next_range_]] : RunningNodes::kAfterAll;
      if (std::min(node_begin, range_begin) > time) break;
      if (node_begin == RunningNodes::kAfterAll && range_begin == RunningNodes::kAfterAll) break;
      if (node_begin <= range_begin) {
        running_.begin_next();
        continue;
      }
      running_.end_before(range_begin);
      const std::int64_t range_end = ranges_.end_ns[scoped_[next_range_++]];
      if (!running_.empty()) running_.innermost().ranges_to = std::max(running_.innermost().ranges_to, range_end);
    }
    running_.end_before(time);
  }

  bool has_own_range(LaunchIndex launch, AutogradNodeIndex node, std::int64_t time) const {
    const RangeIndex noted = timeline_.launches.range[launch];
    if (noted < ranges_.size() && order_.takes_part(noted)) return ranges_.begin_ns[noted] >= table_.begin_ns[node];
    return is_in_own_range(time);
  }

  /// In a range that was opened while the innermost node ran.
  bool is_in_own_range(std::int64_t time) const {
    const std::int64_t to = running_.innermost().ranges_to;
    return to != RunningNodes::kNever && !is_over(to, time, order_.rule());
  }

  bool makes_nodes(AutogradNodeIndex node) const {
    const auto first = std::partition_point(made_here_.begin(), made_here_.end(), [&](AutogradNodeIndex made) {
      return table_.forward_ns[made] < table_.begin_ns[node];
    });
    return first != made_here_.end() && table_.forward_ns[*first] < table_.end_ns[node];
  }

  const Timeline& timeline_;
  const AutogradNodeTable& table_;
  const RangeTable& ranges_;
  const RangeOrder& order_;
  RunningNodes running_;
  std::span<const RangeIndex> scoped_;
  std::span<const AutogradNodeIndex> made_here_;  // nodes that were made on this thread, in order of when
  Found& found_;
  std::size_t next_range_ = 0;
};

/// The node to whose making the work of each node moves: itself, or, where it was made by a node that ran (the backward
/// of a backward, a recomputed part without a range of its own), what that one moves to.
std::vector<AutogradNodeIndex> origins(const Timeline& timeline, std::span<const AutogradNodeIndex> made_in) {
  const AutogradNodeTable& table = timeline.autograd_nodes;
  std::vector<AutogradNodeIndex> in_order(table.size());
  std::iota(in_order.begin(), in_order.end(), AutogradNodeIndex{0});
  std::stable_sort(in_order.begin(), in_order.end(),
                   [&](AutogradNodeIndex a, AutogradNodeIndex b) { return table.begin_ns[a] < table.begin_ns[b]; });
  std::vector<AutogradNodeIndex> origin(table.size());
  for (const AutogradNodeIndex node : in_order) {
    const AutogradNodeIndex maker = made_in[node];
    // What was made later than it ran is damage, and could go round in circles.
    const bool follows = maker != kNone && table.begin_ns[maker] < table.begin_ns[node] && is_matched(timeline, maker);
    origin[node] = follows ? origin[maker] : node;
  }
  return origin;
}

}  // namespace

ForwardLaunches launches_of_forward(const Timeline& timeline, const RangeOrder& order) {
  const AutogradNodeTable& table = timeline.autograd_nodes;
  const std::size_t threads = timeline.threads.size();
  Found found{std::vector<Pass>(timeline.launches.size(), Pass::kForward),
              std::vector<AutogradNodeIndex>(timeline.launches.size(), kNone),
              std::vector<AutogradNodeIndex>(table.size(), kNone)};
  const std::vector<std::vector<AutogradNodeIndex>> nodes = nodes_by_thread(timeline);
  std::vector<std::vector<AutogradNodeIndex>> made(threads);
  for (AutogradNodeIndex node{0}; node < table.size(); ++node)
    if (table.forward_thread[node] < threads && table.forward_ns[node] != kNoTime)
      made[table.forward_thread[node]].push_back(node);
  std::vector<std::vector<LaunchIndex>> launches(threads);
  for (LaunchIndex launch{0}; launch < timeline.launches.size(); ++launch) {
    const ThreadIndex thread = timeline.launches.thread[launch];
    const bool known =
        timeline.launches.source[launch] != LaunchSource::kUnknown && timeline.launches.time_ns[launch] != kNoTime;
    if (known && thread < threads && !nodes[thread].empty()) launches[thread].push_back(launch);
  }
  const auto by_time = [&](LaunchIndex a, LaunchIndex b) {
    return timeline.launches.time_ns[a] < timeline.launches.time_ns[b];
  };
  const auto by_making = [&](AutogradNodeIndex a, AutogradNodeIndex b) {
    return table.forward_ns[a] < table.forward_ns[b];
  };
  for (ThreadIndex thread{0}; thread < threads; ++thread) {
    if (nodes[thread].empty()) continue;
    std::stable_sort(launches[thread].begin(), launches[thread].end(), by_time);
    std::stable_sort(made[thread].begin(), made[thread].end(), by_making);
    ThreadSweep(timeline, order, nodes[thread], made[thread], thread, found).run(launches[thread]);
  }
  ForwardLaunches out{timeline.launches, std::move(found.pass)};
  const std::vector<AutogradNodeIndex> origin = origins(timeline, found.made_in);
  for (LaunchIndex launch{0}; launch < found.moved_to.size(); ++launch) {
    if (found.moved_to[launch] == kNone) continue;
    const AutogradNodeIndex node = origin[found.moved_to[launch]];
    out.launches.move(launch, table.forward_thread[node], table.forward_ns[node]);
  }
  return out;
}

}  // namespace rangefinder::projection
