// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/nsight/name_groups.hpp"
#include "analysis/nsight/ranges.hpp"
#include "analysis/spread.hpp"
#include "projection/flat_map.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace rangefinder::analysis::nsight {

/// Row of nvtx_kern_sum: one kernel inside ranges of one name on one thread.
struct NvtxKernelRow {
  bool in_range = false;  ///< false: launched outside any range; name, style and instances mean nothing
  Label name = 0;
  RangeStyle style = RangeStyle::kScoped;
  ThreadIndex thread = kNone;   ///< kNone: the launch is unknown
  std::uint64_t instances = 0;  ///< ranges of that name that launched the kernel
  Label kernel = 0;
  Spread duration;  ///< a kernel counts once for every range around its launch
};

/// Rows as a container has them. There can be millions: each is kept small, and neighbours share their statistics,
/// which are often the same where ranges are one inside the other.
class NvtxKernelRows {
 public:
  std::size_t size() const noexcept { return entries_.size(); }
  NvtxKernelRow operator[](std::size_t row) const;
  void push_back(const NvtxKernelRow& row);
  /// In the order of the report.
  void sort(const Timeline& timeline, const Labels& labels);

  class Iterator {
   public:
    Iterator(const NvtxKernelRows& rows, std::size_t row) : rows_(&rows), row_(row) {}
    NvtxKernelRow operator*() const { return (*rows_)[row_]; }
    Iterator& operator++() noexcept {
      ++row_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const NvtxKernelRows* rows_;
    std::size_t row_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  struct Entry {
    Label name;
    ThreadIndex thread;
    Label kernel;
    std::uint32_t instances;
    std::uint32_t duration;  // row of durations_
    RangeStyle style;
    bool in_range;
  };
  std::vector<Entry> entries_;
  std::vector<Spread> durations_;
};

/// Ordered by range, style, process, thread, total (greatest first), kernel.
///
/// Errors: kUnsupported when so many ranges overlap without one being inside the other, or so many kernels have names
/// of
///         their own, that the kernels of all ranges cannot be listed in reasonable time and memory.
/// Cost:   O((ranges + kernels) log n), and a row for each name and kernel.
Result<NvtxKernelRows> kernels_in_ranges(const Timeline& timeline, KernelName form, Labels& labels);

class KernelSweep;

/// The same rows, of a timeline or of the windows of a capture that hold the calls of their launches.
///
/// Memory: of windows 12 bytes for each kernel and range around it, of at most `most_kept`, beyond which medians are
/// exact to `precision()`; and 4 bytes for each name of a kernel that a range launched which later windows may hold.
class NvtxKernelSums {
 public:
  explicit NvtxKernelSums(const Timeline& timeline, KernelName form, std::size_t most_kept = GroupedSamples::kAll)
      : timeline_(timeline), form_(form), durations_(most_kept) {}
  NvtxKernelSums(const NvtxKernelSums&) = delete;
  NvtxKernelSums& operator=(const NvtxKernelSums&) = delete;

  /// Errors of both: as kernels_in_ranges.
  Status add_whole();
  /// The rows of a window, which are those that the timeline holds now.
  Status add(const RowsOfWindow& window);
  /// In the order of the report.
  NvtxKernelRows rows() const;
  const Labels& labels() const noexcept { return labels_; }
  bool is_exact() const noexcept { return durations_.is_exact(); }
  std::string precision() const { return durations_.precision(); }
  std::uint64_t memory_bytes() const noexcept;

 private:
  struct Group {
    ThreadIndex thread;
    std::uint32_t name;  // of names_; kNone: outside any range
    std::uint32_t kernel;
    std::uint64_t instances = 0;
  };
  bool add_thread(const RowsOfWindow& window, ThreadIndex thread, std::span<const Label> kernels, KernelSweep& sweep);
  void add_instance(std::uint64_t key, std::uint32_t group);
  std::uint32_t group_of(ThreadIndex thread, std::uint32_t name, Label kernel);

  const Timeline& timeline_;
  KernelName form_;
  Labels labels_{timeline_};
  NvtxKernelRows whole_;  // of a timeline that was added whole
  NameGroups names_{labels_};
  NameGroups kernels_{labels_};
  projection::FlatMap names_of_threads_;  // thread << 32 | name -> number
  projection::FlatMap group_numbers_;     // that number << 32 | kernel -> group
  std::vector<Group> groups_;
  GroupedSamples durations_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> launched_;  // by key of range: groups, in order
  std::uint64_t told_ = 0;
};

}  // namespace rangefinder::analysis::nsight
