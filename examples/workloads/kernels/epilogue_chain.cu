// SPDX-License-Identifier: MIT
#include "workloads/kernels/device_kernels.hpp"
#include "workloads/kernels/launch.cuh"

#include <cuda_fp16.h>

namespace examples::kernels {
namespace {

/// What an operator of LibTorch leaves in memory: computed as a float, kept as a half.
__device__ float kept(float value) { return __half2float(__float2half_rn(value)); }
__device__ float leaky(float value, float slope) { return value > 0 ? value : value * slope; }

__global__ void chain(const __half* x, const __half* residual, const __half* scales, const __half* shifts,
                      const __half* gates, __half* out, std::int64_t count, std::int64_t width) {
  for (std::int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    const std::int64_t column = i % width;
    const float scale = __half2float(scales[column]), shift = __half2float(shifts[column]);
    const float gate = __half2float(gates[column]), beside = __half2float(residual[i]);
    float y = kept(__half2float(x[i]) * scale);
    y = kept(y + shift);
    y = kept(leaky(y, 0.1F));
    y = kept(y * gate);
    y = kept(y + beside);
    y = kept(y / (1.0F + expf(-y)));
    y = kept(y * 1.25F);
    y = kept(y - 0.5F);
    y = kept(y * scale);
    y = kept(leaky(y, 0.2F));
    y = kept(y + beside);
    y = kept(y * 0.5F);
    out[i] = __float2half_rn(y + shift);
  }
}

}  // namespace

const char* epilogue_chain(const EpilogueArguments& arguments, Shape shape, void* stream) noexcept {
  const auto half = [](const void* pointer) { return static_cast<const __half*>(pointer); };
  const std::int64_t count = shape.rows * shape.width;
  chain<<<blocks_for(count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      half(arguments.x), half(arguments.residual), half(arguments.scale), half(arguments.shift), half(arguments.gate),
      static_cast<__half*>(arguments.out), count, shape.width);
  return launch_error();
}

}  // namespace examples::kernels
