// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/cells.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace rangefinder::timeline {

/// Which operators had made the autograd nodes of an imported trace; fills Timeline::nodes.
///
/// Every thread counts the nodes that it makes. An operator tells the number that its thread's next node gets, so that
/// the last operator to tell a number made the node of that number; the node tells the number too. Which thread had
/// made it, some inputs say by a number of LibTorch's own that no other event explains: that thread is taken to be the
/// one whose operators told most of the numbers of its nodes before those ran. Where the input does not say, the nodes
/// that ran on one thread stand together instead, and each was made on the thread, of those that told its number, whose
/// operators told most of the numbers of all of them: a device's engine thread runs what one thread, mostly, had made.
class NodeMakers {
 public:
  static constexpr std::int64_t kNotSaid = 0;  ///< LibTorch counts its threads from 1

  explicit NodeMakers(Timeline& timeline) noexcept : timeline_(timeline) {}

  /// A range that told a number and was no node. Its row holds its thread and begin by now.
  void add_operator(RangeIndex range, std::int64_t sequence);
  /// A range that was a node; `sequence` -1: it has no number.
  void add_node(RangeIndex range, std::int64_t sequence, std::int64_t forward_thread);
  /// A node of which the input says all. `forward_tid` is looked up in the node's process; kNoTime: no operator made
  /// it.
  void add_known_node(RangeIndex range, std::int64_t sequence, std::int64_t forward_tid, std::int64_t made_ns);
  /// Once, when all is added and threads have their names.
  void finish();

 private:
  /// Numbers are compared within a process.
  struct Operator {
    std::int64_t sequence;
    RangeIndex range;
  };
  struct Node {
    RangeIndex range;
    std::int64_t sequence;
    std::int64_t forward_thread;
    bool is_known = false;
    std::int64_t made_ns = kNoTime;  ///< with is_known; then forward_thread is the system's number
  };
  struct Made {
    ThreadIndex on = kNone;
    std::int64_t ns = kNoTime;
  };
  /// Process and LibTorch's number of the thread; where that is not said, a number below 0 for the thread that ran it.
  using Group = std::pair<ProcessIndex, std::int64_t>;
  struct Votes {
    std::map<ThreadIndex, std::uint64_t> of_thread;
    ThreadIndex most = kNone;  ///< the thread that has most; kNone where two have
  };

  ProcessIndex process_of(RangeIndex range) const;
  Group group_of(const Node& node) const;
  /// Operators by number, process, thread and begin.
  auto key_of(const Operator& told) const {
    const ThreadIndex thread = timeline_.ranges.thread[told.range];
    return std::tuple(told.sequence, process_of(told.range), thread, timeline_.ranges.begin_ns[told.range]);
  }
  void sort_operators();
  /// Of each thread the last operator to tell the node's number before the node ran.
  template <typename Use>
  void for_each_teller(const Node& node, Use use) const;
  std::map<Group, Votes> count_votes() const;
  /// Null: nothing is known of it, or two fit equally well.
  const Operator* maker_of(const Node& node, const Votes& votes) const;
  Made known_making_of(const Node& node) const;
  void add_nodes();

  Timeline& timeline_;
  detail::Cells<Operator> operators_;
  std::vector<Node> nodes_;
  std::map<std::pair<ProcessIndex, std::int64_t>, ThreadIndex> threads_by_tid_;  // where known nodes need them
};

}  // namespace rangefinder::timeline
