// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/nsight/nvtx_kernels.hpp"
#include "analysis/nsight/stretch_spreads.hpp"
#include "base/intervals.hpp"
#include "projection/flat_map.hpp"

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rangefinder::analysis::nsight {

/// A kernel of a launch. Kernels of one name have one number, from 0.
struct Launched {
  std::uint32_t kernel;
  std::int64_t duration;
};

/// One thread's ranges and launches in order of time.
///
/// Kernels with the same names of ranges around them belong to the same rows of the report. Those names are a path in a
/// tree that grows as ranges open, and each kernel is kept with its path. In the end the kernels of one name are put in
/// the tree's order: then what lies under any node of it is one stretch of them, and a row of the report is the
/// stretches of all nodes of its name. Of a window of a capture, whose kernels are added to those of others, each
/// kernel is told under each range around it.
class KernelSweep {
 public:
  KernelSweep(const Timeline& timeline, ThreadIndex thread, std::span<const Label> kernel_names, Labels& labels)
      : timeline_(timeline), thread_(thread), kernel_names_(kernel_names), labels_(labels) {}

  /// Both in order of begin; of one begin ranges first, the longest before those inside it.
  void open(RangeIndex range);
  void launch(const base::Interval& cause, std::span<const Launched> kernels);
  /// Appends the thread's rows; false when a bound was passed.
  bool finish(NvtxKernelRows& rows);
  /// In the place of that: `duration(name, kernel, ns)` for each kernel and each range around it, the name kNone where
  /// there is none, and `instance(range, name, kernel)` once for each range and each kernel that it launched. Names and
  /// kernels are numbers. False when a bound was passed: then not all were told.
  template <typename Duration, typename Instance>
  bool tell(Duration duration, Instance instance) {
    for (const Sample& sample : samples_) {
      if (sample.path == kRoot) duration(kNone, sample.kernel, sample.duration);
      for (std::uint32_t path = sample.path; path != kRoot; path = paths_[path].parent) {
        if (!spend(1)) return false;
        duration(paths_[path].name, sample.kernel, sample.duration);
      }
    }
    for (const FirstLaunch& first : first_launches_)
      instance(opened_[first.opened].range, opened_[first.opened].name, first.kernel);
    return !failed_;
  }
  std::pair<Label, RangeStyle> name(std::uint32_t number) const { return names_[number]; }
  bool within_bounds() const noexcept { return !failed_; }

 private:
  static constexpr std::uint32_t kRoot = 0;
  struct Open {
    std::int64_t end;
    std::uint32_t name;    // number of (label, style)
    std::uint32_t path;    // valid while no ranges overlap
    std::uint32_t slot;    // number that no other open range has
    std::uint32_t opened;  // its row of opened_
  };
  struct Opened {
    RangeIndex range;
    std::uint32_t name;
  };
  struct Path {
    std::uint32_t parent;
    std::uint32_t name;
  };
  struct Sample {
    std::uint32_t kernel;
    std::uint32_t path;
    std::int64_t duration;
  };
  // A range that launched a kernel for the first time.
  struct FirstLaunch {
    std::uint32_t kernel;
    std::uint32_t opened;
  };
  // The samples of one kernel under one path.
  struct NamedStretch {
    std::uint32_t name;
    Stretch stretch;
  };

  void close_before(std::int64_t time);
  std::uint32_t child(std::uint32_t path, std::uint32_t name);
  std::uint32_t name_number(RangeIndex range);
  std::uint32_t number(projection::FlatMap& numbers, std::uint64_t key);
  bool is_first(const Open& open, std::uint32_t kernel);
  void sort_by_kernel();
  void put_in_tree_order();
  void add_rows_of_kernel(std::span<const Sample> samples, NvtxKernelRows& rows);
  void collect_stretches(std::span<const Sample> samples);
  bool spend(std::uint64_t memberships) noexcept;

  const Timeline& timeline_;
  ThreadIndex thread_;
  std::span<const Label> kernel_names_;
  Labels& labels_;
  std::vector<Open> open_;
  // True while a range is open that outlives the one it began in: only start/end ranges do that.
  bool overlapping_ = false;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t slots_ = 0;
  std::vector<Opened> opened_;  // all ranges so far
  std::vector<std::pair<Label, RangeStyle>> names_;
  projection::FlatMap name_numbers_;
  std::vector<Path> paths_{{kNone, kNone}};
  projection::FlatMap children_;
  // For each slot and kernel, how many ranges had been opened with the one that was there when the kernel was last
  // counted.
  std::vector<std::uint32_t> last_seen_;
  std::vector<FirstLaunch> first_launches_;
  std::vector<Sample> samples_;

  // The end: paths renamed to their positions in the tree's order, so that what is under one is [path, end_[path]).
  std::vector<std::uint32_t> end_;
  // For one kernel at a time.
  std::vector<std::uint32_t> seen_by_path_;
  std::vector<std::uint64_t> instances_by_name_;
  std::size_t next_first_launch_ = 0;
  std::vector<NamedStretch> stretches_;
  std::uint64_t spent_ = 0;
  bool failed_ = false;
};

}  // namespace rangefinder::analysis::nsight
