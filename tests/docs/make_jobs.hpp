// SPDX-License-Identifier: MIT
#pragma once

#include "support/capture_builder.hpp"

#include <vector>

// Jobs of several ranks, and several runs of a program: a capture each.
namespace docs_test {

/// Three ranks that reduce gradients in ten steps; rank 2 waits longer for its data.
std::vector<rangefinder::testing::CaptureBuilder> job_with_slow_rank();

/// Five runs of a training of 24 steps. `changed`: the layers are in a range of their own, the second one's product
/// takes longer, the device waits for a log that is written, and there is a third layer.
std::vector<rangefinder::testing::CaptureBuilder> runs_of_training(bool changed);

/// Four stages of a pipeline, 1F1B with eight micro-batches, ten steps.
std::vector<rangefinder::testing::CaptureBuilder> pipeline_job();

}  // namespace docs_test
