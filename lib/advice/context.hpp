// SPDX-License-Identifier: MIT
#pragma once

#include "advice/change.hpp"
#include "advice/frames.hpp"
#include "advice/small_copies.hpp"
#include "analysis/allocation_calls.hpp"
#include "analysis/kernel_families.hpp"
#include "analysis/range_rollup.hpp"
#include "analysis/steps.hpp"
#include "analysis/waits.hpp"

#include <rangefinder/analysis/advice.hpp>
#include <rangefinder/analysis/critical_path.hpp>
#include <rangefinder/analysis/stragglers.hpp>
#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rangefinder::advice {

/// Stretches of host time that other rules than `launch_bound` are about, and calls that wait: each moment counts for
/// one rule.
struct HostCauses;
struct Product;

/// What rules judge by. Each part is made when a rule first asks for it. Of one thread.
class Context {
 public:
  Context(const Timeline& timeline, const AdviceOptions& options);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Timeline& timeline() const noexcept { return timeline_; }
  const AdviceOptions& options() const noexcept { return options_; }

  const Projection& projection();
  const analysis::StepAnalysis& steps();
  const Frames& frames();
  const CriticalPathGraph& graph();
  /// The judged steps in it.
  const std::vector<CriticalWindow>& windows();
  /// Of all kinds, in no order; with calls that say that they are asynchronous, and wait for a copy.
  const std::vector<analysis::Wait>& waits();
  const std::vector<analysis::AllocationCall>& allocations();
  const analysis::KernelFamilies& families();
  const analysis::PathTree& paths();
  const HostCauses& host_causes();
  const std::vector<Product>& products();
  const std::vector<SmallCopies>& small_copies();
  const Stragglers& stragglers();
  /// Work of devices in frames, in order of rows.
  const std::vector<ActivityIndex>& work();

  /// The mean length of the judged steps without the first quarter of all; where there are no steps, of all that was
  /// recorded.
  std::int64_t step_ns();
  /// How many they are; 0 where there are none.
  std::size_t steps_that_count();
  /// By how much the judged steps get shorter, without the early ones, in which the host has not filled the queue yet
  /// and a program sets itself up: the mean or the median, whichever is more, so that what is slow in some steps counts
  /// as well as what is slow in most of them. 0 where that is less than the least gain that is reported, without
  /// working out the schedule where it is clear.
  std::int64_t gain_ns(Change& change);
  /// The same of `change` for steps that are already changed by `first`.
  std::int64_t gain_beside_ns(Change& first, Change& change);
  /// The same where `change` lets ranks not wait for each other: the slowest of them sets the pace of all.
  std::int64_t gain_at_pace_ns(Change& change);
  /// The least gain that is reported.
  std::int64_t least_gain_ns();

  /// "step/forward/layers.*"; of very deep ones the innermost names; empty for none.
  std::string path_of(RangeIndex range);

 private:
  std::vector<std::int64_t> lengths_with(Change change);
  /// By window, whether gains count it.
  const std::vector<bool>& counted_windows();

  const Timeline& timeline_;
  AdviceOptions options_;
  std::optional<Projection> projection_;
  std::optional<analysis::StepAnalysis> steps_;
  std::optional<Frames> frames_;
  std::optional<CriticalPathGraph> graph_;
  std::optional<std::vector<CriticalWindow>> windows_;
  std::optional<std::vector<bool>> counted_windows_;
  std::optional<std::int64_t> step_ns_;
  std::optional<std::vector<std::int64_t>> recorded_ns_;
  std::optional<Change> queue_waits_;
  std::optional<std::vector<analysis::Wait>> waits_;
  std::optional<std::vector<analysis::AllocationCall>> allocations_;
  std::optional<analysis::KernelFamilies> families_;
  std::optional<analysis::PathTree> paths_;
  std::optional<std::vector<ActivityIndex>> work_;
  std::unique_ptr<HostCauses> host_causes_;
  std::unique_ptr<std::vector<Product>> products_;
  std::optional<std::vector<SmallCopies>> small_copies_;
  std::optional<Stragglers> stragglers_;
};

}  // namespace rangefinder::advice
