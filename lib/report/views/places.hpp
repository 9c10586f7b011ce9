// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <string>
#include <string_view>

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

/// For an owner that is a value of Unowned.
inline std::string_view unowned_word(std::uint32_t owner) {
  switch (static_cast<Unowned>(owner)) {
    case Unowned::kOutside:
      return "(outside any range)";
    case Unowned::kBefore:
      return "(launched before the recording)";
    case Unowned::kUnknown:
      return "(launch unknown)";
  }
  return {};
}

}  // namespace rangefinder::report
