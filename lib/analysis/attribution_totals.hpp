// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/pass_split.hpp"

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>

namespace rangefinder::analysis {

/// How device work came to its owners, window by window or at once.
class AttributionTotals {
 public:
  void add(const Timeline& timeline, const Projection& projection);

  bool is_forward = false;  ///< nodes of autograd ran
  PassTimes passes{};       ///< of all activities whose launch is known
  // Operations of CUDA graphs, recorded one by one.
  std::uint64_t captured = 0;    ///< on the ranges that captured them
  std::uint64_t outside = 0;     ///< on those that replay them: their nodes were made outside of any range
  std::uint64_t not_known = 0;   ///< likewise: where they were made is not known
  std::uint64_t activities = 0;  ///< of all kinds
  // Launches of graphs that were recorded as a whole.
  bool any_whole = false;
  std::uint64_t whole = 0;        ///< and stayed whole
  std::int64_t whole_ns = 0;      ///< of those
  std::int64_t estimated_ns = 0;  ///< of those that were divided
};

}  // namespace rangefinder::analysis
