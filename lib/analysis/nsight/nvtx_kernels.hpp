// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/nsight/labels.hpp"
#include "analysis/spread.hpp"

#include <rangefinder/result.hpp>

#include <cstddef>
#include <cstdint>
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

}  // namespace rangefinder::analysis::nsight
