// SPDX-License-Identifier: MIT
#include "analysis/critical_path/build.hpp"

#include "analysis/communication_names.hpp"
#include "analysis/critical_path/collective_links.hpp"
#include "analysis/critical_path/full_queues.hpp"
#include "analysis/critical_path/graph_launches.hpp"
#include "analysis/critical_path/host_collectives.hpp"
#include "analysis/critical_path/host_lanes.hpp"
#include "analysis/critical_path/host_waits.hpp"
#include "analysis/critical_path/lags.hpp"
#include "analysis/critical_path/schedule.hpp"
#include "analysis/critical_path/stream_lanes.hpp"
#include "analysis/critical_path/thread_frames.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

namespace rangefinder::analysis::critical_path {
namespace {

class Builder {
 public:
  Builder(const Timeline& timeline, std::vector<std::uint32_t> owner)
      : timeline_(timeline), frames_(timeline), lanes_(timeline) {
    built_.graph.timeline = &timeline;
    built_.graph.owner = std::move(owner);
    built_.graph.owner.resize(timeline.activities.size(), static_cast<std::uint32_t>(Unowned::kUnknown));
  }

  Built build(std::int64_t usual_gap_ns) {
    waits_ = find_waits(timeline_, lanes_);
    add_queue_waits(timeline_, lanes_, waits_);
    const MatchedCollectives matched = matched_collectives();
    collectives_ = find_host_collectives(timeline_, matched, waits_.host);
    built_.hand_overs = find_hand_overs(timeline_, frames_, waits_.host);
    drop_overlaps(waits_.host);
    returns_ = add_host_lanes(graph(), frames_, cuts(), waits_.host);
    add_activities();
    collective_nodes_ = add_host_collectives(graph(), collectives_, edges_);
    add_collective_links(graph(), matched, edges_);
    add_graph_launches(graph(), lanes_, edges_);
    add_stream_edges(graph(), lanes_, edges_);
    add_wait_edges();
    add_thread_edges();
    edges_.put_into(graph());
    find_origin();
    find_order(graph());
    find_lags(graph(), usual_gap_ns);
    find_driving();
    find_last_work();
    return std::move(built_);
  }

 private:
  Graph& graph() noexcept { return built_.graph; }

  MatchedCollectives matched_collectives() const {
    const bool is_job = timeline_.processes.size() > 1 && timeline_.collectives.size() != 0;
    return is_job ? match_collectives(timeline_) : MatchedCollectives{};
  }

  std::vector<Cut> cuts() const {
    std::vector<Cut> cuts;
    const auto add = [&](ThreadIndex thread, std::int64_t time_ns) {
      if (thread < timeline_.threads.size()) cuts.emplace_back(thread, clamped(time_ns));
    };
    for (LaunchIndex row{0}; row < timeline_.launches.size(); ++row)
      add(timeline_.launches.thread[row], timeline_.launches.time_ns[row]);
    for (const HostCollective& one : collectives_) add(one.caller, one.called_ns);
    for (const HandOver& one : built_.hand_overs) {
      for (const ThreadIndex thread : {one.caller, one.engine}) {
        add(thread, one.begin_ns);
        add(thread, one.end_ns);
      }
    }
    const StepTable& steps = timeline_.steps;
    for (std::size_t row = 0; row < steps.size(); ++row) {
      add(steps.thread[row], steps.begin_ns[row]);
      add(steps.thread[row], steps.end_ns[row]);
    }
    return cuts;
  }

  void add_activities() {
    const ActivityTable& activities = timeline_.activities;
    CommunicationNames communication(timeline_);
    graph().first_activity = graph().size();
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      CriticalReason reason = CriticalReason::kComputation;
      if (activities.kind[row] == ActivityKind::kMemcpy) reason = CriticalReason::kCopy;
      if (activities.kind[row] == ActivityKind::kKernel && communication.has(activities.name[row]))
        reason = CriticalReason::kCommunication;
      graph().add(NodeKind::kActivity, reason, row, begin_of(timeline_, row), end_of(timeline_, row));
    }
  }

