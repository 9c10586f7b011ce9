// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/communication_names.hpp"

#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rangefinder::analysis {

/// Tells communication from work, and the classes of work; reads each name once.
class KernelClasses {
 public:
  explicit KernelClasses(const Timeline& timeline);
  bool is_communication(ActivityIndex activity);
  /// Of what is not communication.
  KernelClass of(ActivityIndex activity);

 private:
  const Timeline& timeline_;
  CommunicationNames communication_;
  std::vector<std::uint8_t> by_name_;
};

/// Durations of kernels of the same name, compared over ranks.
class KernelScores {
 public:
  explicit KernelScores(const Timeline& timeline) : timeline_(timeline), place_(timeline.string_count()) {}
  /// The work of the next rank, without communication.
  void add_rank(std::span<const ActivityIndex> activities);
  /// Of each rank: speed relative to the median rank, all kernels and by class; 0: nothing to compare.
  void fill(std::vector<RankScore>& ranks, KernelClasses& classes) const;

 private:
  struct OfName {
    StringId name;
    double median_ns;
    double total_ns;
    ActivityIndex first;
  };
  std::vector<double> medians_by_name() const;

  const Timeline& timeline_;
  std::vector<std::vector<OfName>> ranks_;
  std::vector<std::uint32_t> place_;  // by name: where it is among the names of the rank at hand, from 1; 0: nowhere
};

}  // namespace rangefinder::analysis
