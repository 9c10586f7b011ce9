// SPDX-License-Identifier: MIT
#include "projection/split_graph_launches.hpp"

#include "base/text.hpp"
#include "projection/project.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rangefinder {
namespace {

// Where a graph has many ranges and many launches. The fewest parts are worth it at any number of rows.
constexpr std::size_t kMaxRows = std::size_t{1} << 22;
constexpr std::size_t kFewestParts = 16;

/// What a graph's operations took, by where they count, in the order of the first of each.
struct Share {
  LaunchIndex captured;  // the launch of the first that counts there; kNone: on the replay
  __int128 ns;           // the sum of times from a file
  std::uint64_t bytes;
  std::int64_t begin_ns;
};
struct Replay {
  std::int64_t begin_ns;
  std::vector<Share> shares;
  std::unordered_map<std::uint64_t, std::size_t> share_of;  // place -> position in shares, until those are in order
};
using Graph = std::pair<ProcessIndex, std::uint32_t>;

class Splitter {
 public:
  Splitter(const Timeline& timeline, const ProjectionOptions& options, std::size_t most_rows)
      : timeline_(timeline), options_(options), most_rows_(most_rows) {}

  std::size_t run() {
    if (options_.attribution != Attribution::kAuto && options_.attribution != Attribution::kCapture) return 0;
    const ActivityTable& activities = timeline_.activities;
    for (ActivityIndex row{0}; row < activities.size(); ++row)
      if (is_whole(row)) ++launches_[graph_of(row)];
    if (launches_.empty()) return 0;
    find_replays();
    if (replays_.empty()) return 0;
    bound_parts();
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      const Replay* const replay = is_whole(row) ? replay_for(row) : nullptr;
      if (replay == nullptr)
        out_.append(activities.row(row));
      else
        divide(row, *replay);
    }
    return split_;
  }

  /// Moves what `run` made into a timeline like the one it read.
  void give_to(Timeline& timeline) {
    if (split_ != 0) timeline.activities = std::move(out_);
    if (!note_.empty()) timeline.notes.push_back(std::move(note_));
  }

 private:
  bool is_whole(ActivityIndex row) const {
    return timeline_.activities.kind[row] == ActivityKind::kGraph && !timeline_.activities.estimated[row];
  }

  Graph graph_of(ActivityIndex row) const {
    const DeviceIndex device = timeline_.streams[timeline_.activities.stream[row]].device;
    return {timeline_.devices[device].process, timeline_.activities.graph[row]};
  }

  void find_replays() {
    const ActivityTable& activities = timeline_.activities;
    const Projection projection = projection::project_owners(timeline_, options_);
    if (projection.place.empty()) return;  // of no operation it is known where it was captured
    std::map<std::pair<Graph, LaunchIndex>, std::size_t> place_of_launch;
    for (ActivityIndex row{0}; row < activities.size(); ++row) {
      if (activities.graph_node[row] == 0 || activities.graph[row] == 0 || !launches_.contains(graph_of(row))) continue;
      std::vector<Replay>& replays = replays_[graph_of(row)];
      const auto [known, is_new] = place_of_launch.try_emplace({graph_of(row), activities.launch[row]}, replays.size());
      if (is_new) replays.push_back({activities.begin_ns[row], {}, {}});
      Replay& replay = replays[known->second];
      replay.begin_ns = std::min(replay.begin_ns, activities.begin_ns[row]);
      // What one range owns in one pass is one part.
      const LaunchIndex launch = projection.place[row];
      const bool moved = launch != activities.launch[row];
      const auto pass =
          static_cast<std::uint64_t>(moved && !projection.pass.empty() ? projection.pass[launch] : Pass{});
      const std::uint64_t place = moved ? pass << 32 | projection.owner[row] : ~std::uint64_t{0};
      const auto [known_share, is_other] = replay.share_of.try_emplace(place, replay.shares.size());
      if (is_other) replay.shares.push_back({kNone, 0, 0, activities.begin_ns[row]});
      Share& share = replay.shares[known_share->second];
      // The order of rows says nothing, and ranges that overlap its owner may count one launch and not another.
      if (moved && (is_other || activities.begin_ns[row] < share.begin_ns)) share.captured = launch;
      share.ns += activities.end_ns[row] - activities.begin_ns[row];
      share.bytes += activities.bytes[row];
      share.begin_ns = std::min(share.begin_ns, activities.begin_ns[row]);
    }
    for (auto& [graph, replays] : replays_) {
      for (Replay& replay : replays)
        std::stable_sort(replay.shares.begin(), replay.shares.end(),
                         [](const Share& a, const Share& b) { return a.begin_ns < b.begin_ns; });
      std::sort(replays.begin(), replays.end(),
                [](const Replay& a, const Replay& b) { return a.begin_ns < b.begin_ns; });
    }
  }

