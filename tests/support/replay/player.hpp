// SPDX-License-Identifier: MIT
#pragma once

#include "support/replay/recorded_program.hpp"

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rangefinder::testing {

/// What a play left.
struct Played {
  std::string path;                 ///< of the capture
  std::vector<std::uint32_t> tids;  ///< of the threads that played, in the order of RecordedProcess::threads
};

/// Plays a process that another tool recorded into a capture of ours: every thread of it is a thread here and makes its
/// calls in order, of NVTX through the injection's functions, of CUDA as callbacks of CUPTI; time is what the tool
/// recorded, for each thread its own. Records of the devices follow when the work is done and, by `seed`, later: each
/// stream's in order, streams mixed, in buffers that are delivered in order, in reverse or late. Anything lost fails
/// the test case.
Played play(const RecordedProcess& process, std::uint64_t seed, const std::string& path);

/// Gives the timeline of such a capture what only the recording of the tool has, and a play cannot: numbers of process
/// and threads, priorities, and the rows by which it knows ranges. A range that was open at the end ends there with the
/// tool's last word of ranges, as Nsight shows it. `process` is the index in the timeline.
void name_as_recorded(Timeline& timeline, ProcessIndex process, const RecordedProcess& recorded, const Played& played);

}  // namespace rangefinder::testing
