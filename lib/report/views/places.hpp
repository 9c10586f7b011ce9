// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <string>

// Where on the host something happened, in words.
namespace rangefinder::report {

/// The thread's name, or its number; empty for kNone.
inline std::string thread_label(const Timeline& timeline, ThreadIndex thread) {
  if (thread >= timeline.threads.size()) return {};
  const ThreadInfo& info = timeline.threads[thread];
  return info.name.empty() ? std::to_string(info.tid) : info.name;
}

/// The range's name; what stands for it where there is none, or where the thread is not known.
inline std::string range_label(const Timeline& timeline, RangeIndex range, ThreadIndex thread) {
  if (range < timeline.ranges.size()) return std::string(timeline.text(timeline.ranges.name[range]));
  return thread < timeline.threads.size() ? "(outside any range)" : "(thread not known)";
}

}  // namespace rangefinder::report
