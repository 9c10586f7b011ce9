// SPDX-License-Identifier: MIT
#include "workloads/kernels/device_kernels.hpp"
#include "workloads/kernels/launch.cuh"

namespace examples::kernels {
namespace {

constexpr unsigned kColumns = 32, kRows = 32;  // of a block of threads

/// Share of the normal distribution below u.
__device__ float below(float u) { return 0.5F * (1.0F + erff(u * 0.707106781F)); }

__global__ void forward(const float* x, const float* bias, const float* residual, float* out, std::int64_t count,
                        std::int64_t width) {
  for (std::int64_t i = first_of_thread(); i < count; i += threads_of_grid()) {
    const float u = x[i] + bias[i % width];
    out[i] = u * below(u) + residual[i];
  }
}

/// A block has 32 columns and all their rows: it adds up the bias's gradient alone, in an order that is always the
/// same.
__global__ void backward(const float* gradient, const float* x, const float* bias, float* gradient_x,
                         float* gradient_bias, Shape shape) {
  __shared__ float sums[kRows][kColumns];
  const std::int64_t column = blockIdx.x * static_cast<std::int64_t>(kColumns) + threadIdx.x;
  float sum = 0;
  if (column < shape.width) {
    for (std::int64_t row = threadIdx.y; row < shape.rows; row += kRows) {
      const std::int64_t i = row * shape.width + column;
      const float u = x[i] + bias[column];
      const float product = gradient[i] * (below(u) + u * 0.398942280F * expf(-0.5F * u * u));
      gradient_x[i] = product;
      sum += product;
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= shape.width) return;
  for (unsigned row = 1; row < kRows; ++row) sum += sums[row][threadIdx.x];
  gradient_bias[column] = sum;
}

}  // namespace

const char* bias_gelu_residual_on_device(const float* x, const float* bias, const float* residual, float* out,
                                         Shape shape, void* stream) noexcept {
  const std::int64_t count = shape.rows * shape.width;
  forward<<<blocks_for(count), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(x, bias, residual, out, count,
                                                                                 shape.width);
  return launch_error();
}

const char* bias_gelu_residual_backward_on_device(const float* gradient, const float* x, const float* bias,
                                                  float* gradient_x, float* gradient_bias, Shape shape,
                                                  void* stream) noexcept {
  const auto blocks = static_cast<unsigned>((shape.width + kColumns - 1) / kColumns);
  backward<<<blocks, dim3(kColumns, kRows), 0, static_cast<cudaStream_t>(stream)>>>(gradient, x, bias, gradient_x,
                                                                                    gradient_bias, shape);
  return launch_error();
}

}  // namespace examples::kernels
