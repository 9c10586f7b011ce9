// SPDX-License-Identifier: MIT
#include "analysis/critical_path/autograd_threads.hpp"

#include "analysis/critical_path/graph.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace rangefinder::analysis::critical_path {
namespace {

/// A stretch in which an engine's thread was busy, with nodes of one forward thread.
struct Stretch {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t idle_since_ns;  ///< when the thread had done what came before
  ThreadIndex caller;          ///< kNone: the nodes do not tell
};

class HandOvers {
 public:
  HandOvers(const Timeline& timeline, const ThreadFrames& frames) : timeline_(timeline), frames_(frames) {}

  std::vector<HandOver> find(std::vector<HostWait>& waits) {
    std::vector<std::vector<AutogradNodeIndex>> nodes(timeline_.threads.size());
    const AutogradNodeTable& table = timeline_.autograd_nodes;
    for (AutogradNodeIndex row{0}; row < table.size(); ++row)
      if (table.thread[row] < nodes.size()) nodes[table.thread[row]].push_back(row);
    find_steppers();
    for (ThreadIndex thread{0}; thread < nodes.size(); ++thread)
      if (!nodes[thread].empty() || is_handed_work(thread)) add_engine(thread, nodes[thread], waits);
    add_waits_of_callers(waits);
    return std::move(found_);
  }

 private:
  /// By process: the thread that marks its steps, and whether it has device work.
  void find_steppers() {
    steppers_.assign(timeline_.processes.size(), kNone);
    has_device_work_.assign(timeline_.processes.size(), false);
    for (const ThreadIndex thread : timeline_.steps.thread)
      if (thread < timeline_.threads.size()) steppers_[timeline_.threads[thread].process] = thread;
    for (const StreamIndex stream : timeline_.activities.stream)
      has_device_work_[timeline_.devices[timeline_.streams[stream].device].process] = true;
  }
  /// A thread of autograd of which no nodes were recorded; and where the host computes, any thread beside the one that
  /// marks steps: what it does while that one stands still is what that one waits for.
  bool is_handed_work(ThreadIndex thread) const {
    const ProcessIndex process = timeline_.threads[thread].process;
    const bool may_be = timeline_.threads[thread].is_engine || !has_device_work_[process];
    return may_be && steppers_[process] != kNone && steppers_[process] != thread;
  }

  /// Busy stretches of the thread that hold nodes, or all where it has no nodes; with nodes that are in no range or
  /// call, these themselves.
  std::vector<Stretch> stretches_of(ThreadIndex thread, const std::vector<AutogradNodeIndex>& nodes) const {
    const AutogradNodeTable& table = timeline_.autograd_nodes;
    std::vector<Span> busy = frames_.busy(thread);
    for (const AutogradNodeIndex node : nodes) {
      const std::int64_t begin = clamped(table.begin_ns[node]), end = clamped(table.end_ns[node]);
      if (begin < end) busy.push_back({begin, end});
    }
    std::sort(busy.begin(), busy.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::vector<Stretch> all;
    for (const Span& span : busy) {
      if (!all.empty() && span.begin < all.back().end_ns)
        all.back().end_ns = std::max(all.back().end_ns, span.end);
      else
        all.push_back({span.begin, span.end, all.empty() ? span.begin : all.back().end_ns, kNone});
    }
    if (nodes.empty()) {
      for (Stretch& one : all) one.caller = steppers_[timeline_.threads[thread].process];
      return all;
    }
    std::vector<bool> has_nodes(all.size());
    for (const AutogradNodeIndex node : nodes) {
      const auto after = std::upper_bound(all.begin(), all.end(), clamped(table.begin_ns[node]),
                                          [](std::int64_t time, const Stretch& one) { return time < one.begin_ns; });
      if (after == all.begin()) continue;
      const auto at = static_cast<std::size_t>(after - all.begin() - 1);
      has_nodes[at] = true;
      if (table.forward_thread[node] < timeline_.threads.size()) all[at].caller = table.forward_thread[node];
    }
    std::vector<Stretch> with_nodes;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (has_nodes[i]) with_nodes.push_back(all[i]);
    return with_nodes;
  }

  /// Which gap between begins and ends on the caller holds the stretch; nothing where the caller was not quiet.
  std::optional<std::size_t> quiet_gap(ThreadIndex caller, const Stretch& stretch) {
    auto [known, added] = times_.try_emplace(caller);
    if (added) known->second = frames_.times(caller);
    const std::vector<std::int64_t>& times = known->second;
    const auto after = std::upper_bound(times.begin(), times.end(), stretch.begin_ns);
    if (after == times.begin() || (after != times.end() && *after < stretch.end_ns)) return std::nullopt;
    return static_cast<std::size_t>(after - times.begin());
  }

  void add_engine(ThreadIndex engine, const std::vector<AutogradNodeIndex>& nodes, std::vector<HostWait>& waits) {
    ThreadIndex last_caller = kNone;
    std::optional<std::size_t> last_gap;
    for (const Stretch& stretch : stretches_of(engine, nodes)) {
      const ThreadIndex caller = stretch.caller != kNone ? stretch.caller : last_caller;
      if (caller == kNone || caller == engine) continue;
      const std::optional<std::size_t> gap = quiet_gap(caller, stretch);
      if (gap && last_gap == gap && last_caller == caller) {
        found_.back().end_ns = stretch.end_ns;
        continue;
      }
      last_caller = caller;
      last_gap = gap;
      if (!gap) continue;
      found_.push_back({caller, engine, stretch.begin_ns, stretch.end_ns});
      gaps_.push_back(*gap);
      if (stretch.idle_since_ns < stretch.begin_ns)
        waits.push_back({engine, stretch.idle_since_ns, stretch.begin_ns, stretch.begin_ns, true});
    }
  }

  /// One wait for each gap, from the first of what was handed over until the last of it is done.
  void add_waits_of_callers(std::vector<HostWait>& waits) const {
    std::map<std::pair<ThreadIndex, std::size_t>, std::pair<std::int64_t, std::int64_t>> by_gap;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const HandOver& one = found_[i];
      auto [known, added] = by_gap.try_emplace({one.caller, gaps_[i]}, one.begin_ns, one.end_ns);
      known->second.first = std::min(known->second.first, one.begin_ns);
      known->second.second = std::max(known->second.second, one.end_ns);
    }
    for (const auto& [key, time] : by_gap) waits.push_back({key.first, time.first, time.second, time.second, true});
  }

  const Timeline& timeline_;
  const ThreadFrames& frames_;
  std::map<ThreadIndex, std::vector<std::int64_t>> times_;  // of callers
  std::vector<ThreadIndex> steppers_;
  std::vector<bool> has_device_work_;
  std::vector<HandOver> found_;
  std::vector<std::size_t> gaps_;  // parallel
};

}  // namespace

std::vector<HandOver> find_hand_overs(const Timeline& timeline, const ThreadFrames& frames,
                                      std::vector<HostWait>& waits) {
  return HandOvers(timeline, frames).find(waits);
}

}  // namespace rangefinder::analysis::critical_path
