// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace rangefinder::source::cupti {

/// How often each executable graph was recorded node by node, and with that whether launches may be recorded as a
/// whole: CUPTI has one switch for all graphs. A graph is waited for from its second launch on, since many are made for
/// one. Used by one thread.
class GraphReplays {
 public:
  /// A recording begins, in which every graph is to be recorded node by node so many times; 0: always.
  void begin(std::uint32_t wanted) noexcept;
  /// An operation of a graph was recorded; those of one launch have its correlation id.
  void saw_operation(std::uint32_t graph, std::uint32_t correlation);
  /// A launch was recorded as a whole.
  void saw_whole(std::uint32_t graph);
  /// Once a flush: whether launches should be recorded as a whole until the next.
  bool decide() noexcept;

  /// A graph that is not launched over so many flushes is not waited for, and counts as new when it is again.
  static constexpr std::uint32_t kPatience = 20;
  /// Of each sort. Past it those that are known are recorded node by node once more; of new ones more are not waited
  /// for.
  static constexpr std::size_t kMaxGraphs = std::size_t{1} << 16;
  /// Graphs that it remembers.
  std::size_t remembered() const noexcept { return known_.size() + new_.size(); }

 private:
  struct Graph {
    std::uint32_t correlation = 0;  // of the last launch; none has 0
    std::uint32_t replays = 0;      // recorded node by node
    std::uint32_t launches = 0;     // of whatever sort
    std::uint32_t seen = 0;         // number of the flush
  };
  Graph* new_graph(std::uint32_t graph);

  std::uint32_t wanted_ = 0;
  std::uint32_t flushes_ = 0;
  std::unordered_set<std::uint32_t> known_;  // recorded node by node often enough
  std::unordered_map<std::uint32_t, Graph> new_;
};

}  // namespace rangefinder::source::cupti
