// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/visibility.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rangefinder {

/// One thing that a recording depends on, and its state on this machine, in this environment.
struct DoctorFinding {
  enum class State : std::uint8_t {
    kGood,
    kNote,     ///< works, but worth knowing
    kMissing,  ///< part of a recording is not possible
  };
  std::string topic;  ///< "driver", "CUPTI", "clock", ...
  State state = State::kGood;
  std::string detail;  ///< what was found
  std::string fix;     ///< what to do; empty when good
};

/// Looks at the driver, CUPTI, NVML, LibTorch, permissions, the clock, the file system of `folder` and the environment.
/// Loads libraries into the process; starts nothing.
RANGEFINDER_EXPORT std::vector<DoctorFinding> run_doctor(const std::string& folder = ".");

}  // namespace rangefinder
