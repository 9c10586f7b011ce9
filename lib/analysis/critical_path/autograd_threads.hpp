// SPDX-License-Identifier: MIT
#pragma once

#include "analysis/critical_path/host_waits.hpp"
#include "analysis/critical_path/thread_frames.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::analysis::critical_path {

/// Work that a thread gave to one of LibTorch's autograd engine, and waits for.
struct HandOver {
  ThreadIndex caller = kNone;  ///< the thread of the forward pass, in backward()
  ThreadIndex engine = kNone;
  std::int64_t begin_ns = 0;  ///< on the engine's thread
  std::int64_t end_ns = 0;
};

/// A thread that called backward() begins and ends nothing until the engine's threads are done. So nodes that ran
/// while the thread of their forward pass was quiet were waited for by it. Gaps of the engine's threads before such
/// work are waits as well; both kinds go to `waits`.
///
/// Cost: O(n log n) in nodes, and in ranges and calls of the threads concerned.
std::vector<HandOver> find_hand_overs(const Timeline& timeline, const ThreadFrames& frames,
                                      std::vector<HostWait>& waits);

}  // namespace rangefinder::analysis::critical_path
