// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/projection.hpp>
#include <rangefinder/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder::stacks {

enum class FrameKind : std::uint8_t { kRange, kActivity, kUnowned };

struct Frame {
  std::string name;
  FrameKind kind = FrameKind::kRange;
};

/// A frame and what is around it: a stack, from its innermost frame outwards.
struct Node {
  std::uint32_t parent = kNone;  ///< kNone: nothing is around it
  std::uint32_t frame = 0;
};

/// Time of a stack itself, without what is inside.
struct Weight {
  std::uint32_t profile = 0;
  std::uint32_t node = 0;
  std::int64_t self_ns = 0;
  std::uint64_t count = 0;  ///< runs of the range; activities
};

/// Time by stacks. A profile is a thread or a device: times of one of them add up to time that passed there.
struct StackTree {
  std::vector<Frame> frames;
  std::vector<Node> nodes;  ///< each after the one around it
  std::vector<std::string> profiles;
  std::vector<Weight> weights;  ///< by profile, then node; one each

  /// Frames of a node, outermost first.
  void path_of(std::uint32_t node, std::vector<std::uint32_t>& frames_out) const;
  std::int64_t total_ns() const noexcept;
};

/// What nests deeper counts for the range at this level: readers recurse, and lines grow with the depth.
inline constexpr std::uint32_t kMostLevels = 256;

/// Host time of ranges, by thread. Ranges that overlap on one thread without nesting (start/end) count twice where they
/// do. Ranges from before the recording have no host time.
StackTree stacks_by_host(const Timeline& timeline, const Projection& projection, const ProjectionOptions& options);

/// Device time, by device: the durations of activities below their owners. What nobody owns is below a frame that says
/// why, so that the sum is Account::total.
StackTree stacks_by_device(const Timeline& timeline, const Projection& projection);

}  // namespace rangefinder::stacks
