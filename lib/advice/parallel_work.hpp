// SPDX-License-Identifier: MIT
#pragma once

#include "advice/context.hpp"
#include "advice/host_spans.hpp"

#include <rangefinder/timeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

// Work that threads of a process share, and what one of them does alone.
namespace rangefinder::advice {

/// Ranges of one name that ran at the same time, each on a thread of its own.
struct ParallelWork {
  StringId name = StringId::kEmpty;
  ProcessIndex process{0};
  std::vector<RangeIndex> ranges;
  ThreadIndex waiter = kNone;  ///< the thread that marks the steps; kNone: there are none
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t total_ns = 0;

  /// When it would be done if each thread had as much, and there were so many threads at least.
  std::int64_t even_end_ns(std::size_t threads) const noexcept {
    return begin_ns + total_ns / static_cast<std::int64_t>(std::max(ranges.size(), threads));
  }
};

/// By process: the thread that marks its steps.
std::map<ProcessIndex, ThreadIndex> step_threads(const Timeline& timeline);

/// Of the judged frames, of processes without a device. Where there are steps, only names for most of whose work the
/// thread that marks them waits, or in which it takes part: loaders that work beside it share nothing with it, and what
/// it gets its input by is input.
std::vector<ParallelWork> parallel_works_of(Context& context, const std::vector<bool>& is_host_only);

/// What the thread that marks the steps does while those that share its work stand still: all of its time in frames
/// but shared work, input, communication, and operators, which have threads of OpenMP that no recording has.
HostSpans serial_work_of(Context& context, const std::vector<ParallelWork>& works);

}  // namespace rangefinder::advice
