// SPDX-License-Identifier: MIT
#include "projection/forward.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rangefinder::projection {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

/// The launches of one thread that ran nodes, in order of time, against its nodes and ranges.
class ThreadSweep {
 public:
  ThreadSweep(const Timeline& timeline, const RangeOrder& order, std::span<const std::uint32_t> nodes,
              std::span<const std::int64_t> made_here, ThreadIndex thread, ForwardLaunches& out)
      : table_(timeline.nodes),
        ranges_(timeline.ranges),
        threads_(timeline.threads.size()),
        order_(order),
        nodes_(nodes),
        scoped_(order.scoped(thread)),
        made_here_(made_here),
        out_(out) {}

  void visit(std::uint32_t launch) {
    const std::int64_t time = out_.launches.time_ns[launch];
    advance(time);
    if (running_.empty()) return;
    const std::uint32_t node = running_.back().node;
    Pass& pass = out_.pass[launch];
    if (table_.sequence[node] < 0) {
      pass = Pass::kAccumulation;
    } else if (has_own_range(launch, node, time)) {
      pass = makes_nodes(node) ? Pass::kRecompute : Pass::kBackward;
    } else if (table_.made_on[node] >= threads_ || table_.made_ns[node] == kNoTime) {
      pass = Pass::kUnmatched;
    } else {
      pass = Pass::kBackward;
      out_.launches.thread[launch] = table_.made_on[node];
      out_.launches.time_ns[launch] = table_.made_ns[node];
      out_.launches.range[launch] = kNone;
    }
  }

 private:
  struct Running {
    std::uint32_t node;
    std::int64_t ranges_to;  // the latest end of the ranges that began while it ran
  };

  // Nodes and ranges in order of begin; at the same time the node comes first, so that the range is inside it.
  void advance(std::int64_t time) {
    for (;;) {
      const std::int64_t node_begin = next_node_ < nodes_.size() ? table_.begin_ns[nodes_[next_node_]] : kAfterAll;
      const std::int64_t range_begin =
          next_range_ < scoped_.size() ? ranges_.begin_ns[scoped_[next_range_]] : kAfterAll;
      if (std::min(node_begin, range_begin) > time) break;
      if (node_begin == kAfterAll && range_begin == kAfterAll) break;
      if (node_begin <= range_begin) {
        end_before(node_begin);
        running_.push_back({nodes_[next_node_++], kNever});
      } else {
        end_before(range_begin);
        if (!running_.empty())
          running_.back().ranges_to = std::max(running_.back().ranges_to, ranges_.end_ns[scoped_[next_range_]]);
        ++next_range_;
      }
    }
    end_before(time);
  }

  void end_before(std::int64_t time) {
    while (!running_.empty() && is_over(table_.end_ns[running_.back().node], time, order_.rule())) {
      const std::int64_t ranges_to = running_.back().ranges_to;
      running_.pop_back();
      if (!running_.empty()) running_.back().ranges_to = std::max(running_.back().ranges_to, ranges_to);
    }
  }

  bool has_own_range(std::uint32_t launch, std::uint32_t node, std::int64_t time) const {
    const RangeIndex noted = out_.launches.range[launch];
    if (noted < ranges_.size() && order_.takes_part(noted)) return ranges_.begin_ns[noted] >= table_.begin_ns[node];
    const std::int64_t to = running_.back().ranges_to;
    return to != kNever && !is_over(to, time, order_.rule());
  }

  bool makes_nodes(std::uint32_t node) const {
    const auto first = std::lower_bound(made_here_.begin(), made_here_.end(), table_.begin_ns[node]);
    return first != made_here_.end() && *first < table_.end_ns[node];
  }

  static constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();
  const NodeTable& table_;
  const RangeTable& ranges_;
  std::size_t threads_;
  const RangeOrder& order_;
  std::span<const std::uint32_t> nodes_;
  std::span<const RangeIndex> scoped_;
  std::span<const std::int64_t> made_here_;  // when nodes were made on this thread, in order
  ForwardLaunches& out_;
  std::vector<Running> running_;  // innermost last
  std::size_t next_node_ = 0;
  std::size_t next_range_ = 0;
};

}  // namespace

ForwardLaunches launches_of_forward(const Timeline& timeline, const RangeOrder& order) {
  ForwardLaunches out{timeline.launches, std::vector<Pass>(timeline.launches.size(), Pass::kForward)};
  const NodeTable& table = timeline.nodes;
  const std::size_t threads = timeline.threads.size();
  std::vector<std::vector<std::uint32_t>> nodes(threads);
  std::vector<std::vector<std::int64_t>> made(threads);
  for (std::uint32_t node = 0; node < table.size(); ++node) {
    if (table.thread[node] < threads) nodes[table.thread[node]].push_back(node);
    if (table.made_on[node] < threads) made[table.made_on[node]].push_back(table.made_ns[node]);
  }
  std::vector<std::vector<std::uint32_t>> launches(threads);
  for (std::uint32_t launch = 0; launch < timeline.launches.size(); ++launch) {
    const ThreadIndex thread = timeline.launches.thread[launch];
    const bool known =
        timeline.launches.source[launch] != LaunchSource::kUnknown && timeline.launches.time_ns[launch] != kNoTime;
    if (known && thread < threads && !nodes[thread].empty()) launches[thread].push_back(launch);
  }
  const auto by_time = [&](std::uint32_t a, std::uint32_t b) {
    return timeline.launches.time_ns[a] < timeline.launches.time_ns[b];
  };
  const auto by_begin = [&](std::uint32_t a, std::uint32_t b) {
    if (table.begin_ns[a] != table.begin_ns[b]) return table.begin_ns[a] < table.begin_ns[b];
    return table.end_ns[a] > table.end_ns[b];
  };
  for (ThreadIndex thread = 0; thread < threads; ++thread) {
    if (launches[thread].empty()) continue;
    std::stable_sort(nodes[thread].begin(), nodes[thread].end(), by_begin);
    std::stable_sort(launches[thread].begin(), launches[thread].end(), by_time);
    std::sort(made[thread].begin(), made[thread].end());
    ThreadSweep sweep(timeline, order, nodes[thread], made[thread], thread, out);
    for (const std::uint32_t launch : launches[thread]) sweep.visit(launch);
  }
  return out;
}

}  // namespace rangefinder::projection
