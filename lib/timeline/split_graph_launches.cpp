// SPDX-License-Identifier: MIT
#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace rangefinder {
namespace {

/// What a graph's operations took, by where their nodes were made, in the order in which that came.
struct Share {
  std::uint32_t captured;  // launch; kNone: not known
  std::uint64_t place;     // equal where it counts for the same range
  __int128 ns;             // the sum of times from a file
  std::uint64_t bytes;
};
struct Replay {
  std::int64_t begin_ns;
  std::vector<Share> shares;
};
using Graph = std::pair<ProcessIndex, std::uint32_t>;

class Splitter {
 public:
  explicit Splitter(Timeline& timeline) : timeline_(timeline) {}

  std::size_t run() {
    const ActivityTable& activities = timeline_.activities;
    if (std::find(activities.kind.begin(), activities.kind.end(), ActivityKind::kGraph) == activities.kind.end())
      return 0;
    find_replays();
    ActivityTable out;
    for (ActivityIndex row = 0; row < activities.size(); ++row) {
      const Replay* const replay =
          activities.kind[row] == ActivityKind::kGraph && !activities.is_estimated(row) ? replay_for(row) : nullptr;
      if (replay == nullptr)
        copy(row, out);
      else
        divide(row, *replay, out);
    }
    if (split_ != 0) timeline_.activities = std::move(out);
    return split_;
  }

 private:
  Graph graph_of(ActivityIndex row) const {
    const DeviceIndex device = timeline_.streams[timeline_.activities.stream[row]].device;
    return {timeline_.devices[device].process, timeline_.activities.graph[row]};
  }

  /// Launches in one range count for the same; what nodes of autograd launched may count elsewhere, each for itself.
  std::uint64_t place_of(std::uint32_t captured) const {
    if (captured >= timeline_.launches.size()) return kNone;
    const RangeIndex range = timeline_.launches.range[captured];
    if (range != kNone && timeline_.nodes.size() == 0) return range;
    return std::uint64_t{1} << 32 | captured;
  }

  void find_replays() {
    const ActivityTable& activities = timeline_.activities;
    std::map<std::pair<Graph, std::uint32_t>, std::size_t> place_of_launch;
    for (ActivityIndex row = 0; row < activities.size(); ++row) {
      if (activities.graph_node[row] == 0 || activities.graph[row] == 0) continue;
      std::vector<Replay>& replays = replays_[graph_of(row)];
      const auto [known, is_new] = place_of_launch.try_emplace({graph_of(row), activities.launch[row]}, replays.size());
      if (is_new) replays.push_back({activities.begin_ns[row], {}});
      Replay* const replay = &replays[known->second];
      replay->begin_ns = std::min(replay->begin_ns, activities.begin_ns[row]);
      const std::uint32_t captured = activities.captured_by(row);
      const std::uint64_t place = place_of(captured);
      auto share = std::find_if(replay->shares.begin(), replay->shares.end(),
                                [&](const Share& one) { return one.place == place; });
      if (share == replay->shares.end()) share = replay->shares.insert(share, {captured, place, 0, 0});
      share->ns += activities.end_ns[row] - activities.begin_ns[row];
      share->bytes += activities.bytes[row];
    }
    for (auto& [graph, replays] : replays_)
      std::sort(replays.begin(), replays.end(),
                [](const Replay& a, const Replay& b) { return a.begin_ns < b.begin_ns; });
  }

  /// The last one before the launch, else the first one after it; null where its operations are not known, or where
  /// none of them was made in a known place.
  const Replay* replay_for(ActivityIndex row) const {
    const auto found = replays_.find(graph_of(row));
    if (found == replays_.end()) return nullptr;
    const std::vector<Replay>& replays = found->second;
    const auto after = std::upper_bound(replays.begin(), replays.end(), timeline_.activities.begin_ns[row],
                                        [](std::int64_t time, const Replay& replay) { return time < replay.begin_ns; });
    const Replay& replay = after != replays.begin() ? *(after - 1) : *after;
    const bool known = std::any_of(replay.shares.begin(), replay.shares.end(),
                                   [](const Share& share) { return share.captured != kNone && share.ns > 0; });
    return known ? &replay : nullptr;
  }

  void divide(ActivityIndex row, const Replay& replay, ActivityTable& out) {
    ++split_;
    const ActivityTable& activities = timeline_.activities;
    const std::int64_t begin = activities.begin_ns[row];
    const std::int64_t length = std::max<std::int64_t>(0, activities.end_ns[row] - begin);
    __int128 total = 0;
    for (const Share& share : replay.shares) total += share.ns;
    __int128 done = 0;
    for (const Share& share : replay.shares) {
      const auto at = [&](__int128 part) {
        // In units of 2^40 where the product would not fit: a file may say that an operation took 200 years.
        const __int128 done_ns = total >> 62 != 0 ? (part >> 40) * length / (total >> 40) : part * length / total;
        return begin + static_cast<std::int64_t>(done_ns);
      };
      copy(row, out);
      out.begin_ns.back() = at(done);
      done += share.ns;
      out.end_ns.back() = at(done);
      out.bytes.back() = share.bytes;
      out.captured.back() = share.captured;
      out.estimated.back() = 1;
    }
  }

  void copy(ActivityIndex row, ActivityTable& out) const {
    const ActivityTable& from = timeline_.activities;
    out.kind.push_back(from.kind[row]);
    out.name.push_back(from.name[row]);
    out.stream.push_back(from.stream[row]);
    out.begin_ns.push_back(from.begin_ns[row]);
    out.end_ns.push_back(from.end_ns[row]);
    out.correlation.push_back(from.correlation[row]);
    out.launch.push_back(from.launch[row]);
    out.bytes.push_back(from.bytes[row]);
    out.detail.push_back(from.detail[row]);
    out.graph_node.push_back(from.graph_node[row]);
    out.graph.push_back(from.graph[row]);
    out.external_id.push_back(from.external_id[row]);
    out.source_row.push_back(from.source_row[row]);
    out.captured.push_back(from.captured_by(row));
    out.estimated.push_back(from.is_estimated(row) ? 1 : 0);
    if (!from.queued_ns.empty()) out.queued_ns.push_back(from.queued_at(row));
    if (!from.submitted_ns.empty()) out.submitted_ns.push_back(from.submitted_at(row));
  }

  Timeline& timeline_;
  std::map<Graph, std::vector<Replay>> replays_;
  std::size_t split_ = 0;
};

}  // namespace

std::size_t split_graph_launches(Timeline& timeline) { return Splitter(timeline).run(); }

}  // namespace rangefinder
