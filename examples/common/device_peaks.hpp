// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/worker.hpp>

#include <torch/torch.h>

#include <vector>

namespace examples {

/// What a device reaches at most through LibTorch: "flops" of each type by a product of large matrices; "bandwidth" of
/// "copy" and "triad" in its memory; "transfer" between host and device, pinned and not; "latency" of a launch, one
/// after the other and with waiting for each. Types that the device lacks have no row. Some `seconds` for each.
std::vector<rangefinder::bench::PeakSamples> measure_device(torch::Device device, double seconds);

}  // namespace examples
