// SPDX-License-Identifier: MIT
#pragma once

#include "importer/kineto/event.hpp"
#include "timeline/node_makers.hpp"

#include <rangefinder/timeline.hpp>

#include <string_view>

namespace rangefinder::importer::kineto {

/// Which operators were autograd's nodes, and which operators had made them: both tell numbers, and a node tells which
/// thread had made it.
class Autograd {
 public:
  explicit Autograd(Timeline& timeline) noexcept : timeline_(timeline), makers_(timeline) {}

  /// An operator that has just been added as the last row of the ranges.
  void add(const EventArguments& arguments, std::string_view name);
  /// Fills Timeline::nodes; once, when all is added.
  void finish() { makers_.finish(); }

 private:
  Timeline& timeline_;
  timeline::NodeMakers makers_;
};

}  // namespace rangefinder::importer::kineto