  void add_wait_edges() {
    for (std::size_t i = 0; i < waits_.host.size(); ++i) {
      const HostWait& wait = waits_.host[i];
      if (returns_[i] == kNone) continue;
      if (wait.collective < collective_nodes_.size())
        edges_.add(returns_[i], {collective_nodes_[wait.collective], false}, EdgeKind::kRelease);
      for (std::uint32_t at = 0; at < wait.awaited_count; ++at) {
        const ActivityIndex awaited = waits_.awaited[wait.first_awaited + at];
        const Point until = wait.until_begin ? Point{graph().node_of(awaited), true}  //
                                             : Point{graph().done_node(awaited), false};
        edges_.add(returns_[i], until, EdgeKind::kRelease);
      }
    }
    for (const StreamWait& wait : waits_.streams)
      edges_.add(graph().node_of(wait.first), {graph().done_node(wait.awaited), false}, EdgeKind::kEvent);
  }

  /// Begins of threads, and what threads hand to each other.
  void add_thread_edges() {
    std::vector<bool> begun(graph().first_activity);
    for (const HandOver& one : built_.hand_overs) {
      const Point start = graph().point_at(one.engine, one.begin_ns);
      if (start.node == kNone || !start.at_begin || graph().is_elastic(start.node)) continue;
      edges_.add(start.node, graph().point_at(one.caller, one.begin_ns), EdgeKind::kHandOver);
      begun[start.node] = true;
      NodeIndex back = graph().point_at(one.caller, one.end_ns).node;
      if (back != kNone && graph().is_elastic(back)) ++back;  // several engine threads: until the last is done
      const NodeIndex last = graph().last_before(one.engine, one.end_ns);
      if (back != kNone && last != kNone && back < graph().lane[one.caller + std::size_t{1}])
        edges_.add(back, {last, false}, EdgeKind::kHandBack);
    }
    for (ThreadIndex thread{0}; thread + std::size_t{1} < graph().lane.size(); ++thread) {
      const NodeIndex first = graph().lane[thread];
      if (first != graph().lane[thread + std::size_t{1}] && !begun[first]) edges_.add_origin(first);
    }
  }

  void find_origin() noexcept {
    const std::vector<std::int64_t>& begins = graph().begin_ns;
    graph().origin_ns = begins.empty() ? 0 : *std::min_element(begins.begin(), begins.end());
  }

  void find_driving() {
    std::vector<bool> drives(timeline_.threads.size());
    const auto note = [&](ThreadIndex thread) {
      if (thread < drives.size()) drives[thread] = true;
    };
    for (const ThreadIndex thread : timeline_.launches.thread) note(thread);
    for (const ThreadIndex thread : timeline_.steps.thread) note(thread);
    for (const HostWait& wait : waits_.host) note(wait.thread);
    const bool any = std::find(drives.begin(), drives.end(), true) != drives.end();
    for (ThreadIndex thread{0}; thread < drives.size(); ++thread)
      if (drives[thread] || !any) built_.driving.push_back(thread);
  }

  void find_last_work() {
    for (StreamIndex stream{0}; stream < lanes_.stream_count(); ++stream) {
      const auto lane = lanes_.of(stream);
      if (lane.empty()) continue;
      built_.last_work.push_back(*std::max_element(lane.begin(), lane.end(), [&](ActivityIndex a, ActivityIndex b) {
        return end_of(timeline_, a) < end_of(timeline_, b);
      }));
    }
  }

  const Timeline& timeline_;
  ThreadFrames frames_;
  StreamLanes lanes_;
  Waits waits_;
  std::vector<HostCollective> collectives_;
  std::vector<NodeIndex> collective_nodes_;
  std::vector<NodeIndex> returns_;
  EdgeList edges_;
  Built built_;
};

}  // namespace

Built build(const Timeline& timeline, std::int64_t usual_gap_ns, std::vector<std::uint32_t> owner) {
  return Builder(timeline, std::move(owner)).build(usual_gap_ns);
}

}  // namespace rangefinder::analysis::critical_path
