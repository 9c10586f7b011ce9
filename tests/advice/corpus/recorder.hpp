// SPDX-License-Identifier: MIT
#pragma once

#include "advice/corpus/program.hpp"

#include <rangefinder/timeline.hpp>

#include <vector>

namespace rangefinder::testing::corpus {

/// Plays each process of a job through the recorder, at the times of its log: ranges, operators with their inputs,
/// steps, collectives and memory through the functions that a program calls, calls of CUDA and work on the device
/// through the simulated CUPTI, each thread on one of its own. The job is read from the captures. What a recording
/// cannot have is left out: samples of sensors, which NVML gives.
Timeline recorded(const std::vector<Program>& job);

}  // namespace rangefinder::testing::corpus
