// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Slices on the tracks of the page's timeline: which depth each is at, and how many too many become fewer.
namespace rangefinder::html {

/// What a slice is, in the numbers of the file.
enum class Category : std::uint8_t {
  kRange,
  kComputation,
  kCommunication,
  kCopy,
  kMemset,
  kCall,
  kSync,
  kOperator,
  kCollective,
  kOther,
};

/// Which table of the timeline a slice is of. Where two slices have the same times, the one named earlier is outside.
enum class SliceSource : std::uint8_t {
  kStep,
  kNode,  ///< of autograd
  kRange,
  kProjected,  ///< a range, on the row of a device
  kCollective,
  kCall,
  kOverhead,
  kSync,
  kActivity,
  kMark,
};

struct Slice {
  std::int64_t begin_ns = 0;  ///< of the timeline; not before its begin
  std::int64_t end_ns = 0;
  std::uint32_t row = 0;     ///< of the table that it is of
  std::uint32_t merged = 0;  ///< so many slices are one; 0: it is one that was recorded
  StringId name = StringId::kEmpty;
  SliceSource source = SliceSource::kRange;
  Category category = Category::kRange;
  std::uint16_t depth = 0;
};

enum class TrackKind : std::uint8_t { kThread, kProjected, kStream };

struct Track {
  TrackKind kind = TrackKind::kThread;
  std::string group;
  std::string label;
  std::vector<Slice> slices;          ///< by depth, then begin, once they are placed
  std::vector<std::uint64_t> depths;  ///< slices of each depth
  std::uint64_t first_slice = 0;
};

/// Deeper slices are left out.
inline constexpr std::size_t kMostDepths = 256;

/// Gives each slice the first depth on which it overlaps no other, outer slices first, and puts them in the order of
/// the file. Returns how many were left out for want of a depth.
std::size_t place(Track& track);

/// What merging did.
struct Merged {
  std::int64_t shorter_than_ns = 0;  ///< 0: nothing was merged
  std::uint64_t slices = 0;          ///< that are now in others
  std::uint64_t into = 0;
};

/// Where placed tracks have more slices than `most`, short ones that are neighbours on a depth become one: all that are
/// shorter than some time and begin in the same stretch of that length. The time is the least power of two that makes
/// the slices few enough.
Merged merge_short(std::vector<Track>& tracks, std::uint64_t most);

}  // namespace rangefinder::html
