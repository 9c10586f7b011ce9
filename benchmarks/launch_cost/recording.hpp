// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/session.hpp>

#include <string>

namespace bench {

/// Of device activity, what is recorded.
struct Recorded {
  bool cuda = true;
  bool api = false;   ///< a record of each CUDA call
  bool rest = false;  ///< waits, overhead and allocations
  rangefinder::GraphTracing graphs = rangefinder::GraphTracing::kNodes;
};

/// The session of this process. It ends the process when it cannot record as asked.
void start_recording(const Recorded& what);
void flush_recording();
/// Ends it and tells how many activities it has, the number first, and what was lost; the capture is removed.
std::string stop_recording();
/// Ends it and answers the capture's path; the caller removes it.
std::string keep_recording();

}  // namespace bench
