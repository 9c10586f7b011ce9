// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace rangefinder::analysis {

/// Finds the API call that a record of CUPTI's belongs to, by its correlation id.
class CallFinder {
 public:
  explicit CallFinder(const Timeline& timeline);

  /// The last call of that id that had begun at `time_ns`, the first one where all are later (clocks differ a little);
  /// kNone without any. `process` kNone: of the one process that has such a call.
  CallIndex find(ProcessIndex process, std::uint64_t correlation, std::int64_t time_ns) const noexcept;

 private:
  ProcessIndex process_of(CallIndex call) const noexcept {
    return timeline_.threads[timeline_.calls.thread[call]].process;
  }

  const Timeline& timeline_;
  std::vector<CallIndex> calls_;  // by id, process, begin, row
};

/// Calls on known threads that lie in no other call of their thread (the driver's lie in the runtime's), by thread and
/// begin.
std::vector<CallIndex> outermost_calls(const Timeline& timeline);

/// "StreamSynchronize" for cudaStreamSynchronize_v3020, cuStreamSynchronize_ptsz and hipStreamSynchronize: what a call
/// is about, whichever interface and version it is of. A name of another kind stays as it is.
std::string_view call_stem(std::string_view name) noexcept;

}  // namespace rangefinder::analysis
