// SPDX-License-Identifier: MIT
#pragma once

#include <rangefinder/bench/worker.hpp>

#include <c10/core/Device.h>

#include <cstdint>

namespace examples {

/// What LibTorch can tell the harness: exact bytes of its CPU and CUDA allocators, devices, versions; operators and
/// memory while steps are profiled. Call it once, before any tensor exists.
rangefinder::bench::WorkerHooks libtorch_hooks();

/// Of the first CUDA device: 90 is sm_90. 0: there is none.
int cuda_capability();

/// Bytes that tensors on a device hold at the moment. Of the host since `libtorch_hooks`.
std::int64_t live_bytes(c10::Device device);

}  // namespace examples
