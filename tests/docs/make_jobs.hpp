// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"

#include <vector>

// Jobs of several ranks on CPUs, a capture each.
namespace docs_test {

/// Three ranks that reduce gradients in ten steps; rank 2 waits longer for its data.
std::vector<rangefinder::testing::CaptureBuilder> job_with_slow_rank();

/// Four stages of a pipeline, 1F1B with eight micro-batches, ten steps.
std::vector<rangefinder::testing::CaptureBuilder> pipeline_job();

}  // namespace docs_test