  /// A graph of two thousand ranges that is launched a million times would be more than anybody's memory.
  void bound_parts() {
    std::size_t rows = 0;
    std::size_t launches = 0;
    for (const auto& [graph, replays] : replays_) {
      std::size_t most = 0;
      for (const Replay& replay : replays) most = std::max(most, replay.shares.size());
      launches += launches_[graph];
      rows += launches_[graph] * most;
    }
    if (rows <= most_rows_) return;
    const std::size_t most = std::max(kFewestParts, most_rows_ / launches);
    std::size_t left_out = 0;
    for (auto& [graph, replays] : replays_)
      for (Replay& replay : replays) left_out = std::max(left_out, keep_largest(replay, most));
    if (left_out != 0)
      note_ = "of launches of CUDA graphs that were recorded as a whole, the parts of up to " +
              base::with_thousands(left_out) +
              " ranges each, the smallest, stay on the ranges that replay them: there are too many";
  }

  /// The others go to the replay's own. Returns how many did.
  static std::size_t keep_largest(Replay& replay, std::size_t most) {
    std::vector<Share>& shares = replay.shares;
    std::vector<std::size_t> order;
    for (std::size_t share = 0; share < shares.size(); ++share)
      if (shares[share].captured != kNone) order.push_back(share);
    if (order.size() <= most) return 0;
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(order.begin(), middle, order.end(), [&](std::size_t a, std::size_t b) {
      return shares[a].ns != shares[b].ns ? shares[a].ns > shares[b].ns : a < b;
    });
    for (auto small = middle; small != order.end(); ++small) shares[*small].captured = kNone;
    Share rest{kNone, 0, 0};
    std::erase_if(shares, [&](const Share& share) {
      if (share.captured != kNone) return false;
      rest.ns += share.ns;
      rest.bytes += share.bytes;
      return true;
    });
    shares.push_back(rest);
    return order.size() - most;
  }

  /// The last one before the launch, else the first one after it; null where its operations are not known, or where
  /// all of them count for the replay.
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

  void divide(ActivityIndex row, const Replay& replay) {
    ++split_;
    const ActivityTable& activities = timeline_.activities;
    const std::int64_t begin = activities.begin_ns[row];
    const std::int64_t length = std::max<std::int64_t>(0, activities.end_ns[row] - begin);
    __int128 total = 0;
    for (const Share& share : replay.shares) total += share.ns;
    __int128 done = 0;
    for (const Share& share : replay.shares) {
      const auto at = [&](__int128 share_ns) {
        // In units of 2^40 where the product would not fit: a file may say that an operation took 200 years.
        const __int128 done_ns =
            total >> 62 != 0 ? (share_ns >> 40) * length / (total >> 40) : share_ns * length / total;
        return begin + static_cast<std::int64_t>(done_ns);
      };
      ActivityRow part = activities.row(row);
      part.begin_ns = at(done);
      done += share.ns;
      part.end_ns = at(done);
      part.bytes = share.bytes;
      part.captured = share.captured;
      part.estimated = true;
      part.source_row = -1;  // what the input says of the whole is not true of a part
      out_.append(part);
    }
  }

  const Timeline& timeline_;
  ProjectionOptions options_;
  std::size_t most_rows_;
  std::map<Graph, std::size_t> launches_;  // recorded as a whole
  std::map<Graph, std::vector<Replay>> replays_;
  ActivityTable out_;
  std::string note_;
  std::size_t split_ = 0;
};

}  // namespace

std::size_t projection::split_graph_launches(Timeline& timeline, const ProjectionOptions& options,
                                             std::size_t most_rows) {
  Splitter splitter(timeline, options, most_rows);
  const std::size_t split = splitter.run();
  splitter.give_to(timeline);
  return split;
}

std::optional<Timeline> projection::with_split_graph_launches(const Timeline& timeline,
                                                              const ProjectionOptions& options) {
  Splitter splitter(timeline, options, kMaxRows);
  if (splitter.run() == 0) return std::nullopt;
  Timeline divided = timeline;
  splitter.give_to(divided);
  return divided;
}

void projection::split_graph_launches_of_window(Timeline& window, std::size_t own_activities,
                                                const ProjectionOptions& options) {
  const std::size_t earlier = window.activities.size() - own_activities;
  (void)rangefinder::split_graph_launches(window, options);
  window.activities.cut_to(window.activities.size() - earlier);
}

std::size_t split_graph_launches(Timeline& timeline, const ProjectionOptions& options) {
  return projection::split_graph_launches(timeline, options, kMaxRows);
}

}  // namespace rangefinder
