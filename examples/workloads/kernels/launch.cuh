// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

namespace examples::kernels {

constexpr int kThreads = 256;

/// Blocks for a loop over `count` elements that strides by the grid: enough for any device, few enough to launch fast.
inline unsigned blocks_for(std::int64_t count) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, 1 << 14));
}
__device__ inline std::int64_t first_of_thread() {
  return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}
__device__ inline std::int64_t threads_of_grid() { return gridDim.x * static_cast<std::int64_t>(blockDim.x); }

inline const char* launch_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace examples::kernels
