// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace rangefinder::importer::kineto {

/// Which operators were autograd's nodes, and which operators had made them.
///
/// Every thread counts the nodes that it makes. An operator tells the number that its thread's next node gets, so that
/// the last operator to tell a number made the node of that number; the node tells the number too, and which thread had
/// made it, by a number of LibTorch's own that no other event explains. That thread is taken to be the one whose
/// operators told most of the numbers of its nodes before those ran.
class Autograd {
 public:
  explicit Autograd(Timeline& timeline) noexcept : timeline_(timeline) {}

  /// An operator that has just been added as the last row of the ranges.
  void add(const EventArguments& arguments, std::string_view name);
  /// Fills Timeline::nodes; once, when all is added.
  void finish();

 private:
  /// Numbers are compared within a process.
  struct Operator {
    ProcessIndex process;
    std::int64_t sequence;
    ThreadIndex thread;
    std::int64_t begin_ns;
  };
  struct Node {
    RangeIndex range;
    std::int64_t sequence;
    std::int64_t forward_thread;
  };
  /// By process and LibTorch's number: the thread; kNone where two fit equally well, or none does.
  using ForwardThreads = std::map<std::pair<ProcessIndex, std::int64_t>, ThreadIndex>;
  ProcessIndex process_of(const Node& node) const;
  void sort_operators();
  /// Of each thread the last operator to tell the node's number before the node ran.
  template <typename Use>
  void for_each_teller(const Node& node, Use use) const;
  ForwardThreads forward_threads() const;
  void add_nodes(const ForwardThreads& threads);

  Timeline& timeline_;
  std::vector<Operator> operators_;
  std::vector<Node> nodes_;
};

}  // namespace rangefinder::importer::kineto
