// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/timeline.hpp>

#include <cstdint>
#include <vector>

namespace rangefinder::nsight_export {

/// The numbers by which Nsight tells processes and threads of several machines apart: 16 bits of a machine, 24 of a
/// process id, 24 of a thread id. What has no room there (thread ids of some traces), or is taken, gets a free number.
class GlobalIds {
 public:
  explicit GlobalIds(const Timeline& timeline);

  std::int64_t process(ProcessIndex process) const noexcept { return processes_[process]; }
  std::int64_t thread(ThreadIndex thread) const noexcept { return threads_[thread]; }
  /// A number for each machine, from 1.
  std::int64_t machine(ProcessIndex process) const noexcept { return processes_[process] >> 48; }

 private:
  std::vector<std::int64_t> processes_;
  std::vector<std::int64_t> threads_;
};

}  // namespace rangefinder::nsight_export
