// SPDX-License-Identifier: MIT
#include "analysis/critical_path/build.hpp"
#include "analysis/critical_path/path_walk.hpp"
#include "analysis/critical_path/schedule.hpp"
#include "analysis/critical_path/windows.hpp"
#include "projection/project.hpp"

#include <rangefinder/analysis/critical_path.hpp>

#include <algorithm>
#include <utility>

namespace rangefinder {

namespace critical = analysis::critical_path;

struct CriticalPathGraph::Data {
  critical::Built built;
};

CriticalPathGraph::CriticalPathGraph(const Timeline& timeline, const CriticalPathOptions& options)
    : CriticalPathGraph(timeline, options, projection::project_owners(timeline, options.projection).owner) {}

CriticalPathGraph::CriticalPathGraph(const Timeline& timeline, const CriticalPathOptions& options,
                                     std::vector<std::uint32_t> owner)
    : data_(std::make_unique<Data>()) {
  data_->built = critical::build(timeline, std::max<std::int64_t>(options.usual_gap_ns, 0), std::move(owner));
}

CriticalPathGraph::~CriticalPathGraph() = default;
CriticalPathGraph::CriticalPathGraph(CriticalPathGraph&&) noexcept = default;
CriticalPathGraph& CriticalPathGraph::operator=(CriticalPathGraph&&) noexcept = default;

CriticalWindow CriticalPathGraph::whole() const { return critical::whole_window(data_->built); }
std::vector<CriticalWindow> CriticalPathGraph::steps() const { return critical::step_windows(data_->built); }
std::vector<CriticalWindow> CriticalPathGraph::runs_of(std::string_view name) const {
  return critical::run_windows(data_->built, name);
}
CriticalWindow CriticalPathGraph::between(std::int64_t begin_ns, std::int64_t end_ns) const {
  return critical::window_between(data_->built, begin_ns, end_ns);
}

std::vector<std::vector<CriticalSegment>> CriticalPathGraph::paths(const std::vector<CriticalWindow>& windows,
                                                                   const CriticalScale& scale) const {
  const critical::Graph& graph = data_->built.graph;
  const critical::Schedule schedule = critical::schedule_of(graph, scale);
  std::vector<std::vector<CriticalSegment>> paths;
  paths.reserve(windows.size());
  for (const CriticalWindow& window : windows) paths.push_back(critical::walk_back(graph, schedule, window, scale));
  return paths;
}

std::vector<std::int64_t> CriticalPathGraph::times(const std::vector<CriticalWindow>& windows,
                                                   const CriticalScale& scale) const {
  const critical::Graph& graph = data_->built.graph;
  const critical::Schedule schedule = critical::schedule_of(graph, scale);
  std::vector<std::int64_t> times;
  times.reserve(windows.size());
  for (const CriticalWindow& window : windows) {
    const std::int64_t begin = critical::latest_of(graph, schedule, window.begins, window.begin_ns);
    const std::int64_t end = critical::latest_of(graph, schedule, window.ends, begin);
    times.push_back(std::max<std::int64_t>(end - begin, 0));
  }
  return times;
}

std::size_t CriticalPathGraph::node_count() const noexcept { return data_->built.graph.size(); }
std::size_t CriticalPathGraph::edge_count() const noexcept { return data_->built.graph.edges.size(); }
std::uint64_t CriticalPathGraph::memory_bytes() const noexcept { return data_->built.graph.memory_bytes(); }

const char* to_string(CriticalReason reason) noexcept {
  switch (reason) {
    case CriticalReason::kHost:
      return "host";
    case CriticalReason::kInput:
      return "input";
    case CriticalReason::kCall:
      return "CUDA call";
    case CriticalReason::kLaunchLatency:
      return "launch latency";
    case CriticalReason::kComputation:
      return "computation";
    case CriticalReason::kCommunication:
      return "communication";
    case CriticalReason::kCopy:
      return "copy";
    case CriticalReason::kStreamDelay:
      return "stream delay";
    case CriticalReason::kSynchronisation:
      return "synchronisation";
    case CriticalReason::kThreadWait:
      return "thread wait";
    case CriticalReason::kLaunchQueue:
      return "full launch queue";
    case CriticalReason::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace rangefinder
