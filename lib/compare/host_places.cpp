// SPDX-License-Identifier: MIT
#include "compare/host_places.hpp"

#include "analysis/device_states.hpp"
#include "analysis/range_at.hpp"

#include <algorithm>

namespace rangefinder::compare {
namespace {

struct Edge {
  ThreadIndex thread;
  std::int64_t time_ns;
  friend auto operator<=>(const Edge& a, const Edge& b) noexcept {
    if (a.thread != b.thread) return std::uint32_t{a.thread} <=> std::uint32_t{b.thread};
    return a.time_ns <=> b.time_ns;
  }
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Where something begins or ends on a thread, each time once.
std::vector<Edge> edges_of(const Timeline& timeline, RangeKind kind) {
  const RangeTable& ranges = timeline.ranges;
  std::vector<Edge> edges;
  for (RangeIndex range{0}; range < ranges.size(); ++range) {
    if (ranges.kind[range] != kind || ranges.thread[range] >= timeline.threads.size()) continue;
    const std::int64_t begin_ns = std::clamp(ranges.begin_ns[range], -analysis::kFarthestNs, analysis::kFarthestNs);
    const std::int64_t end_ns = std::clamp(ranges.end_ns[range], -analysis::kFarthestNs, analysis::kFarthestNs);
    if (begin_ns >= end_ns) continue;
    edges.push_back({ranges.thread[range], begin_ns});
    edges.push_back({ranges.thread[range], end_ns});
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

}  // namespace

template <typename PlaceOf>
HostPlaces::Stretches HostPlaces::stretches(const Timeline& timeline, RangeKind kind, PlaceOf place_of) {
  const std::vector<Edge> edges = edges_of(timeline, kind);
  // Between two edges a thread is in one place. Asked for in the middle, since a range of a Kineto trace is still open
  // at its end.
  std::vector<analysis::HostMoment> middles;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i].thread != edges[i + 1].thread) continue;
    middles.push_back({edges[i].thread, edges[i].time_ns + (edges[i + 1].time_ns - edges[i].time_ns) / 2});
  }
  ProjectionOptions options;
  options.annotations = kind == RangeKind::kAnnotation;
  options.operators = kind == RangeKind::kOperator;
  const std::vector<RangeIndex> found = analysis::ranges_at(timeline, options, middles);
  Stretches out;
  out.first.assign(timeline.threads.size() + 1, 0);
  std::size_t middle = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i].thread != edges[i + 1].thread) continue;
    const RangeIndex range = found[middle++];
    out.all.push_back(
        {edges[i].time_ns, edges[i + 1].time_ns, range == kNone ? std::uint32_t{kNone} : place_of(range)});
    ++out.first[edges[i].thread + 1];
  }
  for (std::size_t thread = 1; thread < out.first.size(); ++thread) out.first[thread] += out.first[thread - 1];
  return out;
}

HostPlaces::HostPlaces(const Timeline& timeline, const PathNumbers& paths)
    : paths_(stretches(timeline, RangeKind::kAnnotation, [&](RangeIndex range) { return paths.of_range[range]; })),
      operators_(stretches(timeline, RangeKind::kOperator,
                           [&](RangeIndex range) { return static_cast<std::uint32_t>(timeline.ranges.name[range]); })) {
}

}  // namespace rangefinder::compare
