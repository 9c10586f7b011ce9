// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/detail/hot_path.hpp>

namespace rangefinder::injection {

class Domain;

/// A place for the calling thread's new innermost range of the domain, and its depth there, from 0;
/// NVTX_NO_PUSH_POP_TRACKING without memory. NVTX keeps a stack for each thread and domain; here it is one for each
/// thread, so that it is known which ranges of other domains are open inside the one that a pop ends.
class Push {
 public:
  explicit Push(const Domain* domain) noexcept;
  /// Where to put the range; null when the stack is full or has no memory.
  detail::OpenRange* place() noexcept { return place_; }
  /// A step ends where the range does.
  void set_step() noexcept;
  int depth() const noexcept { return depth_; }

 private:
  detail::OpenRange* place_ = nullptr;
  int depth_;
};

/// Closes the thread's innermost range of the domain; its depth, or -1 where none is open.
int pop(const Domain* domain) noexcept;

}  // namespace rangefinder::injection
