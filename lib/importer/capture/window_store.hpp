// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
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
    bool makes_nodes = false;        ///< of graphs: what it launches runs with each replay, and not now
    std::int64_t last_ns = kNoTime;  ///< when the last of its activities ended; kNoTime: none has come
  };
  struct Node {
    AutogradNodeRow row;
    std::uint64_t range = 0;  ///< key of the innermost range where it was made; 0: none
    std::uint64_t node = 0;   ///< number of the node that ran there; 0: none
    std::uint64_t outer = 0;  ///< number of the node that it ran in; 0: none
  };
  /// From when on, and by what launch or call; 0: not known.
  struct Making {
    std::int64_t time_ns;
    std::uint64_t maker;
  };
  struct Maker {
    std::optional<Launch> launch;  ///< once it is known
    std::size_t uses = 0;          ///< by nodes as they are or were
  };
  struct Replay {
    Launch launch;
    std::vector<ActivityRow> activities;
  };

  std::unordered_map<std::uint64_t, Range> ranges;  ///< that are over, by key
  using Launches = std::unordered_map<std::uint64_t, Launch>;
  Launches waiting;                                         ///< whose activities may still come, by correlation
  std::unordered_map<std::uint64_t, CallRow> launch_calls;  ///< of launches that are kept, where they are asked for
  std::unordered_map<std::uint64_t, Maker> makers;          ///< that made nodes of graphs, by correlation or note
  std::unordered_map<std::uint64_t, std::vector<Making>> graph_nodes;
  std::map<std::uint32_t, Replay> replays;         ///< the last one of each graph that is known by operation
  std::unordered_map<std::uint64_t, Node> nodes;   ///< that are done, by number
  std::unordered_set<std::uint64_t> wanted_nodes;  ///< that something kept refers to
  std::size_t replay_rows = 0;                     ///< activities in `replays`

  /// What made it may have come before, or come later.
  void add_graph_node(std::uint64_t node, std::int64_t time_ns, std::uint64_t maker);
  /// It is gone since then. Its operations may still come.
  void remove_graph_node(std::uint64_t node, std::int64_t time_ns) { gone_nodes_.emplace_back(time_ns, node); }
  /// Nodes that are gone, and what nodes were before, once no operation of that can come any more.
  void forget_graph_nodes(std::int64_t device_ns);
  /// The note of a node that has not come; kept for this window and the next.
  void keep_note(const Launch& note) { notes_[note.row.correlation] = note; }
  void forget_notes();
  void wait(const Launch& launch);
  /// An activity of a launch that waits, which ended then.
  void arrived(Launches::iterator launch, std::int64_t last_ns, bool may_bring_more);
  /// A node that ran, and was made while that one ran; false: one is known.
  bool note_made(std::uint64_t maker, std::uint64_t node) { return made_in_.try_emplace(maker, node).second; }
  /// 0: none.
  std::uint64_t made_in(std::uint64_t node) const noexcept;
  /// Launches of graphs and others that have brought nothing for so long bring nothing more.
  void forget_launches(std::int64_t device_ns);
  /// A call that no launch was noted of, as the launch that it may be; the newest ones are kept.
  void keep_call(const Launch& call);
  const Launch* find_call(std::uint64_t correlation) const noexcept;
  /// An activity of a call that is kept, which ended then.
  void call_arrived(std::uint64_t correlation, std::int64_t end_ns);
  /// The call of a launch that is kept, if it is.
  void keep_launch_call(const CallRow& call);
  void forget_launch_calls();
  /// Counts what waited and was given up before it brought anything.
  std::uint64_t abandoned() const noexcept { return abandoned_; }
  /// Launches that wait and have brought nothing, but for those that made nodes.
  std::size_t silent() const noexcept { return silent_; }
  /// None that waits was launched before; the largest value: none waits.
  std::int64_t oldest_waiting_ns() const noexcept { return oldest_waiting_ns_; }
  /// The last replays of the oldest graphs, where there are very many.
  void forget_replays();

  /// The ranges and nodes that are kept for others, of which `roots` calls `use(range key, node number)` for all that
  /// is not in the store itself. Cheap unless much was added since the last time.
  template <typename Roots>
  void drop_unneeded(Roots roots) {
    if (ranges.size() + nodes.size() < 2 * kept_ + kSlack) return;
    Needed needed;
    roots([&](std::uint64_t range, std::uint64_t node) { need(needed, range, node); });
    for (const auto* table : {&waiting, &calls_, &notes_, &earlier_notes_})
      for (const auto& [key, launch] : *table) need(needed, launch.range, launch.node);
    for (const auto& [key, maker] : makers)
      if (maker.launch) need(needed, maker.launch->range, maker.launch->node);
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
  static bool is_silent(const Launch& launch) noexcept { return launch.last_ns == kNoTime && !launch.makes_nodes; }
  void forget_made(std::vector<Making>& makings, std::size_t count);

  Launches calls_, notes_, earlier_notes_;
  std::unordered_map<std::uint64_t, std::uint64_t> made_in_;        // nodes that made nodes, and one that each made
  std::vector<std::pair<std::int64_t, std::uint64_t>> gone_nodes_;  // since when, nodes of graphs
  std::unordered_set<std::uint64_t> changed_nodes_;                 // of graphs, that were something else before
  std::size_t silent_ = 0;
  std::int64_t oldest_waiting_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t next_forget_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t next_forget_graphs_ns_ = std::numeric_limits<std::int64_t>::min();
  std::size_t kept_waiting_ = 0;
  std::size_t kept_calls_ = 0;
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
  std::size_t begun_ = 0;  // windows, at the last call
  std::uint64_t origin_ = 0;
  std::deque<Bounds> bounds_;
};

}  // namespace rangefinder::importer
