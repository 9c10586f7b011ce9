// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace rangefinder::importer {

/// What earlier windows of a capture held and later ones can need. Rows of ranges and launches in it name no other row:
/// what is around them is named by key.
class WindowStore {
 public:
  struct Range {
    RangeRow row;
    std::uint64_t under = 0;     ///< key of the range around it, as AssembledRange::under; 0: none
    std::int64_t pinned_ns = 0;  ///< the first time at which something that is kept refers to it
  };
  struct Launch {
    LaunchRow row;
    std::uint64_t range = 0;  ///< key of the range that it belongs to; 0: none
    std::uint64_t node = 0;   ///< number of the autograd node that ran; 0: none
    bool is_graph = false;
    std::int64_t last_ns = kNoTime;  ///< when the last of its activities ended; kNoTime: none has come
  };
  struct Node {
    AutogradNodeRow row;
    std::uint64_t range = 0;  ///< key of the innermost range where it was made; 0: none
    std::uint64_t node = 0;   ///< number of the node that ran there; 0: none
  };
  /// From when on, and by what launch or call; 0: not known.
  struct Making {
    std::int64_t time_ns;
    std::uint64_t maker;
  };
  struct Replay {
    Launch launch;
    std::vector<ActivityRow> activities;
  };

  std::unordered_map<std::uint64_t, Range> ranges;    ///< that are over, by key
  std::unordered_map<std::uint64_t, Launch> waiting;  ///< whose activities may still come, by correlation
  std::unordered_map<std::uint64_t, Launch> makers;   ///< that made nodes of graphs, by correlation or note
  std::unordered_set<std::uint64_t> maker_keys;       ///< of all nodes of the file
  std::unordered_map<std::uint64_t, std::vector<Making>> graph_nodes;
  std::map<std::uint32_t, Replay> replays;         ///< the last one of each graph that is known by operation
  std::unordered_map<std::uint64_t, Node> nodes;   ///< that are done, by number
  std::unordered_set<std::uint64_t> wanted_nodes;  ///< that something kept refers to
  bool has_whole_launches = false;                 ///< of graphs, somewhere in the file

  void add_graph_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t maker) {
    graph_nodes[node].push_back({time_ns, maker});
    if (maker != 0) maker_keys.insert(maker);
  }
  /// Launches of graphs and others that have brought nothing for so long bring nothing more.
  void forget_launches(std::int64_t device_ns);
  /// A call that no launch was noted of, as the launch that it may be; the newest ones are kept.
  void keep_call(const Launch& call);
  const Launch* find_call(std::uint64_t correlation) const noexcept;
  /// Counts what waited and was given up before it brought anything.
  std::uint64_t abandoned() const noexcept { return abandoned_; }

  /// The ranges and nodes that are kept for others, of which `roots` calls `use(range key, node number)` for all that
  /// is not in the store itself. Cheap unless much was added since the last time.
  template <typename Roots>
  void drop_unneeded(Roots roots) {
    if (ranges.size() + nodes.size() < 2 * kept_ + kSlack) return;
    Needed needed;
    roots([&](std::uint64_t range, std::uint64_t node) { need(needed, range, node); });
    for (const auto* table : {&waiting, &makers, &calls_})
      for (const auto& [key, launch] : *table) need(needed, launch.range, launch.node);
    for (const auto& [graph, replay] : replays) need(needed, replay.launch.range, replay.launch.node);
    drop_all_but(needed);
    kept_ = ranges.size() + nodes.size();
  }

 private:
  static constexpr std::size_t kSlack = 4096;
  struct Needed {
    std::unordered_set<std::uint64_t> ranges, nodes;
  };
  void need(Needed& needed, std::uint64_t range, std::uint64_t node) const;
  void drop_all_but(const Needed& needed);

  std::unordered_map<std::uint64_t, Launch> calls_;
  std::deque<std::uint64_t> call_order_;
  std::uint64_t abandoned_ = 0;
  std::size_t kept_ = 0;
};

/// The first, the lowest and the highest of the calls of each window of a recording, which is all that LaunchBounds
/// asks.
class EarlierCalls {
 public:
  /// Of one process. In order of time, or nearly so.
  void add(std::uint64_t correlation, std::int64_t time_ns);
  void begin(ProcessIndex process, std::vector<Window> windows);
  void write(std::vector<EarlierCall>& out) const;

 private:
  struct Bounds {
    EarlierCall first, low, high;
    std::size_t window;
  };
  ProcessIndex process_{0};
  std::vector<Window> windows_;
  std::uint64_t origin_ = 0;
  std::deque<Bounds> bounds_;
};

}  // namespace rangefinder::importer
