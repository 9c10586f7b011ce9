// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::summary {

/// Steps that are over and were recorded, and what was done in them.
class StepTimes {
 public:
  /// A step begins, which ends the one before it. `recorded`: as AssembledStep.
  void begin(std::uint32_t number, std::int64_t time_ns, bool recorded);
  /// Of the step that ended last.
  void add_items(std::uint64_t items);
  void write(Summary& summary) const;

 private:
  struct Step {
    std::uint32_t number = 0;
    std::int64_t time_ns = 0;
    bool recorded = false;
  } last_;
  std::uint64_t steps_ = 0;
  std::int64_t step_ns_ = 0;
  std::vector<std::int64_t> newest_;    // times, as a ring
  std::int64_t last_finished_ns_ = -1;  // of the step that was noted last; -1: it was not recorded
  std::uint64_t items_ = 0;
  std::int64_t items_ns_ = 0;
};

}  // namespace rangefinder::summary
